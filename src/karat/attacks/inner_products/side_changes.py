"""The attack for ReLU and leaky ReLU: only neurons that change side cost more than one pass.

Numbers like `v.dtype.type(0)` are zeros of the array's own type: a bare 0 would widen float32 arithmetic. The
scalars of a step are float64 in either case, for they are carried along from step to step.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from karat.core.compiled import Array, Indices, Number, compiled

# Neurons looked at together for a change of side: a few vector registers.
_BLOCK = 64


class Net(NamedTuple):
    """A two-layer net up to rotation.

    Args:
        b: (m,) hidden biases.
        w: (m,) scaled output weights.
        slope: of the activation below zero, an array scalar of the arrays' type.
        G: (m, m) inner products of the hidden weights.
        c: output bias, float64.
    """

    b: Array
    w: Array
    slope: Number
    G: Array
    c: float


class Samples(NamedTuple):
    """The points to attack, and how far.

    Args:
        P: (n, m) products <w_s, x_i>.
        Q: (n, m) Z G at the start.
        sign: (n,) float64, labels whose margin is lowered.
        radius: (n,) float64, of the ball.
        length: (n,) float64, of a step.
        floor: (n,) float64, squared gradient norm up to which a gradient counts as zero.
    """

    P: Array
    Q: Array
    sign: Array
    radius: Array
    length: Array
    floor: Array


class Attacked(NamedTuple):
    """What is written about the attacked points.

    Args:
        H: (n, m) products <w_s, x_i + delta_i>.
        U: (n, m) coefficients of delta_i = W^T u_i.
        Z: (n, m) gradient weights, in: at the start, out: at the end.
        F: (n, m) activations phi.
        f: (n,) outputs F w; not finite where some number of the attack was not, and then nothing is known of
            the sample.
    """

    H: Array
    U: Array
    Z: Array
    F: Array
    f: Array


class Rules(NamedTuple):
    """How long the attack goes on.

    Args:
        steps: of the attack.
        keep_best: end at the point of smallest margin met instead of the last one.
        until_broken: leave a sample once its margin is <= 0.
    """

    steps: int
    keep_best: bool
    until_broken: bool


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

    With a watched margin, best (2, m) holds v and u of the point where it was smallest; `changed` is scratch.
    """

    rest: Array
    best: Array
    changed: Indices
    touched: Indices
    is_touched: NDArray[np.uint8]


@compiled(reorder=True)
def gradient_weights(
    P: Array, b: Array, w: Array, slope: Number, diagonal: Array, Z: Array, size: Array
) -> None:
    r"""Gradient weights :math:`z_{is} = w_s \phi'(P_{is} + b_s)`, and :math:`\sum_s z_{is}^2 G_{ss}`.

    That sum is the squared length the gradient :math:`W^T z_i` would have if all weights were orthogonal:
    rounding errors of the true one are relative to it.

    Args:
        P: (n, m) products <w_s, x_i>.
        b: (m,) biases.
        w: (m,) scaled output weights.
        slope: of the activation below zero, as an array scalar.
        diagonal: (m,) of G.
        Z: (n, m), written.
        size: (n,), written.
    """
    n, m = P.shape
    zero = P.dtype.type(0)  # of the array's own type: a bare 0 would widen every comparison
    for i in range(n):
        total = zero
        for s in range(m):
            z = w[s] if P[i, s] + b[s] > zero else w[s] * slope
            Z[i, s] = z
            total += z * z * diagonal[s]
        size[i] = total


@compiled(reorder=True)
def _dot(x: Array, y: Array) -> Number:
    """<x, y>, summed on vector registers."""
    total = x[0] * y[0]
    for s in range(1, x.shape[0]):
        total += x[s] * y[s]
    return total


@compiled(reorder=True)
def _advance(v: Array, q: Array, p: Array, side: Array, shrink: Number, pull: Number) -> Number:
    """v <- shrink v + pull q; returns how many neurons are no longer strictly on their side."""
    one, zero = v.dtype.type(1), v.dtype.type(0)
    # Counted in the arrays' type: an integer would not share their vector registers.
    crossed = zero
    for s in range(v.shape[0]):
        t = shrink * v[s] + pull * q[s]
        v[s] = t
        crossed += one if (t + p[s]) * side[s] <= zero else zero
    return crossed


@compiled(reorder=True)
def _find(v: Array, p: Array, side: Array, m: int, changed: Indices) -> int:
    """Indices below m of the neurons that changed side; a neuron at exactly zero counts as inactive."""
    one, zero = v.dtype.type(1), v.dtype.type(0)
    count = 0
    for block in range(v.shape[0] // _BLOCK):
        low = block * _BLOCK
        # Few blocks hold a change: counting first leaves the slow loop with its branches to those.
        crossed = zero
        for s in range(_BLOCK):
            crossed += one if (v[low + s] + p[low + s]) * side[low + s] <= zero else zero
        if crossed > zero:
            for s in range(low, low + _BLOCK):
                if (v[s] + p[s] > zero) != (side[s] > zero):
                    changed[count] = s
                    count += 1 if s < m else 0  # padding is no neuron
    return count


@compiled()
def _add_row(q: Array, row: Array, weight: Number) -> None:
    """q <- q + weight row; q may be longer, by its padding."""
    for s in range(row.shape[0]):
        q[s] += weight * row[s]


@compiled()
def _load(P: Array, b: Array, Q: Array, p: Array, v: Array, q: Array, side: Array) -> None:
    """Copy one sample into the scratch rows; what lies beyond m stays on its side for ever."""
    one, zero = P.dtype.type(1), P.dtype.type(0)
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
    s: int, z: Array, net: Net, v: Array, q: Array, side: Array, typed: Array
) -> tuple[float, float, float]:
    """Neuron s changes side: new z_s and q; returns dz and the changes of z.q and z.v."""
    new = net.w[s] * net.slope if side[s] > z.dtype.type(0) else net.w[s]
    typed[1] = new - z[s]
    dz = float(typed[1])
    z[s] = new
    side[s] = -side[s]
    # (z + dz e_s).(q + dz G_s) - z.q with q = G z, before q itself is changed.
    square = dz * (2 * float(q[s]) + dz * float(net.G[s, s]))
    along = dz * float(v[s])
    _add_row(q, net.G[s], typed[1])
    return dz, square, along


@compiled(reorder=True)
def _output(v: Array, p: Array, w: Array, slope: Number) -> Number:
    """sum_s w_s phi(v_s + p_s), the output without its bias."""
    zero = v.dtype.type(0)
    total = zero
    for s in range(w.shape[0]):
        h = v[s] + p[s]
        total += w[s] * (h if h > zero else slope * h)
    return total


@compiled()
def _remember(best: Array, v: Array, z: Array, base: Number, rest: Array) -> None:
    """best <- (v, u) of the present point, u = base z + rest."""
    for s in range(z.shape[0]):
        best[0, s] = v[s]
        best[1, s] = base * z[s] + rest[s]


@compiled()
def _descend(
    z: Array, net: Net, rows: Array, limits: _Limits, goal: _Goal, trace: _Trace, typed: Array, steps: int
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
    w, slope = net.w, net.slope
    rest, best, changed, touched, is_touched = trace
    padded = changed.shape[0]
    p, v, q, side = rows[0, :padded], rows[1, :padded], rows[2, :padded], rows[3, :padded]
    sign, c, radius, floor = goal.sign, goal.c, limits.radius, limits.floor
    square = float(_dot(z, q[: z.shape[0]]))
    along, size, base, count, changes, smallest = 0.0, 0.0, 0.0, 0, 0, 0.0
    if goal.watch:
        smallest = sign * (float(_output(v, p, w, slope)) + c)
        best[:] = z.dtype.type(0)
    if not math.isfinite(square + floor + smallest):
        return np.nan, count, changes
    for _ in range(steps):
        if goal.until_broken and smallest <= 0:
            break
        # delta <- r (delta + e grad f), and everything that is linear in delta likewise.
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
        for j in range(count):  # u = base z + rest shrinks by r; rest is zero everywhere else
            rest[touched[j]] *= typed[0]
        crossed = 0
        if _advance(v, q, p, side, typed[0], typed[1]) > 0:
            crossed = _find(v, p, side, z.shape[0], changed)
        changes += crossed
        for j in range(crossed):
            s = changed[j]
            dz, more, further = _change_side(s, z, net, v, q, side, typed)
            square += more
            along += further
            rest[s] -= base * dz  # u itself has not changed, only the z it is written with
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
def side_change_attack(net: Net, samples: Samples, out: Attacked, rules: Rules) -> int:
    r"""Projected gradient descent on :math:`y_i f(x_i)`, one sample after the other, in the Gram form.

    With :math:`\delta = W^T u`, :math:`v = W \delta` and :math:`q = W \nabla f = G z`, one step is

    .. math:: e = -y\, \text{length} / \|\nabla f\|, \quad
        r = \min(1, \text{radius} / \|\delta + e \nabla f\|), \quad
        u \leftarrow r (u + e z), \quad v \leftarrow r (v + e q).

    The scalars :math:`\|\nabla f\|^2 = \langle z, q\rangle`,
    :math:`\langle\delta, \nabla f\rangle = \langle z, v\rangle` and :math:`\|\delta\|^2` are carried along.
    When neuron s changes side, :math:`z_s` moves by dz and q by :math:`\mathrm{dz}\, G_s`; a step without
    such a change is one pass over m numbers in the first cache. The arithmetic is that of the dense form in
    another order.

    Args:
        net: the net up to rotation, its arrays of one type.
        samples: what is attacked, and how far.
        out: written; its Z holds the gradient weights at the start.
        rules: how long to go on, and which point to keep.

    Returns:
        how often a neuron changed side, over all samples.
    """
    n, m = samples.P.shape
    dtype, w, slope = samples.P.dtype, net.w, net.slope
    padded = (m + _BLOCK - 1) // _BLOCK * _BLOCK
    # Rows shifted by one cache line: equal offsets within a page would make every load wait for a store.
    rows = np.empty((4, padded + 16), dtype)
    p, v, q, side = rows[0, :padded], rows[1, :padded], rows[2, :padded], rows[3, :padded]
    rest, best, typed = np.zeros(m, dtype), np.empty((2, m), dtype), np.ones(2, dtype)
    changed, touched, is_touched = np.empty(padded, np.int64), np.empty(m, np.int64), np.zeros(m, np.uint8)
    trace = _Trace(rest, best, changed, touched, is_touched)
    zero = dtype.type(0)
    total = 0
    for i in range(n):
        _load(samples.P[i], net.b, samples.Q[i], p, v, q, side)
        sign, z = samples.sign[i], out.Z[i]
        limits = _Limits(-sign * samples.length[i], samples.radius[i], samples.floor[i])
        goal = _Goal(sign, net.c, rules.keep_best or rules.until_broken, rules.until_broken)
        base, count, changes = _descend(z, net, rows, limits, goal, trace, typed, rules.steps)
        total += changes
        if not rules.keep_best:
            typed[0] = base
            _remember(best, v, z, typed[0], rest)
        for s in range(m):
            out.H[i, s] = samples.P[i, s] + best[0, s]
            out.U[i, s] = best[1, s]
            h = p[s] + best[0, s]
            z[s] = w[s] if h > zero else w[s] * slope
            out.F[i, s] = h if h > zero else slope * h
        out.f[i] = _dot(out.F[i], w) if math.isfinite(base) else np.nan
        for j in range(count):  # leave `rest` and the marks clean for the next sample
            is_touched[touched[j]] = 0
            rest[touched[j]] = zero
    return total
