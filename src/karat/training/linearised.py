"""Robust training of the linearised net: a convex problem, solved with a certified lower bound.

    min over |D| <= radius of (1/n) sum_i max_k loss(margin_ik + slack_ik + <F_ik, D>)

F_ik is y_i times the weight gradient of the start at the k-th allowed point of sample i.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_number, require_shape
from karat.core.losses import Logistic, Loss
from karat.nets.two_layer import TwoLayer


class Displacements(Protocol):
    """Weight displacements D in coordinates: how they act on the margins, and the ball they live in."""

    def zero(self) -> Tensor:
        """No displacement."""
        ...

    def margins(self, D: Tensor) -> Tensor:
        """<F_j, D> for every point j, (N,)."""
        ...

    def combine(self, weights: Tensor) -> Tensor:
        """sum_j weights_j F_j."""
        ...

    def project(self, D: Tensor, radius: float) -> Tensor:
        """The displacement of the ball nearest to D."""
        ...

    def dual_norm(self, G: Tensor) -> Tensor:
        """max over the unit ball of <G, D>."""
        ...

    def steepness(self) -> float:
        """An upper bound on the largest eigenvalue of the matrix <F_j, F_k>."""
        ...


@dataclass(frozen=True, eq=False)
class HilbertBall:
    """D in a ball of the Euclidean (Frobenius) norm, through the Gram matrix of the features alone.

    Args:
        root: (N, r) with root root^T the Gram matrix <F_j, F_k>.
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
        """root D."""
        return self.root @ D

    def combine(self, weights: Tensor) -> Tensor:
        """root' weights."""
        return weights @ self.root

    def project(self, D: Tensor, radius: float) -> Tensor:
        """Shrink radially."""
        return D * min(1.0, radius / max(float(torch.linalg.vector_norm(D)), 1e-300))

    def dual_norm(self, G: Tensor) -> Tensor:
        """|G|_2."""
        return torch.linalg.vector_norm(G)

    def steepness(self) -> float:
        """Largest eigenvalue."""
        return float(torch.linalg.matrix_norm(self.root, 2)) ** 2


@dataclass(frozen=True, eq=False)
class RowBall:
    """D = (m, r) with every row in a Euclidean ball, for a two-layer net: the (2, inf) ball.

    Args:
        gates: (N, m) factors scale a_s phi'(z_js) of the rows; points: (N, r) labelled points y_j x_j in
            coordinates of their span, which holds every optimal row.
    """

    gates: Tensor
    points: Tensor

    def zero(self) -> Tensor:
        """No displacement."""
        return self.points.new_zeros(self.gates.shape[1], self.points.shape[1])

    def margins(self, D: Tensor) -> Tensor:
        """sum_s gate_js <d_s, y_j x_j>."""
        return (self.gates * (self.points @ D.T)).sum(dim=1)

    def combine(self, weights: Tensor) -> Tensor:
        """sum_j weights_j gate_js y_j x_j, row by row."""
        return (weights.unsqueeze(1) * self.gates).T @ self.points

    def project(self, D: Tensor, radius: float) -> Tensor:
        """Shrink every row radially."""
        length = torch.linalg.vector_norm(D, dim=1, keepdim=True)
        return D * (radius / length.clamp_min(1e-300)).clamp_max(1)

    def dual_norm(self, G: Tensor) -> Tensor:
        """sum_s |G_s|_2."""
        return torch.linalg.vector_norm(G, dim=1).sum()

    def steepness(self) -> float:
        """Largest eigenvalue of the Gram matrix of the features."""
        gram = (self.gates @ self.gates.T) * (self.points @ self.points.T)
        return float(torch.linalg.eigvalsh(gram.double())[-1])


def row_ball(net: TwoLayer, x: Tensor, y: Tensor) -> RowBall:
    """The (2, inf) displacements of a two-layer net seen at labelled points x (N, d), y (N,)."""
    gates = net.activation.derivative(net.preactivations(x)) * (net.scale * net.a)
    basis = torch.linalg.qr((y.unsqueeze(1) * x).T.double()).Q.to(x.dtype)
    return RowBall(gates, y.unsqueeze(1) * (x @ basis))


def hilbert_ball(net: TwoLayer, x: Tensor, y: Tensor) -> HilbertBall:
    """The Frobenius displacements of a two-layer net seen at labelled points."""
    gates = net.activation.derivative(net.preactivations(x)) * (net.scale * net.a)
    signed = y.unsqueeze(1) * x
    return HilbertBall.from_gram((gates @ gates.T) * (signed @ signed.T))


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best displacement found, its loss, and a certified lower bound on the loss of every other one."""

    D: Tensor
    loss: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class LinearisedProblem:
    """The convex problem above: N points, the sample each belongs to, and margins without displacement.

    Args:
        space: features and ball; margin: (N,) margins at D = 0, slack included; sample: (N,) indices 0..n-1;
        loss: convex and decreasing in the margin.
    """

    space: Displacements
    margin: Tensor
    sample: Tensor
    loss: Loss = Logistic()

    def __post_init__(self) -> None:
        require_shape(self.sample, "sample", (len(self.margin),))

    def value(self, margins: Tensor) -> Tensor:
        """(1/n) sum_i max_k loss."""
        losses = self.loss(margins)
        n = int(self.sample.max()) + 1
        worst = losses.new_full((n,), -torch.inf).scatter_reduce(0, self.sample, losses, "amax")
        return worst.mean()

    def shares(self, margins: Tensor, sharpness: float) -> Tensor:
        """Weights p_ik of the smoothed maximum: a softmax of the losses over the points of each sample."""
        n = int(self.sample.max()) + 1
        losses = self.loss(margins) * sharpness
        top = losses.new_full((n,), -torch.inf).scatter_reduce(0, self.sample, losses, "amax")
        p = torch.exp(losses - top[self.sample])
        return p / p.new_zeros(n).scatter_add(0, self.sample, p)[self.sample]

    def lower_bound(self, margins: Tensor, shares: Tensor, radius: float) -> float:
        """A number below the loss of every displacement in the ball, whatever the shares.

        By convexity loss(u) >= loss(u_j) + loss'(u_j) (u - u_j) at the given margins u_j; averaging with the
        shares leaves a linear function of D, whose minimum over the ball is explicit:

            sum_j p_j/n (loss(u_j) + loss'(u_j) (margin_j - u_j)) - radius |sum_j p_j/n loss'(u_j) F_j|_dual
        """
        n = int(self.sample.max()) + 1
        slope = self.loss.derivative(margins)
        constant = (shares * (self.loss(margins) + slope * (self.margin - margins))).sum() / n
        return float(constant - radius * self.space.dual_norm(self.space.combine(shares * slope / n)))

    def solve(self, radius: float, *, steps: int = 300, sharpness: float = 60.0) -> Optimum:
        """Accelerated projected gradient on the smoothed problem, restarted whenever the loss grows.

        Reading: smoothing only chooses the path; loss and lower bound are those of the unsmoothed problem.
        """
        require_number(radius, "radius", "LinearisedProblem.solve", minimum=0)
        require_integer(steps, "steps", "LinearisedProblem.solve", minimum=1)
        n = int(self.sample.max()) + 1
        # Curvature of the smoothed loss in the margins of one sample: at most (1 + sharpness) / 4.
        rate = 4 * n / (max(self.space.steepness(), 1e-300) * (1 + sharpness))
        D = look = self.space.zero()
        found, best, bound, last, momentum = D, torch.inf, -torch.inf, torch.inf, 1.0
        for step in range(steps):
            margins = self.margin + self.space.margins(look)
            weights = self.shares(margins, sharpness) * self.loss.derivative(margins) / n
            D, before = self.space.project(look - rate * self.space.combine(weights), radius), D
            following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            look, momentum = D + (momentum - 1) / following * (D - before), following
            if step % 10 == 9 or step == steps - 1:
                margins = self.margin + self.space.margins(D)
                value = float(self.value(margins))
                if value < best:
                    best, found = value, D
                bound = max(bound, self.lower_bound(margins, self.shares(margins, sharpness), radius))
                if value > last:
                    momentum, look = 1.0, D
                last = value
        return Optimum(found, best, bound)


def kink_slack(net: TwoLayer, x: Tensor, y: Tensor, weight_radius: float) -> Tensor:
    """(N,) bounds on y f(W, x) less its linearisation over the (2, inf) ball of a ReLU net.

    A ReLU lies above its tangent by at most V|x| - |z|, and only where V|x| > |z|; output weights of the
    label's sign turn that into a gain: scale sum over y a_s > 0 of |a_s| (V |x| - |z_s|)_+.

    Reading: with it the convex problem bounds the loss of every NET of the ball from below, not only that of
        every linearised one. It is about 0.2 C0^2 / sqrt m for V = C0 / sqrt m and |x| = 1.
    """
    reach = weight_radius * torch.linalg.vector_norm(x, dim=1, keepdim=True)
    over = (reach - net.preactivations(x).abs()).clamp_min(0)
    return net.scale * (over * _helpful(net, y)).sum(dim=1)


def kink_slack_frobenius(net: TwoLayer, x: Tensor, y: Tensor, weight_radius: float) -> Tensor:
    """The same over the Frobenius ball, for output weights of one size.

    With k rows of equal length R/sqrt k on the neurons nearest to their kinks the gain is
    sqrt k R |x| - sum of their |z|; the largest over k is the maximum, of order R^(4/3) m^(-1/6).
    """
    helpful = _helpful(net, y)
    z = torch.where(helpful > 0, net.preactivations(x).abs(), torch.inf).sort(dim=1).values
    root = torch.arange(1, net.m + 1, dtype=x.dtype).sqrt()
    reach = weight_radius * torch.linalg.vector_norm(x, dim=1, keepdim=True)
    gain = (root * reach - z.cumsum(dim=1)).amax(dim=1).clamp_min(0)
    return net.scale * float(net.a.abs().max()) * gain


def _helpful(net: TwoLayer, y: Tensor) -> Tensor:
    """|a_s| where the output weight has the sample's sign, 0 elsewhere, (N, m)."""
    return ((y.unsqueeze(1) * net.a) > 0).to(net.a.dtype) * net.a.abs()
