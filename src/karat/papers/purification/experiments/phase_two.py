"""Clean training after the lottery at any dimension: what its lemmas say of single steps."""

from typing import Any

import numpy as np
import torch

from karat.core.compiled import Array
from karat.papers.purification.bounds_scores import ScoreLaw
from karat.papers.purification.experiments.phase_two_config import SCALES, PhaseTwoConfig, PhaseTwoResult
from karat.papers.purification.experiments.phase_two_measures import (
    coupled,
    growth,
    lipschitz,
    look_at,
    noise_growth,
    slope_of_loss,
)
from karat.reductions.symmetric import SparsePoints, State, draw_points, reduce, step
from karat.study.experiment import Experiment, Preset

STOPS = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Shares of the steps after which to look."""


def run(config: PhaseTwoConfig, generator: torch.Generator) -> PhaseTwoResult:
    """Train from small singletons; at every stop take growth and slopes apart."""
    seed, for_tests = torch.randint(2**31, (2,), generator=generator).tolist()
    stops = sorted({round(config.steps * share) for share in STOPS})
    state = reduce(config.problem(seed))
    rows = []
    for at in range(config.steps + 1):
        if at in stops:
            rows.append(_stop(config, state, np.random.default_rng([for_tests, at])))
        if at < config.steps:
            state = step(state)
    draws = np.random.default_rng([for_tests, config.steps + 1])
    points = draw_points(config.code, config.n_test, generator=draws)
    measured: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    measured |= coupled(config, state.net, points, draws)
    margin = points.label * state.net(points)
    far = np.abs(points.score) >= config.gap
    law = ScoreLaw(
        k=config.k,
        D=config.d,
        d=config.d,
        large_rate=config.large_rate,
        small_rate=config.small_rate,
        spread=config.small_spread,
    )
    return PhaseTwoResult(
        explicit=config.large_rate / 4 * law.near(1.0),
        slopes=[float(slope_of_loss(scale * margin[far]).mean()) for scale in SCALES],
        **measured,
    )


def _labels(config: PhaseTwoConfig, points: SparsePoints, generator: np.random.Generator) -> Array:
    if config.labels == "coin":
        return np.asarray(2.0 * generator.integers(2, size=len(points)) - 1)
    return points.label


def _stop(config: PhaseTwoConfig, state: State, generator: np.random.Generator) -> dict[str, float]:
    """The entries of `PhaseTwoResult` at one stop."""
    net = state.net
    points = draw_points(config.code, config.n_test, generator=generator)
    few = draw_points(config.code, config.n_few, generator=generator)
    found = look_at(net, points, _labels(config, points, generator))
    return {
        "time": state.time,
        "alpha": net.alpha,
        "beta": net.beta,
        "gamma": net.gamma,
        "length": max(net.length, net.hub_length),
        "noise": net.sigma_rho,
        **growth(config, found),
        **lipschitz(config, net, few),
        **noise_growth(net, found),
        "output": float(np.abs(found.seen.f).max()),
        "slope": float(found.steep.mean()),
    }


def _work(config: PhaseTwoConfig) -> float:
    passes = config.batch * config.steps + len(STOPS) * (3 * config.n_test + 15 * config.n_few)
    return config.code.expected_support * passes


PHASE_TWO = Experiment(
    name="purification.phase_two",
    title="Do winners grow, and others stay behind, after the lottery as the lemmas say?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=PhaseTwoConfig(d=10**9, n_test=300, n_few=30, batch=16),
            grid={"d": (10**9, 4 * 10**9, 10**10)},
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=PhaseTwoConfig(d=10**9), grid={"d": (10**9, 10**10, 10**11)}, seeds=3, cell_seconds=0.32
        ),
        "full": Preset(
            config=PhaseTwoConfig(d=10**9, n_test=10_000, n_few=400, batch=128),
            grid={"d": (10**9, 10**10, 10**11, 10**12)},
            seeds=10,
            cell_seconds=20,
        ),
    },
    run=run,
    work=_work,
)
