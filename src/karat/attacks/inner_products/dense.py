"""Projected gradient descent on inner products, for any activation: one matrix product per step."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from karat.attacks.inner_products.gram import GramNet

# A squared gradient norm below this many units of rounding of sum_s z_s^2 |w_s|^2 counts as zero.
ROUNDING = 4.0


@dataclass(frozen=True)
class Attack:
    r"""Projected gradient descent in the l2 ball from :math:`\delta = 0`, normalised gradient.

    .. math:: \delta \leftarrow \mathrm{Project}(\delta - y\, \text{length}\, \nabla f / \|\nabla f\|), \qquad
        \|\delta_i\| \le \text{radius}_i

    Args:
        radius: (n,) float64, of every sample's ball.
        length: (n,) float64, of every sample's steps.
        steps: of the attack.
        keep_best: end at the point of smallest margin met, the start included, instead of the last one.
        until_broken: leave a sample once its margin is <= 0.
    """

    radius: Tensor
    length: Tensor
    steps: int
    keep_best: bool = False
    until_broken: bool = False

    def rows(self, chosen: slice) -> "Attack":
        """The attack on some of the samples."""
        return replace(self, radius=self.radius[chosen], length=self.length[chosen])


class Perturbed:
    r"""Buffers that describe n attacked points :math:`x_i + W^T U_i`.

    H (n, m) products <w_s, x_i + delta_i>; U (n, m) coefficients of delta; Z (n, m) gradient weights w_s phi'
    and F (n, m) activations phi at the perturbed points; f (n,) outputs without c; Q, size: scratch.

    Args:
        n: number of points.
        m: number of neurons.
        dtype: of all buffers.
        H: a buffer to use for the products, where the caller has one.
    """

    def __init__(self, n: int, m: int, dtype: torch.dtype, H: Tensor | None = None) -> None:
        self.H = torch.empty(n, m, dtype=dtype) if H is None else H
        self.U, self.Z, self.F, self.Q = (torch.zeros(n, m, dtype=dtype) for _ in range(4))
        self.f = torch.empty(n, dtype=dtype)
        self.size = torch.empty(n, dtype=dtype)


def leave_alone(net: GramNet, P: Tensor, out: Perturbed) -> None:
    """The points themselves, as if attacked with radius zero.

    Args:
        net: the net up to rotation.
        P: (n, m) products of the points.
        out: written.
    """
    out.H.copy_(P)
    out.U.zero_()
    describe(net, out)


def describe(net: GramNet, out: Perturbed) -> None:
    """Gradient weights, activations and outputs at the products in out.H."""
    h = out.H + net.b
    torch.mul(net.activation.derivative(h), net.w, out=out.Z)
    out.F.copy_(net.activation(h))
    torch.mv(out.F, net.w, out=out.f)


def dense_attack(net: GramNet, P: Tensor, sign: Tensor, attack: Attack, out: Perturbed) -> None:
    r"""The attack for any activation: one n x m x m product per step.

    With :math:`\delta = W^T u`, :math:`v = W \delta` and :math:`q = W \nabla f = G z`:

    .. math:: \|\nabla f\|^2 = \langle z, q\rangle, \quad
        \langle\delta, \nabla f\rangle = \langle z, v\rangle, \quad e = -y\, \text{length} / \|\nabla f\|

    .. math:: u \leftarrow r (u + e z), \quad v \leftarrow r (v + e q), \quad
        r = \min(1, \text{radius} / \|\delta + e \nabla f\|)

    Args:
        net: the net up to rotation.
        P: (n, m) products of the points.
        sign: (n,) labels whose margin is attacked.
        attack: its radii and steps.
        out: written, f as NaN where the attack overflowed.
    """
    dtype = P.dtype
    U, V, Z, Q = out.U.zero_(), torch.zeros_like(P), out.Z, out.Q
    preactivation = P + net.b
    diagonal = net.G.diagonal()
    radius, length = attack.radius.to(dtype), attack.length.to(dtype)
    square_length = torch.zeros_like(radius)
    floor = None
    watch, best = attack.keep_best or attack.until_broken, (U.clone(), V.clone())
    smallest = sign * net.output(P)
    lost = torch.zeros_like(radius)  # NaN once a number is not finite
    for _ in range(attack.steps):
        torch.mul(net.activation.derivative(preactivation + V), net.w, out=Z)
        if floor is None:
            floor = ROUNDING * torch.finfo(dtype).eps * (Z.square() @ diagonal)
        torch.mm(Z, net.G, out=Q)
        square, along = torch.linalg.vecdot(Z, Q), torch.linalg.vecdot(Z, V)
        # A gradient that is rounding has no direction: such a sample stays.
        moves = (square > floor) & (smallest > 0) if attack.until_broken else square > floor
        e = torch.where(moves, -sign * length * square.clamp_min(0).rsqrt(), 0.0)
        moved = (square_length + 2 * e * along + e.square() * square).clamp_min(0)
        lost += (moved + square + floor) * 0
        outside = moved > radius.square()
        r = torch.where(outside, radius * moved.rsqrt(), 1.0)
        square_length = torch.where(outside, radius.square(), moved)
        r, e = r.unsqueeze(1), e.unsqueeze(1)
        V.addcmul_(Q, e).mul_(r)
        U.addcmul_(Z, e).mul_(r)
        if watch:
            margin = sign * net.output(P + V)
            lost += margin * 0
            wins = (margin < smallest).unsqueeze(1)
            best = torch.where(wins, U, best[0]), torch.where(wins, V, best[1])
            smallest = torch.minimum(margin, smallest)
    if attack.keep_best:
        U.copy_(best[0])
        V = best[1]
    torch.add(P, V, out=out.H)
    describe(net, out)
    out.f += lost
