"""The linear-relaxation certificate of a two-layer net from inner products alone: one product per batch."""

import torch
from torch import Tensor

from karat.attacks.inner_products.gram import GramNet
from karat.core.checks import require_labels, require_number, require_shape

_ROWS = 512


def certified_margins(net: GramNet, P: Tensor, y: Tensor, tau: float) -> Tensor:
    r"""Lower bounds on the worst margin in an l2 ball, for points with products :math:`P = x W^T`.

    In the ball every preactivation stays within :math:`\tau \|w_s\|`. Each neuron's contribution
    :math:`y\, w_s \phi` is replaced by a line :math:`k_s h + q_s` below it on that range; a linear function
    has an explicit minimum over the ball:

    .. math:: \sum_s (k_s h_s + q_s) - \tau \Big\|\sum_s k_s w_s\Big\| + y c, \qquad
        \Big\|\sum_s k_s w_s\Big\|^2 = k^T G k

    Reading: a convex contribution takes the line through the kink whose slope leaves the smaller gap, a
        concave one its chord. Sums are float64; the guard subtracted covers m roundings of the type in which
        P and G were computed, so a float32 run pays for its own rounding.

    Args:
        net: with ReLU or leaky ReLU, up to rotation.
        P: (k, m) products.
        y: (k,) labels.
        tau: radius.

    Returns:
        (k,) lower bounds in float64: positive means no perturbation in the ball changes the label.
    """
    if net.activation.kinks != (0.0,) or not net.activation.piecewise_linear:
        raise ValueError("`certified_margins` needs ReLU or leaky ReLU.")
    require_number(tau, "tau", "certified_margins", minimum=0)
    require_shape(P, "P", (None, len(net.w)))
    labels = require_labels(y, len(P)).double()
    G, w, b, c = net.G.double(), net.w.double(), net.b.double(), net.c.double()
    reach = tau * G.diagonal().clamp_min(0).sqrt()
    slope = float(net.activation.derivative(torch.tensor([-1.0], dtype=torch.float64)))
    bounds = []
    for low in range(0, len(P), _ROWS):
        h = P[low : low + _ROWS].double() + b
        sign = labels[low : low + _ROWS]
        weight = sign.unsqueeze(1) * w
        k, q = _lower_lines(h - reach, h + reach, weight, slope)
        length = torch.linalg.vecdot(k @ G, k).clamp_min(0).sqrt()
        size = (k.abs() * h.abs() + q.abs()).sum(dim=1) + tau * length + c.abs()
        guard = len(w) * torch.finfo(P.dtype).eps * size
        bounds.append((k * h + q).sum(dim=1) - tau * length + sign * c - guard)
    return torch.cat(bounds) if bounds else labels


def _lower_lines(low: Tensor, high: Tensor, weight: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    """Slope k and offset q of a line below weight * phi on [low, high], phi leaky with that slope."""
    stable = torch.where(low >= 0, 1.0, slope)
    crossing = (low < 0) & (high > 0)
    width = torch.where(crossing, high - low, 1.0)
    chord = (high - slope * low) / width
    offset = (1 - slope) * (-low * high) / width
    through_kink = torch.where(high > -low, 1.0, slope).to(low.dtype)
    k = torch.where(crossing, torch.where(weight > 0, through_kink, chord), stable)
    q = torch.where(crossing & (weight <= 0), offset, 0.0)
    return weight * k, weight * q
