"""Does one gradient step flip EVERY net of the lazy ball? An adversary over the weights looks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import MinLen
from torch import Tensor

from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.nets import init
from karat.papers.lazy.bounds import sharp_flip_length
from karat.papers.lazy.experiments.smallest_flips import smallest_flips
from karat.probes.weight_adversary import WorstNet, longest_flip, smallest_gradient
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
@settings
class WorstConfig:
    """Settings of one cell: a start W0 and a few inputs fixed before it.

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        points: inputs on the sphere.
        gradients: how many of them an adversary against the gradient sees, too.
        steps: of the ascent over the weights.
        scales: factors r of the cone, W -> r W.
    """

    d: Count
    m: Count
    C0: NonNegative
    points: Count = 3
    gradients: Count = 3
    steps: Count = 16
    scales: Annotated[tuple[Positive, ...], MinLen(1)] = (0.1, 10.0)


_NEVER = "infinite where no step along the gradient flips the net"


@dataclass(frozen=True, kw_only=True)
class WorstResult:
    """What the adversary over the weights reaches; lists have one entry per input.

    Args:
        at_start: length of the smallest flip of W0.
        start_value: |f| of W0.
        worst: length of the longest flip found over the ball.
        value: |f| of the net with that flip.
        gradient: gradient norm of that net.
        sharp: longest flip of the ball to first order, in closed form.
        smallest_gradient: smallest gradient norm found over the ball, for the first `gradients` inputs.
        gradient_at_start: norm of the gradient of W0 across x.
        cone_change: largest relative change of a longest flip when its net is rescaled.
    """

    at_start: Annotated[list[float], Undefined(_NEVER)]
    start_value: list[float]
    worst: Annotated[list[float], Undefined(_NEVER)]
    value: list[float]
    gradient: Annotated[list[float], Undefined("no net of the ball has a flip longer than 0")]
    sharp: Annotated[list[float], Undefined("infinite where the ball can cancel the whole gradient")]
    smallest_gradient: list[float]
    gradient_at_start: list[float]
    cone_change: Annotated[
        float, Undefined("infinite where a net flips and a rescaled copy of it never does")
    ]


def run(config: WorstConfig, generator: torch.Generator) -> WorstResult:
    """Flip length of the start, of the worst net found, and of its rescaled copies, at each input.

    Reading: the inputs are drawn before W0, as the theorem fixes x first; the adversary over W may use both.

    Ref: lazy, Thm 3.1
    """
    x = torch.randn(config.points, config.d, generator=generator)
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    net = init.gaussian(config.d, config.m, generator=generator, dtype=torch.float32)
    radius = config.C0 / math.sqrt(config.m)
    value, gradient = net.value_and_input_gradient(x)
    # <x, grad f> = f, since f is homogeneous.
    across = torch.linalg.vector_norm(gradient - value.unsqueeze(1) * x, dim=1)
    worst_nets = [longest_flip(net, point, radius, steps=config.steps) for point in x]
    changes = [
        _cone_change(worst, point, scale)
        for worst, point in zip(worst_nets, x, strict=True)
        for scale in config.scales
    ]
    return WorstResult(
        at_start=smallest_flips(net, x).length.tolist(),
        start_value=value.abs().tolist(),
        worst=[worst.length for worst in worst_nets],
        value=[abs(worst.value) for worst in worst_nets],
        gradient=[worst.gradient for worst in worst_nets],
        sharp=[
            sharp_flip_length(abs(float(f)), float(g), config.C0) for f, g in zip(value, across, strict=True)
        ],
        smallest_gradient=[smallest_gradient(net, point, radius) for point in x[: config.gradients]],
        gradient_at_start=across.tolist(),
        cone_change=max(0.0, *changes),
    )


def _cone_change(worst: WorstNet, x: Tensor, scale: float) -> float:
    """Relative change of the flip length at x from W to scale W."""
    rescaled = worst.net.replace(W=scale * worst.net.W)
    length = float(smallest_flips(rescaled, x.unsqueeze(0)).length)
    # Equal lengths may both be infinite, or 0 where the ball is the start and f = 0.
    return 0.0 if length == worst.length else abs(length / worst.length - 1)


def _window(dimensions: tuple[int, ...], C0: float) -> tuple[Mapping[str, Any], ...]:
    """Cells whose width meets the lower end m >= d^2.4."""
    return tuple({"d": d, "m": math.ceil(d**2.4), "C0": C0} for d in dimensions)


def _one_width(dimensions: tuple[int, ...], m: int, C0: float) -> tuple[Mapping[str, Any], ...]:
    """Cells of one width, which the largest dimensions take out of the window."""
    return tuple({"d": d, "m": m, "C0": C0} for d in dimensions)


_D = (25, 49, 100, 196, 400, 784)

WINDOW = Experiment(
    name="lazy.thm3.1",
    title="Inside the theorem's window m >= d^2.4, how does the longest flip of the ball fall with d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=WorstConfig(d=16, m=776, C0=1.0, points=2, steps=6),
            points=_window((12, 16, 25, 36), 1.0),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=WorstConfig(d=25, m=2264, C0=1.0, points=6, gradients=1, steps=8),
            points=_window((25, 36, 64), 1.0),
            seeds=5,
            cell_seconds=0.9,
        ),
        "full": Preset(
            config=WorstConfig(d=25, m=2264, C0=1.0, points=20, steps=60),
            points=(
                *_window((16, 25, 36, 49, 64, 100, 144), 1.0),
                *_window((16, 25, 36, 49, 64, 100, 144), 3.0),
            ),
            seeds=10,
            cell_seconds=100,
        ),
    },
    run=run,
)

WORST = Experiment(
    name="lazy.worst",
    title="What is the longest flip that any net of the lazy ball can enforce, at one width and many d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=WorstConfig(d=16, m=200, C0=1.0, points=2, steps=6),
            points=({"d": 16}, {"d": 36}, {"d": 81}, {"d": 81, "C0": 10.0}, {"d": 400, "C0": 10.0}),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=WorstConfig(d=100, m=1600, C0=1.0, steps=10),
            points=(*_one_width(_D, 1600, 1.0), *_one_width(_D, 1600, 10.0)),
            seeds=3,
            cell_seconds=0.6,
        ),
        "full": Preset(
            config=WorstConfig(d=100, m=4000, C0=1.0, points=10, steps=60),
            points=(*_one_width((*_D, 1600, 3136), 4000, 1.0), *_one_width((*_D, 1600, 3136), 4000, 10.0)),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
