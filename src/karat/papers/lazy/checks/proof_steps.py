"""Checks of single steps of the proofs of Lemmas B.8 and B.9, as printed and repaired."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from karat.papers.lazy.bounds_proofs import width_step_begins
from karat.papers.lazy.checks.made_up import steps_cells
from karat.papers.lazy.experiments.proof_steps import PROOF_STEPS, ProofStepsConfig, ProofStepsResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, SHARE, Finding
from karat.study.hypothesis import Condition, at_least, at_most
from karat.study.judging import Undecided, all_of, exact_bound, noted, share_between
from karat.study.run import Run, grouped

StepRun = Run[ProofStepsConfig, ProofStepsResult]
Value = Callable[[ProofStepsResult], float]
Draws = Callable[[ProofStepsResult], list[float]]


def _by_dimension(runs: Sequence[StepRun]) -> list[list[StepRun]]:
    return [cells for _, cells in sorted(grouped(runs, lambda run: run.config.d).items())]


def _probability(value: Value) -> Callable[[Sequence[StepRun]], Finding]:
    """An exact chance against 1 - p_fail, at every size."""

    def evaluate(runs: Sequence[StepRun]) -> Finding:
        chances = [value(run.result) for run in runs]
        finding = exact_bound(chances, "at least", 1 - runs[0].config.p_fail, SHARE, "erf to the power m")
        return noted(finding, _told(runs, "The chance is", value))

    return evaluate


def inequality(value: Value) -> Callable[[Sequence[StepRun]], Finding]:
    """Return the evaluation of left over right side of a deterministic step, at every size.

    Args:
        value: that ratio.
    """

    def evaluate(runs: Sequence[StepRun]) -> Finding:
        finding = exact_bound([value(run.result) for run in runs], "at most", 1.0, RATIO, "closed form")
        return noted(finding, _told(runs, "Left over right side is", value))

    return evaluate


def _lacking(runs: Sequence[StepRun]) -> Finding:
    """At one size at least the lemma's hypotheses do not give the one that its proof names."""
    inside = [run for run in runs if all(one.status == "met" for one in _lemma(run.config))]
    if not inside:
        raise Undecided("no run meets the hypotheses of the lemma.")
    largest = max(run.result.dimension for run in inside)
    finding = exact_bound([largest], "at least", 1.0, RATIO, "closed form")
    return noted(finding, _told(inside, "log(4 m/p_fail)^2 over d is", lambda result: result.dimension))


def _width(runs: Sequence[StepRun]) -> Finding:
    """The printed step on the width, and from which dimension on it is true."""
    begins = width_step_begins()
    return noted(
        inequality(lambda result: result.width)(runs),
        f"At m = d^2.4 it is true from d = {begins:.2g} on.",
    )


def _told(runs: Sequence[StepRun], what: str, value: Value) -> str:
    listed = ", ".join(
        f"{value(cells[0].result):.3g} at d = {cells[0].config.d}" for cells in _by_dimension(runs)
    )
    return f"{what} {listed}."


def _subsets(least: Draws, most: Draws) -> Callable[[Sequence[StepRun]], Finding]:
    """Share of draws on which the largest sum over all subsets stays below the bound, size by size.

    Args:
        least: over the bound, from below: only these can refute it.
        most: from above: only these can show it.
    """

    def evaluate(runs: Sequence[StepRun]) -> Finding:
        findings = []
        for cells in _by_dimension(runs):
            low, high = ([ratio for run in cells for ratio in end(run.result)] for end in (least, most))
            below = share_between(
                [ratio <= 1 for ratio in high], [ratio <= 1 for ratio in low], 1 - cells[0].config.p_fail
            )
            told = f"{sum(low) / len(low):.3g} to {sum(high) / len(high):.3g} of the bound"
            findings.append(noted(below, f"d = {cells[0].config.d}: {told}."))
        return noted(all_of(*findings), f"C0 = {runs[0].config.C0:g}.")

    return evaluate


def _window(config: ProofStepsConfig) -> Sequence[Condition]:
    return [at_least("m >= d^2.4", config.m, config.d**2.4)]


def _lemma(config: ProofStepsConfig) -> Sequence[Condition]:
    log_squared = math.log(4 / config.p_fail) ** 2
    return [
        *_window(config),
        at_least("m >= 58", config.m, 58),
        at_least("d >= log(4/p_fail)^2", config.d, log_squared),
    ]


def _small_ball(config: ProofStepsConfig) -> Sequence[Condition]:
    return [*_lemma(config), at_most("C0 <= sqrt m", config.C0, math.sqrt(config.m))]


STEPS_HOLD = steps_cells()

HALF = Control(
    name="half the bound",
    removes="formula",
    settings={"factor": 0.5},
    why="Gaussian tails are not so light: a bound half as large is exceeded by some row.",
)
TENTH = Control(
    name="a tenth of the bound",
    removes="formula",
    settings={"factor": 0.1},
    why="The largest sum along one direction alone is more than a tenth of it.",
)
NARROW = Control(
    name="narrower nets",
    removes="structure",
    settings={"exponent": 2.0},
    why="At m = d^2 the logarithm wins over the width.",
)
LARGE = Control(
    name="a large dimension",
    removes="scale",
    settings={"d": 784},
    why="A squared logarithm falls against d: from some d on one hypothesis gives the other.",
)
SURE = Control(
    name="a tiny chance to fail",
    removes="scale",
    settings={"p_fail": 1e-300},
    why="The logarithm of such a chance exceeds sqrt(m) at the smallest d, outside the lemma's hypotheses.",
)
steps_check = partial(Check, experiment=PROOF_STEPS)
_IN_LAW = (
    "From below: the rows that lean most along one fixed direction; only this can refute. From above: the "
    "spectral norm of W0; only this can show it. Both are drawn in law, at a cost that does not grow with m. "
)

CHECKS = (
    steps_check(
        claim_id="lazy.proofB.8.rows",
        evaluate=_probability(lambda result: result.all_rows),
        satisfied=STEPS_HOLD,
        violated=steps_cells(all_rows=lambda d: 0.5),
        controls=(HALF,),
        reading="<x, w_s> are m independent standard normals: the chance is erf(t/sqrt 2)^m.",
    ),
    steps_check(
        claim_id="lazy.proofB.8.rows.repaired",
        evaluate=_probability(lambda result: result.all_rows_repaired),
        satisfied=STEPS_HOLD,
        violated=steps_cells(all_rows_repaired=lambda d: 0.5),
        controls=(HALF,),
        reading="The union bound over m two-sided Gaussian tails.",
    ),
    steps_check(
        claim_id="lazy.proofB.9.width",
        evaluate=_width,
        conditions=_lemma,
        satisfied=STEPS_HOLD,
        violated=steps_cells(width=lambda d: 1.5),
        controls=(replace(NARROW, cheap={"exponent": 4.0}),),
        reading="At m = d^2.4, the least width that the lemma allows.",
    ),
    steps_check(
        claim_id="lazy.proofB.9.width.repaired",
        evaluate=inequality(lambda result: result.width_repaired),
        conditions=_lemma,
        satisfied=STEPS_HOLD,
        violated=steps_cells(width_repaired=lambda d: 1.5),
        controls=(NARROW,),
        reading="What must come out is log g <= -sqrt(m). At m = d^2.4, the least width that the lemma "
        "allows and the worst; the ratio is largest at d = e^5 = 148.",
    ),
    steps_check(
        claim_id="lazy.proofB.9.subsets",
        evaluate=_subsets(lambda result: result.subsets, lambda result: result.subsets_ceiling),
        conditions=_lemma,
        satisfied=STEPS_HOLD,
        violated=steps_cells(subsets=lambda d: [1.5] * 20, subsets_ceiling=lambda d: [3.0] * 20),
        controls=(replace(TENTH, cheap={"C0": 1.0}),),
        reading=_IN_LAW + "The printed factor C0 is looked at for small C0, where it matters.",
    ),
    steps_check(
        claim_id="lazy.proofB.9.subsets.repaired",
        evaluate=_subsets(
            lambda result: result.subsets_repaired, lambda result: result.subsets_repaired_ceiling
        ),
        conditions=_small_ball,
        satisfied=STEPS_HOLD,
        violated=steps_cells(
            subsets_repaired=lambda d: [1.5] * 20, subsets_repaired_ceiling=lambda d: [3.0] * 20
        ),
        controls=(TENTH,),
        reading=_IN_LAW,
    ),
    steps_check(
        claim_id="lazy.proofB.9.dimension",
        evaluate=_lacking,
        conditions=_lemma,
        satisfied=STEPS_HOLD,
        violated=steps_cells(dimension=lambda d: 0.5),
        controls=(LARGE,),
        reading="At m = d^2.4, the least width that the lemma allows; wider nets ask for more.",
    ),
    steps_check(
        claim_id="lazy.proofB.9.dimension.repaired",
        evaluate=inequality(lambda result: result.last_line),
        conditions=_lemma,
        satisfied=STEPS_HOLD,
        violated=steps_cells(last_line=lambda d: 1.5),
        controls=(SURE,),
        reading="At m = d^2.4, the least width that the lemma allows and the worst. The two hypotheses give "
        "sqrt(m) >= d^1.2 >= log(4/p_fail)^2.4.",
    ),
)
