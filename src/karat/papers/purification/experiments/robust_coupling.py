"""From pure features: how well frozen gates and pure parts stand for a net under attack."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch

from karat.core.ranges import Moderate, NonNegative, Power, settings
from karat.papers.purification.bounds import GAMMA, xi2
from karat.papers.purification.bounds_robust_coupling import CouplingSizes
from karat.papers.purification.experiments.pure_start_config import PureStartConfig
from karat.papers.purification.experiments.robust_coupling_measures import CouplingMeasures, couplings
from karat.reductions.symmetric import SymmetricNet, draw_points, reduce, resumed, step
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class CouplingConfig(PureStartConfig):
    r"""Training from pure features, and perturbations that may be longer than the lemmas' radius.

    Args:
        reach: the perturbations measured are :math:`k^{\mathtt{reach}}` times as long as the radius of the
            bounds.
        radius: that radius is :math:`\tau = \mathtt{radius}\, k^{-\mathtt{radius\_power}}`.
        mixture: the nets measured get a dense mixture :math:`\beta = \mathtt{mixture}\, k/d` in place of
            its own; None for that of training.
    """

    reach: Power = 0.0
    radius: Moderate = 1.0
    mixture: NonNegative | None = None

    @property
    def tau(self) -> float:
        """Radius of the attacks in training, and of the bounds."""
        return float(self.radius * self.sparsity**-self.radius_power)

    @property
    def length(self) -> float:
        """Of the perturbations."""
        return float(self.tau * self.sparsity**self.reach)


@dataclass(frozen=True, kw_only=True)
class CouplingResult:
    r"""The first and the last iterate of adversarial training.

    Args:
        sigma_rho: standard deviation of the neuron noise.
        clean: at :math:`T_f`.
        robust: at the end.
    """

    sigma_rho: float
    clean: CouplingMeasures
    robust: CouplingMeasures


def run(config: CouplingConfig, generator: torch.Generator) -> CouplingResult:
    """Train clean, then adversarially, and measure both ends of adversarial training on the same inputs."""
    seed, for_tests = torch.randint(2**31, (2,), generator=generator).tolist()
    state = reduce(config.problem(seed))
    for _ in range(config.clean_steps):
        state = step(state)
    clean = _mixed(config, state.net)
    state = resumed(state, config.robust_trainer())
    for _ in range(config.robust_steps):
        state = step(state)
    points = draw_points(config.code, config.n_test, generator=np.random.default_rng([for_tests, 0]))

    def measured(net: SymmetricNet) -> CouplingMeasures:
        noise = np.random.default_rng([for_tests, 1])
        return couplings(clean, net, points, config.p, config.length, noise)

    first = measured(clean)
    last = measured(_mixed(config, state.net)) if config.robust_steps else first
    return CouplingResult(sigma_rho=clean.sigma_rho, clean=first, robust=last)


def _mixed(config: CouplingConfig, net: SymmetricNet) -> SymmetricNet:
    if config.mixture is None:
        return net
    return net.replace(beta=config.mixture * config.sparsity / config.d)


def sizes(config: CouplingConfig, sigma_rho: float, measures: CouplingMeasures) -> CouplingSizes:
    """What the lemmas speak of, at one iterate.

    Args:
        config: of the run.
        sigma_rho: its noise.
        measures: of the iterate.
    """
    return CouplingSizes(
        d=config.d,
        k=config.sparsity,
        m=config.m,
        c0=config.c0,
        spread=xi2(config.d, config.c0, GAMMA),
        threshold=config.threshold,
        sigma_rho=sigma_rho,
        tau=config.tau,
        p=config.p,
        r=measures.r,
        longest=measures.longest,
    )


NEAR = CouplingConfig(
    d=10**8,
    bias_power=0.51,
    radius_power=0.71,
    robust_time=0.3,
    batch=16,
    n_test=50,
)
"""A threshold that starts just below the small codes; training lifts these above it."""

NEAR_INF = replace(NEAR, p=math.inf, radius_power=1.75, small_rate=1.0)

UNTRAINED = {"clean_steps": 0, "robust_time": 0.0}

PURE = {"radius": 0.5, "radius_power": NEAR.bias_power, **UNTRAINED}
"""Pure features at tau = b/2: small codes lie so near the threshold that perturbations close their gates."""

MIXED = {"radius": 0.4, "radius_power": 1 + NEAR.bias_power, "mixture": 1.0, **UNTRAINED}
"""Dense parts of length r' = k in l1, and a perturbation along all of them that moves neurons by 0.4 b."""

WIDE = {"radius_power": 0.3, **UNTRAINED}
"""Pure features and a radius above the threshold."""


def _presets(config: CouplingConfig) -> dict[str, Preset[CouplingConfig]]:
    trained = {"radius_power": config.radius_power}
    points = (trained, PURE, WIDE) if config.p == 2 else (trained, PURE, MIXED, WIDE)
    return {
        "tiny": Preset(
            config=replace(config, clean_steps=40, robust_time=config.robust_time / 10, batch=8, n_test=20),
            points=points,
            grid={"d": (10**7, 2 * 10**7, 4 * 10**7)},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=config,
            points=points,
            grid={"d": (10**7, 10**8, 10**9)},
            seeds=3,
            cell_seconds=0.5 if config.p == 2 else 0.05,
        ),
        "full": Preset(
            config=replace(config, batch=128, n_test=1000, robust_time=3.0),
            points=points,
            grid={"d": tuple(10**power for power in range(7, 13))},
            seeds=10,
            cell_seconds=30.0,
        ),
    }


def _work(config: CouplingConfig) -> float:
    passes = config.batch * (config.clean_steps + 3 * config.robust_steps) + 40 * config.n_test
    return config.code.expected_support * passes


COUPLING = Experiment(
    name="purification.robust_coupling",
    title="How close is a net under l2 attack to one with the gates of the unperturbed input?",
    paper="purification",
    presets=_presets(NEAR),
    run=run,
    work=_work,
)

COUPLING_INF = Experiment(
    name="purification.robust_coupling_inf",
    title="How close is a net under l_inf attack to one with the gates of the unperturbed input?",
    paper="purification",
    presets=_presets(NEAR_INF),
    run=run,
    work=_work,
)
