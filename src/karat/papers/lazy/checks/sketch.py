"""Checks of the intuition, of the sketch and of the theorem's own step, as printed and repaired."""

from collections.abc import Callable, Sequence

from karat.papers.lazy.checks.made_up import steps_cells
from karat.papers.lazy.checks.powers import QUARTER
from karat.papers.lazy.checks.proof_steps import STEPS_HOLD, StepRun, Value, steps_check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import RATIO, Finding
from karat.study.judging import all_of, exact_bound, noted, rate


def _exponents(gradient: float, flip: float | None) -> Callable[[Sequence[StepRun]], Finding]:
    """Powers of d of the linear model's gradient and, if asked for, of its flip."""

    def evaluate(runs: Sequence[StepRun]) -> Finding:
        d, lengths = curves(runs, lambda run: run.config.d, lambda run: run.result.linear_gradient)
        findings = [rate(d, lengths, gradient, QUARTER)]
        if flip is not None:
            _, flips = curves(runs, lambda run: run.config.d, lambda run: run.result.linear_flip)
            findings.append(rate(d, flips, flip, QUARTER))
        names = ("gradient", "flip")
        told = ", ".join(f"{name} {finding}" for name, finding in zip(names, findings, strict=False))
        return noted(all_of(*findings), f"Exponents over d: {told}.")

    return evaluate


def _landing(runs: Sequence[StepRun]) -> Finding:
    """Where the step ends in a net whose gradient turns round and keeps its length."""
    landings = [run.result.landing for run in runs]
    finding = exact_bound(landings, "at most", -1.0, RATIO, "the net evaluated at the end of the step")
    return noted(
        finding,
        f"In the net |x_1| of two neurons, whose gradient has length 1, the step ends at {finding} |f|.",
    )


def _drop(value: Value) -> Callable[[Sequence[StepRun]], Finding]:
    """The least drop of f over the bound on |f|, at every size."""

    def evaluate(runs: Sequence[StepRun]) -> Finding:
        drops = {run.config.d: value(run.result) for run in runs}
        finding = exact_bound(list(drops.values()), "at least", 1.0, RATIO, "closed form")
        told = ", ".join(f"{drop:.3g} at d = {d}" for d, drop in sorted(drops.items()))
        return noted(finding, f"Drop of f over the bound on |f|: {told}.")

    return evaluate


SHORT = Control(
    name="a short step",
    removes="attack",
    settings={"factor": 0.25},
    why="A quarter of the step takes half of the bound on |f| away, and does not reach the other sign.",
)
ALONG = Control(
    name="weights along x",
    removes="structure",
    settings={"weights": "along x"},
    why="Weights that are no draw apart from x have |f| as large as the gradient.",
    seeds=3,
)
ONE = Control(
    name="weights with one entry",
    removes="structure",
    settings={"weights": "one"},
    why="The gradient of f = w_1 x_1/sqrt(d) falls like 1/sqrt(d).",
    seeds=3,
)
TURNING = Control(
    name="a gradient that turns round",
    removes="scale",
    settings={"change": 0.5},
    why="A change of the gradient that is as large as its bound sqrt(d)/4 takes the drop away.",
)
_DROP = (
    "B is the bound of Lemma 4.1; the gradient has the length sqrt(d)/4 of Lemma 4.2 or the start's "
    "sqrt(d/2), whichever is worse, and changes by d^(3/8)/10, the largest power of d in Lemma B.9. "
)

CHECKS = (
    steps_check(
        claim_id="lazy.sec3.linear",
        evaluate=_exponents(0.5, None),
        satisfied=steps_cells(linear_gradient=lambda d: d**0.5),
        violated=STEPS_HOLD,
        controls=(ONE,),
        reported="|grad f| = |w| ~ sqrt(d)",
        reading="x is a fixed unit vector, as everywhere in the paper.",
    ),
    steps_check(
        claim_id="lazy.sec3.linear.repaired",
        evaluate=_exponents(0.0, -0.5),
        satisfied=STEPS_HOLD,
        violated=steps_cells(linear_flip=lambda d: 0.5),
        controls=(ALONG, ONE),
        reading="What the intuition is for stays: the flip |f|/|grad f| is what it should be.",
    ),
    steps_check(
        claim_id="lazy.sec4.step",
        evaluate=_drop(lambda result: result.sketch),
        satisfied=STEPS_HOLD,
        violated=steps_cells(sketch=lambda d: 0.5),
        controls=(SHORT,),
        reading=_DROP + "The drop is |eta| (|grad f| - change).",
    ),
    steps_check(
        claim_id="lazy.sec4.step.repaired",
        evaluate=_drop(lambda result: result.sketch_repaired),
        satisfied=STEPS_HOLD,
        violated=steps_cells(sketch_repaired=lambda d: 0.5),
        controls=(SHORT, TURNING),
        reading=_DROP + "The drop is |eta| |grad f| (|grad f| - change), for delta = eta grad f.",
    ),
    steps_check(
        claim_id="lazy.proof3.1.printed",
        evaluate=_landing,
        satisfied=STEPS_HOLD,
        violated=steps_cells(landing=lambda d: 0.5),
        controls=(SHORT,),
        reading="The printed difference of norms |grad f(x + delta)| - |grad f(x)| as it stands, its last f "
        "read as the gradient; one net is enough to refute an inequality for all nets.",
    ),
)
