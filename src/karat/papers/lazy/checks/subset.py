"""Check of the printed bound on switched neurons against the subset that an adversary chooses."""

from collections.abc import Sequence

from karat.papers.lazy.bounds import subset_bound, subset_limit, subset_union_bound
from karat.papers.lazy.experiments.subset import SUBSET, SubsetConfig, SubsetResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import LENGTH, Finding
from karat.study.judging import certified, noted
from karat.study.run import Run, examples, grouped

SubsetRun = Run[SubsetConfig, SubsetResult]


def _subset(runs: Sequence[SubsetRun]) -> Finding:
    """The printed bound on switched neurons against the worst subset, at the largest width."""
    # Widths can be compared within one dimension, and the first is as good as any.
    config = runs[0].config
    of_dimension = [run for run in runs if run.config.d == config.d]
    by_width = dict(sorted(grouped(of_dimension, lambda run: run.config.m).items()))
    # The claim is one on wide nets: the hidden constants of its lemma exclude narrow ones.
    widest = by_width[max(by_width)]
    finding = certified(
        [run.result.subset for run in widest],
        [run.result.ceiling for run in widest],
        widest[0].result.bound,
        LENGTH,
    )
    listed = ", ".join(
        f"{sum(run.result.subset for run in cells) / len(cells):.2f} of {cells[0].result.bound:.2f} at m = "
        f"{m:.0e}"
        for m, cells in by_width.items()
    )
    return noted(
        finding,
        f"Worst subset found against the bound at d = {config.d}, C0 = {config.C0:g}: {listed}.",
        f"As m grows the formula tends to 0; C0/pi = {widest[0].result.limit:.2f} is what half of the "
        "neurons near their kink add along a fixed direction.",
        f"The proof's union bound allows {subset_union_bound(max(by_width), config.C0, config.p_fail):.3g}.",
    )


def _example(factor: float) -> tuple[SubsetConfig, SubsetResult]:
    config = SubsetConfig(d=100, m=10**6)
    bound = subset_bound(config.d, config.m, config.C0, config.p_fail)
    result = SubsetResult(
        can_switch=8000,
        subset=factor * bound,
        ceiling=1.1 * factor * bound,
        bound=bound,
        limit=subset_limit(config.C0),
    )
    return config, result


CHECKS = (
    Check(
        claim_id="lazy.eq7.subset",
        experiment=SUBSET,
        evaluate=_subset,
        satisfied=examples(_example(0.5)),
        violated=examples(_example(2.0)),
        controls=(
            Control(
                name="farther kinks",
                removes="scale",
                settings={"reach": 10.0},
                cheap={"m": 1_000_000, "d": 20},
                why="Ten times as many neurons can switch as the bound counts.",
            ),
        ),
        reading="Alternating maximisation over subsets finds a lower bound on the maximum, so that a "
        "violation would be certain; the spectral norm bounds it from above.",
        headline=True,
    ),
)
