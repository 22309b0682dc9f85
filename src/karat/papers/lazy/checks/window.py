"""The hypotheses that the theorem and its lemmas share: how wide the net must be, and how wide it may be."""

import math
from collections.abc import Iterable, Sequence

from karat.papers.lazy.bounds import width_window, window_opens
from karat.study.hypothesis import Condition, at_least, not_checkable


def width_conditions(d: int, m: int, p_fail: float) -> Sequence[Condition]:
    """Return the width requirement of Theorem 3.1 at one size.

    Args:
        d: input dimension.
        m: width.
        p_fail: gamma in the paper.

    Ref: lazy, Thm 3.1
    """
    low, high = width_window(d)
    return [
        at_least("m >= d^2.4", m, low),
        enough_neurons(m, p_fail),
        not_checkable(
            "m <= C4 exp(d^0.24)",
            f"the constant C4 is not given; at d = {d} it must be >= {m / high:.3g} (with C4 = 1 no m fits "
            f"below d = {window_opens():.2g})",
        ),
    ]


def upper_end(sizes: Iterable[tuple[int, int]]) -> str:
    """Say which constant the upper end of the theorem's window needs to let all sizes in.

    Args:
        sizes: (d, m) of every run.
    """
    largest = max(m / width_window(d)[1] for d, m in sizes)
    return f"m <= C4 exp(d^0.24) at all of these sizes asks for C4 >= {largest:.3g}."


def enough_neurons(m: int, p_fail: float) -> Condition:
    """Return the requirement that the width exceeds the logarithm of the failure probability.

    Args:
        m: width.
        p_fail: gamma in the paper.
    """
    largest = m / math.log(1 / p_fail)
    return not_checkable(
        "m >= C3 log(1/p_fail)", f"the constant C3 is not given; it may be up to {largest:.3g} here"
    )
