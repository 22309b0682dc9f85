"""The lemmas' explicit bounds beside what trained nets, exact suprema and adversaries reach."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from karat.core.checks import require_number
from karat.core.norms import norm
from karat.core.ranges import Count, Inside, NonNegative, Positive, settings
from karat.data.digits import Source, default_source
from karat.data.samples import Samples
from karat.nets import TwoLayer, init
from karat.papers.lazy import bounds
from karat.papers.lazy.experiments.lazy_training import LazyTrainingConfig, train
from karat.probes.gradient_change import certified_step, gradient_change_bound, largest_gradient_change
from karat.probes.weight_adversary import smallest_gradient, worst_subset
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
@settings
class LemmasConfig:
    """Settings of one trained net.

    Args:
        side: images are side x side.
        m: width.
        C0: radius of the ball times sqrt m; the net is the last one inside it.
        C1: gradients change within radius C1/sqrt d, which is at most |x| = 1.
        n_test: test images.
        adversaries: images for which an adversary over W is run.
        p_fail: of the lemmas.
        source: embedded digits or full MNIST.
        draws: further starts, on which the two lemmas at x alone are looked at as statements of probability.
        reach: control: rows and delta go this many times farther than the bounds are told.
        kappa: "none" is a control whose single step takes the gradient for constant.
    """

    side: Count
    m: Count
    C0: Positive = 10.0
    C1: Positive = 1.0
    n_test: Count = 24
    adversaries: Count = 3
    p_fail: Inside = 0.1
    source: Source = "embedded"
    draws: Count = 40
    reach: NonNegative = 1.0
    kappa: Literal["on ray", "none"] = "on ray"

    def __post_init__(self) -> None:
        require_number(self.C1, "C1", type(self).__name__, positive=True, maximum=self.side)

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.side**2

    @property
    def tau(self) -> float:
        """Radius within which gradients change."""
        return self.C1 / math.sqrt(self.d)

    @property
    def weight_radius(self) -> float:
        """V = C0/sqrt m."""
        return self.C0 / math.sqrt(self.m)


_CONSTANT_NET = "the net and its gradient are zero at most test images"
_NONE_CERTIFIED = "no certified step is at most 1 long"


@dataclass(frozen=True, kw_only=True)
class LemmasResult:
    """What the lemmas bound, measured on one net or over its ball, and under `..._bound` their bounds.

    Args:
        steps: of training until the net left the ball.
        can_switch: neurons that some net of the ball lets change sign at x, the most over test images.
        can_switch_nearby: the same at some x + delta, delta chosen neuron by neuron.
        switched: neurons of the trained net that changed sign since the start, mean over test images.
        value: largest |f| of the trained net.
        value_supremum: largest |f| of any net of the ball, exactly.
        gradient: smallest gradient norm of the trained net.
        gradient_infimum: smallest gradient norm that an adversary over the ball reaches.
        gradient_change: largest change of the trained net's gradient within the radius, by ascent.
        gradient_change_all: the same number, which the bound over all delta is compared with.
        subset: norm of the worst sum of switched neurons over sqrt m.
        kappa: largest change of the gradient within the single step's ball over its norm; median, by ascent.
        kappa_certified: an upper bound on that number, the smallest of five test images.
        kappa_on_ray: the same on the ray of the certified step, exactly; median.
        usable: share of test images whose certified step is at most 1 long.
        landed: share of those steps that land beyond -|f|.
        step_length: their median length.
        value_draws: sup |f| over the ball at a fixed x, for independent starts.
        start_draws: |f| of these starts.
        switch_draws: neurons that can change sign at x, for the same starts.
        sign_changes: neurons of W0 that change sign from x to x + delta, delta of the largest angle.
        can_switch_bound: on the neurons that can switch at x.
        can_switch_nearby_bound: on those at x + delta.
        value_supremum_bound: on |f|.
        flip_probability: exact chance that a neuron of W0 changes sign from x to x + delta.
        flip_probability_bound: on that chance.
        gradient_change_bound: on the change of the gradient for one delta.
        gradient_change_all_bound: on the change of the gradient for all delta.
        subset_bound: on the switched neurons.
    """

    steps: int
    can_switch: float
    can_switch_nearby: float
    switched: float
    value: float
    value_supremum: float
    gradient: float
    gradient_infimum: float
    gradient_change: float
    gradient_change_all: float
    subset: float
    kappa: Annotated[float, Undefined(_CONSTANT_NET)]
    kappa_certified: Annotated[float, Undefined(_CONSTANT_NET)]
    kappa_on_ray: Annotated[float, Undefined("no step is certified, of whatever length")]
    usable: float
    landed: Annotated[float, Undefined(_NONE_CERTIFIED)]
    step_length: Annotated[float, Undefined(_NONE_CERTIFIED)]
    value_draws: list[float]
    start_draws: list[float]
    switch_draws: list[float]
    sign_changes: int
    can_switch_bound: float
    can_switch_nearby_bound: float
    value_supremum_bound: float
    flip_probability: float
    flip_probability_bound: float
    gradient_change_bound: float
    gradient_change_all_bound: float
    subset_bound: float


def run(config: LemmasConfig, generator: torch.Generator) -> LemmasResult:
    """Train to the edge of the ball, then measure every quantity the lemmas bound.

    Ref: lazy, App B
    """
    # `train` draws its start first: a copy of the generator draws the same one, and leaves the other alone.
    twin = torch.Generator()
    twin.set_state(generator.get_state())
    start = init.gaussian(config.d, config.m, generator=twin, dtype=torch.float32)
    training = LazyTrainingConfig(
        side=config.side, m=config.m, C0=(config.C0,), n_test=config.n_test, source=config.source
    )
    (ball,) = train(training, generator, lambda net, test: _measure(config, start, net, test, generator))
    # After everything else, so that these draws leave the other numbers alone.
    draws = _draws(config, start, generator)
    return LemmasResult(steps=ball.step, **ball.values, **_bounds(config), **draws)


def _bounds(config: LemmasConfig) -> dict[str, Any]:
    """The lemmas' bounds at this size, under the name of what they bound, and the one exact probability."""
    d, m, C0, p, tau = config.d, config.m, config.C0, config.p_fail, config.tau
    return {
        "can_switch_bound": bounds.sign_change_bound(m, config.weight_radius, p),
        "can_switch_nearby_bound": bounds.sign_change_bound(m, config.weight_radius, p, tau),
        "value_supremum_bound": bounds.value_bound(m, C0, p),
        "flip_probability": bounds.sign_flip_probability(tau),
        "flip_probability_bound": bounds.sign_flip_bound(d, tau),
        "gradient_change_bound": bounds.gradient_change_fixed(d, m, C0, tau, p),
        "gradient_change_all_bound": bounds.gradient_change_uniform(d, m, C0, config.C1),
        "subset_bound": bounds.subset_bound(d, m, C0, p),
    }


def _draws(config: LemmasConfig, start: TwoLayer, generator: torch.Generator) -> dict[str, Any]:
    r"""What a fixed x meets in independent starts, and how many neurons of W0 one delta makes change sign.

    At a fixed x of length 1 the supremum and the count depend on :math:`\langle w_s, x \rangle` alone, which
    are m independent standard normals: no start need be drawn as a matrix.
    """
    z = torch.randn(config.draws, config.m, generator=generator)
    signs = torch.randint(0, 2, (config.draws, config.m), generator=generator).float() * 2 - 1
    radius = config.reach * config.weight_radius
    tables = zip(z, signs, strict=True)
    supremum = [float(_supremum(start.replace(a=a), row.unsqueeze(0), radius)) for row, a in tables]
    # x and a delta orthogonal to x + delta, which opens the angle arcsin |delta|.
    tau = min(1.0, config.reach * config.tau)
    first, second = torch.linalg.qr(torch.randn(config.d, 2, generator=generator)).Q.T
    moved = math.sqrt(1 - tau**2) * first + tau * second
    return {
        "value_draws": supremum,
        "start_draws": ((torch.relu(z) * signs).sum(dim=1).abs() * start.scale).tolist(),
        "switch_draws": (z.abs() <= radius).sum(dim=1).tolist(),
        "sign_changes": int((((start.W @ first) > 0) != ((start.W @ moved) > 0)).sum()),
    }


def _measure(
    config: LemmasConfig, start: TwoLayer, net: TwoLayer, test: Samples, generator: torch.Generator
) -> dict[str, float]:
    # The same images for every seed and width, so that cells differ by their nets alone.
    order = torch.randperm(len(test), generator=torch.Generator().manual_seed(0))[: config.n_test]
    x, radius = test.x[order], config.reach * config.weight_radius
    z0, z = start.preactivations(x), net.preactivations(x)
    f, gradient = net.value_and_input_gradient(x)
    few = x[: config.adversaries]
    change = float(
        largest_gradient_change(
            net, x, config.reach * config.tau, generator=generator, starts=3, steps=8
        ).max()
    )
    nearby = can_switch_nearby(start.W, z0, config.reach * config.tau, radius)
    return {
        "can_switch": float((z0.abs() <= radius).sum(dim=1).max()),
        "can_switch_nearby": float(nearby.sum(dim=1).max()),
        "switched": float(((z > 0) != (z0 > 0)).sum(dim=1).double().mean()),
        "value": float(f.abs().max()),
        "value_supremum": float(_supremum(start, z0, radius).max()),
        "gradient": float(norm(gradient, 2).min()),
        "gradient_infimum": min(smallest_gradient(start, point, radius) for point in few),
        "gradient_change": change,
        "gradient_change_all": change,
        "subset": max(_subset(start, point, radius) for point in few),
        **_single_step(net, x, f, gradient, generator, constant=config.kappa == "none"),
    }


def can_switch_nearby(W: Tensor, z: Tensor, tau: float, weight_radius: float) -> Tensor:
    r"""Return which neurons some short delta and some row within the radius let change sign at x + delta.

    A neuron certainly can if

    .. math:: |\langle w, x \rangle| \le \tau \|w\| + (1 - \tau) V:

    delta goes :math:`\tau` towards the kink, then the row moves by V at a point of length
    :math:`\ge 1 - \tau`, for :math:`\|x\| = 1`.

    Args:
        W: (m, d) rows at the start.
        z: (n, m) their preactivations.
        tau: largest length of delta, R in the paper.
        weight_radius: V, how far a row may move.

    Returns:
        (n, m) flags.

    Ref: lazy, Lem B.4
    """
    return z.abs() <= tau * norm(W, 2) + (1 - tau) * weight_radius


def _supremum(start: TwoLayer, z: Tensor, weight_radius: float) -> Tensor:
    """sup over the ball of |f(x)| for |x| = 1, exactly: every neuron takes its own best preactivation."""
    push = start.scale * start.a
    more, less = torch.relu(z + weight_radius), torch.relu(z - weight_radius)
    up = torch.where(push > 0, more, less) @ push
    down = torch.where(push > 0, less, more) @ push
    return torch.maximum(up.abs(), down.abs())


def _subset(start: TwoLayer, x: Tensor, weight_radius: float) -> float:
    """Largest norm of the projected gradient change from switching any subset of the neurons that can."""
    z = start.W @ x
    near = z.abs() <= weight_radius
    rows_across = start.W[near] - torch.outer(z[near], x)
    # An active neuron takes its row away when it switches, an inactive one adds it.
    change = torch.where(z[near] > 0, -1.0, 1.0) * start.a[near]
    return start.scale * worst_subset(change.unsqueeze(1) * rows_across)


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


def work(config: LemmasConfig) -> float:
    """Measured: decompositions of the rows dominate, a little worse than m side^3."""
    return float(config.m) ** 1.2 * config.side**3


BASE = LemmasConfig(side=14, m=1000, source=default_source())

LEMMAS = Experiment(
    name="lazy.lemmas",
    title="How tight are the lemmas' explicit bounds on trained nets and on the worst nets of the ball?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(BASE, m=100, n_test=8, adversaries=2, source="embedded"),
            points=({"side": 5}, {"side": 10}),
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=replace(BASE, n_test=16),
            points=({"side": 5}, {"side": 14}, {"side": 28}, {"side": 14, "m": 10_000}),
            seeds=3,
            cell_seconds=0.9,
        ),
        "full": Preset(
            config=replace(BASE, n_test=400, adversaries=20),
            points=tuple(
                {"side": side, "m": m} for m in (1000, 10_000, 40_000) for side in (5, 10, 14, 20, 28)
            ),
            seeds=5,
            cell_seconds=60,
        ),
    },
    run=run,
    work=work,
)
