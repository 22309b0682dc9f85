"""Means over the runs of a check."""

from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """Return the mean; of no values it is an ArithmeticError, which a claim reports as too few records.

    Args:
        values: one per run.

    >>> mean([1.0, 2.0, 6.0])
    3.0
    """
    return sum(values) / len(values)
