"""The residuals' weights of the neurons at the attacked points, in one pass."""

from karat.core.compiled import Array, compiled


@compiled()
def weigh(Z: Array, F: Array, residual: Array, D: Array, a: Array, b: Array) -> None:
    r""":math:`D = \mathrm{diag}(r) Z`, :math:`a = F^T r` and :math:`b = Z^T r`, r the residuals, in one pass.

    Args:
        Z: (n, m) gradient weights.
        F: (n, m) activations.
        residual: (n,) of their type.
        D: (n, m), written.
        a: (m,), written.
        b: (m,), written.
    """
    n, m = Z.shape
    # Z and F are read once for all three results: at this size memory is slower than arithmetic.
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
