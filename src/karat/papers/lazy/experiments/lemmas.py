"""The lemmas' explicit bounds beside what trained nets, exact suprema and adversaries reach."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_number, require_settings, require_share
from karat.core.norms import norm
from karat.data.digits import default_source
from karat.data.samples import Samples
from karat.nets import TwoLayer, init
from karat.papers.lazy import bounds
from karat.papers.lazy.experiments import flips
from karat.probes.gradient_change import certified_step, gradient_change_bound, largest_gradient_change
from karat.probes.weight_adversary import smallest_gradient, worst_subset
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one trained net.

    Args:
        side, m, C0: as in the flip experiments.
        C1: gradients change within radius C1/sqrt d.
        n_test: test images.
        adversaries: images for which an adversary over W is run.
        p_fail: of the lemmas.
    """

    side: int
    m: int
    C0: float = 10.0
    C1: float = 1.0
    n_test: int = 24
    adversaries: int = 3
    p_fail: float = 0.1
    source: Literal["embedded", "mnist"] = "embedded"

    def __post_init__(self) -> None:
        for name in ("side", "m", "n_test", "adversaries"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_number(self.C0, "C0", "Config", positive=True)
        # The radius C1/side is at most |x| = 1.
        require_number(self.C1, "C1", "Config", positive=True, maximum=self.side)
        require_share(self.p_fail, "p_fail", "Config")
        require_settings(self)

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.side**2

    @property
    def weight_radius(self) -> float:
        """V = C0/sqrt m."""
        return self.C0 / math.sqrt(self.m)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train to the edge of the ball, then measure every quantity the lemmas bound.

    Ref: lazy, App B
    """
    start = init.gaussian(
        config.d, config.m, generator=_copy(generator), dtype=torch.float32
    )  # the start that `train` draws first
    training = flips.Config(
        side=config.side, m=config.m, C0=(config.C0,), n_test=config.n_test, source=config.source
    )
    (found,) = flips.train(
        training, generator, lambda net, test: _measure(config, start, net, test, generator)
    )
    return found.values | {"steps": found.step} | _bounds(config)


def _bounds(config: Config) -> dict[str, float]:
    """The lemmas' bounds at this size, under the name of what they bound, and the one exact probability."""
    d, m, C0, p = config.d, config.m, config.C0, config.p_fail
    tau = config.C1 / math.sqrt(d)
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


def _copy(generator: torch.Generator) -> torch.Generator:
    twin = torch.Generator()
    twin.set_state(generator.get_state())
    return twin


def _measure(
    config: Config, start: TwoLayer, net: TwoLayer, test: Samples, generator: torch.Generator
) -> dict[str, Any]:
    order = torch.randperm(len(test), generator=torch.Generator().manual_seed(0))[: config.n_test]
    x, tau = test.x[order], config.C1 / math.sqrt(config.d)
    z0, z = start.preactivations(x), net.preactivations(x)
    f, gradient = net.value_and_input_gradient(x)
    size = norm(gradient, 2)
    few = x[: config.adversaries]
    change = float(largest_gradient_change(net, x, tau, generator=generator, starts=3, steps=8).max())
    return {
        "can_switch": float((z0.abs() <= config.weight_radius).sum(dim=1).max()),
        "can_switch_nearby": float(
            can_switch_nearby(start.W, z0, tau, config.weight_radius).sum(dim=1).max()
        ),
        "switched": float(((z > 0) != (z0 > 0)).sum(dim=1).double().mean()),
        "value": float(f.abs().max()),
        "value_supremum": float(_supremum(start, z0, config.weight_radius).max()),
        "gradient": float(size.min()),
        "gradient_infimum": min(smallest_gradient(start, point, config.weight_radius) for point in few),
        "gradient_change": change,
        "gradient_change_all": change,
        "subset": max(_subset(start, point, config.weight_radius) for point in few),
        **_single_step(net, x, f, gradient, generator),
    }


def can_switch_nearby(W: Tensor, z: Tensor, tau: float, weight_radius: float) -> Tensor:
    """Neurons that some delta of length <= tau and some row within the radius let change sign at x + delta.

    Enough: tau towards the kink, then a row changed by V at a point of length >= 1 - tau, for |x| = 1.

    Args:
        W: (m, d).
        z: (n, m) preactivations.
        tau, weight_radius: R and V.

    Ref: lazy, Lem B.4
    """
    return z.abs() <= tau * norm(W, 2) + (1 - tau) * weight_radius


def _supremum(start: TwoLayer, z: Tensor, weight_radius: float) -> Tensor:
    """sup over the ball of |f(x)| for |x| = 1, exactly: every neuron takes its own best preactivation."""
    push = start.scale * start.a
    up = torch.where(push > 0, torch.relu(z + weight_radius), torch.relu(z - weight_radius)) @ push
    down = torch.where(push > 0, torch.relu(z - weight_radius), torch.relu(z + weight_radius)) @ push
    return torch.maximum(up.abs(), down.abs())


def _subset(start: TwoLayer, x: Tensor, weight_radius: float) -> float:
    """Largest norm of the projected gradient change from switching any subset of the neurons that can."""
    z = start.W @ x
    near = z.abs() <= weight_radius
    rows = start.W[near] - torch.outer(z[near], x)
    switched = torch.where(z[near] > 0, -1.0, 1.0) * start.a[near]
    return start.scale * worst_subset(switched.unsqueeze(1) * rows)


def _single_step(
    net: TwoLayer, x: Tensor, f: Tensor, gradient: Tensor, generator: torch.Generator, rounds: int = 2
) -> dict[str, float]:
    """The proof's explicit step 2|f|/(1 - kappa), with kappa over the step's own ball and on its ray.

    Reading: over the ball kappa is a supremum; the ascent gives a value below it and `kappa_certified` one
        above it (from the spectral norm). On the ray, which is all that the proof's integral sees, it is
        exact. The printed denominator has a difference of norms where the proof needs the norm of the
        difference.

    Ref: lazy, proof of Thm 3.1
    """
    size, value = norm(gradient, 2), f.abs()
    length = 2 * value / size
    kappa = torch.zeros_like(size)
    for _ in range(rounds):
        kappa = largest_gradient_change(net, x, length, generator=generator, starts=2, steps=6) / size
        length = 2 * value / size / (1 - kappa).clamp_min(0.05)
    certified, on_ray = certified_step(net, x)
    usable = certified <= 1
    moved = x - (torch.sign(f) * torch.where(usable, certified, 0.0).to(f) / size).unsqueeze(1) * gradient
    # Rounding of single precision: values of the net are sums of m terms of order 1/sqrt m.
    landed = torch.sign(f) * net(moved) <= -value + 1e-5 * size
    return {
        "kappa": float(kappa.median()),
        "kappa_certified": float((gradient_change_bound(net, x[:5], length[:5]) / size[:5]).min()),
        "kappa_on_ray": float(on_ray.nanmedian()),
        "usable": float(usable.double().mean()),
        "landed": float(landed[usable].double().mean()) if bool(usable.any()) else math.nan,
        "step_length": float(certified[usable].median()) if bool(usable.any()) else math.nan,
    }


_CONSTANT = "the net and its gradient are zero at most test images"
UNDEFINED = {
    "kappa": _CONSTANT,
    "kappa_certified": _CONSTANT,
    "kappa_on_ray": "no step is certified, of whatever length",
    "landed": "no certified step is at most 1 long",
    "step_length": "no certified step is at most 1 long",
}

BASE = Config(side=14, m=1000, source=default_source())

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
            cell_seconds=2,
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
    undefined=UNDEFINED,
)


@dataclass(frozen=True, kw_only=True)
class SubsetConfig:
    """Settings of one draw of the neurons that can switch.

    Args:
        d, m: input dimension and width.
        C0: radius of the ball times sqrt m.
        p_fail: of the printed bound.
    """

    d: int
    m: int
    C0: float = 10.0
    p_fail: float = 0.1

    def __post_init__(self) -> None:
        for name in ("d", "m"):
            require_integer(getattr(self, name), name, "Config", minimum=2)
        require_number(self.C0, "C0", "Config", positive=True)
        require_share(self.p_fail, "p_fail", "Config")
        require_settings(self)


def run_subset(config: SubsetConfig, generator: torch.Generator) -> dict[str, Any]:
    """Worst subset of switched neurons, drawn in law: only rows within the radius of their kink matter.

    P(|z| <= V) neurons of the m can switch; given that, their projected rows are N(0, I_{d-1}) and the signs
    are fair, so widths far beyond memory cost no more than sqrt m rows.

    Ref: lazy, Eq 7
    """
    share = math.erf(config.C0 / math.sqrt(2 * config.m))
    count = int(torch.binomial(torch.tensor(float(config.m)), torch.tensor(share), generator=generator))
    rows = torch.randn(count, config.d - 1, generator=generator)
    signs = torch.randint(0, 2, (count, 1), generator=generator).float() * 2 - 1
    return {
        "can_switch": count,
        "subset": worst_subset(signs * rows) / math.sqrt(config.m),
        "bound": bounds.subset_bound(config.d, config.m, config.C0, config.p_fail),
        "limit": bounds.subset_limit(config.C0),
    }


SUBSET = Experiment(
    name="lazy.subset",
    title="Does the printed bound on switched neurons survive an adversary that chooses which ones switch?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=SubsetConfig(d=20, m=1000), grid={"m": (1000, 10_000, 100_000)}, seeds=2, cell_seconds=0.05
        ),
        "quick": Preset(
            config=SubsetConfig(d=100, m=1000),
            grid={"m": (1000, 10_000, 40_000, 1_000_000, 20_000_000)},
            seeds=3,
            cell_seconds=0.3,
        ),
        "full": Preset(
            config=SubsetConfig(d=784, m=1000),
            grid={"d": (100, 784), "m": (1000, 10_000, 100_000, 10**6, 10**7, 10**8, 10**9)},
            seeds=10,
            cell_seconds=5,
        ),
    },
    run=run_subset,
)
