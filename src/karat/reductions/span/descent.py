"""One gradient step of the hidden weights, carried out on inner products."""

import torch
from torch import Tensor

from karat.attacks.inner_products.dense import Perturbed
from karat.core.compiled import Array, compiled, scalar_like

# Matrix products run up to a third faster when rows have a multiple of this many numbers.
_LANES = 16
# Four is a tile the compiler turns into register shuffles; larger tiles fall back to scalar moves.
_TILE = 4


class Weights:
    """W itself, where it is wanted: kept beside the inner products, in the coordinates it came in.

    Args:
        W: (m, r) first weights, padded with zero columns, which changes nothing.
        x: (n, r) samples, padded the same way.
    """

    def __init__(self, W: Tensor, x: Tensor) -> None:
        self.r = W.shape[1]
        padding = (0, -self.r % _LANES)
        self.padded = torch.nn.functional.pad(W, padding).clone()
        self.x = torch.nn.functional.pad(x, padding)
        self.moved = torch.empty_like(self.x)

    @property
    def W(self) -> Tensor:
        """(m, r) present weights, a view."""
        return self.padded[:, : self.r]

    def attacked(self, U: Tensor) -> Tensor:
        """x + U W, the attacked samples (n, r), padded."""
        return torch.addmm(self.x, U, self.padded, out=self.moved)


class Products:
    r"""The inner products that training needs, changed in place (n samples, k tracked points, m neurons).

    .. math:: P = X W^T, \qquad G = W W^T, \qquad K = X X^T

    Tracked points take no part in the loss; their products P just follow the weights.

    Args:
        W: (m, r) first weights.
        x: (n, r) samples.
        track: (k, r) further points.
        keep: whether W itself is kept up to date.

    Attributes:
        stack: (n + k + n, m): P of the samples, P of the tracked points, products H of the attacked samples.
        D: (n, m) residual_i times gradient weights, filled by the caller.
        cross: (n + k + n, n) scratch.
        square: (m, m) scratch.
    """

    def __init__(self, W: Tensor, x: Tensor, track: Tensor, *, keep: bool) -> None:
        n, k, m = len(x), len(track), len(W)
        points = torch.cat([x, track])
        self.n, self.k = n, k
        self.stack = torch.zeros(n + k + n, m, dtype=W.dtype)
        torch.mm(points, W.T, out=self.stack[: n + k])
        self.G = W @ W.T
        self.K = points @ x.T
        self.weights = Weights(W, x) if keep else None
        self.D = torch.empty(n, m, dtype=W.dtype)
        self.cross = torch.empty(n + k + n, n, dtype=W.dtype)
        self.square = torch.empty(m, m, dtype=W.dtype)

    @property
    def P(self) -> Tensor:
        """(n, m) products of the samples."""
        return self.stack[: self.n]

    @property
    def tracked(self) -> Tensor:
        """(k, m) products of the tracked points."""
        return self.stack[self.n : self.n + self.k]

    @property
    def H(self) -> Tensor:
        """(n, m) products of the attacked samples."""
        return self.stack[self.n + self.k :]

    def drift(self) -> float:
        """Largest relative error, in Frobenius norm, of the carried G and P against those of the kept W."""
        if self.weights is None:
            raise ValueError("the drift is known only when the weights are kept.")
        W, x = self.weights.padded, self.weights.x
        pairs = ((self.G, W @ W.T), (self.P, x @ W.T))
        return max(float((have - true).norm() / true.norm().clamp_min(1e-30)) for have, true in pairs)

    def refresh(self) -> None:
        """Recompute G and P from the kept W; products of tracked points are left as they are."""
        if self.weights is None:
            raise ValueError("products can be refreshed only when the weights are kept.")
        torch.mm(self.weights.padded, self.weights.padded.T, out=self.G)
        torch.mm(self.weights.x, self.weights.padded.T, out=self.P)


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


def cross_products(products: Products, perturbed: Perturbed) -> None:
    r"""Products of all points with the attacked ones, :math:`\tilde X = X + U W`, into `products.cross`.

    .. math:: X \tilde X^T = K + P U^T \text{ (tracked points included)}, \qquad
        S = \tilde X \tilde X^T = K + (P U^T)^T + H U^T
    """
    torch.mm(products.stack, perturbed.U.T, out=products.cross)
    _complete(products.cross.numpy(), products.K.numpy())


@compiled()
def _complete(cross: Array, K: Array) -> None:
    """From [P U^T; H U^T] to [K + P U^T; K + (P U^T)^T + H U^T], the first n rows of K being symmetric."""
    rows, n = K.shape
    # S first: it reads P U^T before K is added to it.
    for i in range(n):
        for j in range(n):
            cross[rows + i, j] += K[i, j] + cross[j, i]
    for i in range(rows):
        for j in range(n):
            cross[i, j] += K[i, j]


def move_weights(products: Products, perturbed: Perturbed, lr: float, decay: float) -> None:
    r"""The step :math:`W \leftarrow s W - \eta D^T \tilde X` on products, :math:`s = 1 - \eta\,\text{decay}`.

    .. math:: P \leftarrow s P - \eta (X \tilde X^T) D, \qquad N = s H - \tfrac{\eta}{2} S D, \qquad
        G \leftarrow s^2 G - \eta (D^T N + N^T D)

    The first two share one matrix product; the third is symmetric and needs half of a rank-2n update.

    Args:
        products: with D = diag(residual) Z filled in; H becomes N.
        perturbed: the attacked samples.
        lr: step size, eta above.
        decay: factor of W in the gradient of the penalty.
    """
    n, D, shrink = products.n, products.D, 1 - lr * decay
    if products.weights is not None:
        moved = products.weights.attacked(perturbed.U)
        products.weights.padded.addmm_(D.T, moved, beta=shrink, alpha=-lr)
    cross_products(products, perturbed)
    products.cross[-n:] *= 0.5  # N takes half a step, so that D^T N and its transpose add up to a whole one
    products.stack.addmm_(products.cross, D, beta=shrink, alpha=-lr)
    # beta = 0 ignores what the scratch matrix holds, NaN included
    torch.addmm(products.square, D.T, products.H, beta=0, alpha=-lr, out=products.square)
    add_symmetric(products.G, products.square, shrink * shrink)


def add_symmetric(G: Tensor, T: Tensor, shrink: float = 1.0) -> None:
    """G <- shrink G + T + T^T for symmetric G; T is used as scratch space.

    The three passes cost half a millisecond at m = 1000, against two for adding a transposed tensor.

    Args:
        G: (m, m) symmetric, changed in place.
        T: (m, m), spoilt.
        shrink: factor of G.

    >>> G = torch.eye(2)
    >>> add_symmetric(G, torch.tensor([[0.0, 1.0], [2.0, 0.0]]))
    >>> G
    tensor([[1., 3.],
            [3., 1.]])
    """
    _fold(T.numpy())
    _add_lower(G.numpy(), T.numpy(), scalar_like(shrink, G))
    _mirror(G.numpy())


@compiled()
def _fold(T: Array) -> None:
    """Add the upper triangle to the lower one: T_ij += T_ji for j < i, and double the diagonal."""
    m = T.shape[0]
    full = m - m % _TILE
    # Whole tiles, so that reading columns does not fetch a cache line per number; I and J are their corners.
    for I in range(0, full, _TILE):  # noqa: E741
        for J in range(0, I, _TILE):
            for i in range(_TILE):
                for j in range(_TILE):
                    T[I + i, J + j] += T[J + j, I + i]
        for i in range(I, I + _TILE):  # the tile on the diagonal, by halves
            for j in range(I, i + 1):
                T[i, j] += T[j, i]
    for i in range(full, m):  # rows that fill no tile
        for j in range(i + 1):
            T[i, j] += T[j, i]


@compiled()
def _add_lower(G: Array, T: Array, shrink: float) -> None:
    """The lower triangle of G <- shrink G + T."""
    for i in range(G.shape[0]):
        for j in range(i + 1):
            G[i, j] = shrink * G[i, j] + T[i, j]


@compiled()
def _mirror(G: Array) -> None:
    """Copy the lower triangle to the upper one."""
    m = G.shape[0]
    full = m - m % _TILE
    # As in `_fold`: whole tiles, the tiles on the diagonal, the rows that fill none.
    for I in range(0, full, _TILE):  # noqa: E741
        for J in range(0, I, _TILE):
            for i in range(_TILE):
                for j in range(_TILE):
                    G[J + j, I + i] = G[I + i, J + j]
        for i in range(I, I + _TILE):
            for j in range(I, i):
                G[j, i] = G[i, j]
    for i in range(full, m):
        for j in range(i):
            G[j, i] = G[i, j]
