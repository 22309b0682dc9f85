"""Projected adversarial training of one hidden layer at the widths that Theorem 4.1 asks for."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge

from karat.core.ranges import Count, Positive, settings
from karat.papers.convergence.experiments.perturbations import (
    AttackName,
    Strongest,
    Watched,
    perturbation,
    robust_loss,
)
from karat.papers.convergence.experiments.reference import (
    allowed_points,
    best_robust_loss,
    certified_robust_loss,
    frobenius_displacement,
)
from karat.papers.convergence.experiments.sets import CapRadius, draw_sets
from karat.papers.convergence.experiments.two_layer import STEERED
from karat.papers.convergence.experiments.wide_measures import Recursion, changes, worst_changes
from karat.probes.movement import frobenius_movement
from karat.reductions.wide import draw_start
from karat.study.experiment import Experiment, Preset
from karat.training.displacements import hilbert_ball
from karat.training.surrogate import SurrogateDescent


@dataclass(frozen=True, kw_only=True)
@settings
class WideConfig:
    r"""Settings of one run.

    Args:
        m: width of the hidden layer.
        R: the layer stays within :math:`R/\sqrt m` of its start.
        tol: target of the theorem.
        step: the learning rate is `step` :math:`/ m`.
        steps: of descent.
        attack: the perturbation function.
        strongest: control: what "worst" stands for, the allowed point of largest loss or the sample itself.
        direction: control: "up" takes every step with the wrong sign, "none" takes steps of length 0.
        n: samples.
        d: input dimension.
        tau: radius of the caps, as a chord.
        K: allowed points per sample, itself counted.
    """

    m: Count
    R: Positive = 1.0
    tol: Positive = 0.2
    step: Positive = 0.2
    steps: Count = 25
    attack: AttackName = "worst"
    strongest: Strongest = "argmax"
    direction: Literal["down", "up", "none"] = "down"
    n: Annotated[int, Ge(2)] = 6
    d: Annotated[int, Ge(2)] = 6
    tau: CapRadius = 0.25
    K: Count = 6

    def __post_init__(self) -> None:
        if self.m < self.d:
            raise ValueError(f"`m` of `WideConfig` must be at least d = {self.d}, got {self.m}.")

    @property
    def lr(self) -> float:
        r"""The learning rate :math:`\alpha`, in the theorem's units."""
        return self.step / self.m

    @property
    def radius(self) -> float:
        """Of the ball, its factor included."""
        return self.R / math.sqrt(self.m)


@dataclass(frozen=True, kw_only=True)
class WideResult:
    r"""What one run measures; :math:`W_*` is the net behind the best linearised displacement of the ball.

    Args:
        certified: no net of the ball has a smaller robust loss.
        reference: loss of the best linearised net that was found in the ball.
        target_loss: :math:`L_*(W_*)`, the robust loss of the net itself.
        start_loss: :math:`L_A(W_0)`.
        losses: :math:`L_A(W_t)` for t = 1, ..., T.
        smallest_robust: smallest robust loss of a net of the ball that was met.
        attack_shortfall: largest :math:`L_*(W_t) - L_A(W_t)` on the way.
        moved: :math:`\sqrt m \|W_T - W_0\|_F`.
        pattern_change: largest share of changed signs over all allowed points.
        gradient_change: largest change of the gradient over all allowed points.
        non_convexity: largest :math:`|f(W_*) - f(W_t) - \langle \nabla f(W_t), W_* - W_t\rangle|` over all
            allowed points, at the start and at the end.
        ball_pattern_change: the largest share that any net of the ball changes at an allowed point.
        ball_gradient_change: certified: no net of the ball changes the gradient by more at an allowed point.
        ball_non_convexity: certified: no two nets of the ball miss convexity by more at an allowed point.
        regret_excess: largest :math:`\big(d_{t+1}^2 - d_t^2 - \alpha^2 \|\nabla L_A\|^2\big) / (2 \alpha) -
            L_*(W_*) + L_A(W_t) - N_t`, with :math:`d_t = \|W_t - W_*\|_F` and the mean :math:`N_t` over
            samples of :math:`|f(W_*) - f(W_t) - \langle \nabla f(W_t), W_* - W_t\rangle|` at the points of
            step t.
    """

    certified: float
    reference: float
    target_loss: float
    start_loss: float
    losses: list[float]
    smallest_robust: float
    attack_shortfall: float
    moved: float
    pattern_change: float
    gradient_change: float
    non_convexity: float
    ball_pattern_change: float
    ball_gradient_change: float
    ball_non_convexity: float
    regret_excess: float


def run(config: WideConfig, generator: torch.Generator) -> WideResult:
    r"""Train in the ball, in m x d numbers, and compare with a bound on the robust loss of all nets of it.

    Ref: convergence, Thm 4.1
    """
    sets = draw_sets(config.n, config.d, config.tau, config.K, generator)
    descent = SurrogateDescent(lr=config.lr, loss=STEERED[config.direction]())
    state = draw_start(
        config.m,
        sets,
        descent,
        weight_radius=config.radius,
        pick=lambda seen: perturbation(config, seen, generator),
        generator=generator,
    )
    x, y = allowed_points(state.sets)
    space = hilbert_ball(state.net, x, y)
    optimum = best_robust_loss(state.net, state.sets, space, config.radius)
    target = state.net.replace(
        W=state.net.W + frobenius_displacement(state.net, x, y, space, optimum.D, config.radius)
    )
    target_loss = robust_loss(state.sets.margins(target))
    pick = Watched(state.pick)
    trace = Recursion(target, target_loss, config.lr, state.sets, pick)
    # All updates in one loop, the same as steps of the reduction; one more, so that the last loss is noted.
    state.descent.run(state.net, state.sets, pick, steps=config.steps + 1, observe=trace)
    return WideResult(
        certified=certified_robust_loss(state.net, state.sets, space, config.radius),
        reference=optimum.loss,
        target_loss=target_loss,
        start_loss=trace.losses[0],
        losses=trace.losses[1:],
        smallest_robust=min(target_loss, *pick.robust),
        attack_shortfall=pick.shortfall,
        moved=frobenius_movement(trace.end, state.net) * math.sqrt(config.m),
        regret_excess=trace.excess,
        **changes(state.net, trace.end, target, x),
        **worst_changes(state.net, config.radius, x),
    )


def work(config: WideConfig) -> float:
    """Products of all allowed points with m x d numbers, in every step and about fifty times around it."""
    return (config.steps + 50.0) * config.n * config.K * config.d * (300.0 + config.m)


THEOREM = WideConfig(m=78_126)
"""Width, rate and steps as the theorem asks for them at tol = 0.2, hidden constants read as 1."""

AT_QUARTER = {"m": 16_384, "tol": 0.25, "step": 0.25, "steps": 16}
"""The same at tol = 0.25."""

NARROWER = (
    {"m": 4574, "tol": 0.3, "step": 0.3, "steps": 12},
    {"m": 612, "tol": 0.4, "step": 0.4, "steps": 7},
)
"""The same at targets that some starts or all of them meet: for worst cases of the ball over the width."""

WEAK = ("one_step", "identity", "random", "hashed")

WIDE = Experiment(
    name="convergence.wide",
    title="Does projected adversarial training of one hidden layer reach the best robust loss of its ball?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(THEOREM, n=4, d=4, K=4, m=612, tol=0.4, step=0.4, steps=7),
            grid={"attack": ("worst", "hashed")},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=THEOREM,
            points=(
                {},
                AT_QUARTER,
                *NARROWER,
                *({**AT_QUARTER, "attack": attack} for attack in ("one_step", "hashed")),
            ),
            seeds=8,
            cell_seconds=0.5,
        ),
        "full": Preset(
            config=replace(THEOREM, n=8, K=8),
            points=(
                *({"attack": attack} for attack in ("worst", *WEAK)),
                AT_QUARTER,
                *NARROWER,
                {"m": 1_000_000, "tol": 0.139, "step": 0.139, "steps": 52, "n": 4, "K": 4},
            ),
            seeds=10,
            cell_seconds=6,
        ),
    },
    run=run,
    work=work,
)
