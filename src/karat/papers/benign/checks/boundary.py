"""Phase boundaries: where accuracy is halfway between chance and the best, and how that moves with d."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from karat.core.statistics import crossing_point, fit_power_law
from karat.core.texts import number
from karat.papers.benign.bounds import implied_constant
from karat.papers.benign.bounds_hypotheses import robust_condition
from karat.papers.benign.checks.settings import conditions, made_up
from karat.papers.benign.experiments.axes import Axis, TrainingConfig, axis_value
from karat.papers.benign.experiments.boundary import BOUNDARY
from karat.papers.benign.experiments.evaluation import ErrorKind, Evaluation
from karat.papers.benign.experiments.maps import FIG1
from karat.papers.benign.experiments.mixture import MixtureConfig, Start
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import EXPONENT, Finding, Margin
from karat.study.hypothesis import Condition
from karat.study.judging import Undecided, certified, noted, one_constant, rate
from karat.study.run import Run, grouped

C = TypeVar("C", bound=TrainingConfig)
MixtureRuns = Sequence[Run[MixtureConfig, Evaluation]]

EXPONENTS: dict[ErrorKind, float] = {"clean": 0.25, "robust": 0.5}
"""Exponent of the signal in d that the paper names: d ~ |mu|^4 and d ~ |mu|^2."""

BETWEEN = Margin(1 / 8, "half-way between the two laws that the paper tells apart, d^(1/4) and d^(1/2)")
CONSTANT = Margin(
    1 / 4, "half-way to d ~ |mu|^2 instead of d ~ |mu|^4, where the constant would grow as d^(1/2)"
)


def halfway(flip_rate: float) -> float:
    """Return the accuracy halfway between chance and the best there is.

    Args:
        flip_rate: label noise, which no classifier predicts.

    >>> halfway(0.1)
    0.7
    """
    return (1 - flip_rate + 0.5) / 2


@dataclass(frozen=True)
class Crossings:
    """Where accuracy along an axis is halfway between 1/2 and 1 - flip_rate.

    Args:
        dimensions: (g,) increasing.
        crossed: (seeds, g) where.
    """

    dimensions: list[int]
    crossed: np.ndarray


def find_crossings(runs: Sequence[Run[C, Evaluation]], axis: Axis, kind: ErrorKind) -> Crossings:
    """Interpolate, on the probit scale, where every seed's accuracy is halfway in every dimension.

    Args:
        runs: a sweep over dimensions and the axis.
        axis: along which accuracy crosses.
        kind: of the accuracy.
    """
    if not runs:
        raise Undecided("no run of this start is there yet.")
    level, found = halfway(runs[0].config.flip_rate), {}
    for (seed, d), line in grouped(runs, lambda run: (run.seed, run.config.d)).items():
        points = sorted((axis_value(run.config, axis), 1 - run.result.test_error(kind)) for run in line)
        x, accuracy = [at for at, _ in points], [value for _, value in points]
        try:
            found[seed, d] = crossing_point(
                x, [accuracy], level, transform="probit", rising=axis == "mu"
            ).value
        except ValueError:  # accuracy stays on one side of the level, or crosses it the wrong way
            continue
    seeds, dimensions = (sorted({getter(run) for run in runs}) for getter in (_seed, _dimension))
    common = [d for d in dimensions if all((seed, d) in found for seed in seeds)]
    if len(common) < len(dimensions):
        # A size without a crossing is the likeliest to tell another story, so the others do not decide.
        without = ", ".join(number(d) for d in dimensions if d not in common)
        raise Undecided(
            f"the {kind} accuracy of some seed does not cross {level:g} on this grid: d = {without}."
        )
    table = np.array([[found[seed, d] for d in common] for seed in seeds]).reshape(len(seeds), len(common))
    return Crossings(common, table)


def _seed(run: Run[C, Evaluation]) -> int:
    return run.seed


def _dimension(run: Run[C, Evaluation]) -> int:
    return run.config.d


def boundary_exponent(runs: Sequence[Run[C, Evaluation]], kind: ErrorKind) -> Finding:
    r"""Judge the exponent p of :math:`\mu^\star \sim d^p` along the phase boundary.

    :math:`\mu^\star`, the signal at which accuracy is halfway, is interpolated per seed in every dimension;
    :math:`\log \mu^\star`, which is measured, is fitted against :math:`\log d`, which is chosen.

    Args:
        runs: a sweep over dimensions and signals.
        kind: of the accuracy.
    """
    crossings = find_crossings(runs, "mu", kind)
    finding = rate(crossings.dimensions, crossings.crossed, EXPONENTS[kind], BETWEEN)
    note = f"The {kind} boundary: |mu| ~ d^p with p = {finding}." if finding.measured is not None else ""
    return noted(finding, note)


def implied_constants(runs: MixtureRuns, kind: ErrorKind) -> tuple[Crossings, np.ndarray]:
    """Return the crossings of a boundary, and the C of Theorem 3.1 that each of them needs, (seeds, g).

    Args:
        runs: a sweep over dimensions and signals from the theorem's start.
        kind: of the accuracy.

    Ref: benign, Thm 3.1
    """
    crossings = find_crossings(runs, "mu", kind)
    error, base = 1 - halfway(runs[0].config.flip_rate), runs[0].config

    def needed(d: int, mu: float) -> float:
        return implied_constant(replace(base, d=d, mu=mu).setting(), error, robust=kind != "clean")

    columns = list(zip(crossings.dimensions, crossings.crossed.T, strict=True))
    table = [[needed(d, float(mu)) for mu in column] for d, column in columns]
    return crossings, np.array(table).T.reshape(len(crossings.crossed), len(columns))


def _one_constant(kind: ErrorKind) -> Callable[[MixtureRuns], Finding]:
    """One C serves all dimensions: the C that the half-way error needs does not grow with d."""

    def evaluate(runs: MixtureRuns) -> Finding:
        crossings, constants = implied_constants(_from(runs, "symmetric"), kind)
        return one_constant(crossings.dimensions, constants, "at most", CONSTANT)

    return evaluate


_ENDS: dict[ErrorKind, str] = {"robust": "attack", "certified": "certificate"}


def _bracketed_constant(runs: MixtureRuns) -> Finding:
    """The same for the true robust error, which lies between an attack's and a certificate's.

    The certificate can show that no growing C is needed, the attack that one is.
    """
    own = _from(runs, "symmetric")
    if any(run.result.certified_error is None for run in own):
        raise Undecided("some runs have no certified error: it needs l2 attacks on the exact engine.")
    slopes, notes = {}, []
    for kind, name in _ENDS.items():
        crossings, constants = implied_constants(own, kind)
        if len(crossings.dimensions) < 3:
            raise Undecided(f"fewer than three dimensions have a crossing of the {name}'s error.")
        slopes[kind] = [fit_power_law(crossings.dimensions, row).exponent for row in constants]
        means = ", ".join(number(value) for value in constants.mean(axis=0).round(3))
        notes.append(f"C at half-way error by the {name}: {means} over d.")
    return noted(
        certified(slopes["robust"], slopes["certified"], CONSTANT.size, EXPONENT, ordered=False), *notes
    )


def _from(runs: MixtureRuns, start: Start) -> list[Run[MixtureConfig, Evaluation]]:
    return [run for run in runs if run.config.start == start]


def _law(exponent: float) -> Callable[[MixtureConfig], Evaluation]:
    r"""A made-up result whose boundary is :math:`\mu^\star = 2 (d/1000)^p`."""

    def result(config: MixtureConfig) -> Evaluation:
        error = 0.1 + 0.4 / (1 + (config.mu / (2 * (config.d / 1000) ** exponent)) ** 8)
        return Evaluation(
            train_loss=0.01, train_error=0.0, clean_error=error, robust_error=error, certified_error=error
        )

    return result


def _robust_conditions(config: MixtureConfig) -> list[Condition]:
    return [*conditions(config), robust_condition(config.setting())]


_ASCENT = Control(
    name="gradient ascent",
    removes="sign",
    settings={"direction": "ascent"},
    cheap={"m": 50, "steps": 100, "n_test": 200},
    why="Steps that raise the loss learn the wrong side of the signal: accuracy never becomes halfway.",
    unanswered=True,
)
_UNTRAINED = Control(
    name="no training",
    removes="training",
    settings={"lr": 1e-9, "steps": 1},
    cheap={"m": 50, "n_test": 200},
    why="Without training accuracy stays at chance in every dimension: there is no boundary.",
    unanswered=True,
)
_FIG1_READING = (
    "The exponent of the half-way signal in d, measured from the paper's start: what is measured is fitted "
    "against what is chosen."
)
_EXTRAPOLATED = (
    "No cell near the half-way error can meet (B2), so this is the law of the bound where nobody proved it; "
    "one-sided, for the theorem bounds the error from above."
)

_boundary_check = partial(
    Check,
    experiment=BOUNDARY,
    satisfied=made_up(BOUNDARY, _law(0.25)),
    violated=made_up(BOUNDARY, _law(0.45)),
    controls=(_ASCENT,),
)

CHECKS = (
    Check(
        claim_id="benign.fig1",
        experiment=FIG1,
        evaluate=lambda runs: boundary_exponent(_from(runs, "pytorch"), "robust"),
        satisfied=made_up(FIG1, _law(0.5)),
        violated=made_up(FIG1, _law(0.2)),
        controls=(_UNTRAINED,),
        reported="robust accuracy changes at d ~ |mu|^2",
        reading=_FIG1_READING,
        headline=True,
    ),
    Check(
        claim_id="benign.fig1.clean",
        experiment=FIG1,
        evaluate=lambda runs: boundary_exponent(_from(runs, "pytorch"), "clean"),
        satisfied=made_up(FIG1, _law(0.25)),
        violated=made_up(FIG1, _law(0.5)),
        controls=(_UNTRAINED,),
        reported="clean accuracy changes at d ~ |mu|^4",
        reading=_FIG1_READING,
        headline=True,
    ),
    _boundary_check(
        claim_id="benign.thm3.1.2",
        evaluate=_one_constant("clean"),
        conditions=conditions,
        reading="c = 1/2 (concentration of strongly log-concave laws); the hidden C is one constant over d: "
        "what the half-way error needs must not grow.",
        headline=True,
    ),
    _boundary_check(
        claim_id="benign.thm3.1.3",
        evaluate=_bracketed_constant,
        conditions=_robust_conditions,
        reading="c = 1/2; C as in part 2. The robust error lies between PGD's and a certificate's, labels "
        "are flipped exactly, not drawn.",
        headline=True,
    ),
    _boundary_check(
        claim_id="benign.thm3.1.boundary.clean",
        evaluate=_one_constant("clean"),
        reading=_EXTRAPOLATED,
        headline=True,
    ),
    _boundary_check(
        claim_id="benign.thm3.1.boundary.robust",
        evaluate=_one_constant("robust"),
        reading=f"{_EXTRAPOLATED} Robust error by PGD.",
    ),
)
