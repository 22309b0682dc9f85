"""The phase boundary of the lazy ball: how often one point defeats it, and how often a formula says so."""

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

NEARLY = Margin(
    0.02,
    "0.01 for chance, 3000 draws of 8 seeds at a share of 1/2, and as much for terms of order 1/d, 1/sqrt m",
)


def _edge(runs: Sequence[PhaseRun]) -> Finding:
    """The share of defeated starts is the formula's, ball by ball."""
    return every_setting(runs, _share)


def _share(runs: Sequence[PhaseRun]) -> Finding:
    config = runs[0].config
    predicted = defeated_share(config.d, config.C0, config.tau)
    finding = equal([run.result.defeated for run in runs], predicted, NEARLY, SHARE)
    return noted(
        finding,
        f"tau = {config.tau:g}, C0 = {config.C0:g}, d = {config.d}, m = {config.m}: {finding}, "
        f"formula {predicted:.3f}.",
    )


def _wide(config: PhaseConfig) -> Sequence[Condition]:
    return [at_least("m >= d^2", config.m, config.d**2, "so that the limit of wide nets is reached at all d")]


def _example(wrong: float = 0.0) -> list[tuple[PhaseConfig, PhaseResult]]:
    """Shares that are the formula's, or wrong by so much."""
    sizes = [
        PhaseConfig(d=d, m=d**2, C0=C0, tau=tau)
        for d, C0, tau in ((48, 0.3, 0.2), (5, 0.5, 0.2), (42, 2.0, 0.5), (13, 2.0, 0.5), (46, 4.0, 0.85))
    ]
    return [
        (config, PhaseResult(defeated=defeated_share(config.d, config.C0, config.tau) - wrong))
        for config in sizes
    ]


_CHEAP = {"d": 42, "m": 2000, "C0": 2.0, "tau": 0.5, "draws": 1500}

CHECKS = (
    Check(
        claim_id="lazy.cor3.2.edge",
        experiment=PHASE,
        evaluate=_edge,
        conditions=_wide,
        satisfied=examples(*_example()),
        violated=examples(*_example(wrong=0.05)),
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
        reading="At radii 0.2, 0.5 and 0.8 the dimensions at which the formula says 1/2 and 0.9 were fixed "
        "before any draw. Every draw is a start and an input, in law.",
    ),
)
