"""Sign descent on a two-layer net with kinks: only what changes its sign costs more than a short pass."""

import numpy as np
from numpy.typing import NDArray

from karat.core.compiled import compiled

Array = NDArray[np.floating]
Indices = NDArray[np.int64]

_BLOCK = 64


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
def _find_crossed(h: Array, side: Array, found: Indices) -> int:
    """Indices of the neurons that changed side; a neuron at exactly zero counts as inactive."""
    one = side[0] * side[0]
    zero = one - one
    count, m = 0, h.shape[0]
    for low in range(0, m, _BLOCK):
        high = min(low + _BLOCK, m)
        crossed = zero
        for s in range(low, high):
            crossed += one if h[s] * side[s] <= zero else zero
        if crossed > zero:
            for s in range(low, high):
                if (h[s] > zero) != (side[s] > zero):
                    found[count] = s
                    count += 1
    return count


@compiled(reorder=True)
def _margin(h: Array, weight: Array, slope: float) -> float:
    zero = slope - slope
    total = zero
    for s in range(h.shape[0]):
        total += weight[s] * (h[s] if h[s] > zero else slope * h[s])
    return total


@compiled()
def _add(total: Array, row: Array, weight: float) -> None:
    for s in range(row.shape[0]):
        total[s] += weight * row[s]


@compiled()
def _go_on(delta: Array, move: Array, times: float, tau: float) -> None:
    """delta <- delta + times move, inside the ball."""
    for j in range(delta.shape[0]):
        delta[j] = min(max(delta[j] + times * move[j], -tau), tau)


@compiled(reorder=True)
def _turn(
    g: Array, delta: Array, move: Array, new: Array, step: float, tau: float, tiny: float, one: float
) -> tuple[float, float, float]:
    """delta <- clip(delta - step sign g); the move made goes to `new`.

    Returns:
        how many coordinates move otherwise than before, how many move at all, and how far all of these can go
        on before one of them meets its bound.
    """
    zero = one - one
    changed, moving, room = zero, zero, tau + tau
    for j in range(g.shape[0]):
        s = -step if g[j] > zero else (step if g[j] < zero else zero)
        t = delta[j] + s
        kept = min(max(t, -tau), tau)
        e = s if kept == t else kept - delta[j]
        e = e if abs(e) > tiny else zero
        left = tau - kept if e > zero else tau + kept
        room = min(room, left if e != zero else tau + tau)
        changed += one if e != move[j] else zero
        moving += one if e != zero else zero
        new[j] = e
        delta[j] = kept
    return changed, moving, room


@compiled()
def _follow(r: Array, move: Array, new: Array, columns: Array, rebuild: bool) -> int:
    """r <- W new and move <- new, by the columns that matter; returns how many those were."""
    count = 0
    if rebuild:
        r[:] = 0
    for j in range(move.shape[0]):
        before = new[j] - new[j] if rebuild else move[j]
        if new[j] != before:
            _add(r, columns[j], new[j] - before)
            count += 1
    move[:] = new
    return count


@compiled()
def _flip(
    count: int, found: Indices, g: Array, side: Array, weight: Array, bend: float, W: Array, active: int
) -> int:
    """The neurons found change side; g follows. Returns how many are active now."""
    zero = bend - bend
    for k in range(count):
        s = found[k]
        if side[s] > zero:
            _add(g, W[s], -(weight[s] * bend))
            active -= 1
        else:
            _add(g, W[s], weight[s] * bend)
            active += 1
        side[s] = -side[s]
    return active


@compiled()
def _descend(
    g: Array,
    delta: Array,
    move: Array,
    best: Array,
    r: Array,
    neurons: Array,
    W: Array,
    columns: Array,
    slope: float,
    scalars: Array,
    steps: int,
    watch: bool,
    until_broken: bool,
    found: Indices,
    new: Array,
) -> int:
    """All steps of one sample; scalars: step, tau, tiny, offset, one, best margin. Returns the work."""
    h, side, weight = neurons[0], neurons[1], neurons[2]
    step, tau, tiny, offset, one = scalars[0], scalars[1], scalars[2], scalars[3], scalars[4]
    zero = one - one
    active, m, d = 0, h.shape[0], g.shape[0]
    for s in range(m):
        active += 1 if side[s] > zero else 0
    # The first move may have met a bound, so the second one is looked at in any case.
    free, pending, work = zero, zero, 0
    for t in range(1, steps + 1):
        crossed = _advance(h, r, side)
        if watch:
            margin = offset + _margin(h, weight, slope)
            if margin < scalars[5]:
                _go_on(delta, move, pending, tau)
                pending = zero
                best[:] = delta
                scalars[5] = margin
                if until_broken and margin <= zero:
                    return work
        if t == steps:
            break
        if crossed > zero:
            count = _find_crossed(h, side, found)
            active = _flip(count, found, g, side, weight, one - slope, W, active)
            work += count * d
            if active == 0 and slope == zero:
                g[:] = 0  # flat: what is left of g is rounding
        elif free >= one:
            free -= one
            pending += one
            continue
        _go_on(delta, move, pending, tau)
        pending = zero
        changed, moving, room = _turn(g, delta, move, new, step, tau, tiny, one)
        if changed > zero:
            work += m * _follow(r, move, new, columns, moving < changed)
        free = np.floor(room / step)
    _go_on(delta, move, pending, tau)
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

    A step moves h by r = W move. As long as no neuron changes side, g and with it the move stay as they are,
    until a coordinate meets its bound: such a step is one pass over m numbers. When neuron s changes side,
    a multiple of w_s is added to g; when coordinate j moves otherwise than before, one of column j to r.

    Args:
        H: (n, m) h at the start, out: scratch; G: (n, d) g at the start, out: scratch;
        delta, move: (n, d) after the first step, and that step; R: (n, m) move W^T, out: scratch;
        W: (m, d); columns: (d, m) its transpose; weight: (m,); slope, offset: array scalars of their type;
        rounding: a move below this share of a step is none, for the bound was met up to rounding;
        sign, step, tau: (n,); steps: of the attack, the first one included;
        watch: keep every sample's best point; until_broken: leave a sample once its margin is <= 0;
        best, best_margin: (n, d), (n,) so far, out: with `watch`, of all points met.

    Returns:
        numbers added into g and r, the work beyond the short passes.
    """
    n, m = H.shape
    neurons, scalars = np.empty((3, m), H.dtype), np.ones(6, H.dtype)
    found, new = np.empty(m, np.int64), np.empty(delta.shape[1], H.dtype)
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
        work += _descend(
            G[i],
            delta[i],
            move[i],
            best[i],
            R[i],
            neurons,
            W,
            columns,
            slope,
            scalars,
            steps,
            watch,
            until_broken,
            found,
            new,
        )
        best_margin[i] = scalars[5]
    return work
