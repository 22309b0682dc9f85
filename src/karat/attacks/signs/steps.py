"""Sign descent on a two-layer net of hinges: only what changes its sign costs more than a short pass.

Numbers like `h.dtype.type(0)` are zeros of the array's own type: a bare 0 would widen float32 arithmetic.
"""

from typing import NamedTuple

import numpy as np

from karat.core.compiled import Array, Indices, Number, compiled


class Net(NamedTuple):
    """A net of hinges.

    Args:
        W: (m, d) hidden weights.
        columns: (d, m) their transpose, contiguous.
        weight: (m,) output weights.
        slope: of phi below zero, an array scalar.
        offset: of the output, an array scalar.
    """

    W: Array
    columns: Array
    weight: Array
    slope: Number
    offset: Number


class Reach(NamedTuple):
    """Which way samples go, and how far.

    Args:
        sign: (n,) labels +-1.
        step: (n,) lengths of a step.
        tau: (n,) radii.
    """

    sign: Array
    step: Array
    tau: Array


class Points(NamedTuple):
    """Where the walk of n samples begins, what it works on, and where it ends.

    Args:
        H: (n, m) preactivations at the start.
        G: (n, d) signed gradients at the start, then scratch.
        delta: (n, d) perturbations after the first step, then at the end.
        move: (n, d) that first step, then scratch.
        R: (n, m) move W^T, then scratch.
        best: (n, d) best perturbations so far, then of all points met where they are watched.
        best_margin: (n,) their margins.
    """

    H: Array
    G: Array
    delta: Array
    move: Array
    R: Array
    best: Array
    best_margin: Array


class Rules(NamedTuple):
    """How long to walk, and what to watch.

    Args:
        steps: of the attack, the first one included.
        watch: keep every sample's best point.
        until_broken: leave a sample once its margin is <= 0.
        rounding: a move below this share of a step is none, for the bound was met up to rounding.
    """

    steps: int
    watch: bool
    until_broken: bool
    rounding: Number


class _Neurons(NamedTuple):
    """Of one sample, each (m,): preactivations h, their sides +-1, and signed output weights."""

    h: Array
    side: Array
    weight: Array


class _Scratch(NamedTuple):
    """The new move (d,), and a list of changes: which ones (m + d,) and by how much (m + d,)."""

    new: Array
    amount: Array
    which: Indices


class _Limits(NamedTuple):
    """Of one sample: length of a step, radius, largest move that is only rounding, signed output offset."""

    step: Number
    tau: Number
    tiny: Number
    offset: Number


@compiled(reorder=True)
def _advance(h: Array, r: Array, side: Array) -> Number:
    """h <- h + r; returns how many neurons are no longer strictly on their side."""
    one, zero = h.dtype.type(1), h.dtype.type(0)
    # Counted in the arrays' type: an integer would not share their vector registers.
    crossed = zero
    for s in range(h.shape[0]):
        t = h[s] + r[s]
        h[s] = t
        crossed += one if t * side[s] <= zero else zero
    return crossed


@compiled(reorder=True)
def _margin(h: Array, weight: Array, slope: Number) -> Number:
    """sum_s weight_s max(h_s, slope h_s), the margin without its offset."""
    zero = h.dtype.type(0)
    total = zero
    for s in range(h.shape[0]):
        total += weight[s] * (h[s] if h[s] > zero else slope * h[s])
    return total


@compiled()
def _add_rows(total: Array, matrix: Array, index: Indices, amount: Array, count: int) -> None:
    """total <- total + sum_k amount_k matrix[index_k].

    Four rows at a time: `total` is then loaded and stored a quarter as often.
    """
    whole = count - count % 4
    for k in range(0, whole, 4):
        p, q, u, v = amount[k], amount[k + 1], amount[k + 2], amount[k + 3]
        P, Q, U, V = matrix[index[k]], matrix[index[k + 1]], matrix[index[k + 2]], matrix[index[k + 3]]
        for s in range(total.shape[0]):
            total[s] += (p * P[s] + q * Q[s]) + (u * U[s] + v * V[s])
    for k in range(whole, count):
        p, P = amount[k], matrix[index[k]]
        for s in range(total.shape[0]):
            total[s] += p * P[s]


@compiled(reorder=True)
def _turn(g: Array, delta: Array, move: Array, new: Array, limits: _Limits) -> tuple[Number, Number]:
    """delta <- clip(delta - step sign g, -tau, tau); the move made goes to `new`.

    Returns:
        how many coordinates move otherwise than before, and how many move at all.
    """
    one, zero = g.dtype.type(1), g.dtype.type(0)
    step, tau = limits.step, limits.tau
    changed, moving = zero, zero
    for j in range(g.shape[0]):
        # Conditional values instead of branches, so that the loop runs on vector registers.
        s = step if g[j] < zero else zero
        s = -step if g[j] > zero else s
        before = delta[j]
        t = before + s
        clipped = -tau if t < -tau else t
        clipped = tau if clipped > tau else clipped
        # Away from the bound the move is the step itself and not the difference of two rounded points.
        e = s if clipped == t else clipped - before
        # At the bound it is zero; what differs from it by rounding would be taken for a change each time.
        e = e if abs(e) > limits.tiny else zero
        changed += one if e != move[j] else zero
        moving += one if e != zero else zero
        new[j] = e
        delta[j] = clipped
    return changed, moving


@compiled()
def _differences(move: Array, from_zero: bool | np.bool_, scratch: _Scratch) -> int:
    """List where and by how much the new move differs from `move`, or from zero; then move <- new.

    Returns:
        the length of the list.
    """
    new, amount, index = scratch
    zero = new.dtype.type(0)
    count = 0
    for j in range(new.shape[0]):
        difference = new[j] if from_zero else new[j] - move[j]
        # Written always and counted only if needed: no branch to mispredict.
        index[count] = j
        amount[count] = difference
        count += 1 if difference != zero else 0
        move[j] = new[j]
    return count


@compiled()
def _switch(neurons: _Neurons, bend: Number, index: Indices, amount: Array) -> tuple[int, int]:
    """Neurons that changed side change it; listed with the weights by which their rows enter the gradient.

    A neuron at exactly zero counts as inactive. `bend` is 1 - slope, by which phi' jumps at zero.

    Returns:
        how many, and how many more are active than before.
    """
    h, side, weight = neurons
    zero = h.dtype.type(0)
    count, more = 0, 0
    for s in range(h.shape[0]):
        if (h[s] > zero) != (side[s] > zero):
            index[count] = s
            amount[count] = -(weight[s] * bend) if side[s] > zero else weight[s] * bend
            more += -1 if side[s] > zero else 1
            side[s] = -side[s]
            count += 1
    return count, more


@compiled(reorder=True)
def _finite(h: Array, g: Array) -> bool:
    """Whether all numbers are finite: what once was not stays so until the end of a walk."""
    zero = h.dtype.type(0)
    total = zero
    for s in range(h.shape[0]):
        total += zero * h[s]  # NaN if h_s is not finite; the compiler may not drop it
    for j in range(g.shape[0]):
        total += zero * g[j]
    return total == zero


@compiled()
def _descend(
    i: int, points: Points, neurons: _Neurons, net: Net, limits: _Limits, rules: Rules, scratch: _Scratch
) -> tuple[int, Number]:
    """All steps of sample i; returns the work and the best margin."""
    h, side, weight = neurons
    g, delta, move, r = points.G[i], points.delta[i], points.move[i], points.R[i]
    best, smallest, slope = points.best[i], points.best_margin[i], net.slope
    one, zero = h.dtype.type(1), h.dtype.type(0)
    active, work, m, d = 0, 0, h.shape[0], g.shape[0]
    for s in range(m):
        active += 1 if side[s] > zero else 0
    for t in range(1, rules.steps + 1):
        # The first step was taken outside, so every round begins by moving the preactivations along.
        crossed = _advance(h, r, side)
        if rules.watch:
            margin = limits.offset + _margin(h, weight, slope)
            if margin < smallest:
                for j in range(d):
                    best[j] = delta[j]
                smallest = margin
                if rules.until_broken and margin <= zero:
                    return work, smallest
        if t == rules.steps:
            break
        if crossed > zero:
            count, more = _switch(neurons, one - slope, scratch.which, scratch.amount)
            active += more
            work += count * d
            if active == 0 and slope == zero:
                g[:] = zero  # flat here: what is left of g is rounding
            else:
                _add_rows(g, net.W, scratch.which, scratch.amount, count)
        changed, moving = _turn(g, delta, move, scratch.new, limits)
        if changed > zero:
            # Where fewer coordinates move than change, r is cheaper to sum up anew, and sheds its rounding.
            afresh = moving < changed
            if afresh:
                r[:] = zero
            count = _differences(move, afresh, scratch)
            work += count * m
            _add_rows(r, net.columns, scratch.which, scratch.amount, count)
    return work, smallest


@compiled()
def sign_walk(net: Net, reach: Reach, points: Points, rules: Rules) -> int:
    r"""Projected sign descent on :math:`y_i f(x_i)`, one sample after the other, from its second step on.

    .. math:: f(x) = \sum_s \text{weight}_s\, \phi(h_s) + \text{offset}, \quad h = W x + b, \quad
        \phi(z) = \max(z, \text{slope}\, z)

    .. math:: \delta \leftarrow \mathrm{clip}(\delta - \text{step}\, \mathrm{sign}\, g, -\tau, \tau), \quad
        g = y \sum_s \text{weight}_s\, \phi'(h_s)\, w_s

    A step moves h by r = W move. As long as no neuron changes side, g stays as it is, and so does the move
    until a coordinate meets its bound: such a step is one pass over m and over d numbers. When neuron s
    changes side, a multiple of w_s is added to g; when coordinate j moves otherwise than before, one of
    column j to r. The arithmetic is that of dense steps in another order.

    Args:
        net: the net, all arrays of one type.
        reach: labels, steps and radii.
        points: in: the first step; out: the last points in `delta` and, with `watch`, the best ones. A best
            margin is NaN where some number was not finite: nothing is said of such a sample.
        rules: `steps` counts the first one.

    Returns:
        numbers added into g and r, the work beyond the short passes.
    """
    n, m = points.H.shape
    d, dtype = points.delta.shape[1], points.H.dtype
    neurons = _Neurons(np.empty(m, dtype), np.empty(m, dtype), np.empty(m, dtype))
    scratch = _Scratch(np.empty(d, dtype), np.empty(m + d, dtype), np.empty(m + d, np.int64))
    one, zero = dtype.type(1), dtype.type(0)
    work = 0
    for i in range(n):
        if rules.until_broken and points.best_margin[i] <= zero:
            continue
        sign, step = reach.sign[i], reach.step[i]
        for s in range(m):
            h = points.H[i, s]
            neurons.h[s] = h
            neurons.side[s] = one if h > zero else -one
            neurons.weight[s] = sign * net.weight[s]
        limits = _Limits(step, reach.tau[i], step * rules.rounding, sign * net.offset)
        more, margin = _descend(i, points, neurons, net, limits, rules, scratch)
        work += more
        points.best_margin[i] = margin if _finite(neurons.h, points.G[i]) else np.nan
    return work
