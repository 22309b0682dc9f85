"""The exact relaxation of one domain as a cone program, for the last step when first-order ascent stalls."""

import math
import warnings
from dataclasses import dataclass, field

import clarabel
import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from karat.certificates.hull import Hull
from karat.certificates.space import Space

_LARGEST = 500_000  # entries of the constraint matrix up to which a factorisation is quick


@dataclass(eq=False)
class _Rows:
    """Rows of a cone program over (delta, e, extra), collected block by block."""

    columns: tuple[int, int, int]
    blocks: list[np.ndarray] = field(default_factory=list)
    sides: list[np.ndarray] = field(default_factory=list)
    cones: list[object] = field(default_factory=list)

    def add(self, side: np.ndarray, *parts: np.ndarray | None, cone: type | None = None) -> None:
        """One block: its three column groups (None for zeros) and its right-hand side."""
        filled = [
            np.zeros((len(side), width)) if part is None else part
            for part, width in zip(parts, self.columns, strict=True)
        ]
        self.blocks.append(np.hstack(filled))
        self.sides.append(side)
        self.cones.append((cone or clarabel.NonnegativeConeT)(len(side)))


def solve_leaf(
    space: Space, hulls: Hull, low: Tensor, high: Tensor, seconds: float
) -> tuple[Tensor, Tensor] | None:
    r"""Optimal slopes (U,) and answer (k,) of a domain's relaxation, or None if it is too large or fails.

    The epigraph variables e lie above every line k of the hull of their neuron:

    .. math:: \min\ \langle\text{fixed}, \delta\rangle + \sum_s e_s \quad \text{s.t.} \quad
        e_s \ge h_k + \text{slope}_k (z_s + \langle w_s, \delta\rangle), \quad
        \text{low} \le z + W \delta \le \text{high}, \quad \delta \in \text{ball (and box)}

    Neurons whose hull is one line join the linear part. The slopes are read off the multipliers: their mean
    over the lines, weighted by the lines' multipliers, plus that of `high`, minus that of `low`. They are a
    proposal only: the bound itself is `Space.bound`.

    Args:
        space: the search space.
        hulls: (1, U, P) of the domain.
        low: (U,) lower ends of the domain.
        high: (U,) upper ends.
        seconds: time limit of the solver.
    """
    W, z, slopes = space.W.numpy(), space.z.numpy(), hulls.slopes[0]
    bent = (slopes[:, -1] - slopes[:, 0] > 1e-12 * slopes.abs().amax(dim=1)).numpy()
    alpha = slopes[:, 0].numpy().copy()
    alpha[bent] = 0.0
    cut = _cut(space, low, high).numpy()
    k, count, lines = W.shape[1], int(bent.sum()), slopes.shape[1]
    if (lines * count + 2 * int(cut.sum())) * k > _LARGEST:
        return None
    extra = k if space.ball.p == 1 else 0
    heights = torch.stack([hulls.conjugate(slopes[:, j].unsqueeze(0))[0] for j in range(lines)], dim=1)
    steep, height = slopes.numpy()[bent], heights.numpy()[bent]
    rows = _Rows((k, count, extra))
    for j in range(lines):  # slope <w, delta> - e <= -(height + slope z)
        side = -(height[:, j] + steep[:, j] * z[bent])
        rows.add(side, steep[:, j : j + 1] * W[bent], -np.eye(count), None)
    rows.add(high.numpy()[cut] - z[cut], W[cut], None, None)
    rows.add(z[cut] - low.numpy()[cut], -W[cut], None, None)
    _add_ball(rows, space)
    cost = np.concatenate([space.fixed.numpy() + alpha @ W, np.ones(count), np.zeros(extra)])
    solution = _run(rows, cost, seconds)
    if solution is None:
        return None
    primal, dual = solution
    weights = dual[: lines * count].reshape(lines, count)
    alpha[bent] = (weights * steep.T).sum(axis=0)
    of_cuts = dual[lines * count : lines * count + 2 * int(cut.sum())].reshape(2, -1)
    alpha[cut] += of_cuts[0] - of_cuts[1]
    return torch.from_numpy(alpha), torch.from_numpy(primal[:k].copy())


def _cut(space: Space, low: Tensor, high: Tensor) -> Tensor:
    """Neurons whose interval was cut; those that were only tightened follow from the cuts and the ball."""
    profile = space.problem.profile
    if not profile.piecewise_linear:
        return (low > space.low) | (high < space.high)
    is_cut = torch.zeros_like(low, dtype=torch.bool)
    for knot in profile.knots:
        is_cut |= (low == knot) | (high == knot)
    return is_cut


def _run(rows: _Rows, cost: np.ndarray, seconds: float) -> tuple[np.ndarray, np.ndarray] | None:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = max(seconds, 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        empty = sparse.csc_matrix((len(cost), len(cost)))
        A = sparse.csc_matrix(np.vstack(rows.blocks))
        solver = clarabel.DefaultSolver(empty, cost, A, np.concatenate(rows.sides), rows.cones, settings)
        solution = solver.solve()
    primal, dual = np.array(solution.x), np.array(solution.z)
    if not (np.isfinite(primal).all() and np.isfinite(dual).all()):
        return None
    return primal, dual


def _add_ball(rows: _Rows, space: Space) -> None:
    """Rows of the ball and the box."""
    tau, p, k = float(space.ball.tau), space.ball.p, rows.columns[0]
    eye = np.eye(k)
    low, high = np.full(k, -math.inf), np.full(k, math.inf)
    if space.ball.box is not None:
        x = space.problem.x[0].numpy()
        low, high = space.ball.box[0] - x, space.ball.box[1] - x
    if p == math.inf:
        low, high = np.maximum(low, -tau), np.minimum(high, tau)
    if np.isfinite(low).all():
        rows.add(high, eye, None, None)
        rows.add(-low, -eye, None, None)
    if p == 2:
        side = np.concatenate([[tau], np.zeros(k)])
        rows.add(side, np.vstack([np.zeros(k), -eye]), None, None, cone=clarabel.SecondOrderConeT)
    if p == 1:
        rows.add(np.zeros(k), eye, None, -eye)
        rows.add(np.zeros(k), -eye, None, -eye)
        rows.add(np.array([tau]), None, None, np.ones((1, k)))
