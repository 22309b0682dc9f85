"""Gradient weights of neurons before an attack, and the residuals' weights after it, each in one pass."""

import numpy as np
from numpy.typing import NDArray

from karat.core.compiled import compiled

Array = NDArray[np.floating]


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
