"""Does one gradient step flip EVERY net of the lazy ball? An adversary over the weights looks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from karat.core.checks import require_integer, require_number, require_settings
from karat.nets import init
from karat.papers.lazy.bounds import sharp_flip_length
from karat.papers.lazy.experiments.flips import smallest_flips
from karat.probes.weight_adversary import longest_flip, smallest_gradient
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one cell: a start W0 and a few inputs fixed before it.

    Args:
        d, m: input dimension and width.
        C0: radius of the ball times sqrt m.
        points: inputs on the sphere.
        gradients: how many of them an adversary against the gradient sees, too.
        steps: of the ascent over the weights.
        scales: factors r of the cone, W -> r W.
    """

    d: int
    m: int
    C0: float
    points: int = 3
    gradients: int = 3
    steps: int = 16
    scales: tuple[float, ...] = (0.1, 10.0)

    def __post_init__(self) -> None:
        for name in ("d", "m", "points", "gradients", "steps"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_number(self.C0, "C0", "Config", minimum=0)
        if min(self.scales, default=0) <= 0:
            raise ValueError(f"`scales` of `Config` must hold numbers > 0, got {self.scales}.")
        require_settings(self)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Flip length of the start, of the worst net found, and of its rescaled copies, at each input.

    Reading: the inputs are drawn before W0, as the theorem fixes x first; the adversary over W may use both.

    Ref: lazy, Thm 3.1
    """
    x = torch.randn(config.points, config.d, generator=generator)
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    net = init.gaussian(config.d, config.m, generator=generator, dtype=torch.float32)
    radius = config.C0 / math.sqrt(config.m)
    value, gradient = net.value_and_input_gradient(x)
    across = torch.linalg.vector_norm(gradient - value.unsqueeze(1) * x, dim=1)
    at_start = smallest_flips(net, x)[0].tolist()
    worst = [longest_flip(net, point, radius, steps=config.steps) for point in x]
    cone = 0.0
    for found, point in zip(worst, x, strict=True):
        for scale in config.scales:
            rescaled = smallest_flips(found.net.replace(W=scale * found.net.W), point.unsqueeze(0))[0]
            length = float(rescaled)
            if length != found.length:
                cone = max(cone, abs(length / found.length - 1))
    return {
        "at_start": at_start,
        "start_value": value.abs().tolist(),
        "worst": [found.length for found in worst],
        "value": [abs(found.value) for found in worst],
        "gradient": [found.gradient for found in worst],
        "sharp": [
            sharp_flip_length(abs(float(f)), float(g), config.C0) for f, g in zip(value, across, strict=True)
        ],
        "smallest_gradient": [smallest_gradient(net, point, radius) for point in x[: config.gradients]],
        "gradient_at_start": across.tolist(),
        "cone_change": cone,
    }


def _window(dimensions: tuple[int, ...], C0: float) -> tuple[Mapping[str, Any], ...]:
    """Cells whose width meets the lower end m >= d^2.4."""
    return tuple({"d": d, "m": math.ceil(d**2.4), "C0": C0} for d in dimensions)


def _wide(dimensions: tuple[int, ...], m: int, C0: float) -> tuple[Mapping[str, Any], ...]:
    return tuple({"d": d, "m": m, "C0": C0} for d in dimensions)


_NEVER = "infinite where no step along the gradient flips the net"
UNDEFINED = {
    "at_start": _NEVER,
    "worst": _NEVER,
    "sharp": "infinite where the ball can cancel the whole gradient",
    "gradient": "no net of the ball has a flip longer than 0",
    "cone_change": "infinite where a net flips and a rescaled copy of it never does",
}

_D = (25, 49, 100, 196, 400, 784)

WINDOW = Experiment(
    name="lazy.thm3.1",
    title="Inside the theorem's window m >= d^2.4, how does the longest flip of the ball fall with d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=Config(d=16, m=776, C0=1.0, points=2, steps=6),
            points=_window((12, 16, 25, 36), 1.0),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=Config(d=25, m=2264, C0=1.0, points=6, gradients=1, steps=8),
            points=_window((25, 36, 64), 1.0),
            seeds=5,
            cell_seconds=0.9,
        ),
        "full": Preset(
            config=Config(d=25, m=2264, C0=1.0, points=20, steps=60),
            points=(
                *_window((16, 25, 36, 49, 64, 100, 144), 1.0),
                *_window((16, 25, 36, 49, 64, 100, 144), 3.0),
            ),
            seeds=10,
            cell_seconds=100,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

WORST = Experiment(
    name="lazy.worst",
    title="What is the longest flip that any net of the lazy ball can enforce, at one width and many d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=Config(d=16, m=200, C0=1.0, points=2, steps=6),
            points=({"d": 16}, {"d": 36}, {"d": 81}, {"d": 81, "C0": 10.0}, {"d": 400, "C0": 10.0}),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=Config(d=100, m=1600, C0=1.0, steps=10),
            points=(*_wide(_D, 1600, 1.0), *_wide(_D, 1600, 10.0)),
            seeds=3,
            cell_seconds=0.6,
        ),
        "full": Preset(
            config=Config(d=100, m=4000, C0=1.0, points=10, steps=60),
            points=(*_wide((*_D, 1600, 3136), 4000, 1.0), *_wide((*_D, 1600, 3136), 4000, 10.0)),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)
