"""Pattern-dictionary data: an input is the sum of its patterns, its label a function of a few of them."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_shape
from karat.core.ranges import NonNegative, checked
from karat.data.dictionaries import draw_dictionary, is_identity
from karat.data.normaliser import Normaliser
from karat.data.pattern_law import PatternLaw
from karat.data.samples import Samples


@dataclass(frozen=True, kw_only=True, eq=False)
@checked
class PatternDictionary:
    r"""Inputs made of dictionary patterns, with a label that depends on the relevant ones.

    .. math:: \tilde x = M \tilde\phi + \zeta, \qquad \zeta \sim N(0, \sigma_\zeta^2 I), \qquad
              y = +1 \iff \sum_{i \in A} \tilde\phi_i \in P

    .. math:: x = (\tilde x - \mathbb{E} \tilde x) / \tilde\sigma, \qquad
              \tilde\sigma^2 = \sum_i \operatorname{Var}(\tilde x_i)

    Symbols: phi~ (z of the samples, zeros and ones), A (A), P (the counts of the law), sigma~ (scale),
    gamma (label_corr).

    Args:
        M: (d, D) dictionary.
        A: (k,) places of the relevant patterns, increasing.
        law: law of the patterns and the label.
        sigma_zeta: standard deviation of the input noise.
        normalise: whether samples are x (exact mean and variance of the law) or the raw :math:`\tilde x`, to
            be normalised by a `Normaliser` fitted on the training sample.

    Reading: the noise of a normalised input is :math:`\zeta / \tilde\sigma`. For an incoherent M the total
        variance is computed from the full covariance of the patterns, not from the sum of their variances.

    Example:
        >>> from karat.data import parity_law
        >>> generator = torch.Generator().manual_seed(0)
        >>> model = PatternDictionary.draw(parity_law(5, p_o=0.5), d=50, D=20, generator=generator)
        >>> round(model.scale, 4), model.label_corr
        (2.2361, 0.25)
        >>> model.sample(8, generator=generator).x.shape
        torch.Size([8, 50])

    Ref: features, Eq (1)
    """

    M: Tensor
    A: Tensor
    law: PatternLaw
    sigma_zeta: NonNegative = 0.0
    normalise: bool = True

    def __post_init__(self) -> None:
        require_shape(self.M, "M", (None, None))
        require_shape(self.A, "A", (self.law.k,))
        if len(self.A.unique()) != self.k or int(self.A.min()) < 0 or int(self.A.max()) >= self.D:
            raise ValueError(
                f"`A` of `PatternDictionary` must hold {self.k} different places in 0..{self.D - 1}, "
                f"got {self.A.tolist()}."
            )
        if self.normalise and self.scale == 0:
            raise ValueError("`law` of `PatternDictionary` must have a positive variance to be normalised.")

    @classmethod
    def draw(
        cls,
        law: PatternLaw,
        *,
        d: int,
        D: int,
        generator: torch.Generator,
        dictionary: str = "orthonormal",
        negative_rate: float | None = None,
        sigma_zeta: float = 0.0,
        normalise: bool = True,
    ) -> Self:
        """Draw the dictionary and the relevant places once.

        Args:
            law: law of the patterns and the label.
            d: input dimension.
            D: number of patterns.
            generator: source of M and A.
            dictionary: a key of `DICTIONARIES`.
            negative_rate: P(y = -1), the law given each label unchanged; as the law has it when left out.
            sigma_zeta: standard deviation of the input noise.
            normalise: whether samples are normalised.
        """
        require_integer(d, "d", "PatternDictionary", minimum=1)
        require_integer(D, "D", "PatternDictionary", minimum=1)
        if law.k > D:
            raise ValueError(f"`k` of `PatternDictionary` must be at most `D` = {D}, got {law.k}.")
        return cls(
            M=draw_dictionary(dictionary, d, D, generator=generator),
            A=torch.randperm(D, generator=generator)[: law.k].sort().values,
            law=law if negative_rate is None else law.with_negative_rate(negative_rate),
            sigma_zeta=sigma_zeta,
            normalise=normalise,
        )

    @property
    def d(self) -> int:
        """Input dimension."""
        return int(self.M.shape[0])

    @property
    def D(self) -> int:
        """Number of patterns."""
        return int(self.M.shape[1])

    @property
    def k(self) -> int:
        """Number of relevant patterns."""
        return self.law.k

    @property
    def label_corr(self) -> float:
        """gamma, the correlation of a relevant pattern with the label."""
        return self.law.label_corr

    @property
    def relevant_sum(self) -> Tensor:
        r"""(d,) the effective feature :math:`\sum_{j \in A} M_j`."""
        return self.M[:, self.A].sum(dim=1)

    @cached_property
    def _order(self) -> Tensor:
        """(D,) for each pattern its position in the order "relevant ones first" of the law."""
        background = torch.ones(self.D, dtype=torch.bool)
        background[self.A] = False
        return torch.cat([self.A, background.nonzero().squeeze(1)]).argsort()

    @cached_property
    def pattern_mean(self) -> Tensor:
        r"""(D,) :math:`\mathbb{E} \tilde\phi`."""
        return self.law.moments(self.D)[0][self._order]

    @cached_property
    def scale(self) -> float:
        r""":math:`\tilde\sigma`, the root of the total variance of :math:`\tilde x`."""
        covariance = self.law.moments(self.D)[1][self._order][:, self._order]
        gram = self.M.double().T @ self.M.double()
        return math.sqrt(float((covariance * gram).sum()) + self.d * self.sigma_zeta**2)

    @cached_property
    def normaliser(self) -> Normaliser:
        r"""The exact normalisation of raw inputs :math:`\tilde x`."""
        return Normaliser(mean=self.M.double() @ self.pattern_mean, scale=self.scale)

    @property
    def class_mean_difference(self) -> Tensor:
        r"""(d,) half the difference of the class means, the feature that :math:`\mathbb{E}[y x]` points to.

        .. math:: \tfrac12 \big( \mathbb{E}[x \mid y = 1] - \mathbb{E}[x \mid y = -1] \big)
        """
        half = (self.law.given(1) - self.law.given(-1)) / 2
        difference = torch.full((self.D,), float(half @ self.law.background), dtype=torch.float64)
        difference[self.A] = half @ self.law.presence
        return self.M.double() @ difference / (self.scale if self.normalise else 1.0)

    @cached_property
    def _identity(self) -> bool:
        return is_identity(self.M)

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Samples:
        r"""Draw labelled points; `z` holds the patterns and `component` the part of the mixture.

        Args:
            n: how many.
            generator: of the draw.
            dtype: of the tensors.
        """
        require_integer(n, "n", "PatternDictionary.sample", minimum=1)
        cell, patterns = self.law.sample(n, self.D, generator=generator)
        z = patterns[:, self._order].to(dtype)
        scale = self.scale if self.normalise else 1.0
        phi = (z - self.pattern_mean.to(dtype)) / scale if self.normalise else z.clone()
        x = phi if self._identity else phi @ self.M.to(dtype).T
        if self.sigma_zeta > 0:
            noise = torch.randn(n, self.d, generator=generator, dtype=dtype)
            x.add_(noise, alpha=self.sigma_zeta / scale)
        return Samples.clean(x, self.law.label[cell].to(dtype), z=z, component=self.law.component[cell])
