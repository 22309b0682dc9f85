"""The span of first weights and data, in which l2 adversarial training takes place."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_shape
from karat.nets.two_layer import TwoLayer
from karat.reductions.span.factor import pivoted_cholesky

# A row nearer than this (squared, relative) to the span of the others may be dependent on them ...
_NEAR = 1e-11
# ... and is, if the distance itself, computed from the rows, is no larger than this.
_ROUNDING = 1e-12
_COLUMNS = 4096


@dataclass(frozen=True)
class Subspace:
    """Orthonormal coordinates of S = span(rows of W0, x_1, ..., x_n), of dimension r <= min(d, m + n).

    Weight gradients are combinations of attacked points, attacks are combinations of weights: nothing
    leaves S. Inner products in S, and those of any point in d dimensions with weights in S, survive the
    change of coordinates.

    Args:
        net: the net in r coordinates.
        x: (n, r) the data in the same coordinates.
        original: the net in d dimensions.
        basis: (r, d) rows spanning S; None when the coordinates are the original ones.
        triangle: (r, r) with basis = triangle Q^T, Q (d, r) orthonormal; None with the basis.
    """

    net: TwoLayer
    x: Tensor
    original: TwoLayer
    basis: Tensor | None
    triangle: Tensor | None

    @property
    def r(self) -> int:
        """Number of coordinates."""
        return self.net.d

    def points(self, x: Tensor) -> Tensor:
        """Coordinates Q^T x of further points (k, d), such as test points or mu: what weights in S see."""
        require_shape(x, "x", (None, self.original.d))
        if self.basis is None or self.triangle is None:
            return x
        products = torch.zeros(len(x), self.r, dtype=torch.float64)
        for chosen in _chunks(x.shape[1]):
            products.addmm_(x[:, chosen].double(), self.basis[:, chosen].double().T)
        small = torch.linalg.solve_triangular(self.triangle.T, products, upper=True, left=False)
        return small.to(self.x.dtype)

    def lift(self, net: TwoLayer) -> TwoLayer:
        """A net with weights in S, back in d dimensions: W0 + (W - W0) Q^T."""
        if self.basis is None or self.triangle is None:
            return net
        change = (net.W - self.net.W).double()
        inner = torch.linalg.solve_triangular(self.triangle, change, upper=False, left=False)
        W = self.original.W.clone()
        for chosen in _chunks(W.shape[1]):
            W[:, chosen] += (inner @ self.basis[:, chosen].double()).to(W.dtype)
        return net.replace(W=W)


def span_of(net: TwoLayer, x: Tensor) -> Subspace:
    """Coordinates of the span of a net's weights and its data.

    The Gram matrix of all rows, added up over blocks of columns in float64 and scaled to a unit diagonal,
    goes through a pivoted Cholesky decomposition, so that repeated neurons (symmetric init) cost nothing:
    r = m/2 + n. Where a row is neither clearly independent nor dependent up to rounding, which its distance
    from the others decides, a QR decomposition of the rows takes its place.

    Args:
        net: with W (m, d).
        x: (n, d). With d <= m + n nothing is gained and the coordinates stay as they are.
    """
    require_shape(x, "x", (None, net.d))
    rows = torch.cat([net.W, x])
    if net.d <= len(rows):
        return Subspace(net, x, net, None, None)
    gram = torch.zeros(len(rows), len(rows), dtype=torch.float64)
    for chosen in _chunks(net.d):
        block = rows[:, chosen].double()
        gram.addmm_(block, block.T)
    length = gram.diagonal().sqrt()
    unit = torch.where(length > 0, length, 1.0)
    small, order = pivoted_cholesky(gram / unit / unit.unsqueeze(1), _NEAR)
    small = small * length.unsqueeze(1)
    spanning, dependent = order[: small.shape[1]], order[small.shape[1] :]
    space = _subspace(net, small, rows[spanning], small[spanning])
    if _distance(rows[dependent], small[dependent], space) > _ROUNDING:
        return _orthogonal(net, rows)
    return space


def _distance(rows: Tensor, small: Tensor, space: Subspace) -> float:
    """Largest relative distance of a row (k, d) from the point its coordinates (k, r) stand for."""
    if not len(rows) or space.basis is None or space.triangle is None or not space.r:
        return 0.0
    inner = torch.linalg.solve_triangular(space.triangle, small, upper=False, left=False)
    square, length = (torch.zeros(len(rows), dtype=torch.float64) for _ in range(2))
    for chosen in _chunks(rows.shape[1]):
        block = rows[:, chosen].double()
        square += (block - inner @ space.basis[:, chosen].double()).square().sum(dim=1)
        length += block.square().sum(dim=1)
    return float((square / torch.where(length > 0, length, 1.0)).max().sqrt())


def _orthogonal(net: TwoLayer, rows: Tensor) -> Subspace:
    """Householder QR of all rows: slower, and exact for any rows; the basis is orthonormal itself."""
    Q = torch.linalg.qr(rows.double().T).Q
    return _subspace(net, rows.double() @ Q, Q.T.contiguous(), torch.eye(Q.shape[1], dtype=torch.float64))


def _subspace(net: TwoLayer, small: Tensor, basis: Tensor, triangle: Tensor) -> Subspace:
    small = small.to(net.W.dtype)
    return Subspace(
        net.replace(W=small[: net.m].contiguous()), small[net.m :].contiguous(), net, basis, triangle
    )


def _chunks(d: int) -> list[slice]:
    return [slice(low, min(low + _COLUMNS, d)) for low in range(0, d, _COLUMNS)]
