"""Functions of a tangent kernel's space: interpolants and separating functions, with their norms."""

from dataclasses import dataclass

import torch
from scipy.optimize import nnls
from torch import Tensor

from karat.core.activations import Activation
from karat.core.checks import require_labels, require_number
from karat.core.norms import two_inf_norm
from karat.core.tangent_kernel import gram, profile_of


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """g(x) = sum_j coefficients_j K(points_j, x), K the tangent kernel of an activation on the sphere.

    Args:
        points: (N, d) unit vectors.
        coefficients: (N,).
    """

    activation: Activation
    points: Tensor
    coefficients: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Values (n,) at unit vectors x (n, d)."""
        return gram(profile_of(self.activation), x, self.points) @ self.coefficients

    @property
    def norm(self) -> float:
        """Norm in the kernel's space, sqrt(c' K c)."""
        K = gram(profile_of(self.activation), self.points)
        return float((self.coefficients @ K @ self.coefficients).clamp_min(0).sqrt())

    def density(self, W: Tensor) -> Tensor:
        """c(w)/p0(w) = sum_j coefficients_j phi'(<w, x_j>) x_j at every row of W, (m, d).

        g(x) is the mean of <c(w)/p0(w), x> phi'(<w, x>) over w ~ N(0, I).
        """
        gates = self.activation.derivative(W @ self.points.to(W).T)
        return (gates * self.coefficients.to(W)) @ self.points.to(W)

    def random_feature_norm(self, W: Tensor) -> float:
        """sup over w of |c(w)|/p0(w), over the rows of W: a lower estimate that grows with their number.

        Ref: convergence, Lem C.1
        """
        return float(two_inf_norm(self.density(W)))


def interpolant(
    activation: Activation, x: Tensor, targets: Tensor, *, ridge: float = 1e-10
) -> KernelFunction:
    """The function of smallest norm through the targets, its Gram matrix lifted by a ridge.

    Args:
        x: (N, d) unit vectors.
        targets: (N,).
    """
    require_number(ridge, "ridge", "interpolant", minimum=0)
    K = gram(profile_of(activation), x.double())
    lifted = K + ridge * K.diagonal().mean() * torch.eye(len(K), dtype=K.dtype)
    return KernelFunction(activation, x.double(), torch.linalg.solve(lifted, targets.double()))


def separating_function(activation: Activation, x: Tensor, y: Tensor) -> KernelFunction:
    """The function of smallest norm with y g >= 1 at all points: the support vector machine without offset.

    Its dual, min over alpha >= 0 of alpha' Q alpha/2 - sum alpha with Q = y y' K, is one of non-negative
    least squares in the Cholesky factor of Q.

    Reading: rescaled so that its smallest margin is exactly 1. Points that no function of the space separates
        have no such function, which is an error.
    """
    labels = require_labels(y, len(x)).double()
    points = x.double()
    K = gram(profile_of(activation), points)
    signed = labels.unsqueeze(1) * K * labels
    lifted = signed + 1e-10 * K.diagonal().mean() * torch.eye(len(K), dtype=K.dtype)
    factor = torch.linalg.cholesky(lifted)
    ones = torch.ones(len(K), 1, dtype=K.dtype)
    target = torch.linalg.solve_triangular(factor, ones, upper=False).squeeze(1)
    alpha, _ = nnls(factor.T.numpy(), target.numpy(), maxiter=50 * len(K))
    coefficients = labels * torch.from_numpy(alpha)
    smallest = float((labels * (K @ coefficients)).min())
    if smallest <= 0:
        raise ValueError("no function of the kernel's space separates the points.")
    return KernelFunction(activation, points, coefficients / smallest)
