r"""Neural tangent kernels of two-layer nets on the unit sphere, and their expansion into degrees.

.. math:: K(x, x') = \langle x, x'\rangle\, \mathbb{E}\big[\phi'(\langle w, x\rangle)\,
    \phi'(\langle w, x'\rangle)\big], \qquad w \sim N(0, I)

For unit vectors it is a function of :math:`u = \langle x, x'\rangle` alone.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import torch
from scipy.special import eval_gegenbauer, roots_gegenbauer
from torch import Tensor

from karat.core.activations import Activation, QuadraticRelu, Relu
from karat.core.checks import require_integer, require_shape
from karat.core.smoothings import SmoothedRelu

Profile = Callable[[Tensor], Tensor]
"""A kernel on the sphere as a function of u = <x, x'>."""

_NODES = 120
_UNIT = 1e-4


def relu_profile(u: Tensor) -> Tensor:
    r""":math:`u\, (\pi - \arccos u) / (2\pi)`, the arc-cosine kernel of order 0 times u.

    >>> relu_profile(torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)).tolist()
    [-0.0, 0.0, 0.5]

    Ref: convergence, Def 5.1
    """
    u = u.clamp(-1, 1)
    return u * (math.pi - torch.acos(u)) / (2 * math.pi)


def quadratic_relu_profile(u: Tensor) -> Tensor:
    r""":math:`\tfrac{2}{\pi} u \big(\sqrt{1 - u^2} + u\, (\pi - \arccos u)\big)`, for the squared ReLU.

    Reading: w uniform on the sphere of radius sqrt d, the start of the appendix, gives the same kernel: both
        laws share the directions and the mean of |w|^2, and phi' phi' is homogeneous of degree 2 in w.

    Ref: convergence, App C.2
    """
    u = u.clamp(-1, 1)
    return 2 / math.pi * u * ((1 - u.square()).sqrt() + u * (math.pi - torch.acos(u)))


def smoothed_relu_profile(u: Tensor, sigma: float) -> Tensor:
    r""":math:`u \big(\tfrac14 + \tfrac{1}{2\pi} \arcsin\tfrac{u}{1 + \sigma^2}\big)`, for the smoothed ReLU.

    The noise is :math:`N(0, \sigma^2)`; :math:`\phi'` is a Gaussian distribution function, so the expectation
    is an orthant probability.
    """
    return u * (0.25 + torch.asin((u / (1 + sigma**2)).clamp(-1, 1)) / (2 * math.pi))


def quadrature_profile(u: Tensor, activation: Activation, *, nodes: int = _NODES) -> Tensor:
    r"""The profile of any activation by Gauss-Hermite quadrature in two Gaussian variables g and h.

    .. math:: u\, \mathbb{E}\big[\phi'(g)\, \phi'(u g + \sqrt{1 - u^2}\, h)\big]

    Accurate for smooth :math:`\phi'`; a kink in it costs accuracy, and a jump has to be integrated in closed
    form.

    Args:
        u: inner products, of any shape.
        activation: phi.
        nodes: of the quadrature, in each of g and h.
    """
    points, weights = _hermite(nodes)
    flat = u.double().clamp(-1, 1).reshape(-1, 1)
    inner = torch.zeros_like(flat)
    first = activation.derivative(points) * weights
    for g, factor in zip(points.tolist(), first.tolist(), strict=True):
        second = activation.derivative(flat * g + (1 - flat.square()).sqrt() * points)
        inner += factor * (second @ weights).unsqueeze(1)
    return (flat * inner).reshape(u.shape).to(u.dtype)


@lru_cache(maxsize=8)
def _hermite(nodes: int) -> tuple[Tensor, Tensor]:
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    return torch.from_numpy(points), torch.from_numpy(weights / math.sqrt(2 * math.pi))


@lru_cache(maxsize=8)
def _gegenbauer(nodes: int, order: float) -> tuple[np.ndarray, np.ndarray]:
    # At order 1/2 the polynomials are Legendre's, whose own rule is more accurate.
    return np.polynomial.legendre.leggauss(nodes) if order == 0.5 else roots_gegenbauer(nodes, order)


def profile_of(activation: Activation) -> Profile:
    """The tangent kernel's profile: in closed form where one is known, else by quadrature."""
    if isinstance(activation, Relu):
        return relu_profile
    if isinstance(activation, QuadraticRelu):
        return quadratic_relu_profile
    if isinstance(activation, SmoothedRelu):
        return partial(smoothed_relu_profile, sigma=activation.sigma)
    return partial(quadrature_profile, activation=activation)


def gram(profile: Profile, x: Tensor, other: Tensor | None = None) -> Tensor:
    """Kernel matrix (n, k) of unit vectors.

    Args:
        profile: the kernel as a function of u.
        x: (n, d) unit vectors.
        other: (k, d) unit vectors, x itself when left out.

    Reading: the diagonal of a Gram matrix is computed at u = 1 exactly, for arccos is steep there.
    """
    for name, points in (("x", x), ("other", x if other is None else other)):
        require_shape(points, name, (None, x.shape[1]))
        length = torch.linalg.vector_norm(points, dim=1)
        if bool(((length - 1).abs() > _UNIT).any()):
            raise ValueError(
                f"`{name}` of `gram` must hold unit vectors, for the kernel is that of a sphere."
            )
    u = x @ (x if other is None else other).T
    if other is None:
        u = u.fill_diagonal_(1.0)
    return profile(u.clamp(-1, 1))


def empirical_gram(W: Tensor, activation: Activation, x: Tensor, other: Tensor | None = None) -> Tensor:
    r"""The same kernel of a finite net: the mean over its neurons instead of the expectation.

    .. math:: \frac1m \sum_s \langle x, x'\rangle\, \phi'(\langle w_s, x\rangle)\,
        \phi'(\langle w_s, x'\rangle)

    Args:
        W: (m, d) hidden weights.
        activation: phi.
        x: (n, d) points.
        other: (k, d) points, x itself when left out.

    Returns:
        (n, k).
    """
    other = x if other is None else other
    features = [activation.derivative(points @ W.T) for points in (x, other)]
    return (x @ other.T) * (features[0] @ features[1].T) / len(W)


def degree_weights(profile: Profile, d: int, degrees: int, *, nodes: int = 600) -> list[float]:
    r"""Eigenvalues of the kernel on the sphere of :math:`\mathbb{R}^d`, one per degree from 0 on.

    .. math:: \lambda_k = c_d \int_{-1}^{1} \text{profile}(u)\, P_k(u)\, (1 - u^2)^{(d-3)/2}\, du, \qquad
        P_k(1) = 1

    A degree with eigenvalue 0 is missing from the kernel's function space.

    Args:
        profile: the kernel as a function of u.
        d: at least 3.
        degrees: largest degree.
        nodes: of the Gauss-Gegenbauer rule.
    """
    require_integer(d, "d", "degree_weights", minimum=3)
    require_integer(degrees, "degrees", "degree_weights", minimum=0)
    order = (d - 2) / 2
    points, weights = _gegenbauer(nodes, order)
    values = profile(torch.from_numpy(points)).numpy() * weights / weights.sum()
    tops = [float(eval_gegenbauer(k, order, 1.0)) for k in range(degrees + 1)]
    return [float(values @ eval_gegenbauer(k, order, points)) / tops[k] for k in range(degrees + 1)]
