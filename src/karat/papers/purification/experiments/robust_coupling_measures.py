r"""What the lemmas on robust coupling and on the growth of neurons bound, on symmetric nets at any d.

At iterate t a neuron is :math:`w_i = g_i + v_i` with the pure part :math:`g_i = \alpha_0 w^*_i M_i` of the
clean net.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from karat.core.compiled import Array
from karat.papers.purification.experiments.frozen_gates import (
    WHAT,
    excess,
    frozen_bound,
    frozen_error,
    hub_length,
    length,
    seen,
    total,
)
from karat.reductions.symmetric import SparsePoints, SymmetricNet, require_one_class


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
        longest=max(length(net.alpha - clean.alpha, net.beta, net.d, p), hub_length(net, p)),
        length=max(length(net.alpha, net.beta, net.d, p), hub_length(net, p)),
        frozen=float(frozen_error(net, points, p, tau).mean()),
        frozen_most=float(frozen_bound(net, points, p, tau).mean()),
        pure=float(pure_error(clean, net, points, p, tau, generator).mean()),
        reached=reached,
        certified=certified,
    )


def _dense_energy(clean: SymmetricNet, net: SymmetricNet) -> float:
    row = (net.alpha - clean.alpha) ** 2 + (net.d - 1) * net.beta**2
    return net.copies * net.d * row + net.hubs * net.d * net.gamma**2


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
    present, before = seen(net, points), seen(clean, points)
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
            mean += sign * ((sign * g - b) * ndtr(q) + bell - s * excess((sign * u - b) / s))
            open_share += ndtr(q)
        change.append(np.asarray(mean, dtype=np.float64))
        gates.append(np.asarray(open_share, dtype=np.float64))
    still = np.abs(total(net, points, *change))
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
    d, push = float(points.d), tau * length(net.alpha, net.beta, points.d, p)
    listed, rest, _ = seen(net, points)
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
