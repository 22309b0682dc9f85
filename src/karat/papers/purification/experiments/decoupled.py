r"""Growth of single neurons near initialisation, where the loss is flat and neurons do not see each other.

While the output f is small, :math:`\ell' = 1/2` up to :math:`|f|/4`, and every neuron follows its own
equation. In units of :math:`1/d` a coordinate grows by

.. math:: d \, E\big[y \, 1[\langle w, x \rangle + \rho \ge b] \, z_j\big]
    = \sum_{s} d \, P(|z_j| = s) \, \tfrac{s}{2}
    \, E\big[\operatorname{sign}(\sigma + s) \, G(u + w_j s)\big],

.. math:: G(u) = \Phi\big(\tfrac{u - b}{\sigma_\rho}\big) + \Phi\big(\tfrac{-u - b}{\sigma_\rho}\big),

where u and :math:`\sigma` are :math:`\langle w, z \rangle` and :math:`\langle w^*, z \rangle` without
coordinate j: the code :math:`z_j` is summed over, not sampled, so that no factor d enters the sampling error.
All signs are turned such that :math:`w^* = 1`, which the symmetric codes do not see.

Ref: purification, Fact A.1
"""

import math

import numpy as np
from numpy.typing import NDArray

from karat.core.compiled import compiled

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Positions = NDArray[np.int64]


@compiled()
def projections(W: Singles, rows: Positions, columns: Positions, values: Floats, u: Floats) -> None:
    """Add up <w_i, z_n> for sparse codes.

    Args:
        W: (m, d) neurons.
        rows: (n + 1,) where the entries of a code begin, and where the last one ends.
        columns: of the entries.
        values: of the entries.
        u: (m, n) overwritten.
    """
    for i in range(u.shape[0]):
        for n in range(u.shape[1]):
            total = 0.0
            for e in range(rows[n], rows[n + 1]):
                total += W[i, columns[e]] * values[e]
            u[i, n] = total


@compiled()
def pair_gate(u: float, b: float, sigma: float) -> float:
    """The gates of both halves of a pair, averaged over their noise.

    Args:
        u: <w, x>.
        b: threshold.
        sigma: standard deviation of the noise.
    """
    total = 0.0
    for side in (u, -u):
        p = (side - b) / sigma
        if p > 8:
            total += 1.0
        elif p > -8:
            total += 0.5 * math.erfc(-p / math.sqrt(2.0))
    return total


@compiled()
def label(own: bool, score: float, u: float) -> float:
    """The sign of the true score, or, as a control, that of the neuron's own projection.

    Args:
        own: whether it is the neuron's own.
        score: <w*, z>.
        u: <w, x>.
    """
    return 1.0 if (u if own else score) >= 0 else -1.0


@compiled()
def pushed(own: bool, s: float, u: float, push: float, move: float, b: float, sigma: float) -> float:
    """E[y gate] over the two signs of everything else, with one code's part in score and projection given.

    Args:
        own: whether labels are the neuron's own, see `label`.
        s: score of all other codes.
        u: projection of all other codes.
        push: what the code adds to the score.
        move: what it adds to the projection.
        b: threshold.
        sigma: noise.
    """
    up, down = u + move, move - u
    first, second = pair_gate(up, b, sigma), pair_gate(down, b, sigma)
    total = 0.0
    if first > 0:
        total += label(own, push + s, up) * first
    if second > 0:
        total += label(own, push - s, down) * second
    return total / 2


@compiled()
def lead_growth(
    own: bool,
    u: Floats,
    s: Floats,
    small: Floats,
    lead: Floats,
    b: float,
    sigma: Floats,
    large_rate: float,
    small_rate: float,
    growth: Floats,
) -> None:
    """How fast the leading coordinate of every neuron grows, in units of 1/d.

    Args:
        own: see `label`.
        u: (m, n) projections without the leading coordinate.
        s: (n,) scores without it.
        small: (n,) sizes of a small code.
        lead: (m,) the coordinates.
        b: threshold.
        sigma: (m,) noise.
        large_rate: d times the probability of a code of size one.
        small_rate: d times that of a small one.
        growth: (m,) overwritten.
    """
    for i in range(u.shape[0]):
        total = 0.0
        for n in range(u.shape[1]):
            a, v = small[n], u[i, n]
            total += large_rate * pushed(own, s[n], v, 1.0, lead[i], b, sigma[i])
            total += small_rate * a * pushed(own, s[n], v, a, lead[i] * a, b, sigma[i])
        growth[i] = total / (2 * u.shape[1])


@compiled()
def field_growth(
    own: bool,
    u: Floats,
    s: Floats,
    small: Floats,
    lead: Floats,
    nodes: Floats,
    b: float,
    sigma: Floats,
    large_rate: float,
    small_rate: float,
    d: float,
    growth: Floats,
) -> None:
    """How fast another coordinate of a given size grows, in units of 1/d; the leading code is summed over.

    Args:
        own: see `label`.
        u: (m, n) projections without the leading coordinate.
        s: (n,) scores without it.
        small: (2, n) sizes of small codes, of the coordinate and of the leading one.
        lead: (m,) leading coordinates.
        nodes: (m, g) sizes of the other coordinate.
        b: threshold.
        sigma: (m,) noise.
        large_rate: d times the probability of a code of size one.
        small_rate: d times that of a small one.
        d: dimension.
        growth: (m, g) overwritten.
    """
    for i in range(u.shape[0]):
        for g in range(nodes.shape[1]):
            total = 0.0
            for n in range(u.shape[1]):
                a, c, w = small[0, n], small[1, n], nodes[i, g]
                for size, rate in ((1.0, large_rate), (a, small_rate * a)):
                    off = 1 - (large_rate + small_rate) / d
                    term = off * pushed(own, s[n], u[i, n], size, w * size, b, sigma[i])
                    for other, odds in ((1.0, large_rate / d), (c, small_rate / d)):
                        for part in (other, -other):
                            push, move = size + part, w * size + lead[i] * part
                            term += odds / 2 * pushed(own, s[n], u[i, n], push, move, b, sigma[i])
                    total += rate * term
            growth[i, g] = total / (2 * u.shape[1])


@compiled()
def activity(
    own: bool,
    u: Floats,
    s: Floats,
    small: Floats,
    lead: Floats,
    b: float,
    sigma: Floats,
    level: float,
    large_rate: float,
    small_rate: float,
    d: float,
    found: Floats,
) -> None:
    """Probabilities over inputs, the leading code being summed over.

    Args:
        own: see `label`.
        u: (m, n) projections without the leading coordinate.
        s: (n,) scores without it.
        small: (n,) sizes of a small leading code.
        lead: (m,) leading coordinates.
        b: threshold.
        sigma: (m,) noise.
        level: that a projection may exceed.
        large_rate: d times the probability of a code of size one.
        small_rate: d times that of a small one.
        d: dimension.
        found: (m, 3) overwritten: how often one half is awake, how often |<w, x>| exceeds the level, and
            sigma times the mean of y over inputs at the edge of one half, E[y phi((<w, x> - b)/sigma)].
    """
    root = math.sqrt(2 * math.pi)
    for i in range(u.shape[0]):
        awake, beyond, edge = 0.0, 0.0, 0.0
        for n in range(u.shape[1]):
            for part, odds in (
                (0.0, 1 - (large_rate + small_rate) / d),
                (1.0, large_rate / d / 2),
                (-1.0, large_rate / d / 2),
                (small[n], small_rate / d / 2),
                (-small[n], small_rate / d / 2),
            ):
                v = u[i, n] + lead[i] * part
                awake += odds * pair_gate(v, b, sigma[i]) / 2
                if abs(v) >= level:
                    beyond += odds
                y = label(own, s[n] + part, v)
                p, q = (v - b) / sigma[i], (v + b) / sigma[i]
                # Input and label turned around are as likely: both halves give the same mean.
                edge += odds * y * (math.exp(-p * p / 2) - math.exp(-q * q / 2)) / (2 * root)
        found[i, 0], found[i, 1], found[i, 2] = awake / u.shape[1], beyond / u.shape[1], edge / u.shape[1]


@compiled()
def move(W: Singles, nodes: Floats, shift: Floats) -> None:
    """Move every coordinate but the first by a field, given at equidistant nodes; beyond them it is constant.

    Args:
        W: (m, d) moved in place.
        nodes: (m, g).
        shift: (m, g) how far a coordinate of that size moves.
    """
    last = nodes.shape[1] - 1
    for i in range(W.shape[0]):
        low, gap = nodes[i, 0], nodes[i, 1] - nodes[i, 0]
        for j in range(1, W.shape[1]):
            place = min(max((W[i, j] - low) / gap, 0.0), float(last))
            g = min(max(int(place), 0), last - 1)
            W[i, j] += np.float32(shift[i, g] + (place - g) * (shift[i, g + 1] - shift[i, g]))


@compiled(reorder=True)
def census(W: Singles, levels: Floats, counts: Floats) -> None:
    """Count the coordinates of every neuron, the first left out.

    Args:
        W: (m, d) neurons.
        levels: (l,) sizes.
        counts: (m, 2 + l) overwritten: sum of squares, largest size, and how many reach each level.
    """
    for i in range(W.shape[0]):
        squares, most = 0.0, np.float32(0)
        for j in range(1, W.shape[1]):
            size = abs(W[i, j])
            squares += size * size
            most = max(most, size)
        counts[i, 0], counts[i, 1] = squares, most
        for index in range(len(levels)):
            reached = 0
            for j in range(1, W.shape[1]):
                reached += abs(W[i, j]) >= levels[index]
            counts[i, 2 + index] = reached
