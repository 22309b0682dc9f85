"""The law of the hidden patterns as a finite table of cells, so that its moments are exact."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_labels, require_number, require_shape


@dataclass(frozen=True, kw_only=True, eq=False)
class PatternLaw:
    r"""A law of patterns in :math:`\{0, 1\}^D`: k of them relevant, the others background, and a label.

    A cell c is drawn with probability[c]. It fixes the label, the rate of the background patterns
    (independent given the cell) and the relevant patterns: the row codes[c] or, without codes, count[c] ones
    in uniformly random places.

    Symbols: phi~ (patterns), A (the relevant places), gamma (label_corr).

    Args:
        probability: (c,) probabilities of the cells, float64.
        label: (c,) labels +1 or -1.
        background: (c,) :math:`P(\tilde\phi_j = 1)` for j outside A.
        component: (c,) mixture component that the cell belongs to.
        count: (c,) number of relevant patterns present.
        k: number of relevant patterns.
        codes: (c, k) the relevant patterns themselves, or None for an exchangeable law.

    Ref: features, Eq (1)
    """

    probability: Tensor
    label: Tensor
    background: Tensor
    component: Tensor
    count: Tensor
    k: int
    codes: Tensor | None = None

    def __post_init__(self) -> None:
        require_shape(self.probability, "probability", (None,))
        size = len(self.probability)
        require_labels(self.label, size)
        for name in ("background", "component", "count"):
            require_shape(getattr(self, name), name, (size,))
        if self.codes is not None:
            require_shape(self.codes, "codes", (size, self.k))
        total = float(self.probability.sum())
        if float(self.probability.min()) < 0 or abs(total - 1) > 1e-9:
            raise ValueError(
                f"`probability` of `PatternLaw` must hold numbers >= 0 of sum 1, got sum {total:g}."
            )

    def class_probability(self, label: int = 1) -> float:
        """P(y = label)."""
        return float(self.probability[self.label == label].sum())

    def with_negative_rate(self, rate: float) -> Self:
        """Return the law with P(y = -1) = rate and the same law given each label."""
        require_number(rate, "negative_rate", "PatternLaw", minimum=0, maximum=1)
        weight = self.probability.clone()
        for label, target in ((-1, rate), (1, 1 - rate)):
            have = self.class_probability(label)
            if have == 0 and target > 0:
                only = 0 if label == -1 else 1
                raise ValueError(
                    f"`negative_rate` of `PatternLaw` must be {only} as no pattern has label {label:+d}, "
                    f"got {rate!r}."
                )
            if have > 0:
                weight[self.label == label] *= target / have
        return replace(self, probability=weight)

    def given(self, label: int) -> Tensor:
        """(c,) probabilities of the cells given the label."""
        return self.probability * (self.label == label) / self.class_probability(label)

    @property
    def presence(self) -> Tensor:
        r"""(c, k) :math:`P(\tilde\phi_i = 1 \mid \text{cell})` of the relevant patterns."""
        if self.codes is not None:
            return self.codes
        return (self.count.double() / self.k)[:, None].expand(-1, self.k)

    @property
    def label_corr(self) -> float:
        r"""The correlation of a relevant pattern with the label, the mean of all (equal ones without codes).

        .. math:: \gamma = \mathbb{E}[y \tilde\phi_i] - \mathbb{E}[y]\, \mathbb{E}[\tilde\phi_i]
        """
        y_mean = float(self.probability @ self.label)
        centred = self.probability * (self.label - y_mean)
        return float((centred @ self.presence).mean())

    @property
    def label_corr_balanced(self) -> float:
        r"""The same with both classes weighing one half.

        .. math:: \gamma = \tfrac12 \big( \mathbb{E}[y \tilde\phi_i \mid y = 1]
                  + \mathbb{E}[y \tilde\phi_i \mid y = -1] \big)

        Equal to `label_corr` when the classes are balanced.
        """
        return float(((self.given(1) - self.given(-1)) @ self.presence).mean() / 2)

    def moments(self, D: int) -> tuple[Tensor, Tensor]:
        """Exact mean (D,) and covariance (D, D) of the patterns, relevant ones first.

        Args:
            D: number of patterns, at least k.
        """
        rate = torch.cat([self.presence, self.background[:, None].expand(-1, D - self.k)], dim=1)
        mean = self.probability @ rate
        second = rate.T @ (self.probability[:, None] * rate)
        if self.codes is None and self.k > 1:
            # Given the count the relevant patterns are drawn without replacement, hence dependent.
            pairs = self.count.double() * (self.count.double() - 1) / (self.k * (self.k - 1))
            second[: self.k, : self.k] = self.probability @ pairs
        second.diagonal().copy_(mean)  # patterns are zeros and ones: E phi^2 = E phi
        return mean, second - torch.outer(mean, mean)

    def sample(self, n: int, D: int, *, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw cells (n,) and patterns (n, D) of bools, relevant ones first.

        Args:
            n: how many.
            D: number of patterns, at least k.
            generator: of the draw.
        """
        edges = self.probability.cumsum(0)
        uniform = torch.rand(n, generator=generator, dtype=torch.float64)
        cell = torch.searchsorted(edges / edges[-1], uniform, right=True)
        if self.codes is not None:
            relevant = self.codes[cell] > 0
        else:
            # A uniformly random order; the first `count` places of it are the patterns present.
            ranks = torch.rand(n, self.k, generator=generator, dtype=torch.float64).argsort(dim=1)
            relevant = ranks < self.count[cell][:, None]
        noise = torch.rand(n, D - self.k, generator=generator, dtype=torch.float64)
        return cell, torch.cat([relevant, noise < self.background[cell][:, None]], dim=1)


def binomial_weights(k: int, rate: float) -> Tensor:
    """(k + 1,) probabilities of 0..k successes, float64."""
    return torch.tensor(
        [math.comb(k, s) * rate**s * (1 - rate) ** (k - s) for s in range(k + 1)], dtype=torch.float64
    )


def count_labels(k: int, counts: Collection[int]) -> Tensor:
    """(k + 1,) labels of the counts 0..k: +1 for those in `counts`, a subset of 1..k.

    >>> count_labels(3, {1, 3}).tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """
    require_integer(k, "k", "PatternLaw", minimum=1)
    if not counts or not all(isinstance(count, int) and 1 <= count <= k for count in counts):
        raise ValueError(f"`counts` of `PatternLaw` must be whole numbers in 1..{k}, got {sorted(counts)}.")
    return torch.tensor([1.0 if s in counts else -1.0 for s in range(k + 1)], dtype=torch.float64)


def mixture_law(k: int, counts: Collection[int], p_o: float) -> PatternLaw:
    r"""The structured law: with probability p_o all patterns are fair coins, else the relevant ones agree.

    .. math:: \mathcal D_0 \text{ (probability } p_o\text{)}: \quad
              \tilde\phi_j \text{ fair coins for every } j

    .. math:: \mathcal D_1 \text{ (probability } 1 - p_o\text{)}: \quad
              \tilde\phi_A \text{ all 0 or all 1 with probability } \tfrac12 \text{ each}, \quad
              P(\tilde\phi_j = 1) = \frac{p_o}{2 - 2 p_o} \text{ outside } A

    Args:
        k: number of relevant patterns.
        counts: numbers of relevant patterns with label +1.
        p_o: weight of the fair coins, in [0, 1/2].

    Reading: :math:`P(\tilde\phi_j = 1) = p_o` overall outside A. For p_o < 1/2 the rate differs between the
        components, so background patterns are independent of the rest (A2) only for p_o = 1/2.

    Ref: features, Thm 2
    """
    require_number(p_o, "p_o", "PatternLaw", minimum=0, maximum=0.5)
    labels = count_labels(k, counts)
    ends = torch.tensor([0, k])
    size = k + 1
    return PatternLaw(
        probability=torch.cat(
            [p_o * binomial_weights(k, 0.5), torch.full((2,), (1 - p_o) / 2, dtype=torch.float64)]
        ),
        label=torch.cat([labels, labels[ends]]),
        background=torch.tensor([0.5] * size + [p_o / (2 - 2 * p_o)] * 2, dtype=torch.float64),
        component=torch.tensor([0] * size + [1] * 2),
        count=torch.cat([torch.arange(size), ends]),
        k=k,
    )


def independent_law(k: int, counts: Collection[int], p_relevant: float, p_background: float) -> PatternLaw:
    """All patterns independent, present with probability p_relevant in A and p_background outside.

    With both 1/2 this is the law without input structure.

    Args:
        k: number of relevant patterns.
        counts: numbers of relevant patterns with label +1.
        p_relevant: probability of a relevant pattern.
        p_background: probability of any other pattern.

    Ref: features, A1'
    """
    require_number(p_relevant, "p_relevant", "PatternLaw", minimum=0, maximum=1)
    require_number(p_background, "p_background", "PatternLaw", minimum=0, maximum=1)
    return PatternLaw(
        probability=binomial_weights(k, p_relevant),
        label=count_labels(k, counts),
        background=torch.full((k + 1,), p_background, dtype=torch.float64),
        component=torch.zeros(k + 1, dtype=torch.int64),
        count=torch.arange(k + 1),
        k=k,
    )


def codebook_law(codes: Tensor, labels: Tensor, p_background: float) -> PatternLaw:
    """The relevant patterns are one of c given codes, uniformly; the code carries the label.

    Args:
        codes: (c, k) rows of zeros and ones.
        labels: (c,) labels +1 or -1.
        p_background: probability of any other pattern.

    Ref: features, E.3.1
    """
    require_shape(codes, "codes", (None, None))
    require_labels(labels, len(codes))
    if not bool(((codes == 0) | (codes == 1)).all()):
        raise ValueError(
            f"`codes` of `PatternLaw` must hold 0 and 1 only, got {codes.unique().tolist()[:6]}."
        )
    require_number(p_background, "p_background", "PatternLaw", minimum=0, maximum=1)
    size = len(codes)
    return PatternLaw(
        probability=torch.full((size,), 1 / size, dtype=torch.float64),
        label=labels.double(),
        background=torch.full((size,), p_background, dtype=torch.float64),
        component=torch.arange(size),
        count=codes.sum(dim=1).long(),
        k=int(codes.shape[1]),
        codes=codes.double(),
    )
