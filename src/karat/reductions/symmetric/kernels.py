r"""Compiled passes over sparse points: outputs, gates and gradients of a symmetric net.

A neuron of class c sees :math:`u_i = (\alpha_c - \beta_c) \tilde x_i + \beta_c S` with the score :math:`S =
\sum_j \tilde x_j`, so that neurons of one class and of coordinates with equal values have equal outputs and
one of them stands for all.

Every function works row by row on points as `SparsePoints` stores them; a net is the three arrays of
`Numbers`.
"""

import math
from typing import NamedTuple

from karat.core.compiled import Array, Indices, compiled

_SLEEPS = 8.5
"""Beyond so many standard deviations a gate is open or shut to rounding."""


class Numbers(NamedTuple):
    """A symmetric net as compiled code reads it.

    Args:
        level: (2,) threshold and standard deviation of the noise.
        classes: (C, 3) alpha, beta and copies of every class.
        hubs: (H, 2) gamma of every class of hubs, and how many they are.
    """

    level: Array
    classes: Array
    hubs: Array


@compiled()
def excess(p: float) -> float:
    r"""The Gaussian mean excess :math:`h(p) = p \Phi(p) + \varphi(p)`; below p = -8 few digits are right."""
    if p > _SLEEPS:
        return p
    if p < -38.0:
        return 0.0
    return p * 0.5 * math.erfc(-p / math.sqrt(2.0)) + math.exp(-p * p / 2) / math.sqrt(2 * math.pi)


@compiled()
def pair(u: float, b: float, s: float) -> tuple[float, float]:
    r"""A pair's output :math:`E\,\mathrm{ReLU}(u - b + \rho) - E\,\mathrm{ReLU}(-u - b + \rho)`, and its
    derivative.

    Args:
        u: what the pair sees.
        b: threshold.
        s: standard deviation of the noise.
    """
    size = abs(u)
    over = size - b
    reach = _SLEEPS * s
    if over < -reach:  # asleep; NaN is not
        return 0.0, 0.0
    if over > reach and -size - b < -reach:  # wide awake
        return (over, 1.0) if u > 0 else (-over, 1.0)
    if s == 0:
        return 0.0, 0.0
    near, far = over / s, (-size - b) / s
    value = s * (excess(near) - excess(far))
    gate = 0.5 * (math.erfc(-near / math.sqrt(2.0)) + math.erfc(-far / math.sqrt(2.0)))
    return (value, gate) if u > 0 else (-value, gate)


@compiled(reorder=True)
def _score(row: Array, others: float, rest: float) -> float:
    total = others * rest
    for j in range(len(row)):
        total += row[j]
    return total


@compiled(reorder=True)
def _sure_pairs(row: Array, own: float, common: float, b: float, reach: float, gates: Array) -> float:
    """Gates 1 of pairs wide awake and 0 of sleeping ones, -1 for all between; the output of the first.

    Without a branch, so that several entries go at once: nearly all of them are sure.

    Args:
        row: coordinates.
        own: times its coordinate is what a pair sees alone.
        common: what all pairs see.
        b: threshold, at least 0.
        reach: of the noise.
        gates: overwritten.
    """
    total = 0.0
    for j in range(len(row)):
        u = own * row[j] + common
        over = abs(u) - b
        awake, asleep = over > reach, over < -reach  # NaN is neither
        gates[j] = 1.0 if awake else (0.0 if asleep else -1.0)
        total += (over if u > 0 else -over) if awake else 0.0
    return total


@compiled()
def pairs(row: Array, own: float, common: float, b: float, s: float, gates: Array) -> float:
    """Fill the gates of the pairs of some coordinates; return the sum of their outputs.

    Args:
        row: coordinates.
        own: times its coordinate is what a pair sees alone.
        common: what all pairs see.
        b: threshold, at least 0.
        s: standard deviation of the noise.
        gates: overwritten.
    """
    total = _sure_pairs(row, own, common, b, _SLEEPS * s, gates)
    for j in range(len(row)):
        if gates[j] < 0:
            value, gates[j] = pair(own * row[j] + common, b, s)
            total += value
    return total


@compiled(reorder=True)
def _gated(row: Array, gates: Array) -> tuple[float, float]:
    """Sums of the gates and of the gated coordinates."""
    open_gates, gated = 0.0, 0.0
    for j in range(len(row)):
        open_gates += gates[j]
        gated += gates[j] * row[j]
    return open_gates, gated


@compiled()
def scores(values: Array, offsets: Indices, rest: Array, d: float, out: Array) -> None:
    """Sums of all coordinates.

    Args:
        values: listed coordinates of the points.
        offsets: (n + 1,) ends of the rows.
        rest: (n,) the value of all others.
        d: number of coordinates.
        out: (n,) sums, overwritten.
    """
    for i in range(len(rest)):
        begin, end = offsets[i], offsets[i + 1]
        out[i] = _score(values[begin:end], d - (end - begin), rest[i])


@compiled()
def look_at(
    row: Array,
    others: float,
    rest: float,
    net: Numbers,
    begin: int,
    gates: Array,
    rest_gate: Array,
    hub_gate: Array,
) -> float:
    """Fill the gates of one row and return its output.

    Args:
        row: its listed coordinates.
        others: how many coordinates are not listed.
        rest: the value of each of them.
        net: the net.
        begin: column of `gates` at which the row begins.
        gates: (C, listed) gates of the neurons of listed coordinates, overwritten from `begin` on.
        rest_gate: (C,) gates of the neurons of all others, overwritten.
        hub_gate: (H,) gates of the hubs, overwritten.
    """
    b, s = net.level[0], net.level[1]
    score = _score(row, others, rest)
    f = 0.0
    for c in range(len(net.classes)):
        beta = net.classes[c, 1]
        own = net.classes[c, 0] - beta
        mine = gates[c, begin : begin + len(row)]
        total = pairs(row, own, beta * score, b, s, mine)
        value, rest_gate[c] = pair(own * rest + beta * score, b, s)
        f += net.classes[c, 2] * (total + others * value)
    for h in range(len(net.hubs)):
        value, hub_gate[h] = pair(net.hubs[h, 0] * score, b, s)
        f += net.hubs[h, 1] * value
    return f


@compiled()
def look(
    values: Array,
    offsets: Indices,
    rest: Array,
    d: float,
    net: Numbers,
    f: Array,
    gates: Array,
    rest_gate: Array,
    hub_gate: Array,
) -> None:
    """Outputs and gates on some points.

    Args:
        values: listed coordinates of the points.
        offsets: (n + 1,) ends of the rows.
        rest: (n,) the value of all others.
        d: number of coordinates.
        net: the net.
        f: (n,) outputs, overwritten.
        gates: (C, listed) gates of the neurons of listed coordinates, overwritten.
        rest_gate: (n, C) gates of the neurons of all others, overwritten.
        hub_gate: (n, H) gates of the hubs, overwritten.
    """
    for i in range(len(rest)):
        begin, end = offsets[i], offsets[i + 1]
        others = d - (end - begin)
        row = values[begin:end]
        f[i] = look_at(row, others, rest[i], net, begin, gates, rest_gate[i], hub_gate[i])


@compiled()
def pull(
    values: Array,
    offsets: Indices,
    rest: Array,
    d: float,
    residual: Array,
    gates: Array,
    rest_gate: Array,
    hub_gate: Array,
    out: Array,
) -> None:
    r"""Gradients of the coefficients, averaged over the symmetry group.

    Neuron i of a class receives :math:`\sum_n r_n g_{ni} \tilde x_n`. Its own coordinate is averaged over all
    i, every other one over all pairs :math:`i \ne j`, that of a hub over all j. Times d, for a step has the
    length h d.

    Args:
        values: listed coordinates of the points.
        offsets: (n + 1,) ends of the rows.
        rest: (n,) the value of all others.
        d: number of coordinates.
        residual: (n,) weights of the points.
        gates: (C, listed) of the neurons of listed coordinates.
        rest_gate: (n, C) of the neurons of all others.
        hub_gate: (n, H) of the hubs.
        out: (2 C + H,) gradients times d of alpha and beta, class after class, and of every gamma,
            overwritten.
    """
    classes, hubs = len(gates), hub_gate.shape[1]
    out[:] = 0.0
    for i in range(len(rest)):
        begin, end = offsets[i], offsets[i + 1]
        others = d - (end - begin)
        score = _score(values[begin:end], others, rest[i])
        for c in range(classes):
            shut = others * rest_gate[i, c]
            mine, theirs = shut * rest[i], shut * (score - rest[i])
            open_gates, gated = _gated(values[begin:end], gates[c, begin:end])
            out[2 * c] += residual[i] * (mine + gated)
            out[2 * c + 1] += residual[i] * (theirs + score * open_gates - gated)
        for h in range(hubs):
            out[2 * classes + h] += residual[i] * hub_gate[i, h] * score
    for c in range(classes):
        out[2 * c + 1] /= d - 1


@compiled()
def slopes_at(
    others: float,
    net: Numbers,
    begin: int,
    gates: Array,
    rest_gate: Array,
    hub_gate: Array,
    slope: Array,
) -> float:
    """Fill the gradient of f at the listed coordinates of one row; return the one that all others share.

    Args:
        others: how many coordinates are not listed.
        net: the net.
        begin: column of `gates` at which the row begins.
        gates: (C, listed) of the neurons of listed coordinates.
        rest_gate: (C,) of the neurons of all others.
        hub_gate: (H,) of the hubs.
        slope: at the listed coordinates, overwritten.
    """
    common = 0.0
    rest_slope = 0.0
    for c in range(len(net.classes)):
        beta, copies = net.classes[c, 1], net.classes[c, 2]
        own = copies * (net.classes[c, 0] - beta)
        mine = gates[c, begin : begin + len(slope)]
        total = others * rest_gate[c]
        for j in range(len(slope)):
            total += mine[j]
            slope[j] = own * mine[j] + (slope[j] if c > 0 else 0.0)
        common += copies * beta * total
        rest_slope += own * rest_gate[c]
    for h in range(len(net.hubs)):
        common += net.hubs[h, 1] * net.hubs[h, 0] * hub_gate[h]
    for j in range(len(slope)):
        slope[j] += common
    return rest_slope + common


@compiled()
def slopes(
    offsets: Indices,
    d: float,
    net: Numbers,
    gates: Array,
    rest_gate: Array,
    hub_gate: Array,
    slope: Array,
    rest_slope: Array,
) -> None:
    r"""The gradient of f in the coordinates: listed ones, and the one that all others share.

    .. math:: \partial_j f = \sum_c \text{copies}_c \Big[ (\alpha_c - \beta_c) g_{cj}
        + \beta_c \sum_i g_{ci} \Big] + \sum_h \text{hubs}_h\, \gamma_h\, g_h

    Args:
        offsets: (n + 1,) ends of the rows.
        d: number of coordinates.
        net: the net.
        gates: (C, listed) of the neurons of listed coordinates.
        rest_gate: (n, C) of the neurons of all others.
        hub_gate: (n, H) of the hubs.
        slope: at the listed coordinates, overwritten.
        rest_slope: (n,) at all others, overwritten.
    """
    for i in range(len(rest_gate)):
        begin, end = offsets[i], offsets[i + 1]
        rest_slope[i] = slopes_at(
            d - (end - begin), net, begin, gates, rest_gate[i], hub_gate[i], slope[begin:end]
        )


@compiled()
def place(uniform: Array, edges: Array, sizes: Array, spread: float, values: Array) -> None:
    r"""Turn uniform numbers into codes that are on: level, sign and size from the digits of one number each.

    Args:
        uniform: on [0, 1).
        edges: cumulative rates of the levels, the last one is their sum.
        sizes: of the levels; level 1 is multiplied by a uniform number on [1, spread].
        spread: the end of that interval.
        values: codes, overwritten.
    """
    last = len(edges) - 1
    for j in range(len(uniform)):
        u = uniform[j] * edges[last]
        level = 0
        while level < last and u >= edges[level]:
            level += 1
        low = edges[level - 1] if level > 0 else 0.0
        within = 2 * (u - low) / (edges[level] - low)  # uniform on [0, 2): its whole part is the sign
        size = sizes[level]
        if level == 1:
            size *= 1 + (spread - 1) * (within if within < 1 else within - 1)
        values[j] = -size if within < 1 else size
