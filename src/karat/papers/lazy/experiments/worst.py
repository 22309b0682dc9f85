"""Does one gradient step flip EVERY net of the lazy ball? An adversary over the weights looks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, MinLen
from torch import Tensor

from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.nets import TwoLayer
from karat.papers.lazy.bounds import sharp_flip_length
from karat.papers.lazy.experiments.smallest_flips import smallest_flips
from karat.papers.lazy.experiments.start import Rows, draw_start
from karat.probes.weight_adversary import WorstNet, longest_flip
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
@settings
class WorstConfig:
    """Settings of one cell: a few inputs, and a start W0 drawn after them.

    Args:
        d: input dimension; at d = 1 no gradient lies across x.
        m: width.
        C0: radius of the ball times sqrt m.
        points: inputs on the sphere.
        steps: of the ascent over the weights.
        scales: factors r of the cone, W -> r W.
        C2: of the theorem's step size C2/|grad f|^2.
        fresh_starts: whether every input has a start of its own, so that the inputs are independent draws.
        rows: of the start; "unit" is a control whose rows do not grow with d.
        adversary: "none" is a control in which the start stands for the worst net.
        bias: control: whether the nets of the cone have biases, which do not scale with W.
    """

    d: Annotated[int, Ge(2)]
    m: Count
    C0: NonNegative
    points: Count = 3
    steps: Count = 16
    scales: Annotated[tuple[Positive, ...], MinLen(1)] = (0.1, 10.0)
    C2: Positive = 4.0
    fresh_starts: bool = False
    rows: Rows = "gaussian"
    adversary: Literal["ascent", "none"] = "ascent"
    bias: bool = False


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
        flipped: whether the step C2/|grad f|^2 flips the start as well as the net with the longest flip.
        cone_change: largest relative change of a longest flip when its net is rescaled.
    """

    at_start: Annotated[list[float], Undefined(_NEVER)]
    start_value: list[float]
    worst: Annotated[list[float], Undefined(_NEVER)]
    value: list[float]
    gradient: Annotated[list[float], Undefined("no net of the ball has a flip longer than 0")]
    sharp: Annotated[list[float], Undefined("infinite where the ball can cancel the whole gradient")]
    flipped: list[bool]
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
    groups = x.split(1) if config.fresh_starts else (x,)
    parts: list[WorstResult] = []
    for group in groups:
        start = draw_start(config.d, config.m, config.rows, generator=generator)
        b = torch.randn(config.m, generator=generator) if config.bias else None
        parts.append(_at_start(config, start, group, b))
    lists = [field.name for field in fields(WorstResult) if field.name != "cone_change"]
    return WorstResult(
        **{name: [value for part in parts for value in getattr(part, name)] for name in lists},
        cone_change=max(part.cone_change for part in parts),
    )


def _at_start(config: WorstConfig, net: TwoLayer, x: Tensor, b: Tensor | None) -> WorstResult:
    """Everything about the inputs that share a start."""
    radius = config.C0 / math.sqrt(config.m)
    value, gradient = net.value_and_input_gradient(x)
    # <x, grad f> = f, since f is homogeneous.
    across = torch.linalg.vector_norm(gradient - value.unsqueeze(1) * x, dim=1)
    at_start = smallest_flips(net, x)
    if config.adversary == "ascent":
        worst_nets = [longest_flip(net, point, radius, steps=config.steps) for point in x]
    else:
        columns = zip(at_start.length.tolist(), value.tolist(), at_start.gradient.tolist(), strict=True)
        worst_nets = [WorstNet(net, *column) for column in columns]
    pairs = list(zip(worst_nets, x, strict=True))
    changes = [_cone_change(worst, point, scale, b) for worst, point in pairs for scale in config.scales]
    flipped = [
        _flips(net, point, config.C2) and _flips(worst.net, point, config.C2) for worst, point in pairs
    ]
    return WorstResult(
        at_start=at_start.length.tolist(),
        start_value=value.abs().tolist(),
        worst=[worst.length for worst in worst_nets],
        value=[abs(worst.value) for worst in worst_nets],
        gradient=[worst.gradient for worst in worst_nets],
        sharp=[
            sharp_flip_length(abs(float(f)), float(g), config.C0) for f, g in zip(value, across, strict=True)
        ],
        flipped=flipped,
        cone_change=max(0.0, *changes),
    )


def _flips(net: TwoLayer, x: Tensor, C2: float) -> bool:
    """Whether one gradient step of size C2/|grad f|^2 changes the sign of the net."""
    value, gradient = net.value_and_input_gradient(x.unsqueeze(0))
    squared = float(gradient.square().sum())
    if squared == 0:
        return False
    moved = x - torch.sign(value) * C2 / squared * gradient[0]
    return bool(torch.sign(net(moved.unsqueeze(0))) != torch.sign(value))


def _cone_change(worst: WorstNet, x: Tensor, scale: float, b: Tensor | None) -> float:
    """Relative change of the flip length at x from W to scale W, with biases b that stay as they are."""
    inside = worst.length if b is None else _flip_length(worst.net.replace(b=b), x)
    rescaled = worst.net.replace(W=scale * worst.net.W, **({} if b is None else {"b": b}))
    length = _flip_length(rescaled, x)
    # Equal lengths may both be infinite, or 0 where the ball is the start and f = 0.
    return 0.0 if length == inside else abs(length / inside - 1)


def _flip_length(net: TwoLayer, x: Tensor) -> float:
    return float(smallest_flips(net, x.unsqueeze(0)).length)


def _window(dimensions: tuple[int, ...], C0: float) -> tuple[Mapping[str, Any], ...]:
    """Cells whose width meets the lower end m >= d^2.4."""
    return tuple({"d": d, "m": math.ceil(d**2.4), "C0": C0} for d in dimensions)


def _one_width(dimensions: tuple[int, ...], m: int, C0: float) -> tuple[Mapping[str, Any], ...]:
    """Cells of one width, which the largest dimensions take out of the window."""
    return tuple({"d": d, "m": m, "C0": C0} for d in dimensions)


_D = (25, 49, 100, 196, 400, 784)

WINDOW = Experiment(
    name="lazy.worst.wide",
    title="At the window's lower end and small d, does the step flip the worst nets that are found?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=WorstConfig(d=16, m=776, C0=1.0, points=2, steps=6, fresh_starts=True),
            points=_window((12, 16, 25, 36), 1.0),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=WorstConfig(d=36, m=5432, C0=1.0, points=12, steps=8, fresh_starts=True),
            # At smaller d the step is longer than |x|.
            points=_window((36, 49), 1.0),
            seeds=5,
            cell_seconds=0.9,
        ),
        "full": Preset(
            config=WorstConfig(d=25, m=2264, C0=1.0, points=20, steps=60, fresh_starts=True),
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
