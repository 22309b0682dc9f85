"""The single step of the theorem's proof, with its certificate, on trained nets."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from karat.core.norms import norm
from karat.core.ranges import Count, Positive, settings
from karat.data.digits import Source, default_source
from karat.data.samples import Samples
from karat.nets import TwoLayer
from karat.papers.lazy.experiments.lazy_training import LazyTrainingConfig, train
from karat.probes.gradient_change import certified_step, gradient_change_bound, largest_gradient_change
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
@settings
class SingleStepConfig:
    """Settings of one trained net.

    Args:
        side: images are side x side.
        m: width.
        C0: radius of the ball times sqrt m; the net is the last one inside it.
        n_test: test images.
        source: embedded digits or full MNIST.
        kappa: "none" is a control whose single step takes the gradient for constant.
    """

    side: Count
    m: Count
    C0: Positive = 10.0
    n_test: Count = 24
    source: Source = "embedded"
    kappa: Literal["on ray", "none"] = "on ray"

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.side**2


_CONSTANT_NET = "the net and its gradient are zero at most test images"
_NONE_CERTIFIED = "no certified step is at most 1 long"


@dataclass(frozen=True, kw_only=True)
class SingleStepResult:
    """What the proof's step reaches on one net.

    Args:
        steps: of training until the net left the ball.
        kappa: largest change of the gradient within the single step's ball over its norm; median, by ascent.
        kappa_certified: an upper bound on that number, the smallest of five test images.
        kappa_on_ray: the same on the ray of the certified step, exactly; median.
        usable: share of test images whose certified step is at most 1 long.
        landed: share of those steps that land beyond -|f|.
        step_length: their median length.
    """

    steps: int
    kappa: Annotated[float, Undefined(_CONSTANT_NET)]
    kappa_certified: Annotated[float, Undefined(_CONSTANT_NET)]
    kappa_on_ray: Annotated[float, Undefined("no step is certified, of whatever length")]
    usable: float
    landed: Annotated[float, Undefined(_NONE_CERTIFIED)]
    step_length: Annotated[float, Undefined(_NONE_CERTIFIED)]


def run(config: SingleStepConfig, generator: torch.Generator) -> SingleStepResult:
    """Train to the edge of the ball, then take the proof's step at the test images.

    Ref: lazy, proof of Thm 3.1
    """
    training = LazyTrainingConfig(
        side=config.side, m=config.m, C0=(config.C0,), n_test=config.n_test, source=config.source
    )
    (ball,) = train(training, generator, lambda net, test: _measure(config, net, test, generator))
    return SingleStepResult(steps=ball.step, **ball.values)


def _measure(
    config: SingleStepConfig, net: TwoLayer, test: Samples, generator: torch.Generator
) -> dict[str, float]:
    # The same images for every seed and width, so that cells differ by their nets alone.
    order = torch.randperm(len(test), generator=torch.Generator().manual_seed(0))[: config.n_test]
    x = test.x[order]
    f, gradient = net.value_and_input_gradient(x)
    return _single_step(net, x, f, gradient, generator, constant=config.kappa == "none")


def _single_step(
    net: TwoLayer,
    x: Tensor,
    f: Tensor,
    gradient: Tensor,
    generator: torch.Generator,
    *,
    constant: bool,
    rounds: int = 2,
) -> dict[str, float]:
    r"""The proof's explicit step, with kappa over the step's own ball and on its ray.

    .. math::

        L = \frac{2 |f|}{(1 - \kappa) \|\nabla f\|}, \qquad
        \kappa = \sup_{\|\delta\| \le L} \frac{\|\nabla f(x + \delta) - \nabla f(x)\|}{\|\nabla f(x)\|}

    Reading: over the ball kappa is a supremum; the ascent gives a value below it and `kappa_certified` one
        above it (from the spectral norm). On the ray, which is all that the proof's integral sees, it is
        exact. The printed denominator has a difference of norms where the proof needs the norm of the
        difference.

    Ref: lazy, proof of Thm 3.1
    """
    size, value = norm(gradient, 2), f.abs()
    length = 2 * value / size
    kappa = torch.zeros_like(size)
    # Length and kappa define each other, so they take turns; the clamp keeps the length finite.
    for _ in range(rounds):
        kappa = largest_gradient_change(net, x, length, generator=generator, starts=2, steps=6) / size
        length = 2 * value / size / (1 - kappa).clamp_min(0.05)
    certified, on_ray = certified_step(net, x)
    if constant:  # the control: the step that would do if the gradient did not change
        certified = (2 * value / size).to(certified)
    usable = certified <= 1
    moved = x - (torch.sign(f) * torch.where(usable, certified, 0.0).to(f) / size).unsqueeze(1) * gradient
    # Rounding of single precision: values of the net are sums of m terms of order 1/sqrt m.
    landed = torch.sign(f) * net(moved) <= -value + 1e-5 * size
    return {
        "kappa": float(kappa.median()),
        # A singular value decomposition per image: five of them show that the bound is useless.
        "kappa_certified": float((gradient_change_bound(net, x[:5], length[:5]) / size[:5]).min()),
        "kappa_on_ray": float(on_ray.nanmedian()),
        "usable": float(usable.double().mean()),
        "landed": float(landed[usable].double().mean()) if bool(usable.any()) else math.nan,
        "step_length": float(certified[usable].median()) if bool(usable.any()) else math.nan,
    }


BASE = SingleStepConfig(side=14, m=1000, source=default_source())

SINGLE_STEP = Experiment(
    name="lazy.single-step",
    title="On how many images does the proof's single step come with a certificate, and where does it land?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(BASE, m=100, n_test=8, source="embedded"),
            points=({"side": 5}, {"side": 10}),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=replace(BASE, n_test=16),
            points=({"side": 5}, {"side": 14}, {"side": 28}, {"side": 14, "m": 10_000}),
            seeds=3,
            cell_seconds=0.4,
        ),
        "full": Preset(
            config=replace(BASE, n_test=400),
            points=tuple(
                {"side": side, "m": m} for m in (1000, 10_000, 40_000) for side in (5, 10, 14, 20, 28)
            ),
            seeds=5,
            cell_seconds=30,
        ),
    },
    run=run,
)
