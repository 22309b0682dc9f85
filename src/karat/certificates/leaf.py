"""The exact relaxation of one domain as a cone program, for the last step when first-order ascent stalls."""

import math
import warnings

import clarabel
import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from karat.certificates.hull import Hull
from karat.certificates.space import Space


def solve_leaf(space: Space, hulls: Hull, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor] | None:
    """Optimal slopes (U,) and answer (k,) of a domain's relaxation, or None if the solver gives up.

        minimise  <fixed, delta> + sum_s e_s   s.t.  e_s >= h_k + slope_k (z_s + <w_s, delta>) for each line k of
        hull s,  low <= z + W delta <= high,  delta in the ball (and box)

    The slopes are read off the multipliers: sum_k lambda_k slope_k + (upper) - (lower). They are only a proposal:
    the bound is evaluated from them by `Space.bound`.

    Args:
        hulls: (1, U, P) of the domain; low, high: (U,).
    """
    W, z = space.W.numpy(), space.z.numpy()
    neurons, k = W.shape
    slopes = hulls.slopes[0]
    heights = torch.stack([hulls.conjugate(slopes[:, j].unsqueeze(0))[0] for j in range(slopes.shape[1])], dim=1)
    lines, constants = slopes.numpy(), heights.numpy()
    count = lines.shape[1]
    extra = k if space.ball.p == 1 else 0
    width = k + neurons + extra
    blocks, sides, cones = [], [], []

    def add(block: sparse.spmatrix, side: np.ndarray, cone: object) -> None:
        blocks.append(block)
        sides.append(side)
        cones.append(cone)

    nothing = sparse.csc_matrix((neurons, extra))
    for j in range(count):  # slope w.delta - e <= -(constant + slope z)
        row = sparse.hstack([sparse.csc_matrix(lines[:, j : j + 1] * W), -sparse.identity(neurons), nothing])
        add(row, -(constants[:, j] + lines[:, j] * z), clarabel.NonnegativeConeT(neurons))
    blank = sparse.csc_matrix((neurons, neurons + extra))
    add(sparse.hstack([sparse.csc_matrix(W), blank]), high.numpy() - z, clarabel.NonnegativeConeT(neurons))
    add(sparse.hstack([sparse.csc_matrix(-W), blank]), z - low.numpy(), clarabel.NonnegativeConeT(neurons))
    for block, side, cone in _ball_rows(space, k, neurons, extra):
        add(block, side, cone)
    cost = np.concatenate([space.fixed.numpy(), np.ones(neurons), np.zeros(extra)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix((width, width)),
            cost,
            sparse.vstack(blocks, format="csc"),
            np.concatenate(sides),
            cones,
            settings,
        )
        solution = solver.solve()
    primal, dual = np.array(solution.x), np.array(solution.z)
    if not (np.isfinite(primal).all() and np.isfinite(dual).all()):
        return None
    weights = dual[: count * neurons].reshape(count, neurons)
    upper = dual[count * neurons : (count + 1) * neurons]
    lower = dual[(count + 1) * neurons : (count + 2) * neurons]
    alpha = (weights * lines.T).sum(axis=0) + upper - lower
    return torch.from_numpy(alpha), torch.from_numpy(primal[:k].copy())


def _ball_rows(space: Space, k: int, neurons: int, extra: int) -> list[tuple[sparse.spmatrix, np.ndarray, object]]:
    """Rows of the ball and the box."""
    tau, p = float(space.ball.tau), space.ball.p
    eye, rest = sparse.identity(k, format="csc"), sparse.csc_matrix((k, neurons + extra))
    rows: list[tuple[sparse.spmatrix, np.ndarray, object]] = []
    low, high = np.full(k, -math.inf), np.full(k, math.inf)
    if space.ball.box is not None:
        x = space.problem.x[0].numpy()
        low, high = space.ball.box[0] - x, space.ball.box[1] - x
    if p == math.inf:
        low, high = np.maximum(low, -tau), np.minimum(high, tau)
    if np.isfinite(low).all():
        rows.append((sparse.hstack([eye, rest]), high, clarabel.NonnegativeConeT(k)))
        rows.append((sparse.hstack([-eye, rest]), -low, clarabel.NonnegativeConeT(k)))
    if p == 2:
        top = sparse.csc_matrix((1, k + neurons + extra))
        block = sparse.vstack([top, sparse.hstack([-eye, rest])])
        rows.append((block, np.concatenate([[tau], np.zeros(k)]), clarabel.SecondOrderConeT(k + 1)))
    if p == 1:
        between = sparse.csc_matrix((k, neurons))
        for sign in (1, -1):
            rows.append((sparse.hstack([sign * eye, between, -eye]), np.zeros(k), clarabel.NonnegativeConeT(k)))
        total = sparse.hstack([sparse.csc_matrix((1, k + neurons)), sparse.csc_matrix(np.ones((1, k)))])
        rows.append((total, np.array([tau]), clarabel.NonnegativeConeT(1)))
    return rows
