r"""What antipodes forbid to nets without biases: half of every such net is a form with few coefficients.

The quadratic ReLU has an even part without kinks, and the ReLU and its smoothings :math:`\varphi` have an odd
part without:

.. math:: \max(z, 0)^2 + \max(-z, 0)^2 = z^2, \qquad \varphi(z) - \varphi(-z) = s z.

So, whatever the width m and the weights, with output weights :math:`a_r` that include the scale,

.. math:: \frac{f(x) + f(-x)}{2} = \frac12 \sum_r a_r \langle w_r, x \rangle^2 \quad\text{or}\quad
    \frac{f(x) - f(-x)}{2} = \frac{s}{2} \sum_r a_r \langle w_r, x \rangle.

Two antipodes of equal (of opposite) labels cost a convex loss at least as much as this part alone, and the
smallest loss of the part is a convex problem in few coefficients, whose dual certifies a floor.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from karat.core.activations import Activation, QuadraticRelu
from karat.nets import TwoLayer
from karat.papers.convergence.experiments.sets import PseudoHuber

_SLACK = 1e-10
"""Subtracted from every floor for the rounding of the projection behind it, which is about 1e-15."""


def is_even_part(activation: Activation) -> bool:
    """Return whether it is the even part of the nets that is a form, else it is the odd one.

    Args:
        activation: of the net, the quadratic ReLU or one that is linear plus even.
    """
    return isinstance(activation, QuadraticRelu)


def has_form(activation: Activation) -> bool:
    r"""Return whether one part of every net is a form: :math:`\varphi(z) \pm \varphi(-z)` is a monomial.

    Args:
        activation: of the net.
    """
    z = torch.linspace(0.1, 5, 50, dtype=torch.float64)
    if is_even_part(activation):
        ratio = (activation(z) + activation(-z)) / z.square()
    else:
        ratio = (activation(z) - activation(-z)) / z
    return bool((ratio - ratio[0]).abs().max() < 1e-9)


def form_features(activation: Activation, x: Tensor) -> Tensor:
    """Return the coordinates in which the form is linear: products of entries, or the entries themselves.

    Args:
        activation: of the net.
        x: (n, d) points.

    Returns:
        (n, d (d + 1)/2) or (n, d).
    """
    if not is_even_part(activation):
        return x
    row, column = torch.triu_indices(x.shape[1], x.shape[1])
    return x[:, row] * x[:, column]


def form_of(net: TwoLayer, x: Tensor) -> Tensor:
    """Return the form in the net's weights, by the formula above.

    Args:
        net: two layers.
        x: (n, d) points.

    Returns:
        (n,).
    """
    z, a = net.preactivations(x), net.scale * net.a
    if is_even_part(net.activation):
        return z.square() @ a / 2
    one = torch.ones(1, dtype=x.dtype)
    slope = net.activation(one) - net.activation(-one)
    return slope * (z @ a) / 2


def part_of(function: Callable[[Tensor], Tensor], activation: Activation, x: Tensor) -> Tensor:
    """Return the even part of a function for the quadratic ReLU, and the odd part for all others.

    Args:
        function: (n, d) -> (n,).
        activation: of the net behind it.
        x: (n, d) points.

    Returns:
        (n,).
    """
    mirrored = function(-x) if is_even_part(activation) else -function(-x)
    return (function(x) + mirrored) / 2


def certified_floor(features: Tensor, y: Tensor) -> tuple[float, float]:
    r"""Return a lower bound on the mean loss of every form, and the loss of the best one found.

    With :math:`a_i = y_i \phi(x_i)` the dual of :math:`\min_c \frac1n \sum_i \ell(\langle a_i, c \rangle)`,
    :math:`\ell(u) = \sqrt{1 + (1 - u)^2} - 1`, is

    .. math:: \max_{|\mu_i| \le 1,\ \sum_i \mu_i a_i = 0} \frac1n \sum_i
        \left(\mu_i + \sqrt{1 - \mu_i^2} - 1\right),

    and any admissible :math:`\mu` is a certificate. It is read off the best form, :math:`\mu_i = -\ell'`,
    projected to the constraint and shrunk into the box.

    Args:
        features: (n, p) coordinates in which the form is linear.
        y: (n,) labels.
    """
    # In orthonormal coordinates of what forms can do at the points, the problem is strictly convex.
    U, size, _ = torch.linalg.svd(y.unsqueeze(1) * features, full_matrices=False)
    U = U[:, size > 1e-12 * size.max()]
    margin = _best_margins(U)
    mu = -PseudoHuber().derivative(margin)
    mu = mu - U @ (U.T @ mu)
    mu = mu / max(1.0, float(mu.abs().max()))
    floor = float((mu + (1 - mu.square()).clamp_min(0).sqrt() - 1).mean())
    return max(0.0, floor - _SLACK), float(PseudoHuber()(margin).mean())


def certified_distance(features: Tensor, y: Tensor) -> float:
    r"""Return a lower bound on the largest distance of every form from the labels.

    .. math:: \min_c \max_i |\langle \phi(x_i), c \rangle - y_i| \ge \frac{\sum_i \mu_i y_i}{\sum_i |\mu_i|}
        \qquad\text{if}\quad \sum_i \mu_i \phi(x_i) = 0

    The best :math:`\mu` is found by a linear program and then projected to the constraint.

    Args:
        features: (n, p) coordinates in which the form is linear.
        y: (n,) labels.
    """
    n, signed = len(y), features.T.numpy()
    program = linprog(
        # mu is the difference of two non-negative halves that sum to 1.
        torch.cat([-y, y]).numpy(),
        A_eq=np.vstack([np.hstack([signed, -signed]), np.ones((1, 2 * n))]),
        b_eq=np.append(np.zeros(len(signed)), 1.0),
    )
    if program.x is None:
        return 0.0
    mu = torch.from_numpy(program.x[:n] - program.x[n:])
    U, size, _ = torch.linalg.svd(features, full_matrices=False)
    U = U[:, size > 1e-12 * size.max()]
    mu = mu - U @ (U.T @ mu)
    return max(0.0, float(mu @ y) / max(float(mu.abs().sum()), 1e-300) - _SLACK)


def _best_margins(U: Tensor, steps: int = 60) -> Tensor:
    """Margins of the smallest mean loss in the column space of U, by Newton's method with halved steps."""
    loss = PseudoHuber()
    margin = torch.zeros(len(U), dtype=U.dtype)
    value = float(loss(margin).mean())
    for _ in range(steps):
        curvature = (1 + (1 - margin).square()) ** -1.5
        step = U @ torch.linalg.solve(U.T @ (curvature.unsqueeze(1) * U), U.T @ loss.derivative(margin))
        share = 1.0
        while share > 1e-12 and float(loss(margin - share * step).mean()) > value:
            share /= 2
        margin = margin - share * step
        last, value = value, float(loss(margin).mean())
        if math.isclose(value, last, rel_tol=1e-15, abs_tol=1e-18):
            break
    return margin
