"""What the first step has done, draw by draw: statements that hold with a probability."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from karat.papers.benign.bounds_hypotheses import P_FAIL
from karat.papers.benign.checks.lemma_examples import example
from karat.papers.benign.checks.lemma_values import LemmaRun, movement_share
from karat.papers.benign.checks.settings import conditions, deepest, depth, made_up
from karat.papers.benign.experiments.lemma_trace import ActiveShares, LemmaResult
from karat.papers.benign.experiments.traces import FIRST_STEP, LemmaConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import SHARE, Finding, Margin
from karat.study.judging import Undecided, all_of, bound, noted, one_constant, share
from karat.study.run import by_setting, pivot

PROMISED = 1 - 2 * P_FAIL
"""Probability with which the theorem's conclusions hold."""

DRAWS = 40
FEW = Margin(0.5, "half-way to a bounded number of active ones, whose share falls as 1/n or 1/m")
AT_START = 1 / 15
"""Share of the neurons that every sample activates at t = 0, as the proof prints it."""


def _per_draw(success: Callable[[LemmaRun], bool]) -> Callable[[Sequence[LemmaRun]], Finding]:
    """The share of draws on which something happens, at the setting where C is largest."""

    def evaluate(runs: Sequence[LemmaRun]) -> Finding:
        deep = deepest(runs)
        other_settings = [
            f"{sum(map(success, group))} of {len(group)} at C = {depth(group[0].config):.2g}"
            for group in by_setting(runs)
            if group[0].config_hash != deep[0].config_hash
        ]
        finding = share(sum(map(success, deep)), len(deep), "at least", PROMISED)
        at = f"Judged at C = {depth(deep[0].config):.2g}."
        return noted(finding, at, f"Elsewhere: {', '.join(other_settings)}." if other_settings else "")

    return evaluate


def _fitted(run: LemmaRun) -> bool:
    """No attack breaks a training point, by certificate."""
    error = run.result.first_step.certified_error
    if error is None:
        raise Undecided("the certificate of the training error needs a piecewise linear activation.")
    return error == 0


def _moved(run: LemmaRun) -> bool:
    return movement_share(run) >= 1


def _activity(runs: Sequence[LemmaRun]) -> Finding:
    """Both shares are bounded below by one constant, over samples and over neurons."""
    relu = [run for run in runs if run.config.activation == "relu"]
    if not relu:
        raise Undecided("no run uses the ReLU that the lemma speaks of.")
    n, samples = pivot(relu, lambda run: run.config.n, lambda run: run.result.active.samples)
    m, neurons = pivot(relu, lambda run: run.config.m, lambda run: run.result.active.neurons)
    lowest = bound([run.result.active.neurons for run in deepest(relu)], "at least", AT_START, SHARE)
    return all_of(
        lowest, one_constant(n, samples, "at least", FEW), one_constant(m, neurons, "at least", FEW)
    )


def _vanishing(config: LemmaConfig) -> LemmaResult:
    """A bounded number of active samples and neurons."""
    return replace(example(config), active=ActiveShares(samples=1 / config.n, neurons=0.5 / config.m))


_LARGE_START = Control(
    name="large start",
    removes="scale",
    settings={"init_scale": 1.0},
    why="From large weights the first step moves little, and the start decides which neurons are active.",
)
_ASCENT = Control(
    name="gradient ascent",
    removes="sign",
    settings={"direction": "ascent"},
    why="A step that raises the loss breaks every training point.",
)

CHECKS = (
    Check(
        claim_id="benign.sec3.onestep",
        experiment=FIRST_STEP,
        evaluate=_per_draw(_fitted),
        conditions=conditions,
        satisfied=made_up(FIRST_STEP, example, DRAWS),
        violated=made_up(FIRST_STEP, partial(example, first_error=0.1), DRAWS),
        controls=(_ASCENT,),
        reading="With the theorem's probability 1 - 2 p_fail, at the largest C; errors by certificate.",
    ),
    Check(
        claim_id="benign.propB.34",
        experiment=FIRST_STEP,
        evaluate=_per_draw(_moved),
        conditions=conditions,
        satisfied=made_up(FIRST_STEP, example, DRAWS),
        violated=made_up(FIRST_STEP, partial(example, movement=0.01), DRAWS),
        controls=(_LARGE_START,),
        reading="gamma = 1 for the ReLU; with the theorem's probability 1 - 2 p_fail, at the largest C.",
    ),
    Check(
        claim_id="benign.lem4.5",
        experiment=FIRST_STEP,
        evaluate=_activity,
        conditions=conditions,
        satisfied=made_up(FIRST_STEP, example),
        violated=made_up(FIRST_STEP, _vanishing),
        controls=(_LARGE_START,),
        reading="Theta(n) and Theta(m): one constant over the sizes; for the neurons also the proof's "
        "printed 1/15, which it gives for t = 0.",
    ),
)
