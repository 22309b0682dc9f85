r"""Pairs of nearly touching balls, the sets behind Theorem 6.1, and nets that are built for them.

Around every centre :math:`c_i` on a line lie the d points whose labels :math:`y_i \in \{\pm 1\}^d` the proof
separates by a hyperplane of normal :math:`u_i = y_i / \sqrt d`, a ball of radius tau on either side of it.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.nets import TwoLayer


@dataclass(frozen=True, eq=False)
class Pairs:
    r"""Balls in pairs, one on either side of a hyperplane through their common centre.

    Args:
        centres: (k, d) on the first axis, equally far apart.
        normals: (k, d) unit vectors towards the ball of label +1, with first entries
            :math:`\pm 1/\sqrt d`.
        tau: radius of the balls.
        gap: how far the balls are apart, as a share of 2 tau.
    """

    centres: Tensor
    normals: Tensor
    tau: float
    gap: float

    @property
    def x(self) -> Tensor:
        """(2 k, d) middles of the balls, those of label +1 first."""
        away = (1 + self.gap) * self.tau * self.normals
        return torch.cat([self.centres + away, self.centres - away])

    @property
    def y(self) -> Tensor:
        """(2 k,) labels."""
        ones = self.centres.new_ones(len(self.centres))
        return torch.cat([ones, -ones])


def draw_pairs(k: int, d: int, tau: float, gap: float, generator: torch.Generator) -> Pairs:
    r"""Draw the labels of k clusters of d points, which turn the pairs.

    Args:
        k: pairs.
        d: dimension.
        tau: radius of the balls.
        gap: how far the balls of a pair are apart, as a share of 2 tau.
        generator: of the labels.

    Reading: centres are :math:`3.1 \sqrt d (2 + \text{gap}) \tau` apart, so that a net has room for a kink
        between any two; a robust interpolation class must cope with all points more than 2 tau apart.

    Ref: convergence, App D
    """
    labels = torch.randint(2, (k, d), generator=generator).double() * 2 - 1
    centres = torch.zeros(k, d, dtype=torch.float64)
    centres[:, 0] = 3.1 * math.sqrt(d) * (2 + gap) * tau * torch.arange(k, dtype=torch.float64)
    return Pairs(centres, labels / math.sqrt(d), tau, gap)


def robust_net(pairs: Pairs, kept: float = 1.0) -> TwoLayer:
    r"""Return a net of width 2 k - 1 that equals :math:`\langle u_i, x - c_i \rangle` on every pair of balls.

    From one centre to the next its gradient turns at two kinks, a third and two thirds of the way, and lies
    along the first axis between them.

    Args:
        pairs: of balls.
        kept: share of the kinks that stay, those on the left.

    Ref: convergence, Thm 6.1
    """
    u, first = pairs.normals, pairs.normals[:, 0]
    step = pairs.centres[1] - pairs.centres[0] if len(u) > 1 else pairs.centres[0]
    # Along the first axis the net must come back from where u_i leads to where u_{i+1} sets out.
    between = torch.zeros_like(u[1:])
    between[:, 0] = -(first[:-1] + first[1:])
    jumps = torch.cat([between - u[:-1], u[1:] - between])
    at = torch.cat([pairs.centres[:-1] + step / 3, pairs.centres[:-1] + 2 * step / 3])
    # A kink bends the net to its right, so that its normal must lean to the right.
    sign = torch.where(jumps[:, 0] > 0, 1.0, -1.0).to(u.dtype)
    normals = jumps * sign.unsqueeze(1)
    order = at[:, 0].argsort()[: round(kept * len(at))]
    # One neuron is positive on all balls: the first piece, made linear by a bias that the output takes back.
    reach = 2 * float(pairs.x.norm(dim=1).max()) + 2 * pairs.tau
    return TwoLayer(
        torch.cat([u[:1], normals[order]]),
        torch.cat([u.new_ones(1), sign[order]]),
        torch.cat([u.new_full((1,), reach), -(normals * at).sum(dim=1)[order]]),
        u.new_tensor(-reach),
    )


def fewer(net: TwoLayer, kept: float) -> TwoLayer:
    """Return a net with biases without its last neurons.

    Args:
        net: any.
        kept: share of the neurons that stay, one at least.
    """
    assert net.b is not None
    few = slice(max(1, round(kept * net.m)))
    return net.replace(W=net.W[few], a=net.a[few], b=net.b[few])


def certified_margins(net: TwoLayer, x: Tensor, y: Tensor, tau: float) -> Tensor:
    r"""Return lower bounds on the margins of a two-layer ReLU net over balls, exact where no kink crosses.

    .. math:: y f(x) - \tau \, \Big\| \sum_{s \text{ active}} a_s w_s \Big\|

    Args:
        net: with the ReLU.
        x: (n, d) middles.
        y: (n,) labels.
        tau: radius.

    Returns:
        (n,), minus infinity where a kink crosses the ball.
    """
    z = net.preactivations(x)
    crossed = (z.abs() <= tau * torch.linalg.vector_norm(net.W, dim=1)).any(dim=1)
    steepness = torch.linalg.vector_norm(((z > 0) * (net.scale * net.a)) @ net.W, dim=1)
    return torch.where(crossed, -torch.inf, y * net(x) - tau * steepness)


def line_net(x: Tensor, y: Tensor, direction: Tensor) -> TwoLayer:
    """Return the net of n - 1 kinks along one direction that takes the value y at every point.

    Args:
        x: (n, d) points, different along the direction.
        y: (n,) labels.
        direction: (d,).

    Ref: convergence, Eq 7
    """
    t = x @ direction
    order = t.argsort()
    t, y = t[order], y[order]
    slopes = (y[1:] - y[:-1]) / (t[1:] - t[:-1])
    bends = torch.cat([slopes[:1], slopes[1:] - slopes[:-1]])
    return TwoLayer(direction.expand(len(bends), -1), bends, -t[:-1], y[0])


def robust_on_line(x: Tensor, y: Tensor, direction: Tensor, tau: float) -> Tensor:
    """Return whether the line net keeps its sign on balls: no change of sign within tau along its direction.

    Args:
        x: (n, d) points.
        y: (n,) labels.
        direction: (d,) unit vector.
        tau: radius of the balls.

    Returns:
        (n,) booleans.
    """
    t = x @ direction
    order = t.argsort()
    sorted_t, sorted_y = t[order], y[order]
    changes = (sorted_t[1:] + sorted_t[:-1])[sorted_y[1:] != sorted_y[:-1]] / 2
    if len(changes) == 0:
        return torch.ones_like(y, dtype=torch.bool)
    return (t.unsqueeze(1) - changes).abs().amin(dim=1) > tau
