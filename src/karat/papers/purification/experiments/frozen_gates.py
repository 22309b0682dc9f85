r"""What freezing the gates of an input costs a symmetric net under attack: reached, and at most.

A neuron of a feature sees :math:`u_i = (\alpha - \beta) x_i + \beta S` with the score S.
"""

import math

import numpy as np
from scipy.special import ndtr

from karat.core.compiled import Array
from karat.reductions.symmetric import SparsePoints, SymmetricNet, attack, require_one_class

Move = tuple[Array, Array]

WHAT = "measures of robust coupling"
"""They read the first class of neurons."""

FINER = 1.3
"""Ratio of neighbouring sizes of a coordinate of a perturbation, where all of them are bounded."""

MOST = 100
"""Points whose perturbations are bounded at a time."""


def length(own: float, other: float, d: int, p: float) -> float:
    """Of one large and d - 1 equal coefficients: l2, or l1 for perturbations in l_inf.

    Args:
        own: the large one.
        other: the equal ones.
        d: number of all.
        p: norm of the perturbations.
    """
    return math.hypot(own, math.sqrt(d - 1) * other) if p == 2 else abs(own) + (d - 1) * abs(other)


def hub_length(net: SymmetricNet, p: float) -> float:
    """Of the neurons without a feature, in the dual norm of the perturbations.

    Args:
        net: with or without such neurons.
        p: norm of the perturbations.
    """
    if not net.hubs:
        return 0.0
    return abs(net.gamma) * (math.sqrt(net.d) if p == 2 else net.d)


def seen(net: SymmetricNet, points: SparsePoints) -> tuple[Array, Array, Array]:
    """What the neurons of listed coordinates, of all other ones, and the hubs see.

    Args:
        net: with one class of neurons.
        points: inputs.
    """
    own = net.alpha - net.beta
    listed = own * points.values + net.beta * points.per_entry(points.score)
    return listed, own * points.rest + net.beta * points.score, net.gamma * points.score


def total(net: SymmetricNet, points: SparsePoints, listed: Array, rest: Array, hub: Array) -> Array:
    """(n,) a sum over all neurons of one number each.

    Args:
        net: with one class of neurons.
        points: inputs.
        listed: of the neurons of listed coordinates.
        rest: (n,) of those of all other coordinates.
        hub: (n,) of the hubs.
    """
    others = points.d - points.support
    return net.copies * (points.row_sums(listed) + others * rest) + net.hubs * hub


def excess(p: Array) -> Array:
    """Mean of the positive part of p plus standard Gaussian noise.

    Args:
        p: any shape.
    """
    return p * ndtr(p) + np.exp(-p * p / 2) / math.sqrt(2 * math.pi)


def frozen_pair(before: Array, after: Array, b: float, s: float) -> Array:
    r"""Mean size of :math:`(u' + \rho - b)(1[u + \rho \ge b] - 1[u' + \rho \ge b])` of a pair.

    Args:
        before: u, any shape.
        after: u', of the same shape.
        b: threshold.
        s: standard deviation of the noise.
    """
    both = np.zeros_like(before)
    for sign in (1.0, -1.0):
        p, moved = (sign * before - b) / s, (sign * after - b) / s
        tangent = moved * ndtr(p) + np.exp(-p * p / 2) / math.sqrt(2 * math.pi)
        both += s * np.maximum(excess(moved) - tangent, 0.0)  # a convex function is above its tangents
    return both


def frozen_error(net: SymmetricNet, points: SparsePoints, p: float, tau: float) -> Array:
    r"""(n,) the sum over neurons that freezing the gates costs, for the worst of `moves`.

    .. math:: \sum_i E_\rho \big| (\langle w_i, x + \delta \rangle + \rho_i - b)
        (1[\langle w_i, x \rangle + \rho_i \ge b] - 1[\langle w_i, x + \delta \rangle + \rho_i \ge b]) \big|

    Args:
        net: with noise.
        points: inputs x.
        p: norm of the perturbations.
        tau: their radius.

    Ref: purification, Lem F.11; purification, Lem F.13
    """
    before, worst = seen(net, points), np.zeros(len(points))
    for values, rest in moves(net, points, p, tau):
        after = seen(net, points.moved(values, rest))
        parts = [frozen_pair(u, v, net.threshold, net.sigma_rho) for u, v in zip(before, after, strict=True)]
        worst = np.maximum(worst, total(net, points, *parts))
    return worst


def moves(net: SymmetricNet, points: SparsePoints, p: float, tau: float) -> list[Move]:
    """Perturbations of the radius: the fast gradient method's, dense ones, and some at the codes themselves.

    Args:
        net: the first one looks at it.
        points: inputs.
        p: norm.
        tau: radius.
    """
    found = [attack(net, points, p, tau), attack(net, points, p, tau, start="universal")]
    every = [(one.values, one.rest) for one in found]
    every.append((-found[1].values, -found[1].rest))
    none = np.zeros(len(points))
    count = np.maximum(points.support, 1)
    each = tau / np.sqrt(points.per_entry(count)) if p == 2 else np.full(len(points.values), tau)
    every += [(sign * each * np.sign(points.values), none) for sign in (1.0, -1.0)]
    # The code nearest to the threshold, which a push towards it or away from it crosses first.
    distance = np.abs(np.abs(seen(net, points)[0]) - net.threshold)
    nearest = np.zeros(len(points.values))
    order = np.lexsort((distance, points.rows))
    first = order[points.offsets[:-1][points.support > 0]]
    nearest[first] = tau * np.sign(points.values[first])
    return [*every, (nearest, none), (-nearest, none)]


def frozen_bound(net: SymmetricNet, points: SparsePoints, p: float, tau: float) -> Array:
    r"""(n,) what `frozen_error` stays below for every perturbation of the radius.

    A neuron's cost H grows with the size of the change s of what it sees, and is larger towards its threshold
    than away from it. In :math:`\ell_\infty` all neurons pay :math:`H_i(\tau \|w_i\|_1)` at most. In
    :math:`\ell_2` :math:`|s_i| \le |\alpha - \beta| |\delta_i| + |\beta| \sqrt d\, \tau`, and for every
    :math:`\nu \ge 0`

    .. math:: \sum_i H_i(|s_i|) \le \nu \tau^2
        + \sum_i \max_{0 \le t \le \tau} \big[ H_i(|\alpha - \beta|\, t + |\beta| \sqrt d\, \tau) - \nu t^2
        \big],

    where on each of finitely many intervals H is taken at the upper end and t at the lower one.

    Args:
        net: with noise.
        points: inputs x.
        p: norm of the perturbations.
        tau: their radius.

    Ref: purification, Lem F.11; purification, Lem F.13
    """
    require_one_class(net, WHAT)
    listed, rest, hub = seen(net, points)
    hubs = _frozen_most(hub, tau * hub_length(net, p), net)
    push = tau * length(net.alpha, net.beta, net.d, p)
    if p != 2:
        return total(net, points, _frozen_most(listed, push, net), _frozen_most(rest, push, net), hubs)
    if len(points) > MOST:  # in parts: of every code several numbers are kept
        parts = np.arange(len(points)) // MOST
        chosen = (points.select(parts == part) for part in range(int(parts[-1]) + 1))
        return np.concatenate([frozen_bound(net, few, p, tau) for few in chosen])
    own, shared = abs(net.alpha - net.beta), abs(net.beta) * math.sqrt(net.d) * tau
    most = int(points.support.max(initial=1))
    ends = tau / FINER ** np.arange(math.ceil(math.log(2 * math.sqrt(most)) / math.log(FINER)), -1, -1)
    # At the first price the ends of an interval cannot make a gain of a neuron at its threshold.
    prices = own**2 / (2 * math.sqrt(2 * math.pi) * net.sigma_rho) * FINER**2 / 2.0 ** np.arange(8)
    gains = [_gains(u, own * ends + shared, ends, prices, net) for u in (listed, rest)]
    bounds = [
        net.copies * price * tau**2 + total(net, points, own_gain, rest_gain, hubs)
        for price, own_gain, rest_gain in zip(prices, *gains, strict=True)
    ]
    return np.asarray(np.min(bounds, axis=0))


def _gains(u: Array, sizes: Array, ends: Array, prices: Array, net: SymmetricNet) -> Array:
    r"""(prices, n) bounds on :math:`\max_t [H(\text{size}) - \nu t^2]`, interval by interval up to `ends`."""
    near, far = (np.abs(u) - net.threshold) / net.sigma_rho, (-np.abs(u) - net.threshold) / net.sigma_rho
    largest = sizes[-1] / net.sigma_rho
    always = net.sigma_rho * _half(far, largest)
    whole = net.sigma_rho * _half(near, largest) + always
    gains = np.tile(whole, (len(prices), 1))
    live = whole > 1e-9 * net.sigma_rho
    asleep = float(always.max(initial=0.0)) <= 1e-9 * net.sigma_rho  # then bounded once
    p, kept = near[live], np.zeros((len(prices), int(live.sum())))
    before, gate, towards = excess(p), ndtr(p), -np.copysign(1.0, p)
    for low, size in zip([0.0, *ends[:-1]], sizes, strict=True):
        step = towards * size / net.sigma_rho
        cost = net.sigma_rho * np.maximum(excess(p + step) - before - step * gate, 0.0)
        cost += always[live] if asleep else net.sigma_rho * _half(far[live], size / net.sigma_rho)
        for row, price in zip(kept, prices, strict=True):
            np.maximum(row, cost - price * low**2, out=row)
    gains[:, live] = kept
    return np.asarray(gains)


def _frozen_most(u: Array, size: float, net: SymmetricNet) -> Array:
    """The largest cost of a pair where what it sees changes by `size` at most."""
    s = net.sigma_rho
    halves = (_half((sign * np.abs(u) - net.threshold) / s, size / s) for sign in (1, -1))
    return np.asarray(s * sum(halves))


def _half(p: Array, size: float) -> Array:
    """The cost of one half in units of the noise, which is densest at the threshold."""
    step = -np.copysign(size, p)
    return np.asarray(np.maximum(excess(p + step) - excess(p) - step * ndtr(p), 0.0))
