"""Robust error as a bracket: strongest attack below, certificate above, sampling error around both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from karat.certificates.certificate import Certificate, Status
from karat.certificates.curve import status_curve
from karat.certificates.ladder import Listener, certify
from karat.core.ball import Ball
from karat.core.statistics import Interval, clopper_pearson


@dataclass(frozen=True)
class ErrorBracket:
    """Robust error of a sample set and of its distribution.

    Args:
        broken, undecided, ties, trials: counts; low, high: robust error of these samples lies in [low, high];
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


def robust_error_bracket(
    model: Any,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    seconds_per_sample: float = 3.0,
    *,
    level: float = 0.95,
    generator: torch.Generator | None = None,
) -> ErrorBracket:
    """Certify and bracket in one call, for experiments."""
    return bracket(certify(model, x, y, ball, seconds_per_sample, generator=generator), level)


def bracket_curve(
    model: Any,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    radii: Sequence[float],
    seconds_per_sample: float = 3.0,
    *,
    level: float = 0.95,
    generator: torch.Generator | None = None,
    listener: Listener | None = None,
) -> list[ErrorBracket]:
    """Brackets at increasing radii; see `status_curve` for what is carried from one radius to another."""
    statuses = status_curve(
        model,
        x,
        y,
        ball,
        radii,
        seconds_per_sample,
        generator=generator,
        listener=listener,
    )
    return [bracket_of(line, level) for line in statuses]
