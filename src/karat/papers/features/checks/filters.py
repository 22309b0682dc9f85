"""Figures 20 and 21 and Table 7: filters of residual nets."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from karat.papers.features.checks.images import APART, STILL
from karat.papers.features.experiments.filters import FIG20, BlockTraining, FiltersConfig, FiltersResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import COSINE, Finding, Unit
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import Undecided, all_of, bound, every_setting, noted
from karat.study.run import Run, examples, grouped

FiltersRun = Run[FiltersConfig, FiltersResult]

DIFFERENCE = Unit("difference of cosines", -2.0, 2.0)


def filter_clusters(runs: Sequence[FiltersRun]) -> Finding:
    """Cosine between the two clusters in every block of the narrowest net; printed -.51 to -.91."""
    # Figure 20 shows the narrower of the paper's two nets; the wider one is judged beside it.
    by_width = grouped(runs, lambda run: run.config.m)
    narrow = by_width[min(by_width)]
    blocks = [bound([run.result.ends[b][2] for run in narrow], "at most", APART, COSINE) for b in range(4)]
    training = [block for run in narrow for block in run.result.training.values()]
    inside = np.mean(
        [cosine for run in narrow for green, red, _ in run.result.ends for cosine in (green, red)]
    )
    early = np.mean([block.early_move for block in training])
    late = np.mean([block.late_move for block in training])
    note = (
        f"Inside {inside:.2f}, between {', '.join(map(str, blocks))} by block. Filters turn by {early:.3f} "
        f"early and {late:.4f} later (1 - cos). Accuracy {np.mean([run.result.test for run in narrow]):.3f}."
    )
    return noted(all_of(*blocks), note)


def width_clusters(runs: Sequence[FiltersRun]) -> Finding:
    """How much further apart the centres of the widest net are, and its filters nearer to their own."""
    by_width = grouped(runs, lambda run: run.config.m)
    narrow, wide = min(by_width), max(by_width)
    if narrow == wide:
        raise Undecided(f"only ResNet({wide}) was run: there is no narrower net to compare with.")
    first, second = (_cosines_by_seed(by_width[m]) for m in (narrow, wide))
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        raise Undecided("no seed has nets of both widths.")
    gain = np.array([np.subtract(second[seed], first[seed]) for seed in seeds])  # (seeds, 2)
    return noted(
        all_of(
            bound(-gain[:, 1], "at least", 0.0, DIFFERENCE),
            bound(gain[:, 0], "at least", 0.0, DIFFERENCE),
        ),
        f"From ResNet({narrow}) to ResNet({wide}): inside {gain[:, 0].mean():+.2f}, centres "
        f"{gain[:, 1].mean():+.2f}.",
    )


def _cosines_by_seed(runs: Sequence[FiltersRun]) -> dict[int, tuple[float, float]]:
    """Seed -> mean cosine inside the clusters, and between their centres, over blocks."""
    blocks = {run.seed: np.array(run.result.ends) for run in runs}  # (blocks, 3) each
    return {seed: (float(b[:, :2].mean()), float(b[:, 2].mean())) for seed, b in blocks.items()}


def early_gradients(runs: Sequence[FiltersRun]) -> Finding:
    """Smallest pairwise cosine of the mean gradients of steps 1-10, 11-20, 21-30 for the selected filter."""

    # The first three cosines are to the mean, to which every gradient itself contributes.
    def pairs(nets: Sequence[FiltersRun]) -> list[float]:
        return [min(run.result.gradient_cosines[3:]) for run in nets]

    mean = np.mean([run.result.gradient_cosines_mean[3:] for run in runs])
    return noted(
        every_setting(runs, lambda nets: bound(pairs(nets), "at least", -APART, COSINE)),
        f"Mean over all filters of the last block: {mean:.2f}.",
    )


def _paper_filters(config: FiltersConfig) -> list[Condition]:
    return [
        is_so("Sec E.4.1: airplane and automobile of CIFAR-10", config.source == "cifar10_pair"),
        is_so("Sec E.4.1: images of 32 x 32", config.side in (None, 32)),
        at_least("Sec E.4.1: ResNet(128) and ResNet(256)", config.m, 128),
        at_least("Sec E.4.1: 10,000 images", config.n, 10_000),
        at_least("Sec E.4.1: 20 epochs", config.epochs, 20),
    ]


UNTRAINED_FILTERS = Control(
    name="no training",
    removes="training",
    settings={"lr": STILL, "epochs": 1},
    cheap={"n": 100, "batch_size": 50, "side": 8, "source": "digits"},
    why="Random filters picked in the same way are no clusters.",
)


SHUFFLED_FILTERS = Control(
    name="permuted labels",
    removes="labels",
    settings={"labels": "permuted"},
    cheap={"n": 300, "batch_size": 20, "epochs": 2, "side": 8, "source": "digits"},
    why="Gradients of labels in random order have no direction in common.",
)


def _filters(between: float, wide: float, pairwise: float = 0.7, inside: float = 0.7) -> list[FiltersRun]:
    """Nets of both widths; `wide` and `inside` are of the wider one."""

    def result(inside: float, between: float) -> FiltersResult:
        block = (inside, inside, between)
        training = BlockTraining(start=(0.1, 0.1, 0.0), early_move=0.1, late_move=0.1)
        return FiltersResult(
            test=0.95, block1=block, block2=block, block3=block, block4=block,
            training={f"block{number}": training for number in range(1, 5)},
            gradient_cosines=[0.9, 0.9, 0.9, pairwise, pairwise, pairwise],
            gradient_cosines_mean=[0.9, 0.9, 0.9, 0.7, 0.7, 0.7],
        )  # fmt: skip

    configs = [FiltersConfig(source="cifar10_pair", m=m, n=10_000) for m in (128, 256)]
    return examples((configs[0], result(0.6, between)), (configs[1], result(inside, wide)))


def _filters_check(
    item: str,
    evaluate: Callable[[Sequence[FiltersRun]], Finding],
    reported: str,
    control: Control,
    **more: Any,
) -> Check[FiltersConfig, FiltersResult]:
    return Check(
        claim_id=f"features.{item}",
        experiment=FIG20,
        evaluate=evaluate,
        reported=reported,
        conditions=_paper_filters,
        controls=(control,),
        reading="Clusters are the filters at both ends of the leading principal direction, not hand-picked.",
        **more,
    )


CHECKS = (
    _filters_check(
        "fig20",
        filter_clusters,
        "(.6152, .6973, -.7245) to (.5584, .5697, -.9074), accuracy 95.75%",
        UNTRAINED_FILTERS,
        satisfied=_filters(-0.7, -0.8),
        violated=_filters(-0.2, -0.8),
    ),
    _filters_check(
        "fig21",
        width_clusters,
        "(.7065, .6551, -.7875) to (.7386, .6839, -.9740), accuracy 93.8%",
        UNTRAINED_FILTERS,
        satisfied=_filters(-0.7, -0.8),
        violated=_filters(-0.7, -0.6),
    ),
    _filters_check(
        "tab7",
        early_gradients,
        "pairwise .7454, .5083, .6533; .7087, .6919, .9135",
        SHUFFLED_FILTERS,
        satisfied=_filters(-0.7, -0.8),
        violated=_filters(-0.7, -0.8, pairwise=0.1),
    ),
)
