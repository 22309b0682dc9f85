r"""Compiled passes over sparse points: outputs, gates, gradients and attacks of a symmetric net.

A neuron sees :math:`u_i = (\alpha - \beta) \tilde x_i + \beta S` with the score :math:`S = \sum_j \tilde
x_j`, so that neurons of coordinates with equal values have equal outputs and one of them stands for all.

Every function works row by row on points as `SparsePoints` stores them; a net is the vector alpha, beta,
gamma, threshold, noise, copies, hubs.
"""

import math

import numpy as np

from karat.core.compiled import Array, Indices, compiled

_SLEEPS = 8.5
"""Beyond so many standard deviations a gate is open or shut to rounding."""


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


@compiled()
def _score(row: Array, others: float, rest: float) -> float:
    total = others * rest
    for j in range(len(row)):
        total += row[j]
    return total


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
def _look(row: Array, others: float, rest: float, net: Array, gates: Array) -> tuple[float, float, float]:
    """Fill the gates of one row; return its output, the gate of all other neurons and that of the hubs."""
    alpha, beta, gamma, b, s, copies, hubs = net[0], net[1], net[2], net[3], net[4], net[5], net[6]
    own = alpha - beta
    score = _score(row, others, rest)
    total = 0.0
    for j in range(len(row)):
        value, gates[j] = pair(own * row[j] + beta * score, b, s)
        total += value
    value, rest_gate = pair(own * rest + beta * score, b, s)
    total += others * value
    value, hub_gate = pair(gamma * score, b, s)
    return copies * total + hubs * value, rest_gate, hub_gate


@compiled()
def look(
    values: Array,
    offsets: Indices,
    rest: Array,
    d: float,
    net: Array,
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
        gates: gates of the neurons of listed coordinates, overwritten.
        rest_gate: (n,) gate of the neurons of all others, overwritten.
        hub_gate: (n,) gate of the hubs, overwritten.
    """
    for i in range(len(rest)):
        begin, end = offsets[i], offsets[i + 1]
        others = d - (end - begin)
        f[i], rest_gate[i], hub_gate[i] = _look(values[begin:end], others, rest[i], net, gates[begin:end])


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
    r"""Gradients of the three coefficients, averaged over the symmetry group.

    Neuron i receives :math:`\sum_n r_n g_{ni} \tilde x_n`. Its own coordinate is averaged over all i, every
    other
    one over all pairs :math:`i \ne j`, that of a hub over all j. Times d, for a step has the length h d.

    Args:
        values: listed coordinates of the points.
        offsets: (n + 1,) ends of the rows.
        rest: (n,) the value of all others.
        d: number of coordinates.
        residual: (n,) weights of the points.
        gates: of the neurons of listed coordinates.
        rest_gate: (n,) of the neurons of all others.
        hub_gate: (n,) of the hubs.
        out: (3,) gradients of alpha, beta and gamma times d, overwritten.
    """
    own, other, dense = 0.0, 0.0, 0.0
    for i in range(len(rest)):
        begin, end = offsets[i], offsets[i + 1]
        others = d - (end - begin)
        score = _score(values[begin:end], others, rest[i])
        mine, theirs = others * rest_gate[i] * rest[i], others * rest_gate[i] * (score - rest[i])
        for j in range(begin, end):
            mine += gates[j] * values[j]
            theirs += gates[j] * (score - values[j])
        own += residual[i] * mine
        other += residual[i] * theirs
        dense += residual[i] * hub_gate[i] * score
    out[0] = own
    out[1] = other / (d - 1)
    out[2] = dense


@compiled()
def _slopes(
    others: float, net: Array, gates: Array, rest_gate: float, hub_gate: float, slope: Array
) -> float:
    """Fill the gradient of f at the listed coordinates of one row; return the one that all others share."""
    alpha, beta, gamma, copies, hubs = net[0], net[1], net[2], net[5], net[6]
    total = others * rest_gate
    for j in range(len(gates)):
        total += gates[j]
    common = copies * beta * total + hubs * gamma * hub_gate
    for j in range(len(gates)):
        slope[j] = copies * (alpha - beta) * gates[j] + common
    return copies * (alpha - beta) * rest_gate + common


@compiled()
def slopes(
    offsets: Indices,
    d: float,
    net: Array,
    gates: Array,
    rest_gate: Array,
    hub_gate: Array,
    slope: Array,
    rest_slope: Array,
) -> None:
    r"""The gradient of f in the coordinates: listed ones, and the one that all others share.

    .. math:: \partial_j f = \text{copies} \Big[ (\alpha - \beta) g_j + \beta \sum_i g_i \Big]
        + \text{hubs}\, \gamma\, g_{hub}

    Args:
        offsets: (n + 1,) ends of the rows.
        d: number of coordinates.
        net: the net.
        gates: of the neurons of listed coordinates.
        rest_gate: (n,) of the neurons of all others.
        hub_gate: (n,) of the hubs.
        slope: at the listed coordinates, overwritten.
        rest_slope: (n,) at all others, overwritten.
    """
    for i in range(len(rest_gate)):
        begin, end = offsets[i], offsets[i + 1]
        others = d - (end - begin)
        rest_slope[i] = _slopes(others, net, gates[begin:end], rest_gate[i], hub_gate[i], slope[begin:end])


@compiled()
def _sign(number: float) -> float:
    return 1.0 if number > 0 else (-1.0 if number < 0 else 0.0)


@compiled()
def _size(row: Array, others: float, rest: float, power: float) -> float:
    """The l1, l2 or l_inf norm of one row."""
    if power == math.inf:
        largest = abs(rest) if others > 0 else 0.0
        for j in range(len(row)):
            largest = max(largest, abs(row[j]))
        return largest
    if power == 1:
        total = others * abs(rest)
        for j in range(len(row)):
            total += abs(row[j])
        return total
    total = others * rest * rest
    for j in range(len(row)):
        total += row[j] * row[j]
    return math.sqrt(total)


@compiled()
def lengths(entries: Array, offsets: Indices, rest: Array, d: float, power: float, out: Array) -> None:
    """Norms of sparse vectors.

    Args:
        entries: listed coordinates.
        offsets: (n + 1,) ends of the rows.
        rest: (n,) the value of all others.
        d: number of coordinates.
        power: 1, 2 or inf.
        out: (n,) norms, overwritten.
    """
    for i in range(len(rest)):
        begin, end = offsets[i], offsets[i + 1]
        out[i] = _size(entries[begin:end], d - (end - begin), rest[i], power)


@compiled()
def _step(
    now: Array, rest_now: float, slope: Array, rest_slope: float, size: float, step: float, l_inf: bool
) -> float:
    """Move one row against the gradient in place; return where all its other coordinates are then."""
    if l_inf:
        for j in range(len(now)):
            now[j] -= step * _sign(slope[j])
        return rest_now - step * _sign(rest_slope)
    scale = step / size
    for j in range(len(now)):
        now[j] -= scale * slope[j]
    return rest_now - scale * rest_slope


@compiled()
def _project(now: Array, others: float, rest_now: float, tau: float, l_inf: bool) -> float:
    """Bring one row back into its ball in place; return where all its other coordinates are then."""
    if l_inf:
        for j in range(len(now)):
            now[j] = min(max(now[j], -tau), tau)
        return min(max(rest_now, -tau), tau)
    size = _size(now, others, rest_now, 2.0)
    if size <= tau:
        return rest_now
    for j in range(len(now)):
        now[j] *= tau / size
    return rest_now * tau / size


@compiled()
def descend(
    values: Array,
    offsets: Indices,
    rest: Array,
    y: Array,
    d: float,
    net: Array,
    l_inf: bool,
    tau: float,
    zero_below: float,
    steps: int,
    step: float,
    start: int,
    best: Array,
    delta: Array,
    rest_delta: Array,
) -> None:
    r"""Attack every point: the move of length tau that the gradient likes least, then projected steps.

    With no further steps and from the gradient it is the fast gradient method. Kept is the smallest margin
    on the way and where it was met.

    Args:
        values: listed coordinates of the points.
        offsets: (n + 1,) ends of the rows.
        rest: (n,) the value of all others.
        y: (n,) labels.
        d: number of coordinates.
        net: the net.
        l_inf: whether the ball is that of the largest coordinate; else Euclidean.
        tau: its radius.
        zero_below: smallest gradient at the start, in the dual norm, that is followed.
        steps: projected steps after the start.
        step: their length.
        start: 0 at the point itself, 1 at the end of the fast gradient method, 2 along all coordinates alike.
        best: (n,) smallest margins, overwritten.
        delta: perturbation of the listed coordinates, overwritten.
        rest_delta: (n,) of all others, overwritten.
    """
    longest = 0
    for i in range(len(rest)):
        longest = max(longest, offsets[i + 1] - offsets[i])
    # One row's worth of memory each: it stays in the processor's cache.
    scratch = np.empty((4, longest))
    for i in range(len(rest)):
        begin, end = offsets[i], offsets[i + 1]
        count, others = end - begin, d - (end - begin)
        row = values[begin:end]
        gates, slope = scratch[0, :count], scratch[1, :count]
        now, moved = scratch[2, :count], scratch[3, :count]
        now[:] = 0.0
        rest_now = 0.0
        if start == 1:
            _, rest_gate, hub_gate = _look(row, others, rest[i], net, gates)
            rest_slope = _slopes(others, net, gates, rest_gate, hub_gate, slope)
            size = _size(slope, others, rest_slope, 1.0 if l_inf else 2.0)
            if size > 0 and size >= zero_below:
                rest_now = _step(now, rest_now, slope, rest_slope, size, y[i] * tau, l_inf)
        elif start == 2:
            each = tau if l_inf else tau / math.sqrt(d)
            now[:] = -y[i] * each
            rest_now = -y[i] * each
        best[i] = math.inf
        for t in range(steps + 1):
            for j in range(count):
                moved[j] = row[j] + now[j]
            f, rest_gate, hub_gate = _look(moved, others, rest[i] + rest_now, net, gates)
            if y[i] * f < best[i]:
                best[i] = y[i] * f
                delta[begin:end] = now
                rest_delta[i] = rest_now
            if t == steps:
                break
            rest_slope = _slopes(others, net, gates, rest_gate, hub_gate, slope)
            size = _size(slope, others, rest_slope, 2.0)
            if size == 0:
                break
            rest_now = _step(now, rest_now, slope, rest_slope, size, y[i] * step, l_inf)
            rest_now = _project(now, others, rest_now, tau, l_inf)


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
