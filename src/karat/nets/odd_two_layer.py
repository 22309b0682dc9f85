"""The odd two-layer network of purification, with neuron noise as a smoothed ReLU."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from karat.core.activations import Activation, Relu, SmoothedRelu
from karat.core.checks import require_number, require_shape
from karat.nets.net import Parameters, Pullback, check_input


@dataclass(frozen=True, eq=False)
class OddTwoLayer:
    r"""An odd function, :math:`f(-x) = -f(x)`, whose neurons come in pairs; :math:`\phi` is a smoothed ReLU.

    .. math:: f(x) = \sum_i \big[\phi(\langle w_i, x\rangle + b) - \phi(-\langle w_i, x\rangle + b)\big],
        \qquad \phi(z) = \mathbb{E}_\rho \max(z + \rho, 0)

    Args:
        W: (m, d) weights, a row per pair of neurons.
        b: () shared bias, added (negative in the paper's nets).
        sigma_rho: standard deviation of the neuron noise; 0 is the plain ReLU.

    Symbols: the paper's bias is positive and subtracted: its b is -b here. Output weights are 1, there is no
        1/sqrt m: a feature's sign sits in w_i.

    Reading: f is the expectation over the noise, which is deterministic and can be certified; `with_noise`
        gives the sampled net, where the same rho_i enters both halves.

    Ref: purification, Sec 4
    """

    W: Tensor
    b: Tensor
    sigma_rho: float = 0.0
    activation: Activation = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_shape(self.W, "W", (None, None))
        require_shape(self.b, "b", ())
        sigma = require_number(self.sigma_rho, "sigma_rho", "OddTwoLayer", minimum=0)
        object.__setattr__(self, "activation", SmoothedRelu(sigma) if sigma > 0 else Relu())

    @property
    def m(self) -> int:
        """Number of pairs of neurons, a row of W each; the glossary's m counts both halves of a pair."""
        return self.W.shape[0]

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.W.shape[1]

    def projections(self, x: Tensor) -> Tensor:
        """<w_i, x>, shape (n, m)."""
        return check_input(x, self.W, "OddTwoLayer") @ self.W.T

    def output(self, u: Tensor) -> Tensor:
        """f from projections (n, m)."""
        return (self.activation(u + self.b) - self.activation(self.b - u)).sum(dim=1)

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (n,)."""
        return self.output(self.projections(x))

    def value_and_input_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        r"""f(x) and :math:`\nabla_x f = \sum_i [\phi'(u_i + b) + \phi'(-u_i + b)]\, w_i`, from one pass."""
        u = self.projections(x)
        slope = self.activation.derivative(u + self.b) + self.activation.derivative(self.b - u)
        return self.output(u), slope @ self.W

    def input_gradient(self, x: Tensor) -> Tensor:
        """grad_x f, shape (n, d)."""
        return self.value_and_input_gradient(x)[1]

    def value_and_pullback(self, x: Tensor) -> tuple[Tensor, Pullback]:
        """f(x) and the map residual -> sum_i residual_i d f(x_i)/d parameter.

        Ref: purification, Fact A.1
        """
        u = self.projections(x)

        def pullback(residual: Tensor) -> Parameters:
            plus, minus = self.activation.derivative(u + self.b), self.activation.derivative(self.b - u)
            return {
                "W": (residual.unsqueeze(1) * (plus + minus)).T @ x,
                "b": residual @ (plus - minus).sum(dim=1),
            }

        return self.output(u), pullback

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Parameters:
        """sum_i residual_i d f(x_i)/d parameter, for W and b."""
        return self.value_and_pullback(x)[1](residual)

    def parameters(self) -> Parameters:
        """W and b."""
        return {"W": self.W, "b": self.b}

    def replace(self, **tensors: Any) -> Self:
        """The same net with some fields exchanged."""
        return replace(self, **tensors)

    def with_noise(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """f(x; rho) with one draw of rho per sample and neuron, shape (n,)."""
        u = self.projections(x)
        rho = torch.randn(u.shape, generator=generator, dtype=u.dtype, device=u.device)
        shift = self.b + self.sigma_rho * rho
        return ((u + shift).clamp_min(0) - (shift - u).clamp_min(0)).sum(dim=1)
