"""Checks on robust coupling and on the growth of single neurons: one hidden constant over d."""

from collections.abc import Callable, Sequence
from typing import Any

from karat.papers.purification import bounds_robust_coupling as bounds
from karat.papers.purification.bounds_robust_coupling import CouplingSizes
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import halfway
from karat.papers.purification.experiments.robust_coupling import (
    COUPLING,
    COUPLING_INF,
    NEAR,
    NEAR_INF,
    WIDE,
    CouplingConfig,
    CouplingResult,
    sizes,
)
from karat.papers.purification.experiments.robust_coupling_measures import CouplingMeasures
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.experiment import Experiment
from karat.study.finding import Finding
from karat.study.hypothesis import Condition, at_most, is_so
from karat.study.judging import Undecided, all_of, noted, one_constant
from karat.study.run import Run, examples

CouplingRun = Run[CouplingConfig, CouplingResult]
Formula = Callable[[CouplingSizes], float]
Value = Callable[[CouplingMeasures], float]

LEAST = 1e-12
"""What is smaller is rounding."""


def near(runs: Sequence[CouplingRun]) -> list[CouplingRun]:
    """The runs whose radius is below the threshold.

    Args:
        runs: all of an experiment.
    """
    found = [run for run in runs if run.config.tau < run.config.threshold]
    if not found:
        raise Undecided("no run at a radius below the threshold has finished")
    return found


def of_bound(run: CouplingRun, value: Value, formula: Formula) -> float:
    """Measured over formula, at the worse end of adversarial training.

    Args:
        run: of one size.
        value: what is measured of an iterate.
        formula: its bound.
    """

    def ratio(measures: CouplingMeasures) -> float:
        return max(value(measures), LEAST) / formula(sizes(run.config, run.result.sigma_rho, measures))

    return max(ratio(measures) for measures in _iterates(run))


def within(runs: Sequence[CouplingRun], value: Value, formula: Formula, rival: float, name: str) -> Finding:
    """Measured over formula is one constant over d.

    Args:
        runs: of one radius.
        value: what is measured of an iterate.
        formula: its bound.
        rival: by how much the exponent of a rival differs.
        name: of the rival.
    """
    d, table = curves(runs, lambda run: float(run.config.d), lambda run: of_bound(run, value, formula))
    last = sum(row[-1] for row in table) / len(table)
    return noted(
        one_constant(d, table, "at most", halfway(rival, name)), f"At the largest d {last:.2g} of the bound."
    )


def _iterates(run: CouplingRun) -> tuple[CouplingMeasures, CouplingMeasures]:
    return run.result.clean, run.result.robust


def _frozen(runs: Sequence[CouplingRun]) -> Finding:
    """Frozen gates: both displays; a deviation linear in tau = k^-0.65 would grow like d^0.26."""
    inside, rival = near(runs), (0.26, "a deviation linear in tau")
    return all_of(
        within(inside, lambda m: m.frozen, bounds.frozen_gates, *rival),
        within(inside, lambda m: m.frozen, bounds.frozen_gates_later, *rival),
    )


def _pure(runs: Sequence[CouplingRun]) -> Finding:
    """Pure parts: both displays; k pushes that add up would exceed sqrt(k), those of sqrt(d) neurons k."""
    inside = near(runs)
    rival = (0.2, "pushes that add up") if inside[0].config.p == 2 else (0.1, "pushes on sqrt(d) neurons")
    return all_of(
        within(inside, lambda m: m.pure, bounds.pure_part, *rival),
        within(inside, lambda m: m.pure, bounds.pure_part_later, *rival),
    )


_STEP = (0.2, "inputs of length one whenever the neuron wakes")


def _moved(runs: Sequence[CouplingRun]) -> Finding:
    """What some l and delta reach, radius by radius: any one of them can refute a bound for all."""
    radii = sorted({run.config.radius_power for run in runs})
    groups = ([run for run in runs if run.config.radius_power == power] for power in radii)
    return all_of(*(within(group, lambda m: m.reached, bounds.neuron_movement, *_STEP) for group in groups))


def _moved_inside(runs: Sequence[CouplingRun]) -> Finding:
    """A certificate for all l and delta, at the radius below the threshold."""
    return within(near(runs), lambda m: m.certified, bounds.neuron_movement, *_STEP)


def _asleep(run: CouplingRun) -> list[Condition]:
    """That no perturbation alone opens a gate, and that dense parts are short."""
    longest = max(measures.length for measures in _iterates(run))
    r = max(measures.r for measures in _iterates(run))
    return [
        at_most(
            "Lem F.11: tau = o(b/(Xi2^2 + r')), as tau |w_i| <= b",
            run.config.tau * longest,
            run.config.threshold,
        ),
        at_most("Lem F.11: r <= 1", r, 1.0),
    ]


def _short(run: CouplingRun) -> list[Condition]:
    return _asleep(run)[1:]


def _nothing(config: CouplingConfig) -> list[Condition]:
    """The lemmas ask for nothing beside the data."""
    return [is_so("Sec 6.2: pure features as the start, noise b (logloglog d)^3/log d", config.sigma_x == 0)]


NO_BALL = Control(
    name="no ball",
    removes="ball",
    settings={"reach": 0.5, "robust_time": 0.0},
    cheap={"clean_steps": 60, "batch": 8, "n_test": 20},
    why="Perturbations sqrt(k) times as long as the radius of the bound open the gates of sleeping neurons.",
)

FAR = Control(
    name="far beyond the ball",
    removes="ball",
    settings={"reach": 1.3, "clean_steps": 0, "robust_time": 0.0},
    cheap={"batch": 8, "n_test": 20},
    why="Perturbations above the threshold in every feature keep the gates of pure features open.",
)


def _cells(config: CouplingConfig, power: float, wide: float, **values: float) -> list[CouplingRun]:
    """Three sizes; measured over bound changes like d^power, or d^wide at a wide radius."""
    cells: list[tuple[CouplingConfig, CouplingResult]] = []
    nothing: dict[str, float] = {}
    for d in (10**7, 10**8, 10**9):
        for changes, exponent in ((nothing, power), (WIDE, wide)):
            at = CouplingConfig(**(vars(config) | {"d": d} | changes))
            net: dict[str, Any] = {"alpha": 1.5, "length": 0.0, "r": 0.1, "longest": 0.1}
            size = sizes(at, 0.002, made_up(CouplingMeasures, **net))
            for name, share in values.items():
                formula = {
                    "frozen": min(bounds.frozen_gates(size), bounds.frozen_gates_later(size)),
                    "pure": min(bounds.pure_part(size), bounds.pure_part_later(size)),
                }.get(name, bounds.neuron_movement(size))
                net[name] = share * formula * (d / 1e7) ** exponent
            cells.append((at, made_up(CouplingResult, sigma_rho=0.002, clean=net, robust=net)))
    return examples(*cells)


def _check(
    claim_id: str,
    experiment: Experiment[CouplingConfig, CouplingResult],
    evaluate: Callable[[Sequence[CouplingRun]], Finding],
    observed: Callable[[CouplingRun], list[Condition]],
    measured: str,
    reading: str,
    control: Control = NO_BALL,
) -> Check[CouplingConfig, CouplingResult]:
    config = NEAR if experiment is COUPLING else NEAR_INF
    return Check(
        claim_id=claim_id,
        experiment=experiment,
        evaluate=evaluate,
        conditions=_nothing,
        observed=observed,
        satisfied=_cells(config, -0.05, -0.05, **{measured: 0.5}),
        violated=_cells(config, 0.6, 0.6, **{measured: 0.5}),
        controls=(control,),
        reading=reading,
    )


_FROZEN = (
    "Bounded is the sum over neurons of their mean changes, as in (F.4), in closed form over rho, for the "
    "worst of seven perturbations per input and the worse of the first and the last iterate; Xi2 = "
    "d^(2 gamma c0). One constant over three d or more, with a threshold just below the small codes."
)
_PURE = "The largest over the whole ball, for delta may look at rho here: g_t(0; .) is linear in delta."
_PRINTED = (
    "Its display has no condition on tau: at a radius above the threshold, too. Reached by l = 1 with delta "
    "along the neuron, and by l = sign(x_i) without delta, on neurons of one feature."
)
_INSIDE = (
    "A bound for all l and delta at once, on neurons of one feature: no delta opens the gate more often than "
    "the one along the neuron."
)

CHECKS = (
    _check("purification.lemF.11", COUPLING, _frozen, _asleep, "frozen", _FROZEN),
    _check("purification.lemF.12", COUPLING, _pure, _short, "pure", _PURE),
    _check("purification.lemF.13", COUPLING_INF, _frozen, _asleep, "frozen", _FROZEN),
    _check("purification.lemF.14", COUPLING_INF, _pure, _short, "pure", _PURE),
    _check("purification.lemF.15", COUPLING, _moved, _short, "reached", _PRINTED),
    _check("purification.lemF.15.repaired", COUPLING, _moved_inside, _asleep, "certified", _INSIDE),
    _check("purification.lemF.16", COUPLING_INF, _moved, _short, "reached", _PRINTED, FAR),
    _check("purification.lemF.16.repaired", COUPLING_INF, _moved_inside, _asleep, "certified", _INSIDE, FAR),
)
