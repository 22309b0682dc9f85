"""Directions of the neurons: pictures of them, and what single-precision forgetting does to them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.data import orthonormal
from karat.papers.features.experiments.learning import LearningProblem, Stages
from karat.papers.features.experiments.pictures import planar_picture, rounded
from karat.papers.features.experiments.settings import LearningConfig
from karat.reductions.span.pattern_space import PatternNet
from karat.training.feature_steps import float32_forgetting

DRAWN = 80
"""Neurons in a picture."""
FITTED_LR = 2.5e-7
"""The one first rate at which rounding in single precision gives the printed One Step cosines at all d."""


@dataclass(frozen=True, kw_only=True)
class DirectionPicture:
    """Neurons in the plane; the last two points are the ground truth and its negative.

    Args:
        points: two coordinates each.
        cosines: of every neuron to the ground truth.
        share: part of the spread that the plane shows.
    """

    points: list[list[float]]
    cosines: list[float]
    share: float


@dataclass(frozen=True, kw_only=True)
class Float32Cosines:
    """Best cosine after one step whose weight decay was rounded to single precision.

    Args:
        fitted_cos: at the rate `FITTED_LR`.
        theory_cos: at the paper's own rate.
    """

    fitted_cos: float
    theory_cos: float


def direction_pictures(stages: Stages, last: PatternNet, direction: Tensor) -> dict[str, DirectionPicture]:
    """Return planar pictures of the neurons and of +- the ground truth, stage by stage.

    Args:
        stages: of feature learning.
        last: the net at the end of training.
        direction: ground truth.

    Ref: features, Fig 6
    """
    pictures = {}
    nets = (("start", stages.start), ("one step", stages.one), ("two steps", stages.two), ("end", last))
    for name, net in nets:
        W = net.weights()
        every = slice(None, None, max(1, len(W) // DRAWN))
        chosen, cosines = W[every][:DRAWN], net.cosines(direction)[every][:DRAWN]
        # Weights may have coordinates outside the patterns' span, where the ground truth is zero.
        star = torch.zeros(1, W.shape[1], dtype=torch.float64)
        star[0, : len(direction)] = direction
        picture = planar_picture(torch.cat([chosen, star, -star]))
        pictures[name] = DirectionPicture(
            points=picture.points, cosines=rounded(cosines.tolist()), share=picture.share
        )
    return pictures


def float32_cosines(
    config: LearningConfig, problem: LearningProblem, stages: Stages, generator: torch.Generator
) -> Float32Cosines | None:
    """Return the best cosine after one step when single precision forgets the old weights, in R^d.

    Reading: the printed One Step cosines fall with d, which exact forgetting excludes. Rounding is a
    candidate explanation with one fitted rate; at the paper's own first rate it would bury the gradient.

    Args:
        config: settings of the run.
        problem: its data and start.
        stages: the net after exact steps.
        generator: draws the dictionary and the start outside the patterns' span.

    Returns:
        None for a run that is not reduced to pattern space.

    Ref: features, Tab 3
    """
    # A generator of its own: how much is drawn here depends on d, and nothing after it may.
    generator = torch.Generator().manual_seed(int(torch.randint(2**62, (), generator=generator)))
    if not config.reduced:
        return None
    M = orthonormal(config.d, config.D, generator=generator)
    q = stages.start.net.W.double()
    noise = torch.randn(len(q) // 2, config.d, generator=generator, dtype=torch.float64)
    outside = config.start_sd * noise
    # The start in R^d: its pattern coordinates are those of the run, partners of a pair are equal.
    W = q @ M.T + (outside - outside @ M @ M.T).repeat(2, 1)
    gradient = -stages.one.net.W.double() / config.lr_first @ M.T
    target = M @ problem.direction

    def best_cosine(lr: float) -> float:
        after = float32_forgetting(W, gradient, lr)
        length = torch.linalg.vector_norm(after, dim=1) * torch.linalg.vector_norm(target)
        return float(torch.where(length > 0, after @ target / length.clamp_min(1e-300), 0.0).max())

    return Float32Cosines(fitted_cos=best_cosine(FITTED_LR), theory_cos=best_cosine(config.theory_lr))
