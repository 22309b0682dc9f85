r"""What the lemmas on robust coupling and on the growth of neurons bound, on symmetric nets at any d.

At iterate t a neuron is :math:`w_i = g_i + v_i` with the pure part :math:`g_i = \alpha_0 w^*_i M_i` of the
clean net.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from karat.core.compiled import Array
from karat.reductions.symmetric import SparsePoints, SymmetricNet, attack, require_one_class

Move = tuple[Array, Array]

WHAT = "measures of robust coupling"
"""They read the first class of neurons."""

FINER = 1.3
"""Ratio of neighbouring sizes of a coordinate of a perturbation, where all of them are bounded."""


@dataclass(frozen=True, kw_only=True)
class CouplingMeasures:
    r"""One iterate of adversarial training.

    Args:
        alpha: pure part of its neurons.
        beta: their dense mixture.
        r: :math:`(\sum_i \|v_i\|^2/m)^{1/2}`, or :math:`\sqrt d` times the largest coefficient of the clean
            net's mixture if that is more.
        longest: the longest :math:`v_i`, in l2 or l1.
        length: of a neuron, in the same norm.
        frozen: mean over inputs of :math:`\sum_i E_\rho |\cdot|`, by which freezing the gates of an input
            changes the neurons at the perturbed one, for the worst of several perturbations.
        frozen_most: a bound on it for all perturbations.
        pure: mean over inputs and noise of the largest :math:`|g_t(0; x + \delta, x, \rho) - f(x, \rho)|`.
        reached: length of :math:`E[\ell 1 (x + \delta)]` that two choices of l and delta reach.
        certified: a bound on it for all l and delta.
    """

    alpha: float
    beta: float
    r: float
    longest: float
    length: float
    frozen: float
    frozen_most: float
    pure: float
    reached: float
    certified: float


def couplings(
    clean: SymmetricNet,
    net: SymmetricNet,
    points: SparsePoints,
    p: float,
    tau: float,
    generator: np.random.Generator,
) -> CouplingMeasures:
    """Measure an iterate.

    Args:
        clean: the net that adversarial training began with.
        net: the iterate, with as many neurons.
        points: inputs.
        p: norm of the perturbations, 2 or inf.
        tau: their radius.
        generator: of the neuron noise.
    """
    for one in (clean, net):
        require_one_class(one, WHAT)
    rms = math.sqrt(_dense_energy(clean, net) / net.m)
    reached, certified = movement(net, points, p, tau)
    return CouplingMeasures(
        alpha=net.alpha,
        beta=net.beta,
        r=max(rms, math.sqrt(net.d) * max(abs(clean.beta), abs(clean.gamma))),
        longest=max(_length(net.alpha - clean.alpha, net.beta, net.d, p), _hub_length(net, p)),
        length=max(_length(net.alpha, net.beta, net.d, p), _hub_length(net, p)),
        frozen=float(frozen_error(net, points, p, tau).mean()),
        frozen_most=float(frozen_bound(net, points, p, tau).mean()),
        pure=float(pure_error(clean, net, points, p, tau, generator).mean()),
        reached=reached,
        certified=certified,
    )


def _dense_energy(clean: SymmetricNet, net: SymmetricNet) -> float:
    row = (net.alpha - clean.alpha) ** 2 + (net.d - 1) * net.beta**2
    return net.copies * net.d * row + net.hubs * net.d * net.gamma**2


def _length(own: float, other: float, d: int, p: float) -> float:
    """Of one large and d - 1 equal coefficients: l2, or l1 for perturbations in l_inf."""
    return math.hypot(own, math.sqrt(d - 1) * other) if p == 2 else abs(own) + (d - 1) * abs(other)


def _hub_length(net: SymmetricNet, p: float) -> float:
    if not net.hubs:
        return 0.0
    return abs(net.gamma) * (math.sqrt(net.d) if p == 2 else net.d)


def _seen(net: SymmetricNet, points: SparsePoints) -> tuple[Array, Array, Array]:
    """What the neurons of listed coordinates, of all other ones, and the hubs see."""
    own = net.alpha - net.beta
    listed = own * points.values + net.beta * points.per_entry(points.score)
    return listed, own * points.rest + net.beta * points.score, net.gamma * points.score


def _total(net: SymmetricNet, points: SparsePoints, listed: Array, rest: Array, hub: Array) -> Array:
    """(n,) a sum over all neurons of one number each."""
    others = points.d - points.support
    return net.copies * (points.row_sums(listed) + others * rest) + net.hubs * hub


def _excess(p: Array) -> Array:
    return p * ndtr(p) + np.exp(-p * p / 2) / math.sqrt(2 * math.pi)


def _frozen_pair(before: Array, after: Array, b: float, s: float) -> Array:
    r"""Mean size of :math:`(u' + \rho - b)(1[u + \rho \ge b] - 1[u' + \rho \ge b])` of a pair."""
    total = np.zeros_like(before)
    for sign in (1.0, -1.0):
        p, moved = (sign * before - b) / s, (sign * after - b) / s
        tangent = moved * ndtr(p) + np.exp(-p * p / 2) / math.sqrt(2 * math.pi)
        total += s * np.maximum(_excess(moved) - tangent, 0.0)  # a convex function is above its tangents
    return total


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
    before, worst = _seen(net, points), np.zeros(len(points))
    for values, rest in moves(net, points, p, tau):
        after = _seen(net, points.moved(values, rest))
        parts = [_frozen_pair(u, v, net.threshold, net.sigma_rho) for u, v in zip(before, after, strict=True)]
        worst = np.maximum(worst, _total(net, points, *parts))
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
    distance = np.abs(np.abs(_seen(net, points)[0]) - net.threshold)
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
    listed, rest, hub = _seen(net, points)
    hubs = _frozen_most(hub, tau * _hub_length(net, p), net)
    push = tau * _length(net.alpha, net.beta, net.d, p)
    if p != 2:
        return _total(net, points, _frozen_most(listed, push, net), _frozen_most(rest, push, net), hubs)
    own, shared = abs(net.alpha - net.beta), abs(net.beta) * math.sqrt(net.d) * tau
    most = int(points.support.max(initial=1))
    ends = tau / FINER ** np.arange(math.ceil(math.log(2 * math.sqrt(most)) / math.log(FINER)), -1, -1)
    # At the first price the ends of an interval cannot make a gain of a neuron at its threshold.
    prices = own**2 / (2 * math.sqrt(2 * math.pi) * net.sigma_rho) * FINER**2 / 2.0 ** np.arange(8)
    gains = [_gains(u, own * ends + shared, ends, prices, net) for u in (listed, rest)]
    bounds = [
        net.copies * price * tau**2 + _total(net, points, own_gain, rest_gain, hubs)
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
    excess, gate, towards = _excess(p), ndtr(p), -np.copysign(1.0, p)
    for low, size in zip([0.0, *ends[:-1]], sizes, strict=True):
        step = towards * size / net.sigma_rho
        cost = net.sigma_rho * np.maximum(_excess(p + step) - excess - step * gate, 0.0)
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
    return np.asarray(np.maximum(_excess(p + step) - _excess(p) - step * ndtr(p), 0.0))


def pure_error(
    clean: SymmetricNet,
    net: SymmetricNet,
    points: SparsePoints,
    p: float,
    tau: float,
    generator: np.random.Generator,
) -> Array:
    r"""(n,) the largest :math:`|g_t(0; x + \delta, x, \rho) - f(w^{(T_f)}; x, \rho)|` in a ball.

    :math:`g_t(0; \cdot)` is linear in delta, so that the largest value is the one at delta = 0 plus tau times
    the dual norm of :math:`\sum_i g_i (1[\langle w_i, x \rangle + \rho_i \ge b] + 1[-\langle w_i, x \rangle +
    \rho_i \ge b])`. Neurons without a code are so many that their mean over rho stands for them.

    Args:
        clean: gives the pure parts, and f.
        net: gives the gates.
        points: inputs x.
        p: norm of the perturbations.
        tau: their radius.
        generator: of rho.

    Ref: purification, Lem F.12; purification, Lem F.14
    """
    b, s = net.threshold, net.sigma_rho
    rho = s * generator.standard_normal(len(points.values))
    present, before = _seen(net, points), _seen(clean, points)
    pure = (clean.alpha * points.values, clean.alpha * points.rest, np.zeros(len(points)))
    change: list[Array] = []
    gates: list[Array] = []
    gap, gate = np.zeros_like(rho), np.zeros_like(rho)
    for sign in (1.0, -1.0):
        on = sign * present[0] + rho >= b
        output = np.maximum(sign * before[0] + rho - b, 0.0)
        gap += sign * (on * (sign * pure[0] + rho - b) - output)
        gate += on
    change.append(gap)
    gates.append(gate)
    for u, now, g in zip(before[1:], present[1:], pure[1:], strict=True):
        mean, open_share = np.zeros_like(u), np.zeros_like(u)
        for sign in (1.0, -1.0):
            q = (sign * now - b) / s
            bell = s * np.exp(-q * q / 2) / math.sqrt(2 * math.pi)
            mean += sign * ((sign * g - b) * ndtr(q) + bell - s * _excess((sign * u - b) / s))
            open_share += ndtr(q)
        change.append(np.asarray(mean, dtype=np.float64))
        gates.append(np.asarray(open_share, dtype=np.float64))
    still = np.abs(_total(net, points, *change))
    others = points.d - points.support
    if p == 2:
        slope = np.sqrt(points.row_sums(gates[0] ** 2) + others * gates[1] ** 2)
    else:
        slope = points.row_sums(gates[0]) + others * gates[1]
    return np.asarray(still + tau * net.copies * abs(clean.alpha) * slope)


def movement(net: SymmetricNet, points: SparsePoints, p: float, tau: float) -> tuple[float, float]:
    r"""Both ends of a bracket around how far one unit of step length can move a neuron of a feature.

    It is the largest :math:`\|E[\ell 1[\langle w_i, x + \delta \rangle + \rho_i \ge b] (x + \delta)]\|`
    over all :math:`\ell \in [-1, 1]` and all delta in the ball.

    No delta opens the gate more often than the one along the neuron, which adds :math:`\tau \|w_i\|` to what
    it sees. With that gate G and :math:`P = E G`

    .. math:: \tau P + \Big( \sum_j (E[G |x_j|])^2 \Big)^{1/2} \text{ in } \ell_2, \qquad
        \tau d P + \Big( P \sup_{u \in \{\pm 1\}^d} E[G \langle u, x \rangle^2] \Big)^{1/2}
        \text{ in } \ell_\infty

    are bounds. Reached are :math:`\tau P`, times d in l1, by l = 1 and this delta (the gate grows with
    :math:`\langle w_i, x \rangle`, so that the rest adds to it), and the first coordinate by l = sign(x_i)
    without delta.

    Args:
        net: with noise; every neuron of a feature has the same numbers.
        points: inputs.
        p: norm of the perturbations.
        tau: their radius.

    Ref: purification, Lem F.15; purification, Lem F.16
    """
    require_one_class(net, WHAT)
    d, push = float(points.d), tau * _length(net.alpha, net.beta, points.d, p)
    listed, rest, _ = _seen(net, points)
    still = ndtr((listed - net.threshold) / net.sigma_rho)
    gate = ndtr((listed + push - net.threshold) / net.sigma_rho)
    rest_gate = ndtr((rest + push - net.threshold) / net.sigma_rho)
    others = points.d - points.support
    size = np.abs(points.values)
    opened = points.row_sums(gate) + others * rest_gate
    P = float(opened.mean()) / d
    own = float(points.row_sums(gate * size).mean()) / d
    pushed = tau * P * (1.0 if p == 2 else d)
    reached = max(pushed, float(points.row_sums(still * size).mean()) / d)
    if p == 2:
        other = float((opened * points.row_sums(size) - points.row_sums(gate * size)).mean()) / (d * (d - 1))
        return reached, pushed + math.hypot(own, math.sqrt(d - 1) * other)
    square = points.row_sums(size**2)
    around = points.per_entry(points.score) - points.values
    # Sums over pairs of coordinates, with and without the neuron's own one: all pairs are alike.
    own_pairs = points.row_sums(gate * points.values * around)
    apart = points.row_sums(gate * (around**2 - points.per_entry(square) + size**2))
    apart = apart + others * rest_gate * (points.score**2 - square)
    energy = float((opened * square).mean()) + abs(float(apart.mean())) + 2 * abs(float(own_pairs.mean()))
    return reached, pushed + math.sqrt(P * energy / d)
