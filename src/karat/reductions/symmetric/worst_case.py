r"""Certificates for symmetric nets: the worst case over a ball in d dimensions as a problem in few numbers.

By oddness let y = 1. A perturbation :math:`\delta` changes neuron i by its own :math:`\delta_i` and all
neurons by
:math:`T = \sum_j \delta_j`. For T in an interval the mixtures are at least what they are at one of its
ends; what
is left is a sum over coordinates that only the interval and the ball couple, and weak duality bounds it by

.. math:: \sum_j \min_{|\delta| \le \tau} \Big[ r F(a (\tilde x_j + \delta) + c) - \mu \delta + \nu \delta^2
\Big]
    + \min_T \mu T - \nu \tau^2 , \qquad a = \alpha - \beta, \quad c = \beta (S + T_{end}),

for every :math:`\mu` and :math:`\nu \ge 0`: one-dimensional problems, and equal ones for equal coordinates.
F is bounded below by a piecewise linear function, so that each is solved exactly.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx

from karat.core.compiled import Array
from karat.reductions.symmetric.dual_bound import bound_rows
from karat.reductions.symmetric.net import SymmetricNet, require_one_class
from karat.reductions.symmetric.sparse_points import SparsePoints

_STEPS = (0.4, 0.8, 1.2, 1.6, 2.1, 2.7, 3.4, 4.2, 5.2, 6.5)
_NODES = np.array(
    [-38, -30, -24, -19, -15, -12, -10, -8, *(-step for step in reversed(_STEPS)), 0, *_STEPS, 8.5]
)


class Minorant(NamedTuple):
    """A piecewise linear function below a pair's output; its slope is 1 beyond both ends.

    Args:
        at: (k,) increasing breakpoints.
        value: (k,) of the function there.
    """

    at: Array
    value: Array


def minorant(threshold: float, sigma_rho: float) -> Minorant:
    r"""Bound :math:`E\,\mathrm{ReLU}(u - b + \rho) - E\,\mathrm{ReLU}(-u - b + \rho)` from below.

    The first mean is at least the ReLU of the mean; the second is convex in u and stays below its chords.

    Args:
        threshold: b.
        sigma_rho: standard deviation of the noise.
    """
    b, s = threshold, sigma_rho
    if s == 0:
        return Minorant(np.array([-b, b]), np.zeros(2))
    nodes = -_NODES
    # The mean excess h(p) = p Phi(p) + phi(p) by erfcx, which keeps its tail accurate, and p + h(-p) above 0.
    tail = np.abs(nodes)
    h = (
        np.exp(-(tail**2) / 2)
        / math.sqrt(2 * math.pi)
        * (1 - tail * math.sqrt(math.pi / 2) * erfcx(tail / math.sqrt(2)))
    )
    h = np.maximum(h, 0.0) * (1 + 1e-9) + np.maximum(_NODES, 0.0)
    chords_at, chords = s * nodes - b, -s * h
    # Nodes run upwards in u; the kink of the first part is one more breakpoint.
    order = np.argsort(chords_at)
    chords_at, chords = chords_at[order], chords[order]
    at = np.unique(np.append(chords_at, b))
    return Minorant(at, np.interp(at, chords_at, chords) + np.maximum(at - b, 0.0))


def worst_margins(net: SymmetricNet, points: SparsePoints, p: float, tau: float, *, cells: int = 64) -> Array:
    r"""(n,) numbers that :math:`y f(x + \delta)` exceeds for every :math:`\|\delta\|_p \le \tau` in d
    dimensions.

    Where alpha >= beta >= 0 and gamma >= 0 the net grows in every coordinate: then the worst case in l_inf
    is the universal direction, and its margin is returned as it is.

    Args:
        net: with alpha > beta.
        points: inputs; their own labels count.
        p: 2 or inf.
        tau: radius.
        cells: into how many intervals the sum of a perturbation is cut at most; fewer where fewer prove the
            sign.
    """
    if p not in (2, math.inf):
        raise ValueError(f"`p` of `worst_margins` must be 2 or inf, got {p:g}.")
    require_one_class(net, "certificates of symmetric nets")
    if net.alpha <= net.beta:
        return np.full(len(points), -np.inf)
    return _bounds(net, points, p, tau, cells, relative=False)


def tangent_deviation(net: SymmetricNet, points: SparsePoints, tau: float, *, cells: int = 64) -> Array:
    r"""(n,) numbers that :math:`|f(x + \delta) - f(x) - \langle \nabla f(x), \delta \rangle|` stays below
    in an l2 ball.

    Args:
        net: with alpha > beta.
        points: inputs.
        tau: radius.
        cells: into how many intervals the sum of a perturbation is cut.

    Ref: purification, Eq F.17
    """
    require_one_class(net, "certificates of symmetric nets")
    if net.alpha <= net.beta:
        return np.full(len(points), np.inf)
    below = _bounds(net, points, 2, tau, cells, relative=True)
    # The net is odd: the largest deviation at x is minus the smallest one at -x.
    opposite = SparsePoints(points.d, -points.values, points.offsets, -points.rest)
    above = _bounds(net, opposite, 2, tau, cells, relative=True)
    return np.maximum(-below, -above)


def _bounds(
    net: SymmetricNet, points: SparsePoints, p: float, tau: float, cells: int, *, relative: bool
) -> Array:
    sign = np.ones(len(points)) if relative else points.label
    monotone = net.beta >= 0 and net.gamma >= 0
    if p == math.inf and monotone and not relative:
        worst = points.moved(-tau * points.per_entry(sign), -tau * sign)
        return sign * net(worst)
    table = minorant(net.threshold, net.sigma_rho)
    seen = net.look(points)
    slope, rest_slope = net.input_gradient(seen)
    if not relative:
        slope, rest_slope = np.zeros_like(slope), np.zeros_like(rest_slope)
    out = np.empty(len(points))
    bound_rows(
        points.values * points.per_entry(sign),
        points.offsets,
        points.rest * sign,
        float(points.d),
        net.numbers,
        table.at,
        table.value,
        slope,
        rest_slope,
        seen.f if relative else np.zeros(len(points)),
        p == math.inf,
        tau,
        cells,
        # A bound on the deviation is asked for as a number, one on the margin only for its sign.
        math.inf if relative else 0.0,
        monotone and not relative,
        out,
    )
    return out
