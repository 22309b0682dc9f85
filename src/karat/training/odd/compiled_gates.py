"""One pass over the projections of an odd net: outputs and gates, skipping neurons that are asleep."""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, erfcx

from karat.core.compiled import compiled

Array = NDArray[np.floating]


@cache
def gate_table(dtype: str) -> tuple[Array, float]:
    r"""Rows :math:`(h, \Phi, \varphi)` at p = 0, -1/r, -2/r, ... down to the least p needed, and the rate r.

    :math:`h(p) = p\, \Phi(p) + \varphi(p)` is the Gaussian mean excess; beyond the last row :math:`\Phi` is
    below a quarter of the rounding unit, so that the neuron counts as asleep.
    """
    rate, depth = (128, 5.8) if dtype == "float32" else (1024, 8.4)
    p = -np.arange(int(depth * rate) + 2) / rate
    phi = np.exp(-p * p / 2) / math.sqrt(2 * math.pi)
    # erfcx keeps the difference p Phi + phi accurate in the tail.
    h = phi * (1 + p * math.sqrt(math.pi / 2) * erfcx(-p / math.sqrt(2)))
    rows = np.stack([h, erfc(-p / math.sqrt(2)) / 2, phi], axis=1)
    return np.ascontiguousarray(rows.astype(dtype)), float(rate)


@compiled(reorder=True)
def smooth_gates(u: Array, f: Array, rows: Array, scale: float, b: float, rate: float) -> int:
    r"""Replace projections by gates :math:`\Phi((|u| - b)/s)`, write the outputs, count the open gates.

    Each entry adds :math:`s \operatorname{sign}(u)\, h(p)` with :math:`p = (|u| - b)/s` to the output, less
    the same at :math:`p' = (-|u| - b)/s`; the gates of both add up. Values between the rows of the table come
    from their Taylor series.

    Args:
        u: (n, m) projections, overwritten by the gates.
        f: (n,) outputs, overwritten.
        rows: the table of `gate_table`.
        scale: 1/s.
        b: threshold, at least 0.
        rate: rows of the table per unit of p.
    """
    n, m = u.shape
    last = rows.shape[0] - 1
    # Constants of the array's own type: a Python float would turn single precision into double.
    one = u.dtype.type(1)
    half, sixth = one / 2, one / 6
    floor = -(last - 1) / rate
    awake = 0
    for i in range(n):
        total = one - one
        for j in range(m):
            v = u[i, j]
            p = (abs(v) - b) * scale
            if p < floor:  # asleep; NaN is not
                u[i, j] = 0
                continue
            awake += 1
            # The table holds p <= 0 only: look up -|p|, then reflect.
            q = -abs(p)
            gate, excess = one - one, one - one
            if q > floor:
                # Third order around the nearest row: derivatives of h, Phi, phi are Phi, phi, -p phi.
                row = int(-q * rate + half)
                p0 = -row / rate
                t = q - p0
                h, cdf, pdf = rows[row, 0], rows[row, 1], rows[row, 2]
                gate = cdf + pdf * t * (one - t * (half * p0 - t * sixth * (p0 * p0 - one)))
                excess = h + t * (cdf + pdf * t * (half - t * sixth * p0))
            if not p <= 0:  # Phi(p) = 1 - Phi(-p), h(p) = p + h(-p); NaN comes here and stays NaN in f
                gate = one - gate
                excess += p
            r = (-abs(v) - b) * scale
            if r > floor:  # the other half of the pair: only for noise as large as the bias
                row = int(-r * rate + half)
                p0 = -row / rate
                t = r - p0
                h, cdf, pdf = rows[row, 0], rows[row, 1], rows[row, 2]
                gate += cdf + pdf * t * (one - t * (half * p0 - t * sixth * (p0 * p0 - one)))
                excess -= h + t * (cdf + pdf * t * (half - t * sixth * p0))
            u[i, j] = gate
            total += excess if v > 0 else -excess
        f[i] = total / scale
    return awake


@compiled(reorder=True)
def sharp_gates(u: Array, f: Array, b: float) -> int:
    r"""The same without noise: gates :math:`1[|u| > b]`, outputs :math:`\sum \pm (|u| - b)` over open ones.

    Args:
        u: (n, m) projections, overwritten by the gates.
        f: (n,) outputs, overwritten.
        b: threshold, at least 0.
    """
    n, m = u.shape
    awake = 0
    for i in range(n):
        total = u.dtype.type(0)
        for j in range(m):
            v = u[i, j]
            if v > b:
                total += v - b
                u[i, j] = 1
                awake += 1
            elif not v >= -b:  # NaN comes here and stays NaN in f
                total += v + b
                u[i, j] = 1
                awake += 1
            else:
                u[i, j] = 0
        f[i] = total
    return awake


@compiled(reorder=True)
def add_gated_inputs(gates: Array, weight: Array, x: Array, out: Array) -> None:
    """Add the gradient of the weights, visiting only the gates that are open.

    Args:
        gates: (n, m).
        weight: (n,) of the samples.
        x: (n, d) samples.
        out: (m, d), row j grows by the sum over i of weight_i gates_ij x_i.
    """
    n, m = gates.shape
    d = x.shape[1]
    for i in range(n):
        for j in range(m):
            if gates[i, j] != 0:
                g = gates[i, j] * weight[i]
                for c in range(d):
                    out[j, c] += g * x[i, c]


@compiled(reorder=True)
def add_gated_weights(gates: Array, W: Array, out: Array) -> None:
    """Add the gradient of the inputs, visiting only the gates that are open.

    Args:
        gates: (n, m).
        W: (m, d) weights.
        out: (n, d), row i grows by the sum over j of gates_ij w_j.
    """
    n, m = gates.shape
    d = W.shape[1]
    for i in range(n):
        for j in range(m):
            g = gates[i, j]
            if g != 0:
                for c in range(d):
                    out[i, c] += g * W[j, c]
