"""The attack for ReLU and leaky ReLU: only neurons that change side cost more than one pass."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.core.compiled import compiled

Array = NDArray[np.floating]
Indices = NDArray[np.int64]

_BLOCK = 64


class _Net(NamedTuple):
    """Scaled output weights (m,), slope below zero and Gram matrix (m, m) of the net."""

    w: Array
    slope: float
    G: Array


class _Limits(NamedTuple):
    """Signed length of a step, radius of the ball, and the squared gradient norm that counts as zero."""

    pull: float
    radius: float
    floor: float


class _Goal(NamedTuple):
    """Label and output bias behind the margin; whether it is watched; whether steps end once it is <= 0."""

    sign: float
    c: float
    watch: bool
    until_broken: bool


class _Trace(NamedTuple):
    """What the steps leave behind: u = base z + rest, rest being zero except where a neuron was touched.

    With a watched margin, best (2, m) holds v and u of the point where it was smallest; `found` is scratch.
    """

    rest: Array
    best: Array
    found: Indices
    touched: Indices
    is_touched: NDArray[np.uint8]


@compiled(reorder=True)
def _dot(x: Array, y: Array) -> float:
    total = x[0] * y[0]
    for s in range(1, x.shape[0]):
        total += x[s] * y[s]
    return total


@compiled(reorder=True)
def _advance(v: Array, q: Array, p: Array, side: Array, shrink: float, pull: float) -> float:
    """v <- shrink v + pull q; returns how many neurons are no longer strictly on their side."""
    one = side[0] * side[0]
    zero = one - one
    crossed = zero
    for s in range(v.shape[0]):
        t = shrink * v[s] + pull * q[s]
        v[s] = t
        crossed += one if (t + p[s]) * side[s] <= zero else zero
    return crossed


@compiled(reorder=True)
def _find(v: Array, p: Array, side: Array, m: int, found: Indices) -> int:
    """Indices below m of the neurons that changed side; a neuron at exactly zero counts as inactive."""
    one = side[0] * side[0]
    zero = one - one
    count = 0
    for block in range(v.shape[0] // _BLOCK):
        low = block * _BLOCK
        crossed = zero
        for s in range(_BLOCK):
            crossed += one if (v[low + s] + p[low + s]) * side[low + s] <= zero else zero
        if crossed > zero:
            for s in range(low, low + _BLOCK):
                if (v[s] + p[s] > zero) != (side[s] > zero):
                    found[count] = s
                    count += 1 if s < m else 0  # padding is no neuron
    return count


@compiled()
def _add_row(q: Array, row: Array, weight: float) -> None:
    for s in range(row.shape[0]):
        q[s] += weight * row[s]


@compiled()
def _load(P: Array, b: Array, Q: Array, p: Array, v: Array, q: Array, side: Array, one: float) -> None:
    """Copy one sample into the scratch rows; what lies beyond m stays on its side for ever."""
    zero = one - one
    m = P.shape[0]
    for s in range(m):
        h = P[s] + b[s]
        p[s] = h
        v[s] = zero
        q[s] = Q[s]
        side[s] = one if h > zero else -one
    for s in range(m, p.shape[0]):
        p[s], v[s], q[s], side[s] = one, zero, zero, one


@compiled()
def _change_side(
    s: int, z: Array, w: Array, slope: float, G: Array, v: Array, q: Array, side: Array, typed: Array
) -> tuple[float, float, float]:
    """Neuron s changes side: new z_s and q; returns dz and the changes of z.q and z.v."""
    new = w[s] * slope if side[s] > slope - slope else w[s]
    typed[1] = new - z[s]
    dz = float(typed[1])
    z[s] = new
    side[s] = -side[s]
    square = dz * (2 * float(q[s]) + dz * float(G[s, s]))
    along = dz * float(v[s])
    _add_row(q, G[s], typed[1])
    return dz, square, along


@compiled(reorder=True)
def _output(v: Array, p: Array, w: Array, slope: float) -> float:
    zero = slope - slope
    total = zero
    for s in range(w.shape[0]):
        h = v[s] + p[s]
        total += w[s] * (h if h > zero else slope * h)
    return total


@compiled()
def _remember(best: Array, v: Array, z: Array, base: float, rest: Array) -> None:
    """best <- (v, u) of the present point, u = base z + rest."""
    for s in range(z.shape[0]):
        best[0, s] = v[s]
        best[1, s] = base * z[s] + rest[s]


@compiled()
def _descend(
    z: Array, net: _Net, rows: Array, limits: _Limits, goal: _Goal, trace: _Trace, typed: Array, steps: int
) -> tuple[float, int, int]:
    """All steps for one loaded sample.

    Args:
        z: (m,) gradient weights, in: at the start, out: at the end.
        net: the net up to rotation.
        rows: (4, padded + 16) the sample: p = <w_s, x> + b_s, v = W delta, q = W grad f, sides of neurons.
            One array, for handing in its four rows costs up to a tenth of the speed.
        limits: of a step.
        goal: what the margin is, and what it is for.
        trace: out: how the perturbation is put together.
        typed: (2,) scratch that rounds a number to the arrays' type.
        steps: of the attack.

    Returns:
        base, or NaN once a number is not finite; how many neurons were touched, how often one changed side.
    """
    w, slope, G = net
    rest, best, found, touched, is_touched = trace
    padded = found.shape[0]
    p, v, q, side = rows[0, :padded], rows[1, :padded], rows[2, :padded], rows[3, :padded]
    sign, c, radius, floor = goal.sign, goal.c, limits.radius, limits.floor
    square = float(_dot(z, q[: z.shape[0]]))
    along, size, base, count, changes, smallest = 0.0, 0.0, 0.0, 0, 0, 0.0
    if goal.watch:
        smallest = sign * (float(_output(v, p, w, slope)) + c)
        best[:] = slope - slope
    if not math.isfinite(square + floor + smallest):
        return np.nan, count, changes
    for _ in range(steps):
        if goal.until_broken and smallest <= 0:
            break
        e = limits.pull / math.sqrt(square) if square > floor else 0.0
        size += 2 * e * along + e * e * square
        reach, r = size, 1.0
        if size > radius * radius:
            r = radius / math.sqrt(size)
            size = radius * radius
        along = r * (along + e * square)
        base = r * (base + e)
        typed[0], typed[1] = r, r * e
        # The step itself is rounded to the arrays' type and may overflow there.
        if not math.isfinite(reach + along + float(typed[1])):
            return np.nan, count, changes
        for j in range(count):
            rest[touched[j]] *= typed[0]
        crossed = 0
        if _advance(v, q, p, side, typed[0], typed[1]) > 0:
            crossed = _find(v, p, side, z.shape[0], found)
        changes += crossed
        for j in range(crossed):
            s = found[j]
            dz, more, further = _change_side(s, z, w, slope, G, v, q, side, typed)
            square += more
            along += further
            rest[s] -= base * dz
            if is_touched[s] == 0:
                is_touched[s] = 1
                touched[count] = s
                count += 1
        if goal.watch:
            margin = sign * (float(_output(v, p, w, slope)) + c)
            if not math.isfinite(margin):
                return np.nan, count, changes
            if margin < smallest:
                smallest, typed[0] = margin, base
                _remember(best, v, z, typed[0], rest)
    return base, count, changes


@compiled()
def side_change_attack(
    P: Array,
    b: Array,
    w: Array,
    slope: float,
    G: Array,
    Q: Array,
    sign: Array,
    radius: Array,
    length: Array,
    floor: Array,
    steps: int,
    Z: Array,
    H: Array,
    U: Array,
    F: Array,
    f: Array,
    c: float,
    keep_best: bool,
    until_broken: bool,
) -> int:
    """Projected gradient descent on sign_i f(x_i), one sample after the other, in the Gram form.

    With delta = W^T u, v = W delta and q = W grad f = G z, one step is

        e = -sign length / |grad f|,   r = min(1, radius / |delta + e grad f|)
        u <- r (u + e z),   v <- r (v + e q)

    The scalars |grad f|^2 = z.q, <delta, grad f> = z.v and |delta|^2 are carried along. When neuron s changes
    side, z_s moves by dz and q by dz G_s; a step without such a change is one pass over m numbers in the
    first cache. The arithmetic is that of the dense form in another order.

    Args:
        P: (n, m) products <w_s, x_i>.
        b: (m,) hidden biases.
        w: (m,) scaled output weights.
        slope: of the activation below zero, an array scalar of P's type.
        G: (m, m) inner products of the weights.
        Q: (n, m) Z G at the start.
        sign: (n,) float64, labels whose margin is lowered.
        radius: (n,) float64, of the ball.
        length: (n,) float64, of a step.
        floor: (n,) float64, |grad f|^2 up to this counts as zero.
        steps: of the attack.
        Z: (n, m) gradient weights, in: at the start, out: at the end.
        H: (n, m) out: <w_s, x_i + delta_i>.
        U: (n, m) out: u_i.
        F: (n, m) out: phi of the perturbed preactivations.
        f: (n,) out: F w; not finite where some number of the attack was not, and then nothing is known of the
            sample.
        c: output bias.
        keep_best: end at the point of smallest margin met instead of the last one.
        until_broken: leave a sample once its margin is <= 0.

    Returns:
        how often a neuron changed side, over all samples.
    """
    n, m = P.shape
    padded = (m + _BLOCK - 1) // _BLOCK * _BLOCK
    # Rows shifted by one cache line: equal offsets within a page would make every load wait for a store.
    rows = np.empty((4, padded + 16), P.dtype)
    p, v, q, side = rows[0, :padded], rows[1, :padded], rows[2, :padded], rows[3, :padded]
    rest, best, typed = np.zeros(m, P.dtype), np.empty((2, m), P.dtype), np.ones(2, P.dtype)
    found, touched, is_touched = np.empty(padded, np.int64), np.empty(m, np.int64), np.zeros(m, np.uint8)
    net, trace = _Net(w, slope, G), _Trace(rest, best, found, touched, is_touched)
    one, zero = typed[0], slope - slope
    total = 0
    for i in range(n):
        _load(P[i], b, Q[i], p, v, q, side, one)
        limits = _Limits(-sign[i] * length[i], radius[i], floor[i])
        goal = _Goal(sign[i], c, keep_best or until_broken, until_broken)
        base, count, changes = _descend(Z[i], net, rows, limits, goal, trace, typed, steps)
        total += changes
        if not keep_best:
            typed[0] = base
            _remember(best, v, Z[i], typed[0], rest)
        for s in range(m):
            H[i, s] = P[i, s] + best[0, s]
            U[i, s] = best[1, s]
            h = p[s] + best[0, s]
            Z[i, s] = w[s] if h > zero else w[s] * slope
            F[i, s] = h if h > zero else slope * h
        f[i] = _dot(F[i], w) if math.isfinite(base) else np.nan
        for j in range(count):
            is_touched[touched[j]] = 0
            rest[touched[j]] = zero
    return total
