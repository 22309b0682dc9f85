"""Phase boundaries: where accuracy is halfway between chance and the best, and how that moves with d."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from karat.core.statistics import crossing_point, fit_power_law
from karat.papers.benign.bounds import implied_constant
from karat.papers.benign.checks.predictions import halfway
from karat.papers.benign.checks.settings import Evaluate, unmet_on_grid
from karat.papers.benign.experiments.axes import Axis, TrainingConfig, axis_value
from karat.papers.benign.experiments.boundary import BOUNDARY
from karat.papers.benign.experiments.evaluation import ErrorKind, Evaluation
from karat.papers.benign.experiments.maps import FIG1
from karat.papers.benign.experiments.mixture import MixtureConfig, Start
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
from karat.study.evaluate import lower_bound_finding, tight_finding
from karat.study.run import Run, grouped

C = TypeVar("C", bound=TrainingConfig)


@dataclass(frozen=True)
class Crossings:
    """Where accuracy along an axis is halfway between 1/2 and 1 - flip_rate.

    Args:
        per_seed: seed -> (d, crossing) of every dimension in which the seed crosses, d increasing.
        without: dimensions in which some seed does not cross.
    """

    per_seed: dict[int, list[tuple[int, float]]]
    without: set[int]


def find_crossings(runs: Sequence[Run[C, Evaluation]], axis: Axis, kind: ErrorKind) -> Crossings:
    """Interpolate, on the probit scale, where every seed's accuracy is halfway in every dimension.

    Args:
        runs: a sweep over dimensions and the axis.
        axis: along which accuracy crosses.
        kind: of the accuracy.
    """
    if not runs:
        raise ValueError("no run of this start is there yet.")
    level = halfway(runs[0].config.flip_rate)
    per_seed: dict[int, list[tuple[int, float]]] = {}
    without = set()
    lines = grouped(runs, lambda run: (run.seed, run.config.d))
    for seed, d in sorted(lines):
        line = sorted(
            (axis_value(run.config, axis), 1 - run.result.test_error(kind)) for run in lines[seed, d]
        )
        x, accuracy = [at for at, _ in line], [value for _, value in line]
        try:
            crossing = crossing_point(x, [accuracy], level, transform="probit")
        except ValueError:  # accuracy stays on one side of the level
            without.add(d)
            continue
        per_seed.setdefault(seed, []).append((d, crossing.value))
    return Crossings(per_seed, without)


def boundary_exponent(
    runs: Sequence[Run[MixtureConfig, Evaluation]], kind: ErrorKind, predicted: float | None, start: Start
) -> Finding:
    r"""Return the exponent p of :math:`d \sim (\mu^\star)^p` along the phase boundary.

    One boundary per seed: :math:`\mu^\star`, the signal at which accuracy is halfway, is interpolated in
    every dimension, then :math:`\log d` is fitted against :math:`\log \mu^\star`. Dimensions without a
    crossing on the grid are named and left out.

    Args:
        runs: a sweep over dimensions and signals.
        kind: of the accuracy.
        predicted: the exponent, or None for that of the theorem's bound at the same signals. An upper bound
            on the error is a lower bound on the dimension, so it is only required to be reached.
        start: which of the runs to look at.
    """
    from_start = [run for run in runs if run.config.start == start]
    crossings = find_crossings(from_start, "mu", kind)
    # A slope with a residual needs three points.
    curves = [points for points in crossings.per_seed.values() if len(points) >= 3]
    if not curves:
        raise ValueError("fewer than three dimensions have a crossing on this grid.")
    exponents = [
        fit_power_law([mu for _, mu in points], [d for d, _ in points]).exponent for points in curves
    ]
    if predicted is not None:
        finding = tight_finding(exponents, predicted, resolution=0.5)
    else:
        signals = [mu for points in curves for _, mu in points]
        finding = lower_bound_finding(exponents, bound_exponent(from_start[0].config, kind, signals))
    listed = ", ".join(map(str, sorted(crossings.without)))
    return with_caveat(finding, f"No crossing on the grid at d = {listed}." if listed else "")


def bound_exponent(config: MixtureConfig, kind: ErrorKind, signals: Sequence[float]) -> float:
    r"""Return the exponent of d in :math:`\|\mu\|` at which the bound of Theorem 3.1 is halfway.

    The bound depends on :math:`C^2 d`, so the dimension that solves it is d times the square of the implied
    constant, and the exponent is the same for every C.

    Args:
        config: everything but the signal.
        kind: whether the clean or the robust bound.
        signals: over which the exponent is fitted.

    Ref: benign, Thm 3.1
    """
    error = 1 - halfway(config.flip_rate)
    dimensions = []
    for mu in signals:
        setting = replace(config, mu=mu).setting()
        dimensions.append(setting.d * implied_constant(setting, error, robust=kind == "robust") ** 2)
    return log_slope(list(zip(signals, dimensions, strict=True)))


def log_slope(points: Sequence[tuple[float, float]]) -> float:
    r"""Return the slope of :math:`\log y` in :math:`\log x`; two points are enough.

    Args:
        points: pairs (x, y).

    >>> round(log_slope([(1.0, 3.0), (2.0, 12.0)]), 10)
    2.0
    """
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


def _exponent(kind: ErrorKind, predicted: float | None, start: Start) -> Evaluate[MixtureConfig, Evaluation]:
    return lambda runs: boundary_exponent(runs, kind, predicted, start)


CHECKS = (
    Check(
        claim_id="benign.fig1",
        experiment=FIG1,
        evaluate=_exponent("robust", 2.0, "pytorch"),
        reported="robust accuracy changes at d ~ |mu|^2",
        reading="The exponent of d in |mu| at half-way accuracy, measured from the paper's start.",
        headline=True,
    ),
    Check(
        claim_id="benign.fig1.clean",
        experiment=FIG1,
        evaluate=_exponent("clean", 4.0, "pytorch"),
        reported="clean accuracy changes at d ~ |mu|^4",
        reading="The exponent of d in |mu| at half-way accuracy, measured from the paper's start.",
        headline=True,
    ),
    Check(
        claim_id="benign.thm3.1.boundary.clean",
        experiment=BOUNDARY,
        evaluate=_exponent("clean", None, "symmetric"),
        hypotheses=unmet_on_grid,
        reading="Theorem 3.1(2) depends on n |mu|^4 / d only; an upper bound on the error, so one-sided.",
        headline=True,
    ),
    Check(
        claim_id="benign.thm3.1.boundary.robust",
        experiment=BOUNDARY,
        evaluate=_exponent("robust", None, "symmetric"),
        hypotheses=unmet_on_grid,
        reading="One-sided, against the exponent at which the bound itself is halfway over the same |mu|.",
    ),
)
