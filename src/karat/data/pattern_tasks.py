"""The labelling tasks on patterns: parity, majority, interval and hidden representation."""

import torch
from torch import Tensor

from karat.core.checks import require_integer
from karat.data.pattern_law import PatternLaw, codebook_law, independent_law, mixture_law


def parity_law(k: int, *, p_o: float = 0.5, structured: bool = True) -> PatternLaw:
    r"""The label is +1 iff an odd number of relevant patterns is present, :math:`P = \{1, 3, 5, \dots\}`.

    Args:
        k: number of relevant patterns, odd when structured.
        p_o: weight of the fair coins in the mixture, in [0, 1/2].
        structured: False for fair coins only, where patterns carry no information on the label.

    Example:
        >>> parity_law(5).label_corr, parity_law(5, structured=False).label_corr
        (0.25, 0.0)

    Ref: features, Example 2
    """
    require_integer(k, "k", "parity_law", minimum=1)
    if structured and k % 2 == 0:
        raise ValueError(f"`k` of `parity_law` must be odd so that all-zeros and all-ones differ, got {k}.")
    counts = range(1, k + 1, 2)
    return mixture_law(k, counts, p_o) if structured else independent_law(k, counts, 0.5, 0.5)


def majority_law(k: int, *, p_o: float = 0.5, structured: bool = True) -> PatternLaw:
    r"""The label is +1 iff more than half of the relevant patterns are present, :math:`P = \{i : i > k/2\}`.

    Reading: the paper states the label only; the law of the patterns is the one of the parity task.

    Args:
        k: number of relevant patterns; the classes are balanced for odd k.
        p_o: weight of the fair coins in the mixture, in [0, 1/2].
        structured: False for fair coins only.

    Ref: features, Example 1
    """
    require_integer(k, "k", "majority_law", minimum=1)
    counts = range(k // 2 + 1, k + 1)
    return mixture_law(k, counts, p_o) if structured else independent_law(k, counts, 0.5, 0.5)


def interval_law(
    k: int,
    *,
    low: int,
    high: int,
    p_relevant: float = 2 / 3,
    p_background: float = 0.5,
    structured: bool = True,
) -> PatternLaw:
    r"""The label is +1 iff :math:`\text{low} \le \sum_A \tilde\phi_i \le \text{high}`; independent patterns.

    Args:
        k: number of relevant patterns.
        low: smallest count with label +1, at least 1.
        high: largest count with label +1, at most k.
        p_relevant: probability of a relevant pattern.
        p_background: probability of any other pattern.
        structured: False for fair coins everywhere.

    Reading: the printed case k = high = 30, low = 20 is a halfspace and not balanced:

        >>> round(interval_law(30, low=20, high=30).class_probability(), 3)
        0.585

    Ref: features, E.1.2
    """
    require_integer(k, "k", "interval_law", minimum=1)
    require_integer(low, "low", "interval_law", minimum=1)
    require_integer(high, "high", "interval_law", minimum=low)
    if high > k:
        raise ValueError(f"`high` of `interval_law` must be at most `k` = {k}, got {high}.")
    rates = (p_relevant, p_background) if structured else (0.5, 0.5)
    return independent_law(k, range(low, high + 1), *rates)


def hidden_representation_law(
    k: int, *, codes_per_label: int, generator: torch.Generator, p_background: float = 0.5
) -> PatternLaw:
    """The relevant patterns are one of 2 codes_per_label random codes; half of the codes have label +1.

    Args:
        k: number of relevant patterns.
        codes_per_label: codes of each label.
        generator: source of the codes.
        p_background: probability of a pattern that is not relevant.

    Ref: features, E.3.1
    """
    require_integer(codes_per_label, "codes_per_label", "hidden_representation_law", minimum=1)
    codes = random_codes(2 * codes_per_label, k, generator=generator)
    labels = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat_interleave(codes_per_label)
    return codebook_law(codes, labels, p_background)


def random_codes(size: int, k: int, *, generator: torch.Generator) -> Tensor:
    r"""Draw different codes in :math:`\{0, 1\}^k`, uniformly without replacement: (size, k) in float64.

    Args:
        size: how many.
        k: length of a code.
        generator: of the draw.

    >>> random_codes(4, 2, generator=torch.Generator().manual_seed(0)).sum().item()
    4.0
    """
    require_integer(size, "size", "random_codes", minimum=1)
    require_integer(k, "k", "random_codes", minimum=1)
    if size > 2**k:
        raise ValueError(f"`size` of `random_codes` must be at most 2^k = {2**k}, got {size}.")
    if k <= 20:
        chosen = torch.randperm(2**k, generator=generator)[:size]
        return ((chosen[:, None] >> torch.arange(k)) & 1).double()
    codes = torch.randint(0, 2, (size, k), generator=generator)
    while len(codes.unique(dim=0)) < size:
        codes = torch.randint(0, 2, (size, k), generator=generator)
    return codes.double()
