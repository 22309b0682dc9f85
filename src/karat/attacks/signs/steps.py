"""Sign descent on a two-layer net with kinks: only what changes its sign costs more than a short pass."""

import numpy as np
from numpy.typing import NDArray

from karat.core.compiled import compiled

Array = NDArray[np.floating]
Indices = NDArray[np.int64]


@compiled(reorder=True)
def _advance(h: Array, r: Array, side: Array) -> float:
    """h <- h + r; returns how many neurons are no longer strictly on their side."""
    one = side[0] * side[0]
    zero = one - one
    crossed = zero
    for s in range(h.shape[0]):
        t = h[s] + r[s]
        h[s] = t
        crossed += one if t * side[s] <= zero else zero
    return crossed


@compiled(reorder=True)
def _margin(h: Array, weight: Array, slope: float) -> float:
    zero = slope - slope
    total = zero
    for s in range(h.shape[0]):
        total += weight[s] * (h[s] if h[s] > zero else slope * h[s])
    return total


@compiled()
def _add_rows(total: Array, matrix: Array, index: Indices, amount: Array, count: int) -> None:
    """total <- total + sum_k amount_k matrix[index_k], four rows at a time."""
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
def _turn(
    g: Array, delta: Array, move: Array, new: Array, step: float, tau: float, tiny: float, one: float
) -> tuple[float, float]:
    """delta <- clip(delta - step sign g); the move made goes to `new`.

    Returns:
        how many coordinates move otherwise than before, and how many move at all.
    """
    zero = one - one
    changed, moving = zero, zero
    for j in range(g.shape[0]):
        s = step if g[j] < zero else zero
        s = -step if g[j] > zero else s
        before = delta[j]
        t = before + s
        kept = -tau if t < -tau else t
        kept = tau if kept > tau else kept
        e = s if kept == t else kept - before
        e = e if abs(e) > tiny else zero
        changed += one if e != move[j] else zero
        moving += one if e != zero else zero
        new[j] = e
        delta[j] = kept
    return changed, moving


@compiled()
def _differences(new: Array, move: Array, from_zero: bool, index: Indices, amount: Array) -> int:
    """Where and by how much `new` differs from `move`, or from zero; then move <- new. Returns how often."""
    zero = new[0] - new[0]
    count = 0
    for j in range(new.shape[0]):
        difference = new[j] if from_zero else new[j] - move[j]
        index[count] = j
        amount[count] = difference
        count += 1 if difference != zero else 0
        move[j] = new[j]
    return count


@compiled()
def _switch(
    h: Array, side: Array, weight: Array, bend: float, index: Indices, amount: Array
) -> tuple[int, int]:
    """Neurons that changed side change it, and the weights by which their rows enter the gradient.

    A neuron at exactly zero counts as inactive.

    Returns:
        how many, and how many more are active than before.
    """
    zero = bend - bend
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
    point: tuple[Array, Array, Array, Array, Array],
    neurons: Array,
    net: tuple[Array, Array, float],
    scalars: Array,
    steps: int,
    watch: bool,
    until_broken: bool,
    scratch: tuple[Array, Array, Indices],
) -> int:
    """All steps of one sample; returns the work.

    Args:
        point: g, delta, move, best and r of the sample.
        neurons: h, side and weight.
        net: W, columns, slope.
        scalars: step, tau, tiny, offset, one and the best margin.
        scratch: new, amount, index.
    """
    (g, delta, move, best, r), (W, columns, slope), (new, amount, index) = point, net, scratch
    h, side, weight = neurons[0], neurons[1], neurons[2]
    step, tau, tiny, offset, one = scalars[0], scalars[1], scalars[2], scalars[3], scalars[4]
    zero = one - one
    active, work, m, d = 0, 0, h.shape[0], g.shape[0]
    for s in range(m):
        active += 1 if side[s] > zero else 0
    for t in range(1, steps + 1):
        crossed = _advance(h, r, side)
        if watch:
            margin = offset + _margin(h, weight, slope)
            if margin < scalars[5]:
                for j in range(d):
                    best[j] = delta[j]
                scalars[5] = margin
                if until_broken and margin <= zero:
                    return work
        if t == steps:
            break
        if crossed > zero:
            count, more = _switch(h, side, weight, one - slope, index, amount)
            active += more
            work += count * d
            if active == 0 and slope == zero:
                g[:] = zero  # flat here: what is left of g is rounding
            else:
                _add_rows(g, W, index, amount, count)
        changed, moving = _turn(g, delta, move, new, step, tau, tiny, one)
        if changed > zero:
            afresh = moving < changed
            if afresh:
                r[:] = zero
            count = _differences(new, move, afresh, index, amount)
            work += count * m
            _add_rows(r, columns, index, amount, count)
    return work


@compiled()
def sign_walk(
    H: Array,
    G: Array,
    delta: Array,
    move: Array,
    R: Array,
    W: Array,
    columns: Array,
    weight: Array,
    slope: float,
    offset: float,
    rounding: float,
    sign: Array,
    step: Array,
    tau: Array,
    steps: int,
    watch: bool,
    until_broken: bool,
    best: Array,
    best_margin: Array,
) -> int:
    """Projected sign descent on sign_i f(x_i), one sample after the other, from its second step on.

        f(x) = sum_s weight_s phi(h_s) + offset,   h = W x + b,   phi(z) = max(z, slope z)
        delta <- clip(delta - step sign g, -tau, tau),   g = sign sum_s weight_s phi'(h_s) w_s

    A step moves h by r = W move. As long as no neuron changes side, g stays as it is, and so does the move
    until a coordinate meets its bound: such a step is one pass over m and over d numbers. When neuron s
    changes side, a multiple of w_s is added to g; when coordinate j moves otherwise than before, one of
    column j to r. The arithmetic is that of dense steps in another order.

    Args:
        H: (n, m) h at the start, out: scratch.
        G: (n, d) g at the start, out: scratch.
        delta, move: (n, d) after the first step, and that step.
        R: (n, m) move W^T, out: scratch.
        W: (m, d).
        columns: (d, m) its transpose.
        weight: (m,).
        slope, offset: array scalars of their type.
        rounding: a move below this share of a step is none, for the bound was met up to rounding.
        sign, step, tau: (n,).
        steps: of the attack, the first one included.
        watch: keep every sample's best point.
        until_broken: leave a sample once its margin is <= 0.
        best, best_margin: (n, d), (n,) so far, out: with `watch`, of all points met; the margin is NaN where
            some number was not finite: nothing is said of such a sample.

    Returns:
        numbers added into g and r, the work beyond the short passes.
    """
    n, m = H.shape
    neurons, scalars = np.empty((3, m), H.dtype), np.ones(6, H.dtype)
    d = delta.shape[1]
    scratch = (np.empty(d, H.dtype), np.empty(m + d, H.dtype), np.empty(m + d, np.int64))
    one = scalars[4]
    zero = one - one
    work = 0
    for i in range(n):
        if until_broken and best_margin[i] <= zero:
            continue
        scalars[0], scalars[1], scalars[3], scalars[5] = step[i], tau[i], sign[i] * offset, best_margin[i]
        scalars[2] = step[i] * rounding
        for s in range(m):
            neurons[0, s] = H[i, s]
            neurons[1, s] = one if H[i, s] > zero else -one
            neurons[2, s] = sign[i] * weight[s]
        point = (G[i], delta[i], move[i], best[i], R[i])
        work += _descend(point, neurons, (W, columns, slope), scalars, steps, watch, until_broken, scratch)
        best_margin[i] = scalars[5] if _finite(neurons[0], G[i]) else np.nan
    return work
