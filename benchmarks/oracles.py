"""What certificates are held against: dense grids, attacks, and mixed-integer programs."""

import math

import numpy as np
import torch
from scipy.optimize import LinearConstraint, milp
from torch import Tensor

from karat.attacks import PGD
from karat.certificates.problem import Problem
from karat.certificates.target import Target
from karat.core.ball import Ball


def grid_points(d: int, points: int) -> Tensor:
    """A grid of [-1, 1]^d for d = 1 or 2."""
    side = torch.linspace(-1, 1, points, dtype=torch.float64)
    return side.unsqueeze(1) if d == 1 else torch.cartesian_prod(side, side)


def grid_minimum(problem: Problem, points: int) -> tuple[Tensor, Tensor]:
    """Smallest margin on a grid of the ball, and the rounding error of that margin, per sample."""
    n, d = problem.x.shape
    unit = grid_points(d, points)
    count = len(unit)
    every = problem.rows(torch.arange(n).repeat_interleave(count))
    delta = every.ball.project(unit.repeat(n, 1) * every.tau.unsqueeze(1), every.x)
    lowest, index = every.value(delta).reshape(n, count).min(dim=1)
    best = delta.reshape(n, count, d)[torch.arange(n), index]
    return lowest, problem.value_error(best)


def deep_grid_minimum(target: Target, points: int) -> tuple[Tensor, Tensor]:
    """The same for a model of any depth, through its classifier."""
    n, d = target.x.shape
    unit = grid_points(d, points)
    count = len(unit)
    row = torch.arange(n).repeat_interleave(count)
    tau = target.ball.radius(target.x)[row]
    delta = target.ball.with_tau(tau).project(unit.repeat(n, 1) * tau.unsqueeze(1), target.x[row])
    margin = target.classifier.margin(target.x[row] + delta, target.y[row])
    lowest, index = margin.reshape(n, count).min(dim=1)
    return lowest, target.margin_error(delta.reshape(n, count, d)[torch.arange(n), index])


def attacked(target: Target, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Smallest margin that PGD with restarts finds, and its rounding error."""
    method = PGD(steps=15, restarts=2)
    delta = method(target.classifier, target.x, target.y, target.ball, generator=generator)
    return target.classifier.margin(target.x + delta, target.y), target.margin_error(delta)


def lower_of(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The smaller of two margins per sample, with its error."""
    wins = other[0] < one[0]
    return torch.minimum(one[0], other[0]), torch.where(wins, other[1], one[1])


def linear_minimum(problem: Problem) -> Tensor:
    """Worst margins of a linear net in closed form: margin - tau |w|_q (plain balls only)."""
    w = problem.c @ problem.W
    q = {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[problem.ball.p]
    steep = torch.linalg.vector_norm(w, ord=q, dim=1)
    return problem.value(torch.zeros_like(problem.x)) - problem.tau * steep


def milp_minimum(problem: Problem) -> tuple[float, float]:
    """Worst margin of one l_inf ReLU problem: big-M, binaries on unstable neurons; dual bound and witness."""
    low, high = (side[0].numpy() for side in problem.interval)
    c, z, W = problem.c[0].numpy(), problem.z[0].numpy(), problem.W.numpy()
    m, d = W.shape
    tau = float(problem.tau[0])
    # Variables delta, t, a with t = relu(z + W delta).
    rows, sides = [], []
    for s in range(m):
        unit = np.eye(m)[s]
        rows.append(np.concatenate([W[s], -unit, 0 * unit]))
        sides.append(-z[s])
        rows.append(np.concatenate([-W[s], unit, -min(low[s], 0) * unit]))
        sides.append(z[s] - min(low[s], 0))
        rows.append(np.concatenate([0 * W[s], unit, -max(high[s], 0) * unit]))
        sides.append(0.0)
    top = np.concatenate([np.full(d, tau), np.maximum(high, 0), np.where(high <= 0, 0.0, 1.0)])
    bottom = np.concatenate([np.full(d, -tau), np.zeros(m), (low >= 0).astype(float)])
    found = milp(
        np.concatenate([np.zeros(d), c, np.zeros(m)]),
        constraints=LinearConstraint(np.array(rows), ub=np.array(sides)),
        bounds=(bottom, top),
        integrality=np.concatenate([np.zeros(d + m), np.ones(m)]),
        options={"mip_rel_gap": 1e-9},
    )
    delta = Ball(math.inf, tau).project(torch.from_numpy(found.x[:d]).unsqueeze(0))
    return found.mip_dual_bound + float(problem.offset[0]), float(problem.value(delta)[0])
