"""One gradient step of the hidden weights, carried out on inner products."""

import torch
from torch import Tensor

from karat.attacks.inner_products.dense import Perturbed
from karat.core.compiled import Array, compiled
from karat.reductions.span.symmetric_update import add_symmetric

# Matrix products run up to a third faster when rows have a multiple of this many numbers.
_LANES = 16


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
