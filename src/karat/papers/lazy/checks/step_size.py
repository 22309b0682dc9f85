"""What probability costs in step size: how often the net that is hardest to flip withstands the step."""

from collections.abc import Sequence

from karat.papers.lazy.bounds_in_law import step_constant, withstanding_share
from karat.papers.lazy.experiments.step_size import STEP_SIZE, StepSizeConfig, StepSizeResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import SHARE, Finding, Margin
from karat.study.hypothesis import Condition, at_least
from karat.study.judging import equal, every_setting, noted
from karat.study.run import Run, examples

StepSizeRun = Run[StepSizeConfig, StepSizeResult]

NEARLY = Margin(
    0.04, "0.025 for chance, 2400 draws of 6 seeds at a share of 1/2, the rest for terms of order 1/sqrt m"
)


def _size(runs: Sequence[StepSizeRun]) -> Finding:
    """The share of nets that withstand is the formula's, step size by step size."""
    return every_setting(runs, _share)


def _share(runs: Sequence[StepSizeRun]) -> Finding:
    config = runs[0].config
    predicted = withstanding_share(config.C0, config.C2)
    finding = equal([run.result.withstood for run in runs], predicted, NEARLY, SHARE)
    return noted(finding, f"C0 = {config.C0:g}, C2 = {config.C2:g}: {finding}, formula {predicted:.3f}.")


def _limits(config: StepSizeConfig) -> Sequence[Condition]:
    return [
        at_least("d >= 10^4 max(C0, C2)^2", config.d, 1e4 * max(config.C0, config.C2) ** 2, "first order"),
        at_least("m >= 2500 C0^2", config.m, 2500 * config.C0**2, "few neurons switch"),
    ]


def _example(wrong: float = 0.0) -> list[tuple[StepSizeConfig, StepSizeResult]]:
    """Shares that are the formula's, or wrong by so much."""
    sizes = [StepSizeConfig(C0=C0, C2=step_constant(C0, p)) for C0 in (0.25, 1.0) for p in (0.1, 0.2, 0.5)]
    return [(size, StepSizeResult(withstood=withstanding_share(size.C0, size.C2) + wrong)) for size in sizes]


_CHEAP = {"C0": 1.0, "C2": 0.977, "draws": 200}

CHECKS = (
    Check(
        claim_id="lazy.thm3.1.size",
        experiment=STEP_SIZE,
        evaluate=_size,
        conditions=_limits,
        satisfied=examples(*_example()),
        violated=examples(*_example(wrong=0.08)),
        controls=(
            Control(
                name="no ball",
                removes="ball",
                settings={"net": "start"},
                cheap=_CHEAP,
                why="The start lacks the C0/2 that turned rows add.",
                seeds=3,
            ),
            Control(
                name="few dimensions",
                removes="structure",
                settings={"d": 5},
                cheap=_CHEAP,
                why="A step that is as long as the input is not of first order.",
                seeds=3,
            ),
        ),
        reading="One net of the ball for every draw, so that the share is a lower bound on p_fail of the "
        "theorem's step; d = 10^8 and a width below the window stand for the limit.",
    ),
)
