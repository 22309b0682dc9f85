r"""A Gaussian start in the plane of one input x and its own gradient g there: two numbers for every neuron.

Symbols: :math:`f(x) = m^{-1/2} \sum_s a_s \, \mathrm{relu}(\langle w_s, x \rangle)`, |x| = 1, P projects on
    the complement of x, and g is the unit vector along :math:`P \nabla f(x)`.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_number, require_shape
from karat.core.compiled import Array, compiled
from karat.nets import TwoLayer
from karat.reductions.span import chi


@dataclass(frozen=True, eq=False)
class PlaneStart:
    r"""What the plane of x and g sees of a start, neurons with a positive sign first.

    Args:
        positive: how many signs :math:`a_s` are 1; those of all later neurons are -1.
        z: (m,) :math:`\langle w_s, x \rangle`.
        h: (m,) :math:`\langle w_s, g \rangle`.
        gradient: :math:`\|P \nabla f(x)\|`.
        d: input dimension.
    """

    positive: int
    z: Tensor
    h: Tensor
    gradient: float
    d: int

    @property
    def a(self) -> Tensor:
        """(m,) signs."""
        signs = torch.ones_like(self.z)
        signs[self.positive :] = -1
        return signs

    @property
    def m(self) -> int:
        """Width."""
        return len(self.z)

    @cached_property
    def value(self) -> float:
        """The output f(x) of the start."""
        parts = (self.z[: self.positive], self.z[self.positive :])
        up, down = (float(part.clamp_min(0).sum(dtype=torch.float64)) for part in parts)
        return (up - down) / math.sqrt(self.m)


def draw_plane_start(
    d: int,
    m: int,
    *,
    row_scale: float = 1.0,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
) -> PlaneStart:
    r"""Draw what the plane sees of rows :math:`N(0, I_d)`, with the law it has in d dimensions.

    The :math:`z_s` are independent N(0, 1) and independent of the rows across x. Of these the n active ones
    add up to the gradient,

    .. math:: P \nabla f(x) = m^{-1/2} \sum_{\text{active}} a_s P w_s, \qquad
        \|P \nabla f(x)\| = \sqrt{n/m} \; q, \quad q \sim \chi_{d-1},

    and its direction g is uniform and independent of q. Along g their signed rows :math:`a_s h_s` are n
    Gaussian numbers of which the sum :math:`\sqrt n \, q` is known: :math:`q/\sqrt n` plus Gaussian numbers
    less their mean. The rows of all other neurons do not know g: their :math:`h_s` are N(0, 1).

    Args:
        d: input dimension, free of charge.
        m: width; cost and memory are O(m).
        row_scale: factor of all rows.
        generator: draws.
        dtype: of the numbers per neuron.

    Reading: sorting the fair signs only names the neurons anew.

    >>> start = draw_plane_start(10**9, 1000, generator=torch.Generator().manual_seed(0))
    >>> bool(0.9 < start.gradient / (10**9 / 2) ** 0.5 < 1.1)
    True
    """
    require_integer(d, "d", "draw_plane_start", minimum=2)
    require_integer(m, "m", "draw_plane_start", minimum=1)
    require_number(row_scale, "row_scale", "draw_plane_start", minimum=0)
    positive = int(torch.binomial(torch.tensor(float(m)), torch.tensor(0.5), generator=generator))
    q = float(chi(torch.tensor([d - 1.0]), generator=generator))
    z = torch.randn(m, generator=generator, dtype=dtype)
    h = torch.randn(m, generator=generator, dtype=dtype)
    active = _bind(positive, z.numpy(), h.numpy(), q)
    if row_scale != 1:
        z, h = row_scale * z, row_scale * h
    return PlaneStart(positive, z, h, row_scale * math.sqrt(active / m) * q, d)


@compiled(reorder=True)
def _bind(positive: int, z: Array, h: Array, q: float) -> int:
    """Give the active of independent numbers h their known sum, in place; return how many are active."""
    active, total = 0, 0.0
    for s in range(len(z)):
        if z[s] > 0:
            active += 1
            total += h[s] if s < positive else -h[s]
    if active > 0:
        shift = (q - total / math.sqrt(active)) / math.sqrt(active)
        for s in range(len(z)):
            if z[s] > 0:
                h[s] += shift if s < positive else -shift
    return active


def plane_start_of(net: TwoLayer, x: Tensor) -> tuple[PlaneStart, Tensor]:
    r"""What the plane sees of one given net, and the axis g.

    Args:
        net: without biases, output weights :math:`\pm 1`, scaled by 1/sqrt m.
        x: (d,) one input of length 1.

    Returns:
        the coordinates, and g (d,); zero where the gradient is along x.
    """
    require_shape(x, "x", (net.W.shape[1],))
    across = net.input_gradient(x.unsqueeze(0))[0]
    across = across - (across @ x) * x
    gradient = float(torch.linalg.vector_norm(across))
    g = across / gradient if gradient > 0 else across
    W = net.W[torch.argsort(-net.a, stable=True)]
    return PlaneStart(int((net.a > 0).sum()), W @ x, W @ g, gradient, len(x)), g


def rest_of_rows(start: PlaneStart, x: Tensor, g: Tensor, *, generator: torch.Generator) -> Tensor:
    r"""Draw the rows across the plane, given what the plane sees: (m, d) in float64.

    They are Gaussian across x and g; those of active neurons, each times its sign, add up to zero.

    Args:
        start: drawn by law, with rows of N(0, I).
        x: (d,) the input.
        g: (d,) the direction of its gradient.
        generator: draws.
    """
    rows = torch.randn(start.m, start.d, generator=generator, dtype=torch.float64)
    for axis in (x, g):
        rows -= torch.outer(rows @ axis, axis)
    signs = start.a * (start.z > 0)
    return rows - torch.outer(signs, signs @ rows) / max(1.0, float(signs.square().sum()))
