r"""A net of every paired ball whose sign is that of a linear function, with a certificate.

Twins :math:`w, \bar w` of output weights :math:`\pm a` that move by :math:`\pm a \eta v` leave

.. math:: a\, \big(\phi(z + a \eta t) - \phi(z - a \eta t)\big), \qquad z = \langle w, x \rangle,
    \quad t = \langle v, x \rangle,

of the sign of t or zero, for a ReLU never falls. So the net has the sign of t wherever one pair is active,
however short :math:`\eta` is.
"""

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor

from karat.nets import TwoLayer

_WEIGHT = 1e3
"""Of the equation that the coefficients sum to 1, beside those of the coordinates."""


def widest_direction(x: Tensor, y: Tensor) -> Tensor:
    r"""Return the unit vector v with the largest :math:`\min_i y_i \langle v, x_i \rangle`, if positive.

    It points to the shortest vector of the convex hull of all :math:`y_i x_i`, a non-negative least squares
    problem.

    Args:
        x: (n, d).
        y: (n,) labels.

    >>> widest_direction(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.ones(2)).tolist()
    [0.7071..., 0.7071...]
    """
    signed = (y.unsqueeze(1) * x).double().numpy()
    equations = np.vstack([signed.T, np.full(len(signed), _WEIGHT)])
    right = np.zeros(len(equations))
    right[-1] = _WEIGHT
    coefficients, _ = nnls(equations, right)
    v = torch.from_numpy(signed.T @ coefficients)
    return v / torch.linalg.vector_norm(v).clamp_min(1e-300)


def net_of_sign(start: TwoLayer, direction: Tensor, shift: float) -> TwoLayer:
    """Return the net whose neurons move along one direction, by their output weight times a length.

    Args:
        start: a paired start with output weights of size 1.
        direction: v, (d,).
        shift: eta.
    """
    moved = shift * start.a.unsqueeze(1) * direction.to(start.W.dtype)
    return start.replace(W=start.W + moved)


def lit_radius(start: TwoLayer, x: Tensor) -> Tensor:
    r"""Return a radius around every point within which some pair stays active.

    If :math:`x + \delta` switches off all neurons S that are active at x, then
    :math:`\|W_S \delta\| \ge \|W_S x\|`, so that :math:`\|\delta\| < \|W_S x\| / \|W_S\|` forbids it.

    Args:
        start: a paired start.
        x: (n, d) points.

    Returns:
        (n,).
    """
    W = start.W[: start.m // 2].double()
    radii = []
    for z in x.double() @ W.T:  # the norm of a matrix of its own for every point
        active = z > 0
        steepest = torch.linalg.matrix_norm(W[active], 2) if bool(active.any()) else torch.inf
        radii.append(float(torch.linalg.vector_norm(z[active]) / steepest))
    return torch.tensor(radii, dtype=torch.float64)


def certified_signs(start: TwoLayer, direction: Tensor, x: Tensor, y: Tensor, tau: float) -> Tensor:
    r"""Return where that net provably keeps the label on the whole ball of radius tau, for every length.

    Two things are needed: :math:`y \langle v, x \rangle > \tau`, and an active pair at every point of the
    ball.

    Args:
        start: a paired start; without twins nothing is certified.
        direction: v, a unit vector (d,).
        x: (n, d) points.
        y: (n,) labels.
        tau: radius.

    Returns:
        (n,) booleans.
    """
    half = start.m // 2
    if not (torch.equal(start.W[:half], start.W[half:]) and torch.equal(start.a[:half], -start.a[half:])):
        return torch.zeros_like(y, dtype=torch.bool)
    separated = y.double() * (x.double() @ direction) > tau
    return separated & (lit_radius(start, x) > tau)
