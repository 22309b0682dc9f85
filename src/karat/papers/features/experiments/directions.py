"""Directions of the neurons: pictures of them, and what single-precision forgetting does to them."""

from typing import Any

import torch
from torch import Tensor

from karat.data import orthonormal
from karat.papers.features.experiments.learning import Config, Problem, Stages
from karat.probes.mds import classical_mds
from karat.reductions.span.pattern_space import PatternNet
from karat.training.feature_steps import float32_forgetting

DRAWN = 80
"""Neurons in a picture."""
FITTED_LR = 2.5e-7
"""The one first rate at which rounding in single precision gives the printed One Step cosines at all d."""


def direction_pictures(stages: Stages, last: PatternNet, direction: Tensor) -> dict[str, Any]:
    """Planar pictures of the neurons and of +- the ground truth (the last two points), stage by stage.

    Ref: features, Fig 6
    """
    pictures = {}
    named = (("start", stages.start), ("one step", stages.one), ("two steps", stages.two), ("end", last))
    for name, net in named:
        W = net.weights()
        every = slice(None, None, max(1, len(W) // DRAWN))
        chosen, cosines = W[every][:DRAWN], net.cosines(direction)[every][:DRAWN]
        star = torch.zeros(1, W.shape[1], dtype=torch.float64)
        star[0, : len(direction)] = direction
        picture = classical_mds(torch.cat([chosen, star, -star]))
        pictures[name] = {
            "points": [[round(v, 4) for v in point] for point in picture.points.tolist()],
            "cosines": [round(v, 4) for v in cosines.tolist()],
            "share": picture.share,
        }
    return pictures


def rounding_values(
    config: Config, problem: Problem, stages: Stages, generator: torch.Generator
) -> dict[str, float]:
    """Best cosine after one step when single precision forgets the old weights, in R^d.

    Reading: the printed One Step cosines fall with d, which exact forgetting excludes. Rounding is a
    candidate explanation with one fitted rate; at the paper's own first rate it would bury the gradient.

    Ref: features, Tab 3
    """
    # A generator of its own: how much is drawn here depends on d, and nothing after it may.
    generator = torch.Generator().manual_seed(int(torch.randint(2**62, (), generator=generator)))
    if not config.reduced:
        return {}
    M = orthonormal(config.d, config.D, generator=generator)
    q = stages.start.net.W.double()
    half = len(q) // 2
    sd = 1 / config.k if config.sd_W is None else config.sd_W
    noise = sd * torch.randn(half, config.d, generator=generator, dtype=torch.float64)
    W = q @ M.T + (noise - noise @ M @ M.T).repeat(2, 1)
    gradient = -stages.one.net.W.double() / config.lr_first @ M.T
    target = M @ problem.direction
    values = {}
    for name, lr in (("fitted", FITTED_LR), ("theory", config.theory_lr)):
        after = float32_forgetting(W, gradient, lr)
        length = torch.linalg.vector_norm(after, dim=1) * torch.linalg.vector_norm(target)
        cosine = torch.where(length > 0, after @ target / length.clamp_min(1e-300), 0.0)
        values[f"step1_float32_{name}_cos"] = float(cosine.max())
    return values
