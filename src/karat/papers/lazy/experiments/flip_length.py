"""How long is the smallest gradient step that flips a lazily trained net, as d, m and the ball vary?

The paper's largest net, m = 1e5 at d = 784, is one cell:

    karat run lazy.fig5 --set side=28 --set m=100000 --set C0=10 --seeds 1

It needs about 1.3 GB (two copies of W, updates in place, distances of the rows kept up incrementally) and
half a minute of one quiet core. The `full` preset holds all the paper's cells.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from karat.core.norms import norm
from karat.data.digits import default_source
from karat.data.samples import Samples
from karat.nets import TwoLayer
from karat.papers.lazy.experiments.lazy_training import LazyTrainingConfig, train
from karat.papers.lazy.experiments.smallest_flips import batches, smallest_flips
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined

Quantity = Literal["perturbation", "gradient", "step"]
"""What the figures draw against d: flip length over |x|, norm of the gradient, step size."""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """One quantity over the test images.

    Args:
        mean: over the images.
        median: over the images.
        spread: standard deviation.
        skewness: third moment of the standardised values; 0 for a bell shape.
        kurtosis: their fourth moment less 3; 0 for a bell shape.
        counts: images in each of twenty bins of equal width.
        edges: of the bins, one more than there are bins.
    """

    mean: float
    median: float
    spread: float
    skewness: float
    kurtosis: float
    counts: list[float]
    edges: list[float]


_NO_FLIP = "no prediction flips along its gradient"


@dataclass(frozen=True, kw_only=True)
class FlipLengthResult:
    """What one trajectory shows; every list has one entry per ball, for the last net inside it.

    Args:
        C0: the balls, increasing.
        steps: training steps taken.
        left: whether the next step left the ball; if not, training had ended inside it.
        test_error: share of all test images that are misclassified.
        test_images: how many those are.
        perturbation: mean length of the smallest flip over |x|, among predictions that flip.
        gradient: mean norm of the gradient.
        step: mean step size of the smallest flip, among predictions that flip.
        unflipped: share of predictions that no step along the gradient flips.
        first_order: median of the flip length of the linearised net over the exact one.
        margin: mean |f|.
        length: mean |x|.
        histograms: how the three quantities of the figures are distributed over the test images.
    """

    C0: list[float]
    steps: list[int]
    left: list[bool]
    test_error: list[float]
    test_images: list[int]
    perturbation: Annotated[list[float], Undefined(_NO_FLIP)]
    gradient: list[float]
    step: Annotated[list[float], Undefined(_NO_FLIP)]
    unflipped: list[float]
    first_order: Annotated[
        list[float], Undefined(f"{_NO_FLIP}, or most that do have value and gradient zero")
    ]
    margin: list[float]
    length: list[float]
    histograms: Annotated[list[dict[Quantity, Distribution]], Undefined(_NO_FLIP)]

    def means(self, quantity: Quantity) -> list[float]:
        """Return one of the three quantities of the figures, ball by ball."""
        return {"perturbation": self.perturbation, "gradient": self.gradient, "step": self.step}[quantity]


def run(config: LazyTrainingConfig, generator: torch.Generator) -> FlipLengthResult:
    """Train once and measure the last net inside every ball.

    Reading: a bias is one more weight on a constant input, drawn and trained like the others; the ball then
        bounds the row with its bias, and the perturbation moves the image only.

    Ref: lazy, Sec 5.1
    """
    exits = train(config, generator, lambda net, test: _measure(config, net, test))
    return FlipLengthResult(
        C0=list(config.C0),
        steps=[ball.step for ball in exits],
        left=[ball.left for ball in exits],
        **{name: [ball.values[name] for ball in exits] for name in exits[0].values},
    )


def _measure(config: LazyTrainingConfig, net: TwoLayer, test: Samples) -> dict[str, Any]:
    """The entries of one ball in the result, by name."""
    f = torch.cat([net(batch) for batch in batches(net, test.x)])
    # The same images for every seed, ball and width, so that cells differ by their nets alone.
    order = torch.randperm(len(test), generator=torch.Generator().manual_seed(0))[: config.n_test]
    x, value = test.x[order], f[order].abs()
    flips = smallest_flips(net, x)
    # At raw scale some predictions never flip along their gradient: medians and shares stay defined.
    flipped = torch.isfinite(flips.length)
    relative, step = (flips.length / norm(x, 2))[flipped], flips.step[flipped]
    return {
        "test_error": float((test.y * f <= 0).double().mean()),
        "test_images": len(test),
        "perturbation": float(relative.mean()),
        "gradient": float(flips.gradient.mean()),
        "step": float(step.mean()),
        "unflipped": float((~flipped).double().mean()),
        "first_order": float((value / flips.gradient / flips.length)[flipped].median()),
        "margin": float(value.mean()),
        "length": float(norm(x, 2).mean()),
        "histograms": {
            "perturbation": _distribution(relative),
            "gradient": _distribution(flips.gradient),
            "step": _distribution(step),
        },
    }


def _distribution(values: Tensor) -> Distribution:
    centred = values - values.mean()
    spread = centred.square().mean().sqrt()
    counts, edges = torch.histogram(values.cpu(), bins=20)
    # Values that are all equal have no skewness: 0 instead of 0/0.
    standard = centred / spread.clamp_min(1e-300)
    return Distribution(
        mean=float(values.mean()),
        median=float(values.median()),
        spread=float(spread),
        skewness=float(standard.pow(3).mean()),
        kurtosis=float(standard.pow(4).mean()) - 3,
        counts=counts.tolist(),
        edges=edges.tolist(),
    )


SOURCE = default_source()
SIDES = (5, 7, 10, 14, 20, 25, 28)
BASE = LazyTrainingConfig(side=28, m=1000, source=SOURCE)
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
            cell_seconds=0.5,
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
)

_RAW = replace(BASE, scaling="raw", bias=True, lr=0.1, batch_size=1, max_steps=6000)

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
            # 5 is left by every net within these steps, so that two balls can be compared.
            config=replace(_RAW, C0=(5.0, 10.0, 20.0)),
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
            cell_seconds=0.3,
        ),
        "full": Preset(
            config=replace(BASE, padded_from=7, lr=0.1, C0=(10.0, 20.0), n_test=2000, max_steps=20_000),
            grid={"side": (7, 10, 14, 20, 28, 40, 56)},
            seeds=5,
            cell_seconds=10,
        ),
    },
    run=run,
)
