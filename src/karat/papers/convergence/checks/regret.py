"""Checks of the proof of Theorem 5.1 step by step: the regret recursion and its sum."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from karat.papers.convergence.bounds import curvature_constant, regret_gap
from karat.papers.convergence.checks.two_layer_runs import (
    EXAMPLE,
    MEASURED,
    START_LOSS,
    TwoLayerRun,
    assumptions,
)
from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.descent import THM51
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, exact_bound, noted, vacuous_if
from karat.study.run import examples

PROVED = "inequalities between numbers of one run, with all constants"


@dataclass(frozen=True)
class Step:
    """A gap met along a run with what the summed recursion allows.

    Args:
        gap: smallest surrogate loss so far, less the robust loss of W_*.
        limit: what is allowed.
        start_gap: the same of the start, which needs no training.
    """

    gap: float
    limit: float
    start_gap: float


def _smooth(config: TwoLayerConfig) -> list[Condition]:
    """The recursion with its constants needs slopes of at most 1, so that |grad L_A| <= 1."""
    bounded = config.activation != "quadratic_relu"
    return [*assumptions(config), is_so("Asm 5.3: |phi'| <= 1", bounded)]


def _regret(runs: Sequence[TwoLayerRun]) -> Finding:
    """The largest c that the recursion needed along any run, against C L."""
    ratios = [
        run.result.regret_constant / _constant(run)
        for run in _usable(runs)
        if run.result.regret_constant is not None
    ]
    if not ratios:
        raise Undecided("no run took a step whose recursion could be looked at")
    return noted(
        exact_bound(ratios, "at most", 1.0, RATIO, PROVED),
        "Largest c over C L for which |W_t - W_*|^2 grows as the recursion allows, with lr^2 |grad|^2 as "
        "its last term; a negative one needs no curvature term at all.",
    )


def _steps_of(run: TwoLayerRun) -> list[Step]:
    config, result = run.config, run.result
    # The recursion speaks of the robust loss of W_*; the noted gaps are to the linearised lower bound.
    above = result.reference_bound - result.target_loss
    noted_gaps = [*zip(result.steps, result.gap, strict=True), (config.steps, result.final_gap)]
    start_gap = START_LOSS - result.target_loss
    return [
        Step(gap + above, regret_gap(config.R, config.m, config.lr, steps, _constant(run)), start_gap)
        for steps, gap in noted_gaps
    ]


def _gap(runs: Sequence[TwoLayerRun]) -> Finding:
    """All gaps met along unprojected runs; limits above the gap of the start say nothing and are left out."""
    steps = [step for run in _usable(runs) for step in _steps_of(run)]
    if not steps:
        raise Undecided("no unprojected run has a smooth activation")
    telling = [step for step in steps if step.limit < step.start_gap]
    ratios = [step.gap / step.limit for step in telling or steps]
    trivial = "every limit exceeds the gap of the start itself."
    return noted(
        vacuous_if(not telling, trivial, exact_bound(ratios, "at most", 1.0, RATIO, PROVED)),
        f"Gap over limit; {len(telling)} of {len(steps)} limits lie below the gap of the start.",
    )


def _usable(runs: Sequence[TwoLayerRun]) -> list[TwoLayerRun]:
    return [run for run in runs if not run.config.projected and run.config.activation in SLOPE_LIPSCHITZ]


def _constant(run: TwoLayerRun) -> float:
    return curvature_constant(SLOPE_LIPSCHITZ[run.config.activation])


UPHILL = Control(
    name="wrong sign",
    removes="sign",
    settings={"direction": "up"},
    cheap={"attack": "worst"},
    why="steps up the loss lead away from W_* and never come below the loss of the start",
)
STILL = Control(
    name="no training",
    removes="training",
    settings={"direction": "none"},
    cheap={"attack": "worst"},
    why="the gap stays that of the start, above the limits that fall with the steps",
)

CHECKS = (
    Check(
        claim_id="convergence.thm5.1.regret",
        experiment=THM51,
        evaluate=_regret,
        conditions=_smooth,
        satisfied=examples((EXAMPLE, MEASURED)),
        violated=examples((EXAMPLE, replace(MEASURED, regret_constant=1.0))),
        controls=(UPHILL,),
        reading="W_* is the linearised optimum; c = C L from the proof, C the Lipschitz constant of phi'.",
    ),
    Check(
        claim_id="convergence.thm5.1.gap",
        experiment=THM51,
        evaluate=_gap,
        conditions=_smooth,
        satisfied=examples((EXAMPLE, MEASURED)),
        violated=examples((EXAMPLE, replace(MEASURED, final_gap=0.2))),
        controls=(UPHILL, STILL),
        reading="The recursion summed with c = C L and |grad L_A| <= 1, no hidden constant; W_* is the "
        "linearised optimum, whose own robust loss stands for L_*(W_*). Limits above the gap of the start "
        "are left out.",
    ),
)
