"""Adversarial training of deep ReLU nets with and without the projection, from the same start."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, Positive, settings
from karat.nets import init
from karat.nets.deep import Deep
from karat.papers.convergence.experiments.reference import allowed_points, best_robust_loss
from karat.papers.convergence.experiments.sets import CapRadius, PseudoHuber, draw_sets
from karat.papers.convergence.experiments.two_layer import STEERED
from karat.probes.movement import frobenius_movement
from karat.study.experiment import Experiment, Preset
from karat.training import frobenius_ball
from karat.training.displacements import layer_ball
from karat.training.surrogate import Sets, SurrogateDescent, worst


@dataclass(frozen=True, kw_only=True)
@settings
class FreeConfig:
    r"""Settings of one pair of runs.

    Args:
        m: width of every hidden layer.
        depth: number of square hidden layers, :math:`H`.
        R: radius of the reference ball, :math:`R/\sqrt{m}` for every layer.
        tol: target of the theorem.
        step: the learning rate is `step` :math:`/ (m H^2)`.
        steps: of descent.
        n: samples.
        d: input dimension.
        tau: radius of the caps, as a chord.
        K: allowed points per sample, itself counted.
        direction: control: "up" takes every step with the wrong sign.
    """

    m: Count
    depth: Count
    R: Positive = 1.0
    tol: Positive = 0.2
    step: Positive = 0.2
    steps: Count = 100
    n: Annotated[int, Ge(2)] = 8
    d: Annotated[int, Ge(2)] = 6
    tau: CapRadius = 0.25
    K: Count = 8
    direction: Literal["down", "up"] = "down"

    @property
    def lr(self) -> float:
        r"""The learning rate :math:`\alpha`, in the theorem's units."""
        return self.step / (self.m * self.depth**2)


@dataclass(frozen=True, kw_only=True)
class FreeResult:
    r"""What the two runs measure; gaps are to the certified bound of the linearised problem in the ball.

    Args:
        start_gap: of the start.
        projected: :math:`\min_t L_A(W_t)` less the bound, for the run that is projected to the ball.
        free: the same for the run that is not.
        moved: :math:`\sqrt{m} \|W - W_0\|_F` of the layer that has moved farthest, without a projection.
        met: first step at which the gap without a projection is at most tol, None if there is none.
        met_gap: the gap there, else the smallest of all.
        met_moved: how far the layers have moved there, else in all.
        curve: of every tenth step, the smallest gap so far without a projection.
    """

    start_gap: float
    projected: float
    free: float
    moved: float
    met: int | None
    met_gap: float
    met_moved: float
    curve: list[float]


def run(config: FreeConfig, generator: torch.Generator) -> FreeResult:
    """Train twice against the strongest perturbation function, with and without the projection.

    Ref: convergence, Sec 7; convergence, Thm 4.1
    """
    sets = draw_sets(config.n, config.d, config.tau, config.K, generator)
    start = init.deep_gaussian(config.d, config.m, config.depth, generator=generator)
    points, y = allowed_points(sets)
    space = layer_ball(start, points, y)
    bound = best_robust_loss(start, sets, space, config.R / math.sqrt(config.m)).bound
    target = bound + config.tol
    _, inside, _ = _train(config, start, sets, target, projected=True)
    net, losses, first = _train(config, start, sets, target, projected=False)
    met = int((losses > target).sum()) if float(losses[-1]) <= target else None
    return FreeResult(
        start_gap=float(losses[0]) - bound,
        projected=float(inside[-1]) - bound,
        free=float(losses[-1]) - bound,
        moved=frobenius_movement(net, start) * math.sqrt(config.m),
        met=met,
        met_gap=float(losses[-1 if met is None else met]) - bound,
        met_moved=frobenius_movement(first, start) * math.sqrt(config.m),
        curve=(losses[::10] - bound).tolist(),
    )


def _train(
    config: FreeConfig, start: Deep, sets: Sets, target: float, *, projected: bool
) -> tuple[Deep, Tensor, Deep]:
    """The last net, the smallest loss so far at every step, and the first net that meets the target."""
    met: list[Deep] = []

    def observe(step: int, net: Deep, loss: float, gradient: float) -> None:
        if not met and loss <= target:
            met.append(net)

    trainable = tuple(f"W{h}" for h in range(1, config.depth + 1))
    ball = frobenius_ball(start, config.R / math.sqrt(config.m), trainable)
    descent = SurrogateDescent(
        lr=config.lr,
        trainable=trainable,
        loss=STEERED[config.direction](),
        projection=ball if projected else None,
    )
    net, losses = descent.run(start, sets, worst(PseudoHuber()), steps=config.steps, observe=observe)
    best = torch.tensor(losses, dtype=torch.float64).cummin(dim=0).values
    return net, best, met[0] if met else net


def work(config: FreeConfig) -> float:
    """Products with m x m matrices in every step; narrow nets cost as much as one of width 170."""
    return config.steps * config.depth * (170.0**2 + float(config.m) ** 2)


BASE = FreeConfig(m=128, depth=1)
# H^3 R^2/tol^2 steps, as many as the proof needs.
_STEPS = {1: 25, 2: 200, 3: 675}

FREE = Experiment(
    name="convergence.free",
    title="Do deep ReLU nets need the projection to reach the best robust loss of the ball?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(BASE, m=32, n=4, d=4, K=4),
            points=({"depth": 1, "steps": 25}, {"depth": 2, "steps": 60}),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=BASE,
            points=tuple({"depth": depth, "steps": steps} for depth, steps in _STEPS.items()),
            seeds=5,
            cell_seconds=0.3,
        ),
        "full": Preset(
            config=replace(BASE, tol=0.1, step=0.1, n=10, K=12),
            points=tuple(
                {"m": m, "depth": depth, "steps": 4 * steps}
                for m in (128, 512, 1024)
                for depth, steps in _STEPS.items()
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
    work=work,
)
