"""The two-layer network of lazy, convergence, benign and features."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

from torch import Tensor

from karat.core.activations import Activation, Relu
from karat.core.checks import require_number, require_shape
from karat.nets.net import Parameters, Pullback, check_input


@dataclass(frozen=True, eq=False)
class TwoLayer:
    r""":math:`f(x) = \text{scale} \cdot \sum_s a_s\, \phi(\langle w_s, x\rangle + b_s) + c`.

    Args:
        W: (m, d) hidden weights, a row per neuron.
        a: (m,) output weights.
        b: (m,) hidden biases, added, or None.
        c: () output bias or None.
        activation: phi.
        scale: 1 or 1/sqrt m, always explicit.

    Symbols: lazy and benign write W with neurons as columns; their net has b = c = None, scale = 1/sqrt m.

    Ref: benign, Sec 2.1; lazy, Sec 2; features, Eq 2; convergence, Eq 4
    """

    W: Tensor
    a: Tensor
    b: Tensor | None = None
    c: Tensor | None = None
    activation: Activation = field(default_factory=Relu)
    scale: float = 1.0

    def __post_init__(self) -> None:
        require_shape(self.W, "W", (None, None))
        require_shape(self.a, "a", (self.m,))
        if self.b is not None:
            require_shape(self.b, "b", (self.m,))
        if self.c is not None:
            require_shape(self.c, "c", ())
        require_number(self.scale, "scale", "TwoLayer", positive=True)

    @property
    def m(self) -> int:
        """Number of hidden neurons."""
        return self.W.shape[0]

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.W.shape[1]

    def preactivations(self, x: Tensor) -> Tensor:
        """<w_s, x_i> + b_s, shape (n, m)."""
        z = check_input(x, self.W, "TwoLayer") @ self.W.T
        return z if self.b is None else z + self.b

    def output(self, hidden: Tensor) -> Tensor:
        """f from activations phi(z), (n, m)."""
        f = hidden @ (self.scale * self.a)
        return f if self.c is None else f + self.c

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (n,)."""
        return self.output(self.activation(self.preactivations(x)))

    def value_and_input_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        r"""f(x) and :math:`\nabla_x f = \text{scale} \sum_s a_s\, \phi'(z_s)\, w_s`, from one pass."""
        z = self.preactivations(x)
        gradient = (self.activation.derivative(z) * (self.scale * self.a)) @ self.W
        return self.output(self.activation(z)), gradient

    def input_gradient(self, x: Tensor) -> Tensor:
        """grad_x f, shape (n, d)."""
        return self.value_and_input_gradient(x)[1]

    def value_and_pullback(self, x: Tensor) -> tuple[Tensor, Pullback]:
        """f(x) and the map residual -> sum_i residual_i d f(x_i)/d parameter."""
        z = self.preactivations(x)
        hidden = self.activation(z)

        def pullback(residual: Tensor) -> Parameters:
            at_z = residual.unsqueeze(1) * self.activation.derivative(z) * (self.scale * self.a)
            gradient = {"W": at_z.T @ x, "a": self.scale * (residual @ hidden)}
            if self.b is not None:
                gradient["b"] = at_z.sum(dim=0)
            if self.c is not None:
                gradient["c"] = residual.sum()
            return gradient

        return self.output(hidden), pullback

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Parameters:
        """sum_i residual_i d f(x_i)/d parameter, for W, a and the biases that exist."""
        return self.value_and_pullback(x)[1](residual)

    def parameters(self) -> Parameters:
        """W, a and the biases that exist."""
        named = {"W": self.W, "a": self.a, "b": self.b, "c": self.c}
        return {name: tensor for name, tensor in named.items() if tensor is not None}

    def replace(self, **tensors: Any) -> Self:
        """The same net with some fields exchanged."""
        return replace(self, **tensors)


def inverse_root_width(m: int) -> float:
    """The output scaling 1/sqrt m of lazy, convergence and benign."""
    return 1 / math.sqrt(m)
