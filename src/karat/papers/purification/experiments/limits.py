"""From pure features at dimensions no matrix reaches: clean training, then adversarial training, over d."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch

from karat.core.divergence import Diverged
from karat.papers.purification.experiments.pure_start_config import PureStartConfig
from karat.papers.purification.experiments.symmetric_measures import (
    SymmetricErrors,
    TangentDeviation,
    deviations,
    measure,
    penalty,
    universal_error,
)
from karat.reductions.symmetric import State, SymmetricNet, draw_points, reduce, resumed, step
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class LimitsResult:
    r"""Three nets, and what happened between them.

    Args:
        k: sparsity.
        tau: radius of the attacks.
        threshold: the paper's b.
        support: :math:`E \|z\|_0`.
        score: standard deviation of :math:`\langle w^*, z \rangle`.
        start: the pure features.
        clean: after clean training.
        robust: after adversarial training.
        clean_objective: mean objective over the second half of clean training.
        robust_objective: mean objective, under attack, over adversarial training.
        last_objective: the same over its last tenth.
        movement: largest :math:`\sum_i \|w_i - w_i'\|^2 / \sum_i \|w_i\|^2` over adversarial training.
        largest_dense: largest length of a neuron's dense part over adversarial training, :math:`\max_i
            \|v_i\|_2`.
        fallen_times: rescaled times of clean training, from its middle on.
        fallen_curve: error along the universal direction, moved by the length `fall`, at these times.
        steps: of adversarial training at which the curves were taken.
        movement_curve: how far the weights have moved by then.
        law_curve: mixture over the predicted one by then.
        deviation: of the robust net from its tangents; None in l_inf.
    """

    k: int
    tau: float
    threshold: float
    support: float
    score: float
    start: SymmetricErrors
    clean: SymmetricErrors
    robust: SymmetricErrors
    clean_objective: float
    robust_objective: float
    last_objective: float
    movement: float
    largest_dense: float
    fallen_times: list[float]
    fallen_curve: list[float]
    steps: list[int]
    movement_curve: list[float]
    law_curve: list[float]
    deviation: TangentDeviation | None = None


def run(config: PureStartConfig, generator: torch.Generator) -> LimitsResult:
    """Train clean from pure features, train adversarially from there, measure all three nets."""
    seed, for_tests = torch.randint(2**31, (2,), generator=generator).tolist()
    begin = reduce(config.problem(seed))
    way, objectives = _trained(config, begin, config.clean_steps)
    clean = way[-1]
    _require_awake(clean.net, config.clean_steps)
    states = [resumed(clean, config.robust_trainer())]
    attacked = []
    for _ in range(max(1, config.robust_steps)):
        after = step(states[-1])
        attacked.append(penalty(config, states[-1].net) + (after.loss or 0.0))
        states.append(after)
    # Without adversarial training the clean net itself is what is attacked.
    states = states[: config.robust_steps + 1]
    _require_awake(states[-1].net, config.clean_steps + config.robust_steps)
    moved = [state.net.moved_from(clean.net) / clean.net.squared_norm for state in states]
    dense = [abs(state.net.beta) for state in states]
    stops = sorted({round(config.robust_steps * share / 10) for share in range(11)})
    code = config.code
    nets = (begin.net, clean.net, states[-1].net)
    # Of the pure features less is asked.
    few = replace(config, n_test=-(-config.n_test // 4), n_moved=-(-config.n_moved // 4))
    start, measured, robust = (
        measure(settings, net, np.random.default_rng([for_tests, i]))
        for i, (settings, net) in enumerate(zip((few, config, config), nets, strict=True))
    )
    # The same inputs at every time: only the net changes.
    moved_inputs = draw_points(code, -(-config.n_moved // 4), generator=np.random.default_rng([for_tests, 4]))
    late = [way[round(config.clean_steps * share / 10)] for share in range(5, 11)]
    scale = measured.law / (clean.net.beta / clean.net.alpha) if clean.net.beta else 0.0
    return LimitsResult(
        k=config.sparsity,
        tau=config.tau,
        threshold=config.threshold,
        support=code.expected_support,
        score=math.sqrt(code.second_moment * config.d),
        start=start,
        clean=measured,
        robust=robust,
        clean_objective=float(np.mean(objectives[len(objectives) // 2 :])) if objectives else start.objective,
        robust_objective=float(np.mean(attacked)),
        last_objective=float(np.mean(attacked[-max(1, len(attacked) // 10) :])),
        movement=max(moved),
        largest_dense=max(dense) * math.sqrt(config.d - 1),
        fallen_times=[state.time for state in late],
        fallen_curve=[universal_error(config, state.net, moved_inputs) for state in late],
        steps=stops,
        movement_curve=[moved[stop] for stop in stops],
        law_curve=[scale * states[stop].net.beta / states[stop].net.alpha for stop in stops],
        deviation=deviations(config, states[-1].net, np.random.default_rng([for_tests, 3])),
    )


def _trained(config: PureStartConfig, state: State, steps: int) -> tuple[list[State], list[float]]:
    """All states on the way through some updates, and the objective before each of them."""
    way, objectives = [state], []
    for _ in range(steps):
        way.append(step(way[-1]))
        objectives.append(penalty(config, way[-2].net) + (way[-1].loss or 0.0))
    return way, objectives


def _require_awake(net: SymmetricNet, step: int) -> None:
    """Raise Diverged for a collapsed net: one whose neurons sleep on codes of size one is constant.

    Args:
        net: after training.
        step: at which training ended.
    """
    if step and not net.alpha > net.threshold:
        raise Diverged(step, f"the net collapsed, its pure part {net.alpha:.2g} is below the threshold")


BASE = PureStartConfig(d=10**8)

L_INF = PureStartConfig(
    d=10**8,
    p=math.inf,
    radius_power=1.751,
    fall_power=1.9999,
    small_rate=1.0,
    robust_time=1.0,
    batch=16,
)
"""Fewer small codes, so that the printed radius wakes no sleeping neuron of the clean net."""


EDGE = replace(
    BASE,
    radius_power=0.501,
    robust_time=1.0,
    batch=16,
    n_test=2000,
    n_moved=400,
    n_attack=150,
    n_linear=5,
    cells=4,
)
"""At the largest radius, 1/(sqrt(k) d^c0) up to half a percent; less is asked beside the radius of `BASE`."""


def _presets(
    config: PureStartConfig, sizes: tuple[int, ...] = (10**7, 10**8, 10**9, 10**10)
) -> dict[str, Preset[PureStartConfig]]:
    small = replace(config, clean_steps=60, robust_time=config.robust_time / 3, batch=8)
    share = 1.0 if config.p == 2 else 0.4  # of the work, like the small codes
    return {
        "tiny": Preset(
            config=replace(small, n_test=300, n_moved=200, n_attack=60, n_linear=4),
            grid={"d": (10**8, 2 * 10**8, 4 * 10**8)},
            seeds=2,
            cell_seconds=0.4,
        ),
        "quick": Preset(
            config=config,
            grid={"d": sizes},
            seeds=3,
            cell_seconds=1.5 * share,
        ),
        "full": Preset(
            config=replace(config, clean_steps=200, n_test=40_000, n_moved=4000, n_attack=2000),
            grid={"d": tuple(10**power for power in range(6, 13))},
            seeds=10,
            cell_seconds=120.0 * share,
        ),
    }


def _work(config: PureStartConfig) -> float:
    passes = config.batch * (config.clean_steps + 3 * config.robust_steps)
    passes += 40 * config.n_attack + 10 * config.n_moved + 3 * config.n_test + 2500 * config.n_linear
    return config.code.expected_support * passes


LIMITS = Experiment(
    name="purification.limits",
    title="What vanishes as d grows, from pure features at dimensions that no matrix reaches?",
    paper="purification",
    presets=_presets(BASE),
    run=run,
    work=_work,
)

LIMITS_EDGE = Experiment(
    name="purification.limits_edge",
    title="What vanishes as d grows at the largest radius of the theorems?",
    paper="purification",
    presets=_presets(EDGE, (10**8, 10**9, 10**10)),
    run=run,
    work=_work,
)

LIMITS_INF = Experiment(
    name="purification.limits_inf",
    title="What vanishes as d grows in l_inf, from pure features at dimensions that no matrix reaches?",
    paper="purification",
    presets=_presets(L_INF),
    run=run,
    work=_work,
)
