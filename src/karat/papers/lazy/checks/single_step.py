"""Check of the single step of the theorem's proof, with its certificate."""

import math
from collections.abc import Sequence

from karat.papers.lazy.experiments.single_step import SINGLE_STEP, SingleStepConfig, SingleStepResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import SHARE, Finding
from karat.study.judging import Undecided, exact_bound, noted
from karat.study.run import Run, examples, grouped

SingleStepRun = Run[SingleStepConfig, SingleStepResult]


def _single_step(runs: Sequence[SingleStepRun]) -> Finding:
    """All certified steps land beyond -|f|; how many samples are certified, at which length."""
    # Samples without a certified step say nothing about the certificate.
    landed = [run.result.landed for run in runs if not math.isnan(run.result.landed)]
    if not landed:
        raise Undecided("no sample had kappa below 1, so the certificate applied nowhere.")
    why = "every certified step is taken, and the net evaluated at its end"
    sizes = grouped(runs, lambda run: (run.config.m, run.config.d))
    finding = exact_bound(landed, "at least", 1.0, SHARE, why)
    return noted(finding, *(_certified_steps(cells) for cells in sizes.values()))


def _certified_steps(cells: Sequence[SingleStepRun]) -> str:
    """What the certificate reaches at one size, averaged over seeds."""
    results = [run.result for run in cells]
    certified = sum(result.usable for result in results) / len(results)
    lengths = _mean([result.step_length for result in results])
    on_ray = _mean([result.kappa_on_ray for result in results])
    in_ball = _mean([result.kappa for result in results])
    upper = min(result.kappa_certified for result in results)
    return (
        f"d = {cells[0].config.d}, m = {cells[0].config.m}: {certified:.0%} of the samples certified at a "
        f"median length {lengths}, kappa {on_ray} on the ray; over the ball {in_ball} by ascent and "
        f"at most {upper:.1f}."
    )


def _mean(values: Sequence[float]) -> str:
    """The mean of what is a number, as text."""
    numbers = [value for value in values if not math.isnan(value)]
    return f"{sum(numbers) / len(numbers):.2f}" if numbers else "unknown"


def step_cell(landed: float) -> tuple[SingleStepConfig, SingleStepResult]:
    """Return a made-up trained net for an example.

    Args:
        landed: share of certified steps that land.
    """
    return SingleStepConfig(side=14, m=1000), SingleStepResult(
        steps=100,
        kappa=0.5,
        kappa_certified=20.0,
        kappa_on_ray=0.4,
        usable=0.5,
        landed=landed,
        step_length=0.6,
    )


CHECKS = (
    Check(
        claim_id="lazy.proof3.1",
        experiment=SINGLE_STEP,
        evaluate=_single_step,
        satisfied=examples(step_cell(1.0)),
        violated=examples(step_cell(0.9)),
        controls=(
            Control(
                name="a constant gradient",
                removes="certificate",
                settings={"kappa": "none"},
                cheap={"side": 28, "m": 400, "n_test": 4},  # smaller images have no certified step
                why="The step 2 |f|/|grad f| does not reach -|f| where the gradient shrinks on the way.",
            ),
        ),
        reading="The printed denominator has a difference of norms where the norm of the difference is "
        "needed. kappa is taken on the step's own ray, where it is exact and all that the proof needs.",
    ),
)
