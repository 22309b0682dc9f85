"""Check on the printed algorithm: which of its pieces puts the net to sleep at these sizes."""

from collections.abc import Sequence

from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import average, data_conditions
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.printed import PIECES, PRINTED, PrintedResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding
from karat.study.judging import Undecided, all_of, every_setting, exact_bound, noted, share_of_points
from karat.study.judging.common import Side
from karat.study.run import Run, examples

ASLEEP = 0.02
"""A net with a smaller share of live neurons is called asleep; a lottery leaves a third of them."""

PrintedRun = Run[OddNetConfig, PrintedResult]


def _name(config: OddNetConfig) -> str:
    pieces = {
        "schedule": config.schedule == "paper",
        "lambda": config.decay is None,
        "noise": config.sampled_noise,
    }
    return " + ".join(name for name, printed in pieces.items() if printed) or "none"


def _both(config: OddNetConfig) -> bool:
    """Whether schedule and decay are both as printed."""
    return config.schedule == "paper" and config.decay is None


def _falls_asleep(every: Sequence[PrintedRun]) -> Finding:
    """Live neurons with both printed pieces and with one or none of them, at the smallest dimension run."""
    size = min((run.config.d for run in every), default=0)
    runs = [run for run in every if run.config.d == size]
    together = [run for run in runs if _both(run.config)]
    apart = [run for run in runs if not _both(run.config)]
    if not together or not apart:
        raise Undecided("schedule and decay were not run both together and apart")
    kinds = sorted({_name(run.config) for run in runs})
    shares = {kind: average([run.result.live for run in runs if _name(run.config) == kind]) for kind in kinds}
    return noted(
        all_of(
            every_setting(together, lambda cells: _live(cells, "at most")),
            every_setting(apart, lambda cells: _live(cells, "at least")),
            exact_bound(
                [run.result.decay / run.result.survivable for run in together],
                "at least",
                1.0,
                RATIO,
                "formulas",
            ),
        ),
        "Live neurons, by what is as printed: "
        + ", ".join(f"{kind} {share:.2f}" for kind, share in shares.items())
        + f". lambda d = {together[0].result.decay:.2f}; at the last threshold a winner survives "
        f"{together[0].result.survivable:.2f} at most.",
    )


def _live(runs: Sequence[PrintedRun], side: Side) -> Finding:
    """The share of neurons that are live, in nets of one setting."""
    return share_of_points([run.result.live for run in runs], runs[0].config.m, side, ASLEEP)


def _pieces(together: float, apart: float) -> list[tuple[OddNetConfig, PrintedResult]]:
    cells = []
    for piece in PIECES:
        config = OddNetConfig(d=50, k=7, **piece)
        live = together if _both(config) else apart
        cells.append((config, made_up(PrintedResult, live=live, decay=0.3, survivable=0.2)))
    return cells


CHECKS = (
    Check(
        claim_id="purification.alg1.asleep",
        experiment=PRINTED,
        evaluate=_falls_asleep,
        conditions=data_conditions,
        satisfied=examples(*_pieces(0.0, 0.3)),
        violated=examples(*_pieces(0.3, 0.3)),
        controls=(
            Control(
                name="no training",
                removes="training",
                settings={"clean_steps": 0},
                why="Before training every row is longer than the first threshold.",
            ),
            Control(
                name="five times as many large codes",
                removes="scale",
                settings={"large_rate": 1.0},
                why="Where large codes wake a neuron five times as often it outgrows the printed decay.",
            ),
        ),
        reading=f"Asleep: less than {ASLEEP:g} of the neurons are longer than the threshold, so that no "
        "input of length one wakes the others. The finite schedule and lambda = 0.01/d take the place of "
        "what is not as printed; noise is drawn or averaged.",
    ),
)
