r"""Wide starts drawn in coordinates: a hidden layer of a million neurons without any m x m matrix."""

import math
from collections.abc import Callable

import torch

from karat.core.activations import Activation, Relu
from karat.core.checks import require_integer
from karat.nets.two_layer import TwoLayer
from karat.reductions.span.gaussian import chi
from karat.reductions.wide.diagram import State, start_at
from karat.training.surrogate import Pick, Sets, SurrogateDescent


def draw_start(
    m: int,
    sets: Sets,
    descent: SurrogateDescent,
    *,
    weight_radius: float | None,
    pick: Callable[[Sets], Pick],
    generator: torch.Generator,
    activation: Activation | None = None,
) -> State:
    r"""A start as `deep_gaussian(d, m, 1)` draws it, reduced: equal in law to reducing that net.

    With :math:`A = Q S` the factor S of a Gaussian matrix has Bartlett's law, :math:`\sqrt{2/m}` times
    :math:`\chi_m, \chi_{m-1}, \dots` on the diagonal and N(0, 1) above it. :math:`W_1` is Gaussian and
    independent of Q, so that :math:`V = W_1 Q` has entries N(0, 2/m).

    Args:
        m: width, at least d.
        sets: the allowed points in d dimensions.
        descent: its step size and loss count.
        weight_radius: of the Frobenius ball around the start, None for no projection.
        pick: allowed points -> perturbation function.
        generator: of the weights.
        activation: phi, the ReLU when left out.

    Ref: convergence, Eq 1
    """
    d, dtype = sets.x.shape[-1], sets.x.dtype
    require_integer(m, "m", "draw_start", minimum=d)
    scale = math.sqrt(2 / m)
    triangle = torch.randn(d, d, generator=generator, dtype=dtype).triu_(1)
    freedom = m - torch.arange(d, dtype=torch.float64)
    triangle.diagonal().copy_(chi(freedom, generator=generator))
    V = torch.randn(m, d, generator=generator, dtype=dtype).mul_(scale)
    a = torch.randn(m, generator=generator, dtype=dtype)
    net = TwoLayer(V, a, activation=activation or Relu())
    return start_at(net, Sets(sets.x @ (scale * triangle).T, sets.y), descent, weight_radius, pick)
