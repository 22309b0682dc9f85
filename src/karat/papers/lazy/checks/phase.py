"""The phase boundary of the lazy ball: how often one point defeats it where a formula says nine of ten."""

from collections.abc import Sequence

from karat.papers.lazy.bounds_in_law import defeated_share
from karat.papers.lazy.experiments.phase import PHASE, PhaseConfig, PhaseResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import SHARE, Finding, Margin
from karat.study.hypothesis import Condition, at_least
from karat.study.judging import equal, every_setting, noted
from karat.study.run import Run, examples

PhaseRun = Run[PhaseConfig, PhaseResult]

TENTH = Margin(0.05, "so much a tenth more or less of d changes the share at C0 = 10")


def _edge(runs: Sequence[PhaseRun]) -> Finding:
    """The share of defeated starts is the formula's, ball by ball."""
    return every_setting(runs, _share)


def _share(runs: Sequence[PhaseRun]) -> Finding:
    config = runs[0].config
    predicted = defeated_share(config.d, config.C0, config.tau)
    finding = equal([run.result.defeated for run in runs], predicted, TENTH, SHARE)
    return noted(
        finding, f"C0 = {config.C0:g}, d = {config.d}, m = {config.m}: {finding}, formula {predicted:.3f}."
    )


def _wide(config: PhaseConfig) -> Sequence[Condition]:
    return [at_least("m >= d^2", config.m, config.d**2, "so that the limit of wide nets is reached at all d")]


def _example(defeated: float) -> list[tuple[PhaseConfig, PhaseResult]]:
    config = PhaseConfig(d=398, m=158_404, C0=10.0)
    return [(config, PhaseResult(defeated=defeated))]


_CHEAP = {"d": 66, "m": 4356, "C0": 3.0}

CHECKS = (
    Check(
        claim_id="lazy.cor3.2.edge",
        experiment=PHASE,
        evaluate=_edge,
        conditions=_wide,
        satisfied=examples(*_example(0.9)),
        violated=examples(*_example(0.75)),
        controls=(
            Control(
                name="short rows",
                removes="structure",
                settings={"rows": "unit"},
                cheap=_CHEAP,
                why="The formula's gradient sqrt(d/2) is that of rows whose length grows with d.",
                seeds=3,
            ),
            Control(
                name="a random walk",
                removes="attack",
                settings={"walk": "random"},
                cheap=_CHEAP,
                why="A direction that does not know the start takes its value down by nothing on average.",
                seeds=3,
            ),
        ),
        reading="For every ball the dimension at which the formula says 0.9 was fixed before any draw. Every "
        "draw is a start and an input, in law.",
    ),
)
