"""Projected adversarial training of deep ReLU nets, and what their start looks like."""

import math
from collections.abc import Sequence
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
from karat.probes.movement import frobenius_movement, pattern_change
from karat.study.experiment import Experiment, Preset
from karat.training import frobenius_ball
from karat.training.displacements import layer_ball
from karat.training.surrogate import Sets, SurrogateDescent, random, worst

OBSERVED_STEPS = (30, 100, 300, 1000, 3000)
"""Numbers of steps at which the gap is noted, besides the last one."""

WIDE = 1024
"""Width of the start whose lengths are compared with the lemma: wide enough for them to concentrate."""


@dataclass(frozen=True, kw_only=True)
@settings
class DeepConfig:
    r"""Settings of one run.

    Args:
        m: width of every hidden layer.
        depth: number of square hidden layers, :math:`H`.
        R: every layer stays within :math:`R/\sqrt{m}` of its start.
        step: the learning rate is `step` :math:`/ (m H^2)`.
        steps: of descent.
        tol: target of the theorem.
        attack: the perturbation function.
        n: samples.
        d: input dimension.
        tau: radius of the caps, as a chord.
        K: allowed points per sample, itself counted.
        input_variance: entries of A have this variance over m; 2 in print.
        target_radius: control: :math:`W_*` is sought in a ball of so many times the radius.
        shift: how Lemma A.4 answers a shift of the input, "none" leaves :math:`W_1` as it is.
    """

    m: Count
    depth: Count
    R: Positive = 4.0
    step: Positive = 1.0
    steps: Count = 300
    tol: Positive = 0.05
    attack: Literal["worst", "random"] = "worst"
    n: Annotated[int, Ge(2)] = 8
    d: Annotated[int, Ge(2)] = 6
    tau: CapRadius = 0.25
    K: Count = 8
    input_variance: Positive = 2.0
    target_radius: Positive = 1.0
    shift: Literal["rank-one", "none"] = "rank-one"

    @property
    def lr(self) -> float:
        r"""The learning rate :math:`\alpha`, in the theorem's units."""
        return self.step / (self.m * self.depth**2)


@dataclass(frozen=True, kw_only=True)
class LayerLengths:
    r"""Lengths :math:`\|x^{(h)}\|` over all layers and inputs.

    Args:
        low: the smallest.
        high: the largest.
        mean: of all.
    """

    low: float
    high: float
    mean: float


@dataclass(frozen=True, kw_only=True)
class DeepResult:
    r"""What one run measures.

    Args:
        reference: loss of the best linearised net that was found in the ball.
        reference_bound: certified lower bound on the loss of every linearised net of the ball.
        steps: numbers of steps :math:`T` at which the gap was noted.
        gap: :math:`\min_{t < T} L_A(W_t)` less `reference_bound`, for each of them.
        final_gap: the same after all steps.
        start_loss: :math:`L_A(W_0)`.
        frobenius: :math:`\sqrt{m} \|W - W_0\|_F` of the layer that has moved farthest.
        pattern_change: share of neurons whose sign at the samples has changed.
        norm: lengths of the layers at the start, over all allowed points.
        wide_norm: mean length of the layers of a start of width `WIDE`.
        equivalence: relative difference of the outputs of the two nets of Lemma A.4.
        wide_low: smallest length of a layer :math:`x^{(h)}` of the wide start.
        wide_high: the largest.
        wide_bar_low: smallest length of a preactivation :math:`\bar x^{(h)}` of the wide start.
        wide_bar_high: the largest.
        shift_layers: largest relative difference of a layer of the two nets of Lemma A.4.
        shift_length: :math:`\|\tilde W_1 - W_1\|_F / \|x - x'\|`.
        target_distance: :math:`m \, d_0^2 / R^2`, with :math:`d_0` the length of the best linearised
            displacement over all layers.
    """

    reference: float
    reference_bound: float
    steps: list[int]
    gap: list[float]
    final_gap: float
    start_loss: float
    frobenius: float
    pattern_change: float
    norm: LayerLengths
    wide_norm: float
    equivalence: float
    wide_low: float
    wide_high: float
    wide_bar_low: float
    wide_bar_high: float
    shift_layers: float
    shift_length: float
    target_distance: float


def run(config: DeepConfig, generator: torch.Generator) -> DeepResult:
    """Train in the per-layer ball and compare with the best linearised robust loss of the same ball.

    Ref: convergence, Thm 4.1
    """
    sets = draw_sets(config.n, config.d, config.tau, config.K, generator)
    start = _draw_net(config, config.m, generator)
    points, y = allowed_points(sets)
    radius = config.R / math.sqrt(config.m)
    optimum = best_robust_loss(start, sets, layer_ball(start, points, y), config.target_radius * radius)
    net, losses = _train(config, start, sets, generator)
    best_so_far = torch.tensor(losses).cummin(dim=0).values
    observed = [step for step in OBSERVED_STEPS if step < config.steps] + [config.steps]
    wide = _draw_net(config, WIDE, generator)
    # A few inputs are enough: at this width the lengths hardly differ between inputs.
    preactivations, states = wide.hidden(points[:4])
    wide_lengths, bar_lengths = _lengths(states), _lengths(preactivations)
    outputs, layers, moved = _equivalence(config, start, points)
    return DeepResult(
        reference=optimum.loss,
        reference_bound=optimum.bound,
        steps=observed,
        # Against the lower bound, so that the solver's own error never flatters the training.
        gap=[float(best_so_far[step - 1]) - optimum.bound for step in observed],
        final_gap=float(best_so_far[-1]) - optimum.bound,
        start_loss=losses[0],
        frobenius=frobenius_movement(net, start) * math.sqrt(config.m),
        pattern_change=pattern_change(net, start, sets.x[:, 0]),
        norm=_lengths(start.hidden(points)[1]),
        wide_norm=wide_lengths.mean,
        equivalence=outputs,
        wide_low=wide_lengths.low,
        wide_high=wide_lengths.high,
        wide_bar_low=bar_lengths.low,
        wide_bar_high=bar_lengths.high,
        shift_layers=layers,
        shift_length=moved,
        target_distance=float((optimum.D / radius).square().sum()),
    )


def _draw_net(config: DeepConfig, m: int, generator: torch.Generator) -> Deep:
    """The printed start, its input layer rescaled to the variance of the config."""
    net = init.deep_gaussian(config.d, m, config.depth, generator=generator)
    return net.replace(A=net.A * math.sqrt(config.input_variance / 2))


def _train(
    config: DeepConfig, start: Deep, sets: Sets, generator: torch.Generator
) -> tuple[Deep, list[float]]:
    """Descend inside the ball; the input layer A and the output weights a never move."""
    trainable = tuple(f"W{h}" for h in range(1, config.depth + 1))
    loss = PseudoHuber()
    descent = SurrogateDescent(
        lr=config.lr,
        trainable=trainable,
        loss=loss,
        projection=frobenius_ball(start, config.R / math.sqrt(config.m), trainable),
    )
    pick = worst(loss) if config.attack == "worst" else random(generator)
    return descent.run(start, sets, pick, steps=config.steps)


def _lengths(layers: Sequence[Tensor]) -> LayerLengths:
    """Lengths of all layers (n, m) at all inputs.

    Ref: convergence, Lem A.2
    """
    lengths = torch.stack([torch.linalg.vector_norm(layer, dim=1) for layer in layers])
    return LayerLengths(low=float(lengths.min()), high=float(lengths.max()), mean=float(lengths.mean()))


def _equivalence(config: DeepConfig, net: Deep, x: Tensor) -> tuple[float, float, float]:
    r"""How far a rank-one change of the first layer is from a shift of the input, and how long it is.

    .. math:: \tilde W_1 = W_1 + \frac{W_1 (x'^{(0)} - x^{(0)}) (x^{(0)})^\top}{\|x^{(0)}\|^2}
        \quad \text{makes} \quad f(\tilde W, x) = f(W, x').

    Returns:
        relative differences of the outputs and of the layers, and the change's length over the shift's.

    Ref: convergence, Lem A.4
    """
    first, other = x[:1], x[1:2]
    base, shifted = first @ net.A.T, other @ net.A.T
    change = net.layers[0] @ (shifted - base).T @ base / base.square().sum()
    if config.shift == "none":
        change = torch.zeros_like(change)
    twin = net.replace(W1=net.layers[0] + change)
    outputs = abs(float(twin(first)) - float(net(other))) / max(1.0, abs(float(net(other))))
    # The input layer itself differs, all layers above it must agree.
    pairs = zip(twin.hidden(first)[1][1:], net.hidden(other)[1][1:], strict=True)
    layers = max(float(torch.dist(mine, theirs) / torch.linalg.vector_norm(theirs)) for mine, theirs in pairs)
    moved = float(torch.linalg.vector_norm(change) / torch.dist(first, other))
    return outputs, layers, moved


def work(config: DeepConfig) -> float:
    """Products with m x m matrices in every step; narrow nets cost as much as one of width 170."""
    return config.steps * config.depth * (170.0**2 + float(config.m) ** 2)


BASE = DeepConfig(m=128, depth=2)

THM41 = Experiment(
    name="convergence.deep",
    title="Does projected adversarial training of a deep ReLU net reach the best robust loss of its ball?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(BASE, m=16, n=4, d=4, K=4, steps=60),
            grid={"m": (16, 32, 64), "depth": (1, 2)},
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=replace(BASE, steps=600),
            grid={"m": (32, 64, 128), "depth": (1, 2, 3)},
            seeds=6,
            cell_seconds=0.25,
        ),
        "full": Preset(
            config=replace(BASE, n=10, K=12, steps=3000),
            grid={"m": (32, 128, 512, 1024), "depth": (1, 2, 3), "attack": ("worst", "random")},
            seeds=5,
            cell_seconds=120,
        ),
    },
    run=run,
    work=work,
)
