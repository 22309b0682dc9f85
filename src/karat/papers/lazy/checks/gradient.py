"""Checks of the lemmas on how much the gradient changes near x."""

import math
from collections.abc import Callable, Sequence

from karat.papers.lazy import bounds
from karat.papers.lazy.checks.lemmas import CHEAP, LemmasRun
from karat.papers.lazy.checks.made_up import lemmas_cell
from karat.papers.lazy.checks.window import width_conditions
from karat.papers.lazy.experiments.change import CHANGE, ChangeConfig, ChangeResult
from karat.papers.lazy.experiments.lemmas import LEMMAS, LemmasConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import RATIO, Finding
from karat.study.hypothesis import Condition, at_least, at_most
from karat.study.judging import all_of, certified, limit, noted, vacuous_if
from karat.study.run import Run, examples, grouped

ChangeRun = Run[ChangeConfig, ChangeResult]

P_FAIL = 0.1

LEAST_FALL = 1 / 8
"""The largest power of d in Lemma B.9, by which this is proved, is d^(3/8): d^(-1/8) against sqrt d."""


def _fixed_change(runs: Sequence[LemmasRun]) -> Finding:
    """The bound on the change of the gradient for one delta against the largest change found."""
    return _change(runs, lambda run: run.result.gradient_change_bound)


def _uniform_change(runs: Sequence[LemmasRun]) -> Finding:
    """The bound on the change of the gradient for all delta, and the dimension from which on it bites."""
    first = bounds.biting_dimension(runs[0].config.C0)
    return noted(
        _change(runs, lambda run: run.result.gradient_change_all_bound),
        f"With m = d^2.4 the bound falls below sqrt(d)/4 first at d = {first:.0e}.",
    )


def _change(runs: Sequence[LemmasRun], allowed: Callable[[LemmasRun], float]) -> Finding:
    """Change found over the bound, size by size; vacuous where more than the gradient itself is allowed."""
    findings = []
    for (m, d), cells in sorted(grouped(runs, lambda run: (run.config.m, run.config.d)).items()):
        # An ascent shows the worst case from below alone: it can refute the bound, and not confirm it.
        finding = certified([run.result.gradient_change / allowed(run) for run in cells], [], 1.0, RATIO)
        size, found = math.sqrt(d / 2), sum(run.result.gradient_change for run in cells) / len(cells)
        why = (
            f"at d = {d}, m = {m} it allows {allowed(cells[0]):.3g} where {found:.2f} was found and |grad f| "
            f"is about {size:.1f}."
        )
        findings.append(vacuous_if(allowed(cells[0]) > size, why, finding))
    return all_of(*findings)


def _small_change(runs: Sequence[ChangeRun]) -> Finding:
    """The change over sqrt d falls with d, at the start and on the kink."""
    quantities: dict[str, Callable[[ChangeRun], float]] = {
        "at the start": lambda run: run.result.at_start / math.sqrt(run.config.d),
        "with rows on the kink": lambda run: run.result.on_kink / math.sqrt(run.config.d),
    }
    findings = []
    for name, value in quantities.items():
        d, table = curves(runs, lambda run: run.config.d, value)
        finding = limit(d, table, least=LEAST_FALL)
        means = ", ".join(
            f"{sum(row[at] for row in table) / len(table):.2f} at d = {size:g}" if table else "unknown"
            for at, size in enumerate(d)
        )
        findings.append(noted(finding, f"Change over sqrt d {name}: {means}; exponent {finding}."))
    return all_of(*findings)


def _window(config: ChangeConfig) -> Sequence[Condition]:
    return width_conditions(config.d, config.m, P_FAIL)


def _uniform_conditions(config: LemmasConfig) -> Sequence[Condition]:
    proof = math.log(4 * config.m / config.p_fail) ** 2
    return [
        *width_conditions(config.d, config.m, config.p_fail),
        at_least("d >= log(4 m/p_fail)^2 (its proof)", config.d, proof),
    ]


def _fixed_conditions(config: LemmasConfig) -> Sequence[Condition]:
    return [at_most("|delta| <= R <= 1/2", config.tau, 0.5)]


def _power(exponent: float) -> list[tuple[ChangeConfig, ChangeResult]]:
    return [
        (ChangeConfig(d=d, m=math.ceil(d**2.4)), ChangeResult(at_start=d**exponent, on_kink=2 * d**exponent))
        for d in (16, 25, 64)
    ]


_NO_CERTIFICATE = (
    "The change is the largest over directions and delta that an ascent finds on trained nets, a lower "
    "bound: the lemma can be refuted so, and not confirmed. "
)
_FAR = Control(
    name="farther points",
    removes="scale",
    settings={"reach": 4.0},
    cheap=CHEAP,
    why="Points four times as far away change more gates than the bound counts.",
)

CHECKS = (
    Check(
        claim_id="lazy.lem4.4",
        experiment=CHANGE,
        evaluate=_small_change,
        conditions=_window,
        satisfied=examples(*_power(0.1)),
        violated=examples(*_power(0.8)),
        controls=(
            Control(
                name="a fixed radius",
                removes="scale",
                settings={"radius": "fixed", "C1": 8.0},
                why="Within a radius of 2, which does not shrink, lies -x with all gates the other way "
                "round: a fixed share of the gradient changes.",
                seeds=3,
            ),
        ),
        reading="o(sqrt d) read as in its proof: change over sqrt d falls at least like d^(-1/8). "
        "The supremum over delta by ascent; for every W stand the start and the net whose rows near their "
        "kink lie on it, so that this refutes what it can and confirms the order only.",
    ),
    Check(
        claim_id="lazy.lemB.8",
        experiment=LEMMAS,
        evaluate=_fixed_change,
        conditions=_fixed_conditions,
        satisfied=examples(lemmas_cell()),
        violated=examples(lemmas_cell(gradient_change=900.0)),
        controls=(_FAR,),
        reading=_NO_CERTIFICATE + "With the '+ 3' that the proof ends with.",
    ),
    Check(
        claim_id="lazy.lemB.9",
        experiment=LEMMAS,
        evaluate=_uniform_change,
        conditions=_uniform_conditions,
        satisfied=examples(lemmas_cell()),
        violated=examples(lemmas_cell(gradient_change=1e6)),
        controls=(_FAR,),
        reading=_NO_CERTIFICATE + "Evaluated with the lemma's own constants.",
    ),
)
