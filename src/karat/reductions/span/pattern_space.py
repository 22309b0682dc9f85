"""Exact reduction of learning on orthonormal patterns: the net lives in the patterns' coordinates."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from karat.core.activations import Activation
from karat.core.checks import require_integer
from karat.nets import init
from karat.nets.two_layer import TwoLayer
from karat.reductions.span.gaussian import gaussian_rows


@dataclass(frozen=True, eq=False)
class PatternNet:
    r"""A two-layer net in d dimensions whose inputs are :math:`x = M \phi`, in coordinates of the patterns.

    .. math:: w_i = M q_i + r_i, \qquad \langle w_i, x\rangle = \langle q_i, \phi\rangle, \qquad
        r_i(t) = \text{keep} \cdot r_i(0)

    The orthogonal part :math:`r_i` sees weight decay only.

    Args:
        net: q as its W (m, D).
        rest: (m, r) the orthogonal parts r_i(0), in coordinates of their own span.
        keep: product of the factors 1 - 2 lr lambda_w of the steps so far.

    Reading: exact when gradients stay in the span of the patterns and the step commutes with rotations; input
        noise and patterns that are not orthonormal break the first, an optimiser that treats coordinates one
        by one (Adam) the second.

    Ref: features, Sec 3
    """

    net: TwoLayer
    rest: Tensor
    keep: float = 1.0

    def moved(self, net: TwoLayer, keep: float = 1.0) -> "PatternNet":
        """The net after a step that kept the share `keep` of the weights before adding a gradient."""
        return replace(self, net=net, keep=self.keep * keep)

    def weights(self) -> Tensor:
        """(m, D + r) weights in float64, isometric to those in R^d; parts of share zero are left out."""
        q = self.net.W.double()
        return q if self.keep == 0 else torch.cat([q, self.keep * self.rest.double()], dim=1)

    def cosines(self, direction: Tensor) -> Tensor:
        """cos(w_i, M direction) for every neuron, (m,); 0 for a neuron of length zero."""
        W = self.weights()
        along = W[:, : len(direction)] @ direction.double()
        length = torch.linalg.vector_norm(W, dim=1) * torch.linalg.vector_norm(direction.double())
        return torch.where(length > 0, along / length.clamp_min(1e-300), 0.0)


def start_in_pattern_space(
    d: int,
    D: int,
    pairs: int,
    *,
    sd_W: float,
    sd_a: float,
    sd_b: float,
    activation: Activation,
    generator: torch.Generator,
    dtype: torch.dtype = torch.float64,
) -> PatternNet:
    """The paired Gaussian start in R^d, drawn at a cost that does not depend on d.

    Equal seeds share the pattern coordinates, biases and output weights for every d.

    Args:
        d: input dimension.
        D: number of patterns.
        pairs: pairs of neurons, the paper's m.
        sd_W: standard deviation of the hidden weights.
        sd_a: standard deviation of the output weights.
        sd_b: standard deviation of the hidden biases.
        activation: phi.
        generator: draws the start.
        dtype: of the net.

    Ref: features, Sec 3.1
    """
    require_integer(d, "d", "start_in_pattern_space", minimum=D)
    rest_generator = torch.Generator().manual_seed(int(torch.randint(2**62, (), generator=generator)))
    net = init.paired(
        D,
        2 * pairs,
        generator=generator,
        sd_W=sd_W,
        sd_a=sd_a,
        sd_b=sd_b,
        scale=1.0,
        activation=activation,
        dtype=dtype,
    )
    if d == D:
        rest = torch.zeros(pairs, 0, dtype=torch.float64)
    else:
        rest = sd_W * gaussian_rows(pairs, d - D, generator=rest_generator)
    return PatternNet(net, rest.repeat(2, 1))
