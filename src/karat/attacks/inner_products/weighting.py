"""Gradient weights of the neurons before an attack, in one pass."""

from karat.core.compiled import Array, Number, compiled


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
