"""The function of smallest norm whose values stay within a tube around the labels: a convex program."""

import math
from dataclasses import dataclass

import clarabel
import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from karat.core.activations import Activation
from karat.core.tangent_kernel import gram, profile_of
from karat.probes.kernel_interpolation import KernelFunction

_PENALTY = 1e6
"""Price of leaving the tube: finite, so that labels which no function has yield the nearest one."""

_ROUNDING = 1e-13
"""Relative error of a quadratic form of some hundred terms, with room to spare."""


@dataclass(frozen=True, eq=False)
class Tube:
    """What the program finds.

    Args:
        function: of smallest norm.
        norm_bound: certified lower bound on the norm of every function within the tube.
        outside: how far the function leaves the tube all the same; above rounding no function stays inside.
    """

    function: KernelFunction
    norm_bound: float
    outside: float


def smallest_in_tube(activation: Activation, x: Tensor, y: Tensor, width: float) -> Tube:
    r"""Solve :math:`\min \|f\|` subject to :math:`|f(x_j) - y_j| \le w`, with a certificate of the minimum.

    The dual variables :math:`\alpha` are the coefficients of the solution, and whatever they are,

    .. math:: \|f\| \ge \frac{\sum_j \alpha_j y_j - w \sum_j |\alpha_j|}{\sqrt{\alpha^\top K \alpha}}

    for every f of the tube.

    Args:
        activation: of the kernel.
        x: (N, d) unit vectors.
        y: (N,) values.
        width: of the tube, w.
    """
    K = gram(profile_of(activation), x)
    size, basis = torch.linalg.eigh(K)
    kept = size > 1e-13 * size[-1]
    # In these coordinates the norm is Euclidean, and directions that rounding made up are gone.
    F = (basis[:, kept] * size[kept].sqrt()).numpy()
    alpha, outside = _solve(F, y.numpy(), width, soft=False)
    if not math.isfinite(outside):
        alpha, outside = _solve(F, y.numpy(), width, soft=True)
    # The rounding of the quadratic form is added, so that cancellation never raises the bound.
    squared = float(alpha @ K @ alpha + _ROUNDING * K.diagonal().max() * alpha.abs().sum().square())
    gain = float(alpha @ y - width * alpha.abs().sum())
    return Tube(
        function=KernelFunction(activation, x, alpha),
        norm_bound=max(0.0, gain) / math.sqrt(max(squared, 1e-300)),
        outside=outside,
    )


def _solve(F: np.ndarray, y: np.ndarray, width: float, *, soft: bool) -> tuple[Tensor, float]:
    """Dual variables and how far the solution leaves the tube, infinite if the solver finds none."""
    N, k = F.shape
    # Variables: coordinates, and by how much all constraints are relaxed, which is 0 unless soft.
    one = np.ones((N, 1))
    A = np.vstack([np.hstack([F, -one]), np.hstack([-F, -one]), -np.eye(1, k + 1, k)])
    b = np.concatenate([y + width, width - y, [0.0]])
    cones = [clarabel.NonnegativeConeT(2 * N + 1)]
    if not soft:
        A, b, cones = np.vstack([A, np.eye(1, k + 1, k)]), np.append(b, 0.0), [*cones, clarabel.ZeroConeT(1)]
    P = sparse.diags([1.0] * k + [0.0], format="csc")
    cost = np.append(np.zeros(k), _PENALTY if soft else 0.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(P, cost, sparse.csc_matrix(A), b, cones, settings).solve()
    dual = np.array(solution.z)
    found = str(solution.status) in ("Solved", "AlmostSolved") and np.isfinite(dual).all()
    return torch.from_numpy(dual[N : 2 * N] - dual[:N]), float(solution.x[-1]) if found else math.inf
