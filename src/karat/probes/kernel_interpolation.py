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
    r"""A function :math:`g(x) = \sum_j c_j K(x_j, x)`, K the tangent kernel of an activation on the sphere.

    Args:
        activation: of the kernel.
        points: (N, d) unit vectors :math:`x_j`.
        coefficients: (N,) :math:`c_j`.
    """

    activation: Activation
    points: Tensor
    coefficients: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Values (n,) at unit vectors x (n, d)."""
        return gram(profile_of(self.activation), x, self.points) @ self.coefficients

    def gradient(self, x: Tensor) -> Tensor:
        """Gradient of the formula in x, (n, d), at unit vectors x; on the sphere its tangential part "
        "counts."""
        u = (x @ self.points.T).detach().requires_grad_()
        with torch.enable_grad():
            profile = profile_of(self.activation)(u.clamp(-1, 1)).sum()
        (slope,) = torch.autograd.grad(profile, u)
        return (slope * self.coefficients) @ self.points

    @property
    def norm(self) -> float:
        r"""Norm in the kernel's space, :math:`\sqrt{c^\top K c}`."""
        K = gram(profile_of(self.activation), self.points)
        return float((self.coefficients @ K @ self.coefficients).clamp_min(0).sqrt())

    def density(self, W: Tensor) -> Tensor:
        r"""The density of the random features that make up g, at every row w of W, (m, d).

        .. math:: \frac{c(w)}{p_0(w)} = \sum_j c_j\, \phi'(\langle w, x_j \rangle)\, x_j, \qquad
                  g(x) = \mathbb{E}_{w \sim N(0, I)} \Big\langle \frac{c(w)}{p_0(w)}, x \Big\rangle
                  \phi'(\langle w, x \rangle)
        """
        gates = self.activation.derivative(W @ self.points.to(W).T)
        return (gates * self.coefficients.to(W)) @ self.points.to(W)

    def random_feature_norm(self, W: Tensor) -> float:
        r""":math:`\sup_w \|c(w)\| / p_0(w)` over the rows of W: a lower estimate that grows with m.

        Ref: convergence, Lem C.1
        """
        return float(two_inf_norm(self.density(W)))


def interpolant(
    activation: Activation, x: Tensor, targets: Tensor, *, ridge: float = 1e-10
) -> KernelFunction:
    """The function of smallest norm through the targets, its Gram matrix lifted by a ridge.

    Args:
        activation: of the kernel.
        x: (N, d) unit vectors.
        targets: (N,) values there.
        ridge: relative to the mean diagonal of the Gram matrix.
    """
    require_number(ridge, "ridge", "interpolant", minimum=0)
    K = gram(profile_of(activation), x.double())
    lifted = K + ridge * K.diagonal().mean() * torch.eye(len(K), dtype=K.dtype)
    return KernelFunction(activation, x.double(), torch.linalg.solve(lifted, targets.double()))


def separating_function(activation: Activation, x: Tensor, y: Tensor) -> KernelFunction:
    r"""The function of smallest norm with margin 1 at all points: the support vector machine without offset.

    Its dual, :math:`\min_{\alpha \ge 0} \frac12 \alpha^\top Q \alpha - \sum_j \alpha_j` with
    :math:`Q_{jk} = y_j y_k K_{jk}`, is a problem of non-negative least squares in the Cholesky factor of Q.

    Args:
        activation: of the kernel.
        x: (N, d) unit vectors.
        y: (N,) their labels.

    Reading: rescaled so that its smallest margin is exactly 1. Points that no function of the space separates
        have no such function, which is an error.
    """
    labels = require_labels(y, len(x)).double()
    points = x.double()
    K = gram(profile_of(activation), points)
    signed = labels.unsqueeze(1) * K * labels
    lifted = signed + 1e-10 * K.diagonal().mean() * torch.eye(len(K), dtype=K.dtype)
    # With Q = F F', alpha' Q alpha / 2 - sum alpha = |F' alpha - F^-1 1|^2 / 2 up to a constant.
    factor = torch.linalg.cholesky(lifted)
    ones = torch.ones(len(K), 1, dtype=K.dtype)
    target = torch.linalg.solve_triangular(factor, ones, upper=False).squeeze(1)
    alpha, _ = nnls(factor.T.numpy(), target.numpy(), maxiter=50 * len(K))
    coefficients = labels * torch.from_numpy(alpha)
    smallest = float((labels * (K @ coefficients)).min())
    if smallest <= 0:
        raise ValueError("no function of the kernel's space separates the points.")
    return KernelFunction(activation, points, coefficients / smallest)
