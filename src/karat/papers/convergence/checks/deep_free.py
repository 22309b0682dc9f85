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
    """Gaps at the first step that meets the target, without a projection, setting by setting."""
    settings = by_setting(runs)
    if not settings:
        raise Undecided("no run was found")
    left = sum(run.result.moved > run.config.R for run in runs)
    if left == 0:
        raise Undecided("no run left the ball, so that a projection would have changed nothing")
    beaten = [-run.result.projected for run in runs if run.result.projected < -1e-9]
    if beaten:
        raise Undecided(
            f"projected nets of {len(beaten)} of {len(runs)} balls are below the reference, by up to "
            f"{max(beaten):.3f}: at this width it is no lower bound on the robust loss of the ball"
        )
    findings = [_small_gap(cells) for cells in settings]
    listed = "; ".join(
        f"H = {cells[0].config.depth}, m = {cells[0].config.m}: {finding} without, "
        f"{sum(run.result.projected for run in cells) / len(cells):.3f} with the projection"
        for cells, finding in zip(settings, findings, strict=True)
    )
    met = [run for run in runs if run.result.met is not None]
    inside = sum(run.result.met_moved <= run.config.R for run in met)
    below = sum(run.result.free < 0 for run in runs)
    return noted(
        all_of(*findings),
        f"{len(met)} of {len(runs)} runs meet the target, {inside} of them while inside the ball. Later "
        f"{left} leave it, and {below} beat its reference, which does not bind them there. Gap at the first "
        f"step at most tol, {listed} at the end.",
    )


def _small_gap(cells: Sequence[FreeRun]) -> Finding:
    tol = cells[0].config.tol
    start_gap = sum(run.result.start_gap for run in cells) / len(cells)
    finding = bound([run.result.met_gap for run in cells], "at most", tol, GAP)
    return vacuous_if(start_gap <= tol, f"the start itself is within {start_gap:.3f} of the target.", finding)


def _hypotheses(config: FreeConfig) -> list[Condition]:
    """Those of Theorem 4.1 but for the projection, with the factor H in the time that its proof needs."""
    steps = config.depth * deep_steps(config.R, config.m, config.tol, config.lr)
    return [
        at_most("lr <= tol/(m depth^2)", config.lr, config.tol / (config.m * config.depth**2)),
        at_least("steps >= depth R^2/(m tol lr)", config.steps, steps),
        at_least("R >= 1", config.R, 1.0),
        waived(
            "projection to the ball",
            "Sec 7: practically it seems the projection step in the algorithm is unnecessary in any case",
        ),
    ]


_EXAMPLE = FreeConfig(m=64, depth=1, steps=25)
_MEASURED = FreeResult(
    start_gap=1.0,
    projected=0.05,
    free=0.05,
    moved=1.5,
    met=1,
    met_gap=0.1,
    met_moved=0.9,
    curve=[1.0, 0.1, 0.05],
)

CHECKS = (
    Check(
        claim_id="convergence.sec7.free",
        experiment=FREE,
        evaluate=_reached,
        conditions=_hypotheses,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, free=0.5, met=None, met_gap=0.5))),
        controls=(
            Control(
                name="wrong sign",
                removes="sign",
                settings={"direction": "up"},
                cheap={"m": 64, "depth": 1, "steps": 25},
                why="steps up the loss never come below that of the start",
            ),
        ),
        reading="Theorem 4.1 without its projection, at widths that it does not reach. L_*(W_*) of the ball "
        "is replaced by the certified minimum of the linearised problem there, a reference and no bound for "
        "nets far from linear; judged is the first step at which a run meets it up to tol, for later it may "
        "leave the ball. Hidden constants read as 1.",
    ),
)
