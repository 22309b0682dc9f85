"""The symmetric reduction as a commuting diagram: training from pure features, averaged over permutations."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from karat.attacks.steepest import Steepest
from karat.core.ball import Ball
from karat.core.compiled import Array
from karat.core.divergence import Diverged
from karat.core.ranges import Count, NonNegative, checked
from karat.data.dictionaries import draw_dictionary
from karat.data.sparse_code import SparseCode
from karat.data.sparse_coding import SparseCoding, draw_w_star
from karat.nets.odd_two_layer import OddTwoLayer
from karat.reductions.contract import require_exact
from karat.reductions.symmetric.net import SymmetricNet
from karat.reductions.symmetric.perturbation import attack
from karat.reductions.symmetric.sparse_points import SparsePoints, draw_points
from karat.training.odd.trainer import OddTrainer

LARGEST = 1e60
"""Coefficients beyond this have diverged: cubes of lengths would overflow next."""


@dataclass(frozen=True, kw_only=True)
@checked
class Problem:
    r"""Training of an odd net on the sparse-coding model, told without any d x d matrix.

    Args:
        trainer: the rule of one update.
        start: the net before the first update.
        code: law of the codes; its D is the dimension.
        batch: fresh points per update.
        seed: of the batches; each update draws from a generator of its own.
        dictionary: a key of `data.dictionaries.DICTIONARIES`.
        w_star: a kind of `data.sparse_coding.draw_w_star`.
        sigma_x: standard deviation of the Gaussian input noise.
        sigma_spike: that of the spike noise.
        rows: (m, d) weights in d dimensions that training begins at, in the order of `SymmetricNet.lift`;
            None for those of `start`. Rows other than those of `start` are an obstacle.
    """

    trainer: OddTrainer
    start: SymmetricNet
    code: SparseCode
    batch: Count
    seed: int = 0
    dictionary: str = "identity"
    w_star: Literal["signs", "ones", "spread"] = "signs"
    sigma_x: NonNegative = 0.0
    sigma_spike: NonNegative = 0.0
    rows: Tensor | None = None

    @cached_property
    def model(self) -> SparseCoding:
        """The data model in d dimensions: dictionary and label vector are drawn from the seed."""
        generator = torch.Generator().manual_seed(self.seed)
        D = self.code.D
        return SparseCoding(
            code=self.code,
            M=draw_dictionary(self.dictionary, D, D, generator=generator),
            w_star=draw_w_star(self.w_star, D, generator=generator),
            sigma_x=self.sigma_x,
            sigma_spike=self.sigma_spike,
        )


@dataclass(frozen=True, eq=False)
class State:
    r"""Training after some updates: two numbers per class of neurons and one for the hubs, whatever d is.

    Args:
        problem: what is trained; it holds no array that grows with d.
        coefficients: :math:`\alpha_c, \beta_c`, class after class, then :math:`\gamma`.
        net: they belong to, with its threshold and noise.
        step: updates so far.
        time: rescaled time, the sum of the steps h so far.
        loss: mean logistic loss at the (attacked) points before the last update; None before the first.
    """

    problem: Problem
    coefficients: Array
    net: SymmetricNet
    step: int = 0
    time: float = 0.0
    loss: float | None = None


def obstacle(problem: Problem) -> str | None:
    """Why training leaves the symmetric nets, or an input is more than its support; None where it does not.

    Args:
        problem: any training.
    """
    if problem.sigma_x > 0 or problem.sigma_spike > 0:
        return "with input noise a point is no longer told by its few non-zero codes"
    if problem.w_star == "spread":
        return "label weights of different sizes tell the features apart"
    if problem.dictionary == "incoherent":
        return "features that are not orthogonal see one another"
    if problem.rows is not None and not _in_classes(problem, problem.rows):
        return "the first rows are not those of classes with as many neurons for every feature"
    return trainer_obstacle(problem.trainer, problem.dictionary)


def _in_classes(problem: Problem, rows: Tensor) -> bool:
    """Whether rows in d dimensions are those of the start, up to rounding."""
    want = problem.start.lift(problem.model.M, problem.model.w_star.sign()).W
    return rows.shape == want.shape and torch.allclose(rows.to(want), want, rtol=1e-12, atol=1e-14)


def trainer_obstacle(trainer: OddTrainer, dictionary: str) -> str | None:
    """Why this rule of updating breaks the symmetry, or is not written for symmetric nets; None if it is.

    Args:
        trainer: the rule.
        dictionary: kind of the features.
    """
    if trainer.sampled_noise:
        return "noise that is drawn per neuron makes neurons differ"
    if trainer.bias_rate > 0:
        return "the gradient of the bias is not written for symmetric nets"
    if trainer.adversary is None:
        return None
    method, ball = trainer.adversary.method, trainer.adversary.ball
    if type(method) is not Steepest:
        return "only the fast gradient method is written for symmetric nets"
    if type(ball) is not Ball or ball.p not in (2, float("inf")):
        return "only l2 and l_inf balls are written for symmetric nets"
    if ball.box is not None:
        return "a box does not treat all features alike"
    if ball.p != 2 and dictionary != "identity":
        return "an l_inf ball treats features alike only along the axes"
    return None


def reduce(problem: Problem, *, despite_obstacle: bool = False) -> State:
    """The problem as a few numbers.

    Args:
        problem: one without an obstacle.
        despite_obstacle: go on where there is one, to see by how much the diagram fails to commute: what the
            symmetry cannot express is then left out.
    """
    if not despite_obstacle:
        require_exact(obstacle(problem), "symmetric")
    net = problem.start.replace(sigma_rho=problem.trainer.noise(problem.start.threshold, 0.0))
    return State(problem, net.coefficients, net)


def step(state: State) -> State:
    """One update of the trainer on a fresh batch, averaged over all permutations of the features.

    Args:
        state: stays as it is.

    Raises:
        Diverged: when outputs or coefficients are no longer finite.
    """
    problem, net, trainer = state.problem, state.net, state.problem.trainer
    h = trainer.step(net.threshold)
    points = batch_at(problem, state.step)
    y = points.label
    seen = net.look(_attacked(net, points, trainer, state.step))
    margin = y * seen.f
    if not np.isfinite(margin).all():
        raise Diverged(state.step, "the training margins are not finite")
    # The derivative of log(1 + e^-t) is -1/(1 + e^t); written with tanh it cannot overflow.
    residual = y * 0.5 * (1 - np.tanh(margin / 2)) / len(points)
    moved = h * net.coefficient_gradient(seen, residual)
    shrink = 1 - h * trainer.decay * (1 + net.coefficient_lengths)
    coefficients = net.coefficients * shrink + moved
    if not (np.abs(coefficients) < LARGEST).all():
        raise Diverged(state.step, "the coefficients grow without bound")
    threshold = trainer.bias(net.threshold, h)
    after = net.with_coefficients(
        coefficients, threshold=threshold, sigma_rho=trainer.noise(threshold, state.time + h)
    )
    loss = float(np.logaddexp(0.0, -margin).mean())
    return State(problem, coefficients, after, state.step + 1, state.time + h, loss)


def lift(state: State, problem: Problem) -> OddTwoLayer:
    """The net in d dimensions.

    Args:
        state: reached from `reduce(problem)` by steps.
        problem: it knows dictionary and label vector.
    """
    return state.net.lift(problem.model.M, problem.model.w_star.sign())


def batch_at(problem: Problem, step: int) -> SparsePoints:
    """The points of one update; equal for equal seeds and steps.

    Args:
        problem: the law and the seed.
        step: number of the update.
    """
    return draw_points(problem.code, problem.batch, generator=np.random.default_rng([problem.seed, step]))


def _attacked(net: SymmetricNet, points: SparsePoints, trainer: OddTrainer, step: int) -> SparsePoints:
    adversary = trainer.adversary
    if adversary is None or step < adversary.first_step or not isinstance(adversary.ball, Ball):
        return points
    radius = float(adversary.ball.tau) if adversary.radius is None else adversary.radius(step)
    p = adversary.ball.p if adversary.ball.p in (2, float("inf")) else 2
    zero_below = adversary.method.zero_below if isinstance(adversary.method, Steepest) else 0.0
    return attack(net, points, p, radius, zero_below=zero_below).moved


def resumed(state: State, trainer: OddTrainer) -> State:
    """The same net under another rule, such as adversarial training after clean training; steps begin at 0.

    Args:
        state: where the first training ended.
        trainer: the rule from now on.
    """
    problem = replace(state.problem, trainer=trainer, start=state.net, rows=None, seed=state.problem.seed + 1)
    return reduce(problem)
