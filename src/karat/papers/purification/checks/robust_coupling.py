"""Checks on robust coupling and on the growth of single neurons: one hidden constant over d.

The lemmas ask for sizes of dense parts and of the radius, not for training: beside trained nets they are
judged where they are nearly tight, on pure features whose small codes lie at the threshold.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from karat.papers.purification import bounds_robust_coupling as bounds
from karat.papers.purification.bounds_hypotheses import of_the_data, of_the_start
from karat.papers.purification.bounds_robust_coupling import CouplingSizes
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import halfway
from karat.papers.purification.experiments.robust_coupling import (
    COUPLING,
    COUPLING_INF,
    MIXED,
    NEAR,
    NEAR_INF,
    PURE,
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
from karat.study.hypothesis import Condition, at_most
from karat.study.judging import Undecided, all_of, noted, one_constant
from karat.study.run import Run, examples, grouped

CouplingRun = Run[CouplingConfig, CouplingResult]
Formula = Callable[[CouplingSizes], float]
Value = Callable[[CouplingMeasures], float]

LEAST = 1e-12
"""What is smaller is rounding."""


def worlds(runs: Sequence[CouplingRun]) -> list[list[CouplingRun]]:
    """The runs by all settings but d: trained nets, pure features, dense parts put in by hand.

    Args:
        runs: all of an experiment.
    """

    def but_d(run: CouplingRun) -> tuple[object, ...]:
        return tuple(value for name, value in vars(run.config).items() if name != "d")

    # Where the lemmas are tight comes first: of findings that end alike the first one shows its numbers.
    return sorted(grouped(runs, but_d).values(), key=lambda world: world[0].config.clean_steps)


def near(runs: Sequence[CouplingRun]) -> list[list[CouplingRun]]:
    """The worlds whose radius is below the threshold.

    Args:
        runs: all of an experiment.
    """
    below = worlds([run for run in runs if run.config.tau < run.config.threshold])
    if not below:
        raise Undecided("no run at a radius below the threshold has finished")
    return below


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
        runs: of one world.
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


def _worst_case(runs: Sequence[CouplingRun], formula: Formula) -> Finding:
    """A bound for all perturbations can show that gates may be frozen, those that are tried can refute it.

    k is d^0.4 up to logarithms: a deviation linear in tau = k^-power would exceed tau^2 by d^(0.4 power).
    """
    rival = (0.4 * runs[0].config.radius_power, "a deviation linear in tau")
    certain = within(runs, lambda m: m.frozen_most, formula, *rival)
    reached = within(runs, lambda m: m.frozen, formula, *rival)
    if certain.leaning == "holds":
        d = max(run.config.d for run in runs)
        last = [of_bound(run, lambda m: m.frozen, formula) for run in runs if run.config.d == d]
        return noted(certain, f"A perturbation reaches {sum(last) / len(last):.2g} of it.")
    if reached.leaning == "fails":
        return reached
    raise Undecided(
        "no perturbation that was tried exceeds the bound, and no certificate shows that none does"
    )


def _frozen(runs: Sequence[CouplingRun]) -> Finding:
    """Frozen gates: both displays in every world below the threshold."""
    formulas = (bounds.frozen_gates, bounds.frozen_gates_later)
    return all_of(*(_worst_case(world, formula) for world in near(runs) for formula in formulas))


def _pure(runs: Sequence[CouplingRun]) -> Finding:
    """Pure parts: both displays; k pushes that add up would exceed sqrt(k), those of sqrt(d) neurons k."""
    rival = (0.2, "pushes that add up") if runs[0].config.p == 2 else (0.1, "pushes on sqrt(d) neurons")
    formulas = (bounds.pure_part, bounds.pure_part_later)
    return all_of(
        *(within(world, lambda m: m.pure, formula, *rival) for world in near(runs) for formula in formulas)
    )


_STEP = (0.2, "inputs of length one whenever the neuron wakes")


def _moved(runs: Sequence[CouplingRun]) -> Finding:
    """What some l and delta reach, world by world: any one of them can refute a bound for all."""
    return all_of(
        *(within(world, lambda m: m.reached, bounds.neuron_movement, *_STEP) for world in worlds(runs))
    )


def _moved_inside(runs: Sequence[CouplingRun]) -> Finding:
    """A certificate for all l and delta, at radii below the threshold."""
    return all_of(
        *(within(world, lambda m: m.certified, bounds.neuron_movement, *_STEP) for world in near(runs))
    )


def _setting(config: CouplingConfig) -> list[Condition]:
    """Data, start and threshold, and how sparse Theorem F.1 wants the codes."""
    s = config.theorem_setting()
    sparse = at_most("Thm F.1: k^2.5 <= d^(1 - 2 c0)/log d", s.k**2.5, s.d ** (1 - 2 * s.c0) / math.log(s.d))
    return [*of_the_data(s.d, s.k), *of_the_start(s), sparse]


def _asleep(run: CouplingRun) -> list[Condition]:
    """That no perturbation alone opens a gate; at tau |w_i| = b the sign of <w_i, x> + rho_i would."""
    longest = max(measures.length for measures in _iterates(run))
    name = "Lem F.11, F.13: tau = o(b/(Xi2^2 + r')), read as tau |w_i| <= b/2"
    return [at_most(name, run.config.tau * longest, run.config.threshold / 2)]


def _short(run: CouplingRun) -> list[Condition]:
    """That dense parts are as short as the lemma and its corollary have them, in the root mean square."""
    r = max(measures.r for measures in _iterates(run))
    name = "Lem F.11-14, corollaries: r = O(k Xi2^2/sqrt d), with 2 alpha E|z|_0 Xi2^2 for k Xi2^2"
    return [
        at_most("Lem F.11-14: r <= 1", r, 1.0),
        at_most(name, r, _mixture(run) / math.sqrt(run.config.d)),
    ]


def _mixture(run: CouplingRun) -> float:
    """d times the largest coefficient of a mixture by Proposition F.8, whose k hides a constant."""
    alpha = max(abs(measures.alpha) for measures in _iterates(run))
    size = sizes(run.config, run.result.sigma_rho, run.result.clean)
    return 2 * alpha * run.config.code.expected_support * size.spread**2


def _coupled(run: CouplingRun) -> list[Condition]:
    """What the lemmas on frozen gates ask, and how long their corollaries let single dense parts be."""
    longest = max(measures.longest for measures in _iterates(run))
    if run.config.p == 2:
        single = at_most("Lem F.11, corollary: r' <= 1", longest, 1.0)
    else:
        name = "Lem F.13, corollary: r' = O(k Xi2^2), with 2 alpha E|z|_0 Xi2^2 for k Xi2^2"
        single = at_most(name, longest, _mixture(run))
    return [*_asleep(run), *_short(run), single]


def _any_radius(run: CouplingRun) -> list[Condition]:
    """The displays as printed ask for nothing but the length r', which is measured."""
    return []


NO_BALL = Control(
    name="no ball",
    removes="ball",
    settings={"reach": 0.5, "robust_time": 0.0},
    cheap={"batch": 8, "n_test": 20},
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
    inside: list[dict[str, float]] = [{}, PURE] if config.p == 2 else [{}, PURE, MIXED]
    for d in (10**7, 10**8, 10**9):
        for changes, exponent in (*((point, power) for point in inside), (WIDE, wide)):
            at = CouplingConfig(**(vars(config) | {"d": d} | changes))
            net: dict[str, Any] = {"alpha": 1.5, "length": 0.0, "r": 0.05, "longest": 0.05}
            size = sizes(at, 0.002, made_up(CouplingMeasures, **net))
            for name, share in values.items():
                formula = {
                    "frozen": min(bounds.frozen_gates(size), bounds.frozen_gates_later(size)),
                    "pure": min(bounds.pure_part(size), bounds.pure_part_later(size)),
                }.get(name, bounds.neuron_movement(size))
                net[name] = share * formula * (d / 1e7) ** exponent
            net["frozen_most"] = 2 * net.get("frozen", 0.0)
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
        conditions=_setting,
        observed=observed,
        satisfied=_cells(config, -0.05, -0.05, **{measured: 0.5}),
        violated=_cells(config, 0.6, 0.6, **{measured: 0.5}),
        controls=(control,),
        reading=reading,
    )


_WORLDS = (
    "One constant over three d or more: for trained nets at the worse of the first and the last iterate; for "
    "pure features at tau = b/2, whose small codes lie just above the threshold; and in l_inf for pure "
    "features with the dense parts r' = k that the corollary allows. The lemmas ask for the sizes r and r', "
    "not for training. Xi2 = d^(2 gamma c0); neurons without a feature stay at zero."
)
_FROZEN = (
    "Bounded is the sum over neurons of their mean changes, as in (F.4), in closed form over rho, and for "
    "all perturbations of an input at once: by weak duality over their coordinates in l2, by every neuron's "
    f"own worst case in l_inf. The worst of seven perturbations can refute. {_WORLDS}"
)
_PURE = (
    "r bounds the root mean square length of the dense parts v_i, and sqrt(d) |<u_i, M_j>| of the clean "
    "net's u_i. The largest over the whole ball, for delta may look at rho here: g_t(0; .) is linear in "
    f"delta. Without dense parts the term with tau stands alone. {_WORLDS}"
)
_PRINTED = (
    "Its display has no condition on tau: at a radius above the threshold, too. Reached by l = 1 with delta "
    "along the neuron, and by l = sign(x_i) without delta, on neurons of one feature. Its corollary, that "
    "dense parts stay short along training, is not judged here, nor in l2 the term with sigma_x. "
    f"{_WORLDS}"
)
_INSIDE = (
    "A bound for all l and delta at once, on neurons of one feature: no delta opens the gate more often than "
    "the one along the neuron. At tau |w_i| = b that one leaves it to the sign of <w_i, x> + rho_i. "
    f"{_WORLDS}"
)

CHECKS = (
    _check("purification.lemF.11", COUPLING, _frozen, _coupled, "frozen", _FROZEN),
    _check("purification.lemF.12", COUPLING, _pure, _short, "pure", _PURE),
    _check("purification.lemF.13", COUPLING_INF, _frozen, _coupled, "frozen", _FROZEN),
    _check("purification.lemF.14", COUPLING_INF, _pure, _short, "pure", _PURE),
    _check("purification.lemF.15", COUPLING, _moved, _any_radius, "reached", _PRINTED),
    _check("purification.lemF.15.repaired", COUPLING, _moved_inside, _asleep, "certified", _INSIDE),
    _check("purification.lemF.16", COUPLING_INF, _moved, _any_radius, "reached", _PRINTED, FAR),
    _check("purification.lemF.16.repaired", COUPLING_INF, _moved_inside, _asleep, "certified", _INSIDE, FAR),
)
