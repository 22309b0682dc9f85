"""What the checks of lazy against convergence share: runs to look at, made-up ones, small settings."""

from collections.abc import Sequence

from karat.papers.convergence.experiments.ball_search import VsLazyConfig
from karat.papers.convergence.experiments.vs_lazy import Enclosure, VsLazyResult
from karat.study.run import Run

VsLazyRun = Run[VsLazyConfig, VsLazyResult]


def radius(run: VsLazyRun) -> float:
    """Return C0.

    Args:
        run: whose ball it is.
    """
    return run.config.C0


def images(runs: Sequence[VsLazyRun]) -> list[VsLazyRun]:
    """Return the runs on images as they are, in lazy's ball.

    Args:
        runs: any.
    """
    return [run for run in runs if run.config.padded_from is None and run.config.ball == "rows"]


def started(runs: Sequence[VsLazyRun], start: str) -> list[VsLazyRun]:
    """Return the runs with a start; all of them where there is no other start to choose, as in a control.

    Args:
        runs: any.
        start: "paired" or "gaussian".
    """
    return [run for run in runs if run.config.start == start] or list(runs)


EXAMPLE = VsLazyConfig(side=10, m=100, C0=1.0)
MEASURED = VsLazyResult(
    loss=0.5,
    bound=0.4,
    linear=Enclosure(loss=0.5, bound=0.45),
    train_accuracy=1.0,
    certified_accuracy=1.0,
    linear_margin=0.35,
    lit_radius=0.25,
    test_accuracy=0.9,
    clean_accuracy=1.0,
    value=0.1,
    gradient=0.1,
    flip_ratio=1.0,
    flip_radius=0.3,
    start_gradient=0.0,
    row_movement=1.0,
    frobenius_movement=1.0,
    kernel_norm=4.0,
    random_feature_norm=10.0,
    convergence_loss=0.6,
    lazy_loss=0.8,
)
"""A paired ball that holds what convergence wants."""

SMALL = {"m": 200, "n": 12, "n_test": 40, "steps": 40, "polish": 5, "ball": "rows"}
"""Settings that make the cells of a control small."""
