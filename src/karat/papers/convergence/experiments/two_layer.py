"""Adversarial training of paired two-layer nets against the best robust loss near the start."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, Pairs, Positive, settings
from karat.nets import TwoLayer, init
from karat.papers.convergence.experiments.activations import ActivationName, activation_of
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
    frobenius_displacement,
)
from karat.papers.convergence.experiments.sets import CapRadius, DataName, PseudoHuber, draw_sets
from karat.probes.movement import frobenius_movement, pattern_change, row_movement
from karat.study.result import Undefined
from karat.training import FrobeniusBall
from karat.training.displacements import hilbert_ball
from karat.training.linearised import Optimum
from karat.training.surrogate import Sets, SurrogateDescent

OBSERVED_STEPS = (10, 30, 100, 300, 1000, 3000)
"""Numbers of steps at which the gap is noted, as far as training goes."""


@dataclass(frozen=True, kw_only=True)
@settings
class TwoLayerConfig:
    r"""Settings of one run.

    Args:
        m: width, both halves counted.
        R: radius of the Frobenius ball of the reference (and of the projection).
        projected: project to that ball after every step.
        attack: the perturbation function.
        strongest: control: what "worst" stands for.
        n: samples.
        d: input dimension.
        tau: radius of the caps, as a chord.
        K: allowed points per sample, itself counted.
        tol: target of the theorem.
        lr: step size of gradient descent.
        steps: of gradient descent.
        activation: of the hidden neurons.
        rows: Gaussian start, or on the sphere of radius :math:`\sqrt{d}`.
        data: how the caps lie.
        direction: control: "up" takes every step with the wrong sign, "none" takes steps of length 0.
    """

    m: Pairs
    R: Positive
    projected: bool = False
    attack: AttackName = "worst"
    strongest: Strongest = "argmax"
    n: Annotated[int, Ge(2)] = 10
    d: Annotated[int, Ge(2)] = 6
    tau: CapRadius = 0.25
    K: Count = 12
    tol: Positive = 0.1
    lr: Positive = 0.3
    steps: Count = 300
    activation: ActivationName = "smoothed_relu"
    rows: Literal["gaussian", "sphere"] = "gaussian"
    data: DataName = "caps"
    direction: Literal["down", "up", "none"] = "down"


@dataclass(frozen=True, kw_only=True)
class TwoLayerResult:
    r"""What one run measures; :math:`W_*` is the net behind the best linearised displacement of the ball.

    Args:
        reference: loss of the best linearised net that was found in the ball.
        reference_bound: certified lower bound on the loss of every linearised net of the ball.
        target_loss: :math:`L_*(W_*)`, the robust loss of the net itself.
        steps: numbers of steps :math:`T` at which the gap was noted.
        gap: :math:`\min_{t < T} L_A(W_t)` less `reference_bound`, for each of them.
        final_gap: the same after all steps.
        best_loss: :math:`\min_t L_A(W_t)`.
        robust_loss: :math:`L_*` of the last net.
        attack_shortfall: largest :math:`L_*(W_t) - L_A(W_t)` on the way.
        frobenius: :math:`\|W - W_0\|_F` of the last net.
        rows: largest movement of a row.
        pattern_change: share of neurons whose sign at the samples has changed.
        left_ball: first step outside :math:`B(R)`.
        left_triple: first step outside :math:`B(3R)`.
        loss_before_exit: smallest :math:`L_A` met inside :math:`B(3R)`.
        regret_constant: largest :math:`c` that the recursion needed along the run.
    """

    reference: float
    reference_bound: float
    target_loss: float
    steps: list[int]
    gap: list[float]
    final_gap: float
    best_loss: float
    robust_loss: float
    attack_shortfall: float
    frobenius: float
    rows: float
    pattern_change: float
    left_ball: Annotated[int | None, Undefined("the net never leaves B(R)")]
    left_triple: Annotated[int | None, Undefined("the net never leaves B(3R)")]
    loss_before_exit: float
    regret_constant: Annotated[float | None, Undefined("projected runs have no recursion")]

    @property
    def certificate_width(self) -> float:
        """How far the reference is from its certified lower bound."""
        return self.reference - self.reference_bound


class Uphill(PseudoHuber):
    """The loss with a derivative of the wrong sign, so that descent climbs while it notes the true losses."""

    def derivative(self, margin: Tensor) -> Tensor:
        """Minus the derivative in the margin."""
        return -super().derivative(margin)


class Still(PseudoHuber):
    """The loss with a derivative of 0, so that descent stays at its start while it notes the true losses."""

    def derivative(self, margin: Tensor) -> Tensor:
        """Zero in every margin."""
        return torch.zeros_like(margin)


STEERED = {"down": PseudoHuber, "up": Uphill, "none": Still}
"""Direction of the steps -> the loss whose derivative leads there."""


def run(config: TwoLayerConfig, generator: torch.Generator) -> TwoLayerResult:
    r"""Train, and compare :math:`\min_t L_A(W_t)` with the best robust loss of the ball.

    Reading: :math:`L_*(W_*)` is the minimum over a non-convex set of nets; the linearised problem replaces
        it, with a certificate. The net may do slightly better than its linearisation, so gaps can be
        negative.

    Ref: convergence, Thm 5.1
    """
    sets = draw_sets(config.n, config.d, config.tau, config.K, generator, data=config.data)
    start = draw_net(config, generator)
    optimum, target = best_nearby(start, sets, config.R)
    target_loss = robust_loss(sets.margins(target))
    trace = RegretTrace(start, target, target_loss, config)
    descent = SurrogateDescent(
        lr=config.lr,
        loss=STEERED[config.direction](),
        projection=FrobeniusBall({"W": start.W}, config.R) if config.projected else None,
    )
    # The perturbation function sees every allowed point at every step; whatever it picks, the theorem holds.
    pick = Watched(perturbation(config, sets, generator))
    net, losses = descent.run(start, sets, pick, steps=config.steps, observe=trace)
    best_so_far = torch.tensor(losses).cummin(dim=0).values
    observed = [step for step in OBSERVED_STEPS if step <= config.steps]
    return TwoLayerResult(
        reference=optimum.loss,
        reference_bound=optimum.bound,
        target_loss=target_loss,
        steps=observed,
        # Against the lower bound, so that the solver's own error never flatters the training.
        gap=[float(best_so_far[step - 1]) - optimum.bound for step in observed],
        final_gap=float(best_so_far[-1]) - optimum.bound,
        best_loss=float(best_so_far[-1]),
        robust_loss=robust_loss(sets.margins(net)),
        attack_shortfall=pick.shortfall,
        frobenius=frobenius_movement(net, start),
        rows=row_movement(net, start),
        pattern_change=pattern_change(net, start, sets.x[:, 0]),
        left_ball=trace.exits.get(1),
        left_triple=trace.exits.get(3),
        loss_before_exit=trace.loss_before_exit,
        regret_constant=trace.c if math.isfinite(trace.c) else None,
    )


def draw_net(config: TwoLayerConfig, generator: torch.Generator) -> TwoLayer:
    """Draw the paired start, which is zero at every input.

    Args:
        config: width, dimension, activation and law of the rows.
        generator: of the weights.

    Ref: convergence, Eq 4
    """
    net = init.paired(
        config.d,
        config.m,
        generator=generator,
        sd_W=1.0,
        scale=1 / math.sqrt(config.m),
        activation=activation_of(config.activation),
    )
    if config.rows == "sphere":
        # Twins have equal rows and so stay equal.
        length = torch.linalg.vector_norm(net.W, dim=1, keepdim=True)
        net = net.replace(W=net.W * (math.sqrt(config.d) / length))
    return net


def best_nearby(net: TwoLayer, sets: Sets, R: float) -> tuple[Optimum, TwoLayer]:
    """Return the best linearised robust loss of the Frobenius ball, and the net at its displacement.

    Args:
        net: the start.
        sets: the allowed points of every sample.
        R: radius of the ball.
    """
    x, y = allowed_points(sets)
    space = hilbert_ball(net, x, y)
    optimum = best_robust_loss(net, sets, space, R)
    return optimum, net.replace(W=net.W + frobenius_displacement(net, x, y, space, optimum.D, R))


class RegretTrace:
    r"""Watches a run: when it leaves :math:`B(R)` and :math:`B(3R)`, and which c the regret recursion needs.

    With :math:`d_t = \|W_t - W_*\|_F` the recursion says

    .. math:: d_{t+1}^2 \le (1 + c \alpha / \sqrt{m})\, d_t^2 + 2 \alpha (L_*(W_*) - L_A(W_t))
        + \alpha^2 \|\nabla L_A(W_t)\|^2,

    and the smallest :math:`c` for which a step obeys it is noted; the largest over all steps is `c`.

    Args:
        start: :math:`W_0`.
        target: :math:`W_*`.
        target_loss: :math:`L_*(W_*)`.
        config: of the run.

    Ref: convergence, Eq 16
    """

    def __init__(self, start: TwoLayer, target: TwoLayer, target_loss: float, config: TwoLayerConfig) -> None:
        self.start, self.target, self.target_loss, self.config = start, target, target_loss, config
        # Factor 1 or 3 -> the first step at which the net is farther than so many R from its start.
        self.exits: dict[int, int] = {}
        self.loss_before_exit = math.inf
        self.c = -math.inf
        self._last: tuple[float, float, float] | None = None

    def __call__(self, step: int, net: TwoLayer, loss: float, gradient: float) -> None:
        r"""Called before every update.

        Args:
            step: :math:`t`.
            net: at :math:`W_t`.
            loss: :math:`L_A(W_t)`.
            gradient: :math:`\|\nabla L_A(W_t)\|^2`.
        """
        moved = frobenius_movement(net, self.start)
        for factor in (1, 3):
            if moved > factor * self.config.R:
                self.exits.setdefault(factor, step)
        if 3 not in self.exits:
            self.loss_before_exit = min(self.loss_before_exit, loss)
        distance = float((net.W - self.target.W).square().sum())
        # A projection moves the weights as well, which the recursion does not speak of; at W_* it has no c.
        if self._last is not None and self._last[0] > 0 and not self.config.projected:
            self.c = max(self.c, self._needed(distance, *self._last))
        self._last = (distance, loss, gradient)

    def _needed(self, distance: float, before: float, loss: float, gradient: float) -> float:
        """The c for which the step from the squared distance `before` obeys the recursion with equality."""
        lr = self.config.lr
        excess = distance - before - 2 * lr * (self.target_loss - loss) - lr**2 * gradient
        return excess * math.sqrt(self.config.m) / (lr * before)
