"""The attack for ReLU and leaky ReLU: only neurons that change side cost more than one pass."""

import math

import numpy as np
from numpy.typing import NDArray

from karat.training.reduction.compiled import compiled

Array = NDArray[np.floating]

_BLOCK = 64


@compiled(reorder=True)
def gradient_weights(
    P: Array, b: Array, w: Array, slope: float, diagonal: Array, Z: Array, size: Array
) -> None:
    """z_is = w_s phi'(P_is + b_s) and the incoherent size sum_s z_is^2 G_ss of the gradient W^T z_i.

    Args:
        P: (n, m) products <w_s, x_i>; b, w: (m,) biases and scaled output weights; slope: as an array scalar;
        diagonal: (m,) of G; Z: (n, m) and size: (n,), written.
    """
    n, m = P.shape
    zero = slope - slope  # a zero of the array's own type: a bare 0 would widen every comparison
    for i in range(n):
        total = zero
        for s in range(m):
            z = w[s] if P[i, s] + b[s] > zero else w[s] * slope
            Z[i, s] = z
            total += z * z * diagonal[s]
        size[i] = total


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
def _find(v: Array, p: Array, side: Array, found: NDArray[np.int64]) -> int:
    """Indices of the neurons that changed side; a neuron at exactly zero counts as inactive."""
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
                    count += 1
    return count


@compiled()
def _add_row(q: Array, row: Array, weight: float) -> None:
    for s in range(row.shape[0]):
        q[s] += weight * row[s]


@compiled()
def flip_attack(
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
) -> int:
    """Projected gradient descent on sign_i f(x_i), one sample after the other, in the Gram form.

    With delta = W^T u, v = W delta and q = W grad f = G z, one step is

        e = -sign length / |grad f|,   r = min(1, radius / |delta + e grad f|)
        u <- r (u + e z),   v <- r (v + e q)

    The scalars |grad f|^2 = z.q, <delta, grad f> = z.v and |delta|^2 are carried along. When neuron s changes
    side, z_s moves by dz and q by dz G_s; a step without flips is one pass over m numbers in the first cache.
    The arithmetic is that of the dense form in another order, with no early exit.

    Args:
        P: (n, m); b, w: (m,); slope: an array scalar of P's type; G: (m, m); Q: (n, m) Z G at the start;
        sign, radius, length: (n,) float64; floor: (n,) float64, |grad f|^2 up to this counts as zero;
        steps: of the attack; Z: (n, m) gradient weights, in: at the start, out: at the end;
        H, U, F, f: out: <w_s, x_i + delta_i>, u_i, phi of the perturbed preactivations, and F w.

    Returns:
        how often a neuron changed side, over all samples.
    """
    n, m = P.shape
    padded = (m + _BLOCK - 1) // _BLOCK * _BLOCK
    # Rows shifted by one cache line: equal offsets within a page would make every load wait for a store.
    rows = np.empty((4, padded + 16), P.dtype)
    p, v, q, side = rows[0, :padded], rows[1, :padded], rows[2, :padded], rows[3, :padded]
    rest = np.zeros(m, P.dtype)
    typed = np.empty(2, P.dtype)
    touched, is_touched = np.empty(m, np.int64), np.zeros(m, np.uint8)
    found = np.empty(padded, np.int64)
    typed[0] = 1
    one = typed[0]
    zero = one - one
    flips = 0
    for i in range(n):
        Pi, Zi, Qi = P[i], Z[i], Q[i]
        for s in range(m, padded):
            p[s], v[s], q[s], side[s] = one, zero, zero, one
        for s in range(m):
            h = Pi[s] + b[s]
            p[s] = h
            v[s] = zero
            q[s] = Qi[s]
            side[s] = one if h > zero else -one
        square = float(_dot(Zi, Qi))
        along, size, base, count = 0.0, 0.0, 0.0, 0
        limit = radius[i] * radius[i]
        for _ in range(steps):
            e = -sign[i] * length[i] / math.sqrt(square) if square > floor[i] else 0.0
            size += 2 * e * along + e * e * square
            r = 1.0
            if size > limit:
                r = radius[i] / math.sqrt(size)
                size = limit
            along = r * (along + e * square)
            base = r * (base + e)
            typed[0], typed[1] = r, r * e
            for j in range(count):
                rest[touched[j]] *= typed[0]
            if _advance(v, q, p, side, typed[0], typed[1]) == 0:
                continue
            crossed = _find(v, p, side, found)
            flips += crossed
            for j in range(crossed):
                s = found[j]
                inactive = w[s] * slope
                new = inactive if side[s] > zero else w[s]
                typed[1] = new - Zi[s]
                dz = float(typed[1])
                Zi[s] = new
                side[s] = -side[s]
                square += dz * (2 * float(q[s]) + dz * float(G[s, s]))
                along += dz * float(v[s])
                if is_touched[s] == 0:
                    is_touched[s] = 1
                    touched[count] = s
                    count += 1
                rest[s] -= base * dz
                _add_row(q, G[s], typed[1])
        typed[0] = base
        last = typed[0]
        Hi, Ui, Fi = H[i], U[i], F[i]
        for s in range(m):
            Hi[s] = Pi[s] + v[s]
            h = p[s] + v[s]
            Fi[s] = h if h > zero else slope * h
            Ui[s] = last * Zi[s] + rest[s]
        f[i] = _dot(Fi, w)
        for j in range(count):
            is_touched[touched[j]] = 0
            rest[touched[j]] = 0
    return flips


@compiled()
def weigh(Z: Array, F: Array, residual: Array, D: Array, a: Array, b: Array) -> None:
    """D = diag(residual) Z, a = F^T residual and b = Z^T residual, in one pass.

    Args:
        Z, F: (n, m); residual: (n,) of their type; D: (n, m), a, b: (m,), written.
    """
    n, m = Z.shape
    for s in range(m):
        a[s] = 0
        b[s] = 0
    for i in range(n):
        r = residual[i]
        for s in range(m):
            t = r * Z[i, s]
            D[i, s] = t
            b[s] += t
            a[s] += r * F[i, s]
