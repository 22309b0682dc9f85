"""A two-layer net known through the inner products of its weights."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from karat.core.activations import Activation


class TwoLayerNet(Protocol):
    """The parts of f(x) = scale * sum_s a_s phi(<w_s, x> + b_s) + c, as `nets.TwoLayer` holds them."""

    @property
    def W(self) -> Tensor:
        """Hidden weights, (m, d)."""
        ...

    @property
    def a(self) -> Tensor:
        """Output weights, (m,)."""
        ...

    @property
    def b(self) -> Tensor | None:
        """Hidden biases, (m,)."""
        ...

    @property
    def c(self) -> Tensor | None:
        """Output bias, ()."""
        ...

    @property
    def activation(self) -> Activation:
        """phi."""
        ...

    @property
    def scale(self) -> float:
        """Output scaling."""
        ...


@dataclass(frozen=True)
class GramNet:
    r"""A two-layer net up to rotation of its input space, evaluated at products :math:`P = W x`.

    .. math:: G = W W^T, \qquad f = \sum_s w_s\, \phi(P_s + b_s) + c

    Args:
        G: (m, m) inner products of the hidden weights.
        w: (m,) scaled output weights scale * a.
        b: (m,) hidden biases, zero if the net has none.
        c: () output bias, zero if the net has none.
        activation: phi.
    """

    G: Tensor
    w: Tensor
    b: Tensor
    c: Tensor
    activation: Activation

    def output(self, P: Tensor) -> Tensor:
        """f (n,) of points with products P (n, m)."""
        return self.activation(P + self.b) @ self.w + self.c


def gram_net(net: TwoLayerNet) -> GramNet:
    """A net without its directions."""
    return GramNet(
        net.W @ net.W.T,
        net.scale * net.a,
        torch.zeros_like(net.a) if net.b is None else net.b.contiguous(),
        net.a.new_zeros(()) if net.c is None else net.c,
        net.activation,
    )
