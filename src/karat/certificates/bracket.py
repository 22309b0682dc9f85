"""Robust error as a bracket: strongest attack below, certificate above, sampling error around both."""

from collections.abc import Sequence
from dataclasses import dataclass

from karat.certificates.certificate import Certificate, Status
from karat.core.statistics import Interval, clopper_pearson


@dataclass(frozen=True)
class ErrorBracket:
    """Robust error of a sample set and of its distribution.

    Args:
        broken: number of samples with a witness.
        ties: number of samples whose worst margin is zero.
        undecided: number of samples of which neither is known.
        trials: number of samples.
        low: least robust error that these samples can have.
        high: largest robust error that these samples can have.
        interval: covers the robust error of the distribution with at least its level.
    """

    broken: int
    ties: int
    undecided: int
    trials: int
    low: float
    high: float
    interval: Interval


def bracket(certificate: Certificate, level: float = 0.95) -> ErrorBracket:
    """The bracket [broken, broken + tie + undecided] / n with a Clopper-Pearson interval around it.

    The lower limit comes from the broken samples alone, the upper one from all that are not proven robust:
    each end at its own (1 - level) / 2, so the interval covers whatever the undecided samples are.

    >>> import torch
    >>> from karat.certificates.certificate import Certificate
    >>> zero = torch.zeros(4)
    >>> found = bracket(Certificate(zero, zero, ["robust", "robust", "broken", "undecided"], zero))
    >>> found.low, found.high
    (0.25, 0.5)
    """
    return bracket_of(certificate.status, level)


def bracket_of(statuses: Sequence[Status], level: float = 0.95) -> ErrorBracket:
    """The bracket of a list of statuses, see `bracket`."""
    broken, n = statuses.count("broken"), len(statuses)
    above = n - statuses.count("robust")
    interval = Interval(clopper_pearson(broken, n, level).low, clopper_pearson(above, n, level).high, level)
    return ErrorBracket(
        broken, statuses.count("tie"), statuses.count("undecided"), n, broken / n, above / n, interval
    )
