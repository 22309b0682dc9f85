"""Compiled attacks on a symmetric net: the fast gradient method and projected steps, row by row."""

import math

import numpy as np

from karat.core.compiled import Array, Indices, compiled
from karat.reductions.symmetric.kernels import Numbers, look_at, slopes_at


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
    net: Numbers,
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
    scratch = np.empty((3, longest))
    gates, rest_gate = np.empty((len(net.classes), longest)), np.empty(len(net.classes))
    hub_gate = np.empty(len(net.hubs))
    for i in range(len(rest)):
        begin, end = offsets[i], offsets[i + 1]
        count, others = end - begin, d - (end - begin)
        row = values[begin:end]
        slope, now, moved = scratch[0, :count], scratch[1, :count], scratch[2, :count]
        now[:] = 0.0
        rest_now = 0.0
        if start == 1:
            look_at(row, others, rest[i], net, 0, gates, rest_gate, hub_gate)
            rest_slope = slopes_at(others, net, 0, gates, rest_gate, hub_gate, slope)
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
            f = look_at(moved, others, rest[i] + rest_now, net, 0, gates, rest_gate, hub_gate)
            if y[i] * f < best[i]:
                best[i] = y[i] * f
                delta[begin:end] = now
                rest_delta[i] = rest_now
            if t == steps:
                break
            rest_slope = slopes_at(others, net, 0, gates, rest_gate, hub_gate, slope)
            size = _size(slope, others, rest_slope, 2.0)
            if size == 0:
                break
            rest_now = _step(now, rest_now, slope, rest_slope, size, y[i] * step, l_inf)
            rest_now = _project(now, others, rest_now, tau, l_inf)
