"""Made-up cells of lazy's experiments, of which the examples of its checks consist."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from karat.papers.lazy.experiments.adversarial_training import (
    AdversarialTrainingConfig,
    AdversarialTrainingResult,
)
from karat.papers.lazy.experiments.flip_length import Distribution, FlipLengthResult, Quantity
from karat.papers.lazy.experiments.lazy_training import LazyTrainingConfig
from karat.papers.lazy.experiments.one_point import OnePointConfig, OnePointResult
from karat.papers.lazy.experiments.proof_steps import ProofStepsConfig, ProofStepsResult
from karat.papers.lazy.experiments.worst import WorstConfig, WorstResult
from karat.study.run import Run, examples


def worst_cell(
    config: WorstConfig,
    *,
    worst: float,
    sharp: float | None = None,
    flipped: bool = True,
    cone_change: float = 0.0,
) -> tuple[WorstConfig, WorstResult]:
    """Return a made-up cell for an example; the gradient is sqrt(d/2).

    Args:
        config: its settings.
        worst: longest flip.
        sharp: the formula's; None for the same.
        flipped: whether the theorem's step flips.
        cone_change: of the rescaled nets.
    """
    gradient = math.sqrt(config.d / 2)
    points = config.points
    return config, WorstResult(
        at_start=[worst / 2] * points,
        start_value=[0.5] * points,
        worst=[worst] * points,
        value=[1.0] * points,
        gradient=[gradient] * points,
        sharp=[worst if sharp is None else sharp] * points,
        flipped=[flipped] * points,
        cone_change=cone_change,
    )


def one_point_cell(
    config: OnePointConfig | None = None,
    *,
    supremum: float | None = None,
    can_switch: int = 250,
    change: float = 0.1,
    largest_change: float = 5.0,
    nearby: int = 250,
    sign_changes: int = 20,
    switches: int = 250,
) -> tuple[OnePointConfig, OnePointResult]:
    """Return a made-up cell, by default at d = 196, m = 1000, C0 = 10, in which the lemmas hold.

    Args:
        config: its settings.
        supremum: of |f| over the ball; |f| of the start is 0.5, and None stands for C0/2 more.
        can_switch: neurons that can change sign at x.
        change: of the start's gradient along delta.
        largest_change: of any net's.
        nearby: neurons that can change sign at some x + delta.
        sign_changes: neurons of W0 that change sign from x to x + delta.
        switches: neurons that have two signs near x.
    """
    config = OnePointConfig(d=196, m=1000) if config is None else config
    return config, OnePointResult(
        value=[0.5] * 40,
        supremum=[config.C0 / 2 + 0.5 if supremum is None else supremum] * 40,
        can_switch=[can_switch] * 40,
        change=[change] * 40,
        largest_change=[largest_change] * 40,
        nearby=nearby,
        neurons=1000,
        sign_changes=sign_changes,
        switches=switches,
        angle_probability=0.02,
        switch_probability=0.25,
    )


def trained_cell(
    config: AdversarialTrainingConfig, *, accuracy: float
) -> tuple[AdversarialTrainingConfig, AdversarialTrainingResult]:
    """Return a made-up trained net for an example.

    Args:
        config: its settings.
        accuracy: that the attack leaves.
    """
    return config, AdversarialTrainingResult(
        robust_accuracy=accuracy,
        clean_accuracy=1.0,
        train_robust_accuracy=accuracy,
        epochs=config.epochs - 1,
        movement_max=10.0,
        movement_mean=8.0,
        margin_over_gradient=0.1,
        gradient=20.0,
        gradient_at_start=20.0,
    )


def flip_runs(
    powers: Sequence[float] = (-0.5, 0.5, -1.0),
    *,
    growth: float = 1.1,
    step: float = 1.0,
    error: float = 0.0,
    C0: tuple[float, ...] = (10.0, 20.0),
    skewness: float = 0.0,
) -> list[Run[LazyTrainingConfig, FlipLengthResult]]:
    """Return made-up trajectories that follow exact power laws of d.

    Args:
        powers: of flip, gradient and step.
        growth: from one ball to the next all three quantities grow by this factor.
        step: the step at d = 1.
        error: on the test images.
        C0: the balls.
        skewness: of all histograms.
    """
    bell = Distribution(
        mean=0.0, median=0.0, spread=1.0, skewness=skewness, kurtosis=0.0, counts=[], edges=[]
    )
    shapes: dict[Quantity, Distribution] = {"perturbation": bell, "gradient": bell, "step": bell}
    cells = []
    for side in (5, 10, 14, 20, 28):
        flip, gradient, steps = (
            [first * side ** (2 * power) * growth**i for i in range(len(C0))]
            for first, power in zip((1.0, 1.0, step), powers, strict=True)
        )
        result = FlipLengthResult(
            C0=list(C0),
            steps=[100] * len(C0),
            left=[True] * len(C0),
            test_error=[error] * len(C0),
            test_images=[2000] * len(C0),
            perturbation=flip,
            gradient=gradient,
            step=steps,
            unflipped=[0.0] * len(C0),
            first_order=[1.0] * len(C0),
            margin=[1.0] * len(C0),
            length=[1.0] * len(C0),
            histograms=[shapes] * len(C0),
        )
        cells.append((LazyTrainingConfig(side=side, m=1000, C0=C0), result))
    return examples(*cells)


def trained_runs(
    cells: Iterable[tuple[dict[str, Any], float]],
) -> list[Run[AdversarialTrainingConfig, AdversarialTrainingResult]]:
    """Return made-up trained nets, three seeds of each.

    Args:
        cells: settings, and the accuracy that the attack leaves.
    """
    made: list[tuple[AdversarialTrainingConfig, AdversarialTrainingResult]] = [
        trained_cell(AdversarialTrainingConfig(**settings), accuracy=accuracy) for settings, accuracy in cells
    ]
    return examples(*made)


def steps_cells(**changes: Any) -> list[Run[ProofStepsConfig, ProofStepsResult]]:
    """Return made-up cells in which every step is true, except for what is changed.

    Args:
        changes: name of a value -> what it is at the dimension d.
    """
    true: dict[str, Any] = {
        "all_rows": 0.95,
        "all_rows_repaired": 0.95,
        "width": 0.5,
        "width_repaired": 0.5,
        "subsets": [0.25] * 20,
        "subsets_ceiling": [0.5] * 20,
        "subsets_repaired": [0.25] * 20,
        "subsets_repaired_ceiling": [0.5] * 20,
        "dimension": 1.5,
        "last_line": 0.5,
        "sketch": 1.5,
        "sketch_repaired": 1.5,
        "linear_gradient": 1.0,
        "landing": -1.0,
    }
    return examples(
        *(
            (
                ProofStepsConfig(d=d),
                ProofStepsResult(
                    **(true | {"linear_flip": d**-0.5} | {name: at(d) for name, at in changes.items()})
                ),
            )
            for d in (100, 400, 784)
        )
    )
