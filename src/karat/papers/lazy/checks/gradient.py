"""Checks of the lemmas on how much the gradient changes near x."""

import math
from collections.abc import Callable, Sequence

from karat.core.statistics import fit_power_law
from karat.papers.lazy import bounds
from karat.papers.lazy.checks.lemmas import OnePointRun, by_size, near_conditions, where
from karat.papers.lazy.checks.made_up import one_point_cell
from karat.papers.lazy.checks.window import one_C4, width_conditions
from karat.papers.lazy.experiments.change import CHANGE, ChangeConfig, ChangeResult
from karat.papers.lazy.experiments.one_point import ONE_POINT, SHORT_DELTAS, OnePointConfig, OnePointResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import EXPONENT, RATIO, Finding, Margin
from karat.study.hypothesis import Condition, at_least
from karat.study.judging import Undecided, all_of, certified, noted, one_constant, vacuous_if
from karat.study.run import Run, examples, grouped

ChangeRun = Run[ChangeConfig, ChangeResult]

P_FAIL = 0.1

HALF_OF_AN_EIGHTH = Margin(
    1 / 16,
    "R^(1/4) falls like d^(-1/8): a change that did not fall at all would grow against it by twice as much",
)

LEAST_FALL = 1 / 8
"""The largest power of d in Lemma B.9, by which this is proved, is d^(3/8): d^(-1/8) against sqrt d."""


def _fixed_change(runs: Sequence[OnePointRun]) -> Finding:
    """Change of the gradient along one delta over its bound, at the sizes where the bound is not vacuous."""
    findings: list[Finding] = []
    silent: list[Finding] = []
    for cells in by_size(runs):
        config, allowed = cells[0].config, _fixed_bound(cells[0].config)
        finding = certified(
            [max(run.result.change) / allowed for run in cells],
            [max(run.result.largest_change) / allowed for run in cells],
            1.0,
            RATIO,
        )
        largest = max(max(run.result.largest_change) for run in cells)
        size = math.sqrt(config.d / 2)
        told = (
            f"{where(config)}: it allows {allowed:.3g}, where any net of the ball reaches {largest:.2f} at "
            f"most and |grad f| is about {size:.3g}."
        )
        (silent if allowed > size else findings).append(
            vacuous_if(allowed > size, told, noted(finding, told))
        )
    return all_of(*(findings or silent))


def _fixed_bound(config: OnePointConfig) -> float:
    return bounds.gradient_change_fixed(config.d, config.m, config.C0, config.tau, config.p_fail)


def _uniform_change(runs: Sequence[ChangeRun]) -> Finding:
    """Change found over the bound for all delta, size by size, and the dimension from which on it bites."""
    findings = []
    for d, cells in sorted(grouped(runs, lambda run: run.config.d).items()):
        config = cells[0].config
        allowed = bounds.gradient_change_uniform(d, config.m, config.C0, config.C1)
        found = [max(run.result.at_start, run.result.on_kink) for run in cells]
        size = math.sqrt(d / 2)
        why = (
            f"at d = {d}, m = {config.m} it allows {allowed:.3g} where {sum(found) / len(found):.2f} was "
            f"found and |grad f| is about {size:.1f}."
        )
        ceilings = [run.result.ceiling / allowed for run in cells]
        finding = certified([change / allowed for change in found], ceilings, 1.0, RATIO)
        findings.append(vacuous_if(allowed > size, why, finding))
    C0 = runs[0].config.C0
    return noted(
        all_of(*findings),
        f"With m = d^2.4 the bound falls below sqrt(d)/4 first at d = {bounds.biting_dimension(C0):.0e} for "
        f"C0 = {C0:g}, and at d = {bounds.biting_dimension(0.0):.0e} for a ball of radius 0.",
    )


def _start_change(runs: Sequence[OnePointRun]) -> Finding:
    """Root mean square of the start's change along one delta, over the printed power of R sqrt(log d)."""

    d, ratios = curves(
        runs, lambda run: run.config.d, lambda run: rms_change(run) / start_formula(run.config)
    )
    finding = one_constant(d, ratios, "at most", HALF_OF_AN_EIGHTH)
    return noted(finding, f"Exponent of the change over the formula: {finding}.")


def rms_change(run: OnePointRun) -> float:
    """Return the root mean square over starts of the change of the start's gradient along one delta."""
    changes = run.result.change
    return math.sqrt(sum(change**2 for change in changes) / len(changes))


def start_formula(config: OnePointConfig) -> float:
    r"""Return the printed order :math:`(R \sqrt{\log d})^{1/4}` of that change.

    Args:
        config: with d and R.

    Ref: lazy, Sec 4.3
    """
    return float((config.tau * math.sqrt(math.log(config.d))) ** 0.25)


def _small_change(runs: Sequence[ChangeRun]) -> Finding:
    """Exponents of the change over sqrt d: of two nets, from below, and of a bound for all nets."""
    ceilings = _exponents(runs, lambda result: result.ceiling)
    quantities: dict[str, Callable[[ChangeResult], float]] = {
        "at the start": lambda result: result.at_start,
        "with rows on the kink": lambda result: result.on_kink,
    }
    findings = []
    for name, value in quantities.items():
        # Exponents may lie in any order: a bound from above may grow more slowly than what it bounds.
        finding = certified(_exponents(runs, value), ceilings, -LEAST_FALL, EXPONENT, ordered=False)
        by_dimension = sorted(grouped(runs, lambda run: run.config.d).items())
        means = ", ".join(
            f"{sum(value(run.result) for run in cells) / len(cells) / math.sqrt(d):.2f} at d = {d}"
            for d, cells in by_dimension
        )
        findings.append(noted(finding, f"Change over sqrt d {name}: {means}."))
    growth = sum(ceilings) / len(ceilings)
    return noted(
        all_of(*findings),
        f"The bound for all nets over sqrt d has exponent {growth:.2f}.",
        one_C4((run.config.d, run.config.m) for run in runs),
    )


def _exponents(runs: Sequence[ChangeRun], value: Callable[[ChangeResult], float]) -> list[float]:
    """One exponent per seed of a change over sqrt d."""
    d, table = curves(runs, lambda run: run.config.d, lambda run: value(run.result) / math.sqrt(run.config.d))
    if len(d) < 3:
        raise Undecided("an exponent needs three dimensions.")
    return [fit_power_law(d, row).exponent for row in table]


def _window(config: ChangeConfig) -> Sequence[Condition]:
    return width_conditions(config.d, config.m, P_FAIL)


def _uniform_conditions(config: ChangeConfig) -> Sequence[Condition]:
    return [*_window(config), at_least("d >= log(4/p_fail)^2", config.d, math.log(4 / P_FAIL) ** 2)]


HUGE = {"d": 1_000_000, "m": 1_000_000, "C0": 1.0}
"""Where the bound of Lemma B.8 says something."""

_HUGE = OnePointConfig(d=1_000_000, m=1_000_000, C0=1.0)


def _starts(exponent: float) -> list[tuple[OnePointConfig, OnePointResult]]:
    return [one_point_cell(OnePointConfig(d=d, m=1000), change=d**exponent) for d in (100, 1000, 10_000)]


def _power(exponent: float) -> list[tuple[ChangeConfig, ChangeResult]]:
    return [
        (
            ChangeConfig(d=d, m=math.ceil(d**2.4)),
            ChangeResult(at_start=d**exponent, on_kink=2 * d**exponent, ceiling=4 * d**exponent),
        )
        for d in (16, 25, 64)
    ]


FIXED_RADIUS = Control(
    name="a fixed radius",
    removes="scale",
    settings={"radius": "fixed", "C1": 8.0},
    why="Within a radius of 2, which does not shrink, lies -x with all gates the other way round: a fixed "
    "share of the gradient changes.",
    seeds=3,
)

CHECKS = (
    Check(
        claim_id="lazy.lem4.4",
        experiment=CHANGE,
        evaluate=_small_change,
        conditions=_window,
        satisfied=examples(*_power(0.1)),
        violated=examples(*_power(0.8)),
        controls=(FIXED_RADIUS,),
        reading="o(sqrt d) read as in its proof: change over sqrt d falls at least like d^(-1/8). "
        "From below by ascent over delta, in the start and in the net whose rows near their kink lie on it: "
        "this can refute. From above, for every W and delta, with all rows that can switch switched as is "
        "worst: a fixed share of them, so that at m = d^2.4 this bound over sqrt d grows for ever, in the "
        "end like d^0.7. So the lemma can only be refuted here.",
        scales=("tiny", "quick"),
    ),
    Check(
        claim_id="lazy.sec4.3.start",
        experiment=SHORT_DELTAS,
        evaluate=_start_change,
        satisfied=examples(*_starts(-0.25)),
        violated=examples(*_starts(0.1)),
        controls=(
            Control(
                name="a fixed radius",
                removes="scale",
                settings={"radius": "fixed"},
                why="A delta of length 1/4 at every d changes the gradient by as much at every d.",
                seeds=3,
            ),
        ),
        reading="One constant over all d; delta across x, the direction along it, R = C1/sqrt d, and the "
        "root mean square over starts.",
    ),
    Check(
        claim_id="lazy.lemB.8",
        experiment=ONE_POINT,
        evaluate=_fixed_change,
        conditions=near_conditions,
        satisfied=examples(one_point_cell(_HUGE, largest_change=1.0)),
        violated=examples(one_point_cell(_HUGE, change=900.0, largest_change=1000.0)),
        controls=(
            Control(
                name="free rows",
                removes="ball",
                settings={"reach": 1000.0},
                cheap=HUGE,
                why="Rows a thousand times freer, V = 1 here, open and close most gates.",
            ),
        ),
        reading="For every net of the ball, from above: every neuron takes the gates that help most, of "
        "those it can reach. delta across x, the direction along it. As stated, without the '+ 3' with which "
        "the proof ends; at the sizes at which the bound is below |grad f|.",
    ),
    Check(
        claim_id="lazy.lemB.9",
        experiment=CHANGE,
        evaluate=_uniform_change,
        conditions=_uniform_conditions,
        satisfied=examples(*_power(0.1)),
        violated=examples(*_power(8.0)),
        controls=(FIXED_RADIUS,),
        reading="From below and above as for Lemma 4.4; the bound with its own constants. Inequality (10) of "
        "the proof takes a supremum over all delta from the proof of Lemma B.8, which counts the neurons "
        "that can switch at one delta: the second half of Lemma B.4 as printed would give it, its repair "
        "for one fixed delta does not.",
    ),
)
