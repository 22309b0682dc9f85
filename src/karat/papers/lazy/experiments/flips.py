"""How large is the smallest gradient step that flips a lazily trained net, as d, m and the ball vary?

The paper's largest net, m = 1e5 at d = 784, is one cell:

    karat run lazy.fig5 --set side=28 --set m=100000 --set C0=10 --seeds 1

It needs about 1.3 GB (two copies of W, updates in place, distances of the rows kept up incrementally) and
half a minute of one quiet core. The `full` preset holds all the paper's cells.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from karat.attacks.gradient_step import gradient_crossing
from karat.core.checks import require_integer, require_number, require_settings
from karat.core.norms import norm
from karat.data.digits import default_source
from karat.data.samples import Samples
from karat.nets import TwoLayer, as_classifier, init
from karat.papers.lazy.experiments.digits import Digits
from karat.study.experiment import Experiment, Preset
from karat.training.exit_sgd import Exit, ExitSGD

_ENTRIES = 4_000_000
"""Largest (points, m) table of one flip computation: a few such tables in float64 must fit beside the net."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one trajectory.

    Args:
        side: images are side x side.
        m: width.
        scaling: raw pixels or unit length.
        bias: of the first layer.
        C0: balls of radius C0/sqrt m whose last inside net is measured, increasing.
        padded_from: control with the data of a smaller side.
        n_test: test images for flips (error uses all).
        lr, fast_lr: step sizes until and once the movement exceeds 20/sqrt m.
        batch_size, max_steps: of SGD.
    """

    side: int
    m: int
    C0: tuple[float, ...] = (10.0,)
    scaling: Literal["unit", "raw"] = "unit"
    bias: bool = False
    padded_from: int | None = None
    classes: tuple[int, int] = (0, 1)
    n_test: int = 200
    lr: float = 1.0
    fast_lr: float | None = None
    batch_size: int = 4
    max_steps: int = 4000
    source: Literal["embedded", "mnist"] = "embedded"

    def __post_init__(self) -> None:
        _ = self.digits
        for name in ("m", "n_test", "batch_size", "max_steps"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        for name in ("lr", "fast_lr"):
            if getattr(self, name) is not None:
                require_number(getattr(self, name), name, "Config", positive=True)
        if not self.C0 or list(self.C0) != sorted(set(self.C0)) or not all(value > 0 for value in self.C0):
            raise ValueError(f"`C0` of `Config` must hold increasing numbers > 0, got {self.C0}.")
        require_settings(self)

    @property
    def digits(self) -> Digits:
        """The data."""
        return Digits(
            side=self.side,
            source=self.source,
            padded_from=self.padded_from,
            scaling=self.scaling,
            classes=self.classes,
        )

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.side**2


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train once and measure the last net inside every ball.

    Reading: a bias is one more weight on a constant input, drawn and trained like the others; the ball then
        bounds the row with its bias, and the perturbation moves the image only.

    Ref: lazy, Sec 5.1
    """
    exits = train(config, generator, lambda net, test: _measure(config, net, test))
    return {
        "C0": list(config.C0),
        "steps": [found.step for found in exits],
        "left": [found.left for found in exits],
        **{name: [found.values[name] for found in exits] for name in exits[0].values},
    }


def train(config: Config, generator: torch.Generator, measure: Any) -> list[Exit]:
    """One trajectory; `measure(net, test samples)` is called on the last net inside every ball."""
    pool = config.digits.load(train=True, dtype=torch.float32)
    test = config.digits.load(train=False, dtype=torch.float32)
    inputs = torch.cat([pool.x, pool.x.new_ones(len(pool), 1)], dim=1) if config.bias else pool.x
    net = init.gaussian(inputs.shape[1], config.m, generator=generator, dtype=torch.float32)
    root = math.sqrt(config.m)
    sgd = ExitSGD(
        lr=config.lr,
        batch_size=config.batch_size,
        max_steps=config.max_steps,
        fast_lr=config.fast_lr,
        fast_after=20 / root,
    )

    def observe(net: TwoLayer) -> dict[str, Any]:
        seen = net.replace(W=net.W[:, :-1], b=net.W[:, -1]) if config.bias else net
        values: dict[str, Any] = measure(seen, test)
        return values

    return sgd.run(
        net, inputs, pool.y, [value / root for value in config.C0], observe=observe, generator=generator
    )


def _measure(config: Config, net: TwoLayer, test: Samples) -> dict[str, Any]:
    """Test error on all images; flip length over |x|, gradient norm and step on n_test of them."""
    f = torch.cat([net(part) for part in test.x.split(max(1, _ENTRIES // net.m))])
    order = torch.randperm(len(test), generator=torch.Generator().manual_seed(0))[: config.n_test]
    x = test.x[order]
    error = float((test.y * f <= 0).double().mean())
    length, gradient, step = smallest_flips(net, x)
    value = f[order].abs()
    # At raw scale some predictions never flip along their gradient: medians and shares stay defined.
    finite = torch.isfinite(length)
    relative = (length / norm(x, 2))[finite]
    return {
        "test_error": error,
        "test_images": len(test),
        "perturbation": float(relative.mean()),
        "gradient": float(gradient.mean()),
        "step": float(step[finite].mean()),
        "unflipped": float((~finite).double().mean()),
        "first_order": float((value / gradient / length)[finite].median()),
        "margin": float(value.mean()),
        "length": float(norm(x, 2).mean()),
        "histograms": {
            "perturbation": _summary(relative),
            "gradient": _summary(gradient),
            "step": _summary(step[finite]),
        },
    }


def smallest_flips(net: TwoLayer, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Length, gradient norm and step of the smallest flip along the gradient of the net's own prediction."""
    parts = []
    for part in x.split(max(1, _ENTRIES // net.m)):
        sign = torch.where(net(part) > 0, 1.0, -1.0)
        found = gradient_crossing(as_classifier(net), part, sign)
        parts.append(torch.stack([found.length, found.gradient_norm, found.step]))
    length, gradient, step = torch.cat(parts, dim=1).double()
    return length, gradient, step


def _summary(values: Tensor) -> dict[str, Any]:
    """Mean, spread, skewness and the ten-bin histogram of one quantity over the test points."""
    centred = values - values.mean()
    spread = centred.square().mean().sqrt()
    counts, edges = torch.histogram(values.cpu(), bins=20)
    return {
        "mean": float(values.mean()),
        "median": float(values.median()),
        "spread": float(spread),
        "skewness": float((centred / spread.clamp_min(1e-300)).pow(3).mean()),
        "counts": counts.tolist(),
        "edges": edges.tolist(),
    }


_NO_FLIP = "no prediction flips along its gradient"
UNDEFINED = {
    "perturbation": _NO_FLIP,
    "step": _NO_FLIP,
    "first_order": f"{_NO_FLIP}, or most that do have value and gradient zero",
    "histograms": _NO_FLIP,
}

SOURCE = default_source()
SIDES = (5, 7, 10, 14, 20, 25, 28)
BASE = Config(side=28, m=1000, source=SOURCE)
TINY = replace(BASE, side=7, m=64, C0=(5.0, 10.0), n_test=40, source="embedded", max_steps=300)


def _points(sides: tuple[int, ...] = SIDES, **settings: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple({"side": side, **settings} for side in sides)


FIG5 = Experiment(
    name="lazy.fig5",
    title="On unit-length digits, do flip size, gradient and step follow their powers of d for all m and C0?",
    paper="lazy",
    presets={
        "tiny": Preset(config=TINY, grid={"side": (5, 7, 10, 14)}, seeds=2, cell_seconds=0.3),
        "quick": Preset(
            config=replace(BASE, fast_lr=8.0),
            points=(
                *_points((5, 10, 20, 28), C0=(10.0, 20.0, 40.0)),
                *_points((7, 14), C0=(10.0, 20.0)),
                *_points((7, 10, 14, 28), m=10_000, C0=(10.0,)),
            ),
            seeds=3,
            cell_seconds=1.1,
        ),
        "full": Preset(
            config=replace(BASE, lr=0.1, batch_size=1, n_test=2000, max_steps=100_000),
            points=(
                *_points(C0=(10.0, 20.0, 30.0, 40.0)),
                *_points(m=10_000, lr=1.0, fast_lr=4.0, C0=(10.0, 20.0, 30.0, 40.0)),
                *_points(m=100_000, lr=1.0, batch_size=4, n_test=200, max_steps=1500, C0=(10.0,)),
            ),
            seeds=5,
            cell_seconds=120,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

_RAW = replace(BASE, scaling="raw", bias=True, lr=0.1, batch_size=1, max_steps=2500)

FIG2 = Experiment(
    name="lazy.fig2",
    title="On raw digits with a first-layer bias, do flip size, gradient and step follow their powers of d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(TINY, scaling="raw", bias=True, lr=0.1),
            grid={"side": (5, 7, 10, 14)},
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=replace(_RAW, C0=(10.0, 20.0)),
            grid={"side": (5, 7, 10, 14, 28)},
            seeds=3,
            cell_seconds=1,
        ),
        "full": Preset(
            config=replace(_RAW, batch_size=1, n_test=2000, max_steps=60_000),
            points=(
                *_points(C0=(10.0, 20.0, 30.0, 40.0)),
                *_points(m=10_000, C0=(10.0, 20.0)),
                *_points(m=100_000, C0=(10.0,), n_test=200, max_steps=3000),
            ),
            seeds=5,
            cell_seconds=120,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

PADDING = Experiment(
    name="lazy.padding",
    title="Zero-padding changes only the network's d: is the exponent the network's or the data's?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(TINY, padded_from=5), grid={"side": (5, 7, 10, 14)}, seeds=2, cell_seconds=0.3
        ),
        "quick": Preset(
            config=replace(BASE, padded_from=7, C0=(10.0, 20.0)),
            grid={"side": (7, 10, 16, 28, 40)},
            seeds=4,
            cell_seconds=0.6,
        ),
        "full": Preset(
            config=replace(BASE, padded_from=7, lr=0.1, C0=(10.0, 20.0), n_test=2000, max_steps=20_000),
            grid={"side": (7, 10, 14, 20, 28, 40, 56)},
            seeds=5,
            cell_seconds=10,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)
