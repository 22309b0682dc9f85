"""Made-up cells of lazy's experiments, of which the examples of its checks consist."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from karat.papers.lazy import bounds
from karat.papers.lazy.experiments.adversarial_training import (
    AdversarialTrainingConfig,
    AdversarialTrainingResult,
)
from karat.papers.lazy.experiments.flip_length import Distribution, FlipLengthResult, Quantity
from karat.papers.lazy.experiments.lazy_training import LazyTrainingConfig
from karat.papers.lazy.experiments.lemmas import LemmasConfig, LemmasResult
from karat.papers.lazy.experiments.worst import WorstConfig, WorstResult
from karat.study.run import Run, examples


def worst_cell(
    config: WorstConfig,
    *,
    worst: float,
    sharp: float | None = None,
    smallest: float | None = None,
    floor: float | None = None,
    flipped: bool = True,
    cone_change: float = 0.0,
) -> tuple[WorstConfig, WorstResult]:
    """Return a made-up cell for an example; by default nothing moves the gradient from sqrt(d/2).

    Args:
        config: its settings.
        worst: longest flip.
        sharp: the formula's; None for the same.
        smallest: smallest gradient found; None for sqrt(d/2).
        floor: its certificate; None for the same as the smallest.
        flipped: whether the theorem's step flips.
        cone_change: of the rescaled nets.
    """
    gradient = math.sqrt(config.d / 2)
    least = gradient if smallest is None else smallest
    points = config.points
    return config, WorstResult(
        at_start=[worst / 2] * points,
        start_value=[0.5] * points,
        worst=[worst] * points,
        value=[1.0] * points,
        gradient=[gradient] * points,
        sharp=[worst if sharp is None else sharp] * points,
        flipped=[flipped] * points,
        smallest_gradient=[least] * points,
        gradient_floor=[least if floor is None else floor] * points,
        gradient_at_start=[gradient] * points,
        cone_change=cone_change,
    )


def lemmas_cell(
    *,
    value: float = 5.5,
    switch: float = 250.0,
    nearby: float = 250.0,
    sign_changes: int = 20,
    landed: float = 1.0,
    gradient_change: float = 5.0,
) -> tuple[LemmasConfig, LemmasResult]:
    """Return a made-up cell at d = 196, m = 1000, C0 = 10, in which the lemmas hold by default.

    Args:
        value: supremum of |f| over the ball; that of the start is 0.5.
        switch: neurons that can change sign at x.
        nearby: neurons that can change sign at some x + delta.
        sign_changes: neurons of W0 that change sign from x to x + delta.
        landed: share of certified steps that land.
        gradient_change: largest change of the gradient found.
    """
    config = LemmasConfig(side=14, m=1000)
    d, m, C0, p, tau = config.d, config.m, config.C0, config.p_fail, config.tau
    return config, LemmasResult(
        steps=100,
        can_switch=switch,
        can_switch_nearby=nearby,
        switched=100.0,
        value=3.0,
        value_supremum=value,
        gradient=10.0,
        gradient_infimum=2.0,
        gradient_change=gradient_change,
        gradient_change_all=gradient_change,
        subset=4.0,
        kappa=0.5,
        kappa_certified=20.0,
        kappa_on_ray=0.4,
        usable=0.5,
        landed=landed,
        step_length=0.6,
        value_draws=[value] * 40,
        start_draws=[0.5] * 40,
        switch_draws=[switch] * 40,
        sign_changes=sign_changes,
        can_switch_bound=bounds.sign_change_bound(m, config.weight_radius, p),
        can_switch_nearby_bound=bounds.sign_change_bound(m, config.weight_radius, p, tau),
        value_supremum_bound=bounds.value_bound(m, C0, p),
        flip_probability=bounds.sign_flip_probability(tau),
        flip_probability_bound=bounds.sign_flip_bound(d, tau),
        gradient_change_bound=bounds.gradient_change_fixed(d, m, C0, tau, p),
        gradient_change_all_bound=bounds.gradient_change_uniform(d, m, C0, config.C1),
        subset_bound=bounds.subset_bound(d, m, C0, p),
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
) -> list[Run[LazyTrainingConfig, FlipLengthResult]]:
    """Return made-up trajectories that follow exact power laws of d.

    Args:
        powers: of flip, gradient and step.
        growth: from one ball to the next all three quantities grow by this factor.
        step: the step at d = 1.
        error: on the test images.
        C0: the balls.
    """
    bell = Distribution(mean=0.0, median=0.0, spread=1.0, skewness=0.0, counts=[], edges=[])
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
