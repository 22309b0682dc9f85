"""Gradient weights of the neurons before an attack, in one pass."""

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
        P: (n, m) products <w_s, x_i>.
        b: (m,) biases.
        w: (m,) scaled output weights.
        slope: of the activation below zero, as an array scalar.
        diagonal: (m,) of G.
        Z: (n, m), written.
        size: (n,), written.
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
