"""Clusters on Gaussians and images, and filters of residual nets."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from karat.papers.features.experiments.clusters import IMAGES, ClustersConfig, ClustersResult
from karat.papers.features.experiments.filters import FIG20, BlockTraining, FiltersConfig, FiltersResult
from karat.papers.features.experiments.hypercube import TAB6, Coverage, HypercubeConfig, HypercubeResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import COSINE, COUNT, SHARE, Finding, Margin, Unit
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import Undecided, all_of, bound, equal, noted
from karat.study.run import Run, by_setting, examples, grouped

MISSING = "set KARAT_DATA to a folder that holds the images, then run again."
APART = -0.5
"""Largest cosine of the centres of two opposite clusters: 120 degrees."""

HypercubeRun = Run[HypercubeConfig, HypercubeResult]
ClustersRun = Run[ClustersConfig, ClustersResult]
FiltersRun = Run[FiltersConfig, FiltersResult]
DIFFERENCE = Unit("difference of cosines", -2.0, 2.0)


def covered(runs: Sequence[HypercubeRun]) -> Finding:
    """Share of centres with a neuron within cosine 0.9, at every setting."""
    shares = [[run.result.end.covered / run.result.centres for run in group] for group in by_setting(runs)]
    worst = min(run.result.end.worst_cos for run in runs)
    accuracy = min(run.result.test for run in runs)
    return noted(
        all_of(*(bound(values, "at least", 1.0, SHARE) for values in shares)),
        f"Worst centre of all runs has best cosine {worst:.2f}; smallest test accuracy {accuracy:.3f}.",
    )


def two_clusters(*sources: str) -> Callable[[Sequence[ClustersRun]], Finding]:
    """Judge the cosine between the two centres of the neurons, from every start that was tried.

    The paper's start is "random Gaussian" without a size: where sizes disagree there is no answer.

    Args:
        sources: image sets that may stand for the paper's.
    """

    def evaluate(runs: Sequence[ClustersRun]) -> Finding:
        by_start = dict(
            sorted(grouped(_of_sources(runs, sources), lambda run: run.config.init_scale).items())
        )
        findings = {
            scale: bound([run.result.final_between for run in group], "at most", APART, COSINE)
            for scale, group in by_start.items()
        }
        listed = "; ".join(
            f"init_scale {scale:g}: centres {finding}, inside "
            f"{np.mean([run.result.final_inside for run in by_start[scale]]):.2f}"
            for scale, finding in findings.items()
        )
        if len({finding.leaning for finding in findings.values()}) > 1:
            raise Undecided(f"the size of the start, which the paper does not state, decides: {listed}.")
        return noted(all_of(*findings.values()), f"{listed}.")

    return evaluate


def four_clusters(runs: Sequence[ClustersRun]) -> Finding:
    """Number of clusters of largest silhouette on SVHN, printed as four."""
    counts = [run.result.best_count for run in _of_sources(runs, ("svhn_pair",))]
    listed = ", ".join(f"{count:g}" for count in counts)
    note = f"Best number of clusters per seed, among 2 to 6: {listed}; the paper counts by eye."
    return noted(equal(counts, 4.0, Margin(0.5, "counts are whole numbers"), COUNT), note)


def _of_sources(runs: Sequence[ClustersRun], sources: tuple[str, ...]) -> list[ClustersRun]:
    on_sources = [run for run in runs if run.config.source in sources]
    if not on_sources:
        raise Undecided(f"no run on {' or '.join(sources)}: {MISSING}")
    return on_sources


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
    pairs = [min(run.result.gradient_cosines[3:]) for run in runs]
    mean = np.mean([run.result.gradient_cosines_mean[3:] for run in runs])
    return noted(
        bound(pairs, "at least", -APART, COSINE), f"Mean over all filters of the last block: {mean:.2f}."
    )


def _paper_filters(config: FiltersConfig) -> list[Condition]:
    return [
        is_so("Sec E.4.1: airplane and automobile of CIFAR-10", config.source == "cifar10_pair"),
        is_so("Sec E.4.1: images of 32 x 32", config.side in (None, 32)),
        at_least("Sec E.4.1: ResNet(128) and ResNet(256)", config.m, 128),
        at_least("Sec E.4.1: 10,000 images", config.n, 10_000),
        at_least("Sec E.4.1: 20 epochs", config.epochs, 20),
    ]


STILL = 1e-12
"""A rate that leaves the start as it is."""
UNTRAINED_CUBE = Control(
    name="no training",
    removes="training",
    settings={"lr": STILL, "epochs": 1, "n": 400, "m": 200},
    why="Random directions are not within cosine 0.9 of every centre.",
)
UNTRAINED_IMAGES = Control(
    name="no training",
    removes="training",
    settings={"lr": STILL, "epochs": 1, "n": 300, "source": "digits", "pictures": False},
    why="Weights drawn at random have no opposite clusters.",
)
UNTRAINED_FILTERS = Control(
    name="no training",
    removes="training",
    settings={"lr": STILL, "epochs": 1, "n": 100, "batch_size": 50, "side": 8, "m": 8, "source": "digits"},
    why="Random filters picked in the same way are no clusters, and their gradients say nothing of training.",
)


def _hypercube(count: int) -> list[HypercubeRun]:
    result = HypercubeResult(
        centres=16,
        test=1.0,
        start=Coverage(covered=0, worst_cos=0.3),
        end=Coverage(covered=count, worst_cos=0.9),
    )
    return examples((HypercubeConfig(d=100, k=4, sigma_r=1.0), result))


def _clusters(source: Any, between: float, count: int = 2) -> list[ClustersRun]:
    result = ClustersResult(
        steps=[0, 10], inside=[0.1, 0.6], between=[-0.1, between], test=0.99, final_inside=0.6,
        final_between=between, best_count=count, largest_between=between, dead=0.0,
    )  # fmt: skip
    return examples((ClustersConfig(source=source), result))


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


def _images_check(
    item: str, evaluate: Callable[[Sequence[ClustersRun]], Finding], **more: Any
) -> Check[ClustersConfig, ClustersResult]:
    return Check(
        claim_id=f"features.{item}",
        experiment=IMAGES,
        evaluate=evaluate,
        controls=(UNTRAINED_IMAGES,),
        reading="Spherical means of the neurons' weights; truncated ReLU, hinge loss, momentum 0.95. Two "
        f"clusters have centres of a cosine of {APART:g} at most.",
        **more,
    )


def _filters_check(
    item: str, evaluate: Callable[[Sequence[FiltersRun]], Finding], reported: str, **more: Any
) -> Check[FiltersConfig, FiltersResult]:
    return Check(
        claim_id=f"features.{item}",
        experiment=FIG20,
        evaluate=evaluate,
        reported=reported,
        conditions=_paper_filters,
        controls=(UNTRAINED_FILTERS,),
        reading="Clusters are the filters at both ends of the leading principal direction, not hand-picked.",
        **more,
    )


CHECKS = (
    Check(
        claim_id="features.secE.3.2",
        experiment=TAB6,
        evaluate=covered,
        satisfied=_hypercube(16),
        violated=_hypercube(12),
        controls=(UNTRAINED_CUBE,),
        reading="Covered means a neuron within cosine 0.9; noise covariance sigma_r^2 (k/d) I; small start.",
    ),
    _images_check(
        "fig17",
        two_clusters("mnist", "digits"),
        satisfied=_clusters("digits", -0.9),
        violated=_clusters("digits", -0.1),
    ),
    _images_check(
        "fig18",
        two_clusters("cifar10_pair"),
        satisfied=_clusters("cifar10_pair", -0.9),
        violated=_clusters("cifar10_pair", -0.1),
    ),
    _images_check(
        "fig19",
        four_clusters,
        satisfied=_clusters("svhn_pair", -0.9, 4),
        violated=_clusters("svhn_pair", -0.9, 2),
    ),
    _filters_check(
        "fig20",
        filter_clusters,
        "(.6152, .6973, -.7245) to (.5584, .5697, -.9074), accuracy 95.75%",
        satisfied=_filters(-0.7, -0.8),
        violated=_filters(-0.2, -0.8),
    ),
    _filters_check(
        "fig21",
        width_clusters,
        "(.7065, .6551, -.7875) to (.7386, .6839, -.9740), accuracy 93.8%",
        satisfied=_filters(-0.7, -0.8),
        violated=_filters(-0.7, -0.6),
    ),
    _filters_check(
        "tab7",
        early_gradients,
        "pairwise .7454, .5083, .6533; .7087, .6919, .9135",
        satisfied=_filters(-0.7, -0.8),
        violated=_filters(-0.7, -0.8, pairwise=0.1),
    ),
)
