r"""Weight displacements near a start in coordinates: how they act on margins, and the ball they live in.

The linearised net at points :math:`x_j` with labels :math:`y_j` has the margins

.. math:: y_j f(W_0, x_j) + \langle F_j, D \rangle, \qquad F_j = y_j \nabla_W f(W_0, x_j).
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from karat.nets.deep import Deep
from karat.nets.two_layer import TwoLayer


class Displacements(Protocol):
    """Weight displacements D in coordinates: how they act on the margins, and the ball they live in."""

    def zero(self) -> Tensor:
        """No displacement."""
        ...

    def margins(self, D: Tensor) -> Tensor:
        r""":math:`\langle F_j, D \rangle` for every point j, (N,)."""
        ...

    def combine(self, weights: Tensor) -> Tensor:
        r""":math:`\sum_j \text{weights}_j F_j`."""
        ...

    def project(self, D: Tensor, radius: float) -> Tensor:
        """The displacement of the ball nearest to D."""
        ...

    def dual_norm(self, G: Tensor) -> Tensor:
        r"""The largest :math:`\langle G, D \rangle` over the unit ball."""
        ...

    def steepness(self) -> float:
        r"""An upper bound on the largest eigenvalue of the matrix :math:`\langle F_j, F_k \rangle`."""
        ...


@dataclass(frozen=True, eq=False)
class HilbertBall:
    r"""D in a ball of the Euclidean (Frobenius) norm, through the Gram matrix of the features alone.

    Args:
        root: (N, r) factor R with :math:`R R^\top` the Gram matrix :math:`\langle F_j, F_k \rangle`.
    """

    root: Tensor

    @classmethod
    def from_gram(cls, gram: Tensor) -> "HilbertBall":
        """Factor a positive semi-definite matrix; eigenvalues that rounding made negative count as 0."""
        values, vectors = torch.linalg.eigh(gram.double())
        return cls(vectors * values.clamp_min(0).sqrt())

    def zero(self) -> Tensor:
        """No displacement, (r,)."""
        return self.root.new_zeros(self.root.shape[1])

    def margins(self, D: Tensor) -> Tensor:
        """R D."""
        return self.root @ D

    def combine(self, weights: Tensor) -> Tensor:
        r""":math:`R^\top \text{weights}`."""
        return weights @ self.root

    def project(self, D: Tensor, radius: float) -> Tensor:
        """Shrink radially."""
        return D * min(1.0, radius / max(float(torch.linalg.vector_norm(D)), 1e-300))

    def dual_norm(self, G: Tensor) -> Tensor:
        r""":math:`\|G\|_2`."""
        return torch.linalg.vector_norm(G)

    def steepness(self) -> float:
        """Largest eigenvalue."""
        return float(torch.linalg.matrix_norm(self.root, 2)) ** 2


@dataclass(frozen=True, eq=False)
class RowBall:
    r"""D of shape (m, r) with every row in a Euclidean ball, for a two-layer net: the (2, inf) ball.

    Args:
        gates: (N, m) factors :math:`\text{scale} \cdot a_s \phi'(z_{js})` of the rows.
        points: (N, r) labelled points :math:`y_j x_j` in coordinates of their span, which holds every optimal
            row.
    """

    gates: Tensor
    points: Tensor

    def zero(self) -> Tensor:
        """No displacement."""
        return self.points.new_zeros(self.gates.shape[1], self.points.shape[1])

    def margins(self, D: Tensor) -> Tensor:
        r""":math:`\sum_s \text{gate}_{js} \langle d_s, y_j x_j \rangle`."""
        return (self.gates * (self.points @ D.T)).sum(dim=1)

    def combine(self, weights: Tensor) -> Tensor:
        r""":math:`\sum_j \text{weights}_j \, \text{gate}_{js} \, y_j x_j` for every row s."""
        return (weights.unsqueeze(1) * self.gates).T @ self.points

    def project(self, D: Tensor, radius: float) -> Tensor:
        """Shrink every row radially."""
        length = torch.linalg.vector_norm(D, dim=1, keepdim=True)
        return D * (radius / length.clamp_min(1e-300)).clamp_max(1)

    def dual_norm(self, G: Tensor) -> Tensor:
        r""":math:`\sum_s \|G_s\|_2`."""
        return torch.linalg.vector_norm(G, dim=1).sum()

    def steepness(self) -> float:
        """Largest eigenvalue of the Gram matrix of the features."""
        gram = (self.gates @ self.gates.T) * (self.points @ self.points.T)
        return float(torch.linalg.eigvalsh(gram.double())[-1])


def row_ball(net: TwoLayer, x: Tensor, y: Tensor) -> RowBall:
    """The (2, inf) displacements of a two-layer net seen at labelled points.

    Args:
        net: the start.
        x: (N, d) points.
        y: (N,) their labels.
    """
    gates = net.activation.derivative(net.preactivations(x)) * (net.scale * net.a)
    # Margins see a row only through its inner products with the points: their span is enough.
    basis = torch.linalg.qr((y.unsqueeze(1) * x).T.double()).Q.to(x.dtype)
    return RowBall(gates, y.unsqueeze(1) * (x @ basis))


def hilbert_ball(net: TwoLayer, x: Tensor, y: Tensor) -> HilbertBall:
    """The Frobenius displacements of a two-layer net seen at labelled points.

    Args:
        net: the start.
        x: (N, d) points.
        y: (N,) their labels.
    """
    gates = net.activation.derivative(net.preactivations(x)) * (net.scale * net.a)
    signed = y.unsqueeze(1) * x
    return HilbertBall.from_gram((gates @ gates.T) * (signed @ signed.T))


@dataclass(frozen=True, eq=False)
class BlockBall:
    """D in a product of Euclidean balls of one radius, one per layer, through the Gram matrix of every layer.

    Args:
        roots: one (N, r) factor per layer.

    Ref: convergence, Eq 2
    """

    roots: tuple[Tensor, ...]

    def _blocks(self, D: Tensor) -> tuple[Tensor, ...]:
        return D.split([root.shape[1] for root in self.roots])

    def zero(self) -> Tensor:
        """No displacement."""
        return self.roots[0].new_zeros(sum(root.shape[1] for root in self.roots))

    def margins(self, D: Tensor) -> Tensor:
        """Sum over the layers."""
        return torch.cat(self.roots, dim=1) @ D

    def combine(self, weights: Tensor) -> Tensor:
        """Every layer's combination, one after the other."""
        return weights @ torch.cat(self.roots, dim=1)

    def project(self, D: Tensor, radius: float) -> Tensor:
        """Shrink every layer radially."""
        return torch.cat(
            [block * min(1.0, radius / max(float(block.norm()), 1e-300)) for block in self._blocks(D)]
        )

    def dual_norm(self, G: Tensor) -> Tensor:
        """Sum of the layers' norms."""
        return torch.stack([block.norm() for block in self._blocks(G)]).sum()

    def steepness(self) -> float:
        """Largest eigenvalue of the summed Gram matrices."""
        return float(torch.linalg.matrix_norm(torch.cat(self.roots, dim=1), 2)) ** 2


def layer_ball(net: Deep, x: Tensor, y: Tensor) -> BlockBall:
    """The per-layer Frobenius displacements of a deep net seen at labelled points; only W1..WH move.

    Args:
        net: the start.
        x: (N, d) points.
        y: (N,) their labels.
    """
    preactivations, states = net.hidden(x)
    # Backpropagation: the gradient of layer h is the outer product of `at_z` and the state below it, so the
    # Gram matrix of these gradients is a product of two small ones.
    back = y.unsqueeze(1) * net.a
    roots = []
    for h in range(len(net.layers), 0, -1):
        at_z = back * net.activation.derivative(preactivations[h - 1])
        gram = (at_z @ at_z.T) * (states[h - 1] @ states[h - 1].T)
        roots.append(HilbertBall.from_gram(gram).root)
        back = at_z @ net.layers[h - 1]
    return BlockBall(tuple(reversed(roots)))


def kink_slack(net: TwoLayer, x: Tensor, y: Tensor, weight_radius: float) -> Tensor:
    r"""(N,) bounds on the margin less its linearisation over the (2, inf) ball of radius V of a ReLU net.

    A ReLU lies above its tangent by at most :math:`V \|x\| - |z|`, and only where that is positive; output
    weights of the label's sign turn it into a gain:

    .. math:: \text{scale} \sum_{s:\, y a_s > 0} |a_s| \, \big(V \|x\| - |z_s|\big)_+

    Args:
        net: the start, with the ReLU.
        x: (N, d) points.
        y: (N,) their labels.
        weight_radius: V.

    Reading: with it the convex problem bounds the loss of every NET of the ball from below, not only that of
        every linearised one. It is about :math:`0.2\, C_0^2 / \sqrt m` for :math:`V = C_0 / \sqrt m` and
        :math:`\|x\| = 1`.
    """
    reach = weight_radius * torch.linalg.vector_norm(x, dim=1, keepdim=True)
    over = (reach - net.preactivations(x).abs()).clamp_min(0)
    return net.scale * (over * _helpful(net, y)).sum(dim=1)


def kink_slack_frobenius(net: TwoLayer, x: Tensor, y: Tensor, weight_radius: float) -> Tensor:
    r"""The same over the Frobenius ball of radius R, for output weights of one size.

    With k rows of equal length :math:`R / \sqrt k` on the neurons nearest to their kinks the gain is
    :math:`\sqrt k\, R \|x\| - \sum |z_s|` over them; the largest over k is the maximum, of order
    :math:`R^{4/3} m^{-1/6}`.

    Args:
        net: the start, with the ReLU.
        x: (N, d) points.
        y: (N,) their labels.
        weight_radius: R.
    """
    helpful = _helpful(net, y)
    # The cheapest kinks first; neurons of the other sign never help.
    z = torch.where(helpful > 0, net.preactivations(x).abs(), torch.inf).sort(dim=1).values
    root = torch.arange(1, net.m + 1, dtype=x.dtype).sqrt()
    reach = weight_radius * torch.linalg.vector_norm(x, dim=1, keepdim=True)
    gain = (root * reach - z.cumsum(dim=1)).amax(dim=1).clamp_min(0)
    return net.scale * float(net.a.abs().max()) * gain


def kink_slack_unequal(net: TwoLayer, x: Tensor, y: Tensor, weight_radius: float) -> Tensor:
    r"""The same over the Frobenius ball, for output weights of any sizes.

    Rows that pass their kink gain :math:`R \|x\| \sqrt{\sum a_s^2} - \sum |a_s z_s|`, the best of them those
    of smallest :math:`q_s = |z_s| / |a_s|`. With a part of the last row the costs are a convex, piecewise
    linear function of the weight :math:`A = \sum a_s^2`, of slope :math:`q_s`, and the gain is largest on
    every piece where :math:`\sqrt A = R \|x\| / (2 q_s)`, or at its ends. Parts of a row make this a bound.

    Args:
        net: the start, with the ReLU.
        x: (N, d) points.
        y: (N,) their labels.
        weight_radius: R.
    """
    a = _helpful(net, y)
    z = net.preactivations(x).abs()
    reach = weight_radius * torch.linalg.vector_norm(x, dim=1, keepdim=True)
    steep, order = torch.where(a > 0, z / a, torch.inf).sort(dim=1)
    weight = a.gather(1, order).square()
    # Rows of the other sign never help; beyond them nothing changes.
    cost = torch.where(weight > 0, steep * weight, 0.0)
    end, paid = weight.cumsum(dim=1), cost.cumsum(dim=1)
    begin, before = end - weight, paid - cost
    root = (reach / (2 * steep.clamp_min(1e-300))).clamp(begin.clamp_min(0).sqrt(), end.sqrt())
    piece = torch.where(weight > 0, steep * (root.square() - begin).clamp_min(0), 0.0)
    return net.scale * (reach * root - before - piece).amax(dim=1).clamp_min(0)


def _helpful(net: TwoLayer, y: Tensor) -> Tensor:
    r""":math:`|a_s|` where the output weight has the sample's sign, 0 elsewhere, (N, m)."""
    return ((y.unsqueeze(1) * net.a) > 0).to(net.a.dtype) * net.a.abs()
