"""Check of the conjecture that deep nets need no projection."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.bounds import deep_steps
from karat.papers.convergence.checks.two_layer_runs import GAP
from karat.papers.convergence.experiments.deep_free import FREE, FreeConfig, FreeResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding
from karat.study.hypothesis import Condition, at_least, at_most, waived
from karat.study.judging import Undecided, all_of, bound, noted, vacuous_if
from karat.study.run import Run, by_setting, examples

FreeRun = Run[FreeConfig, FreeResult]


def _reached(runs: Sequence[FreeRun]) -> Finding:
    """Gaps without a projection against the target, setting by setting."""
    settings = by_setting(runs)
    if not settings:
        raise Undecided("no run was found")
    left = sum(run.result.moved > run.config.R for run in runs)
    if left == 0:
        raise Undecided("no run left the ball, so that a projection would have changed nothing")
    findings = [_small_gap(cells) for cells in settings]
    listed = "; ".join(
        f"H = {cells[0].config.depth}, m = {cells[0].config.m}: {finding} without, "
        f"{sum(run.result.projected for run in cells) / len(cells):.3f} with the projection"
        for cells, finding in zip(settings, findings, strict=True)
    )
    return noted(all_of(*findings), f"{left} of {len(runs)} runs leave the ball. Gap at {listed}.")


def _small_gap(cells: Sequence[FreeRun]) -> Finding:
    tol = cells[0].config.tol
    start_gap = sum(run.result.start_gap for run in cells) / len(cells)
    finding = bound([run.result.free for run in cells], "at most", tol, GAP)
    return vacuous_if(start_gap <= tol, f"the start itself is within {start_gap:.3f} of the target.", finding)


def _hypotheses(config: FreeConfig) -> list[Condition]:
    """Those of Theorem 4.1 but for the projection, with the factor H in the time that its proof needs."""
    steps = config.depth * deep_steps(config.R, config.m, config.tol, config.lr)
    return [
        at_most("lr <= tol/(m depth^2)", config.lr, config.tol / (config.m * config.depth**2)),
        at_least("steps >= depth R^2/(m tol lr)", config.steps, steps),
        at_least("R >= 1", config.R, 1.0),
        waived(
            "m >= R^9 depth^16/tol^7",
            "Sec 7: practically it seems the projection step in the algorithm is unnecessary in any case",
        ),
    ]


_EXAMPLE = FreeConfig(m=64, depth=1, steps=25)
_MEASURED = FreeResult(start_gap=1.0, projected=0.05, free=0.05, moved=1.5, curve=[1.0, 0.1, 0.05])

CHECKS = (
    Check(
        claim_id="convergence.sec7.free",
        experiment=FREE,
        evaluate=_reached,
        conditions=_hypotheses,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, free=0.5))),
        controls=(
            Control(
                name="wrong sign",
                removes="sign",
                settings={"direction": "up"},
                cheap={"m": 64, "depth": 1, "steps": 25},
                why="steps up the loss never come below that of the start",
            ),
        ),
        reading="Theorem 4.1 without its projection. L_*(W_*) of the ball is replaced by the certified "
        "minimum of the linearised problem there, as in Theorem 4.1; hidden constants read as 1.",
    ),
)
