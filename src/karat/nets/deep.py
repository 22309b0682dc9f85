"""The fully connected network with H square hidden layers of convergence."""

from dataclasses import dataclass, field
from typing import Any, Self

from torch import Tensor

from karat.core.activations import Activation, Relu
from karat.core.checks import require_shape
from karat.nets.net import Parameters, Pullback, check_input


@dataclass(frozen=True, eq=False)
class Deep:
    r"""A linear layer, then H square layers with activations, then a linear output.

    .. math:: x^{(0)} = A x, \qquad x^{(h)} = \phi(W^{(h)} x^{(h-1)}) \text{ for } h = 1, \dots, H, \qquad
        f = \langle a, x^{(H)}\rangle

    Args:
        A: (m, d) first matrix.
        layers: H matrices (m, m).
        a: (m,) output weights.
        activation: phi.

    Reading: the paper trains the H square layers only; `parameters` names all tensors, the trainer chooses.

    Ref: convergence, Eq 1
    """

    A: Tensor
    layers: tuple[Tensor, ...]
    a: Tensor
    activation: Activation = field(default_factory=Relu)

    def __post_init__(self) -> None:
        require_shape(self.A, "A", (None, None))
        m = self.A.shape[0]
        if not self.layers:
            raise ValueError("`layers` of `Deep` must hold at least one matrix.")
        for h, layer in enumerate(self.layers, start=1):
            require_shape(layer, f"W{h}", (m, m))
        require_shape(self.a, "a", (m,))

    @property
    def m(self) -> int:
        """Width."""
        return self.A.shape[0]

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.A.shape[1]

    def hidden(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Preactivations of layers 1..H and inputs x^(0)..x^(H)."""
        states = [check_input(x, self.A, "Deep") @ self.A.T]
        preactivations = []
        for layer in self.layers:
            preactivations.append(states[-1] @ layer.T)
            states.append(self.activation(preactivations[-1]))
        return preactivations, states

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (n,)."""
        return self.hidden(x)[1][-1] @ self.a

    def value_and_input_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """f(x) and its gradient, backwards through the layers."""
        preactivations, states = self.hidden(x)
        back = self.a.expand(len(x), -1)
        for layer, z in zip(reversed(self.layers), reversed(preactivations), strict=True):
            back = (back * self.activation.derivative(z)) @ layer
        return states[-1] @ self.a, back @ self.A

    def input_gradient(self, x: Tensor) -> Tensor:
        """grad_x f, shape (n, d)."""
        return self.value_and_input_gradient(x)[1]

    def value_and_pullback(self, x: Tensor) -> tuple[Tensor, Pullback]:
        """f(x) and the map residual -> sum_i residual_i d f(x_i)/d parameter, layer by layer."""
        preactivations, states = self.hidden(x)

        def pullback(residual: Tensor) -> Parameters:
            gradient = {"a": residual @ states[-1]}
            back = residual.unsqueeze(1) * self.a
            for h in range(len(self.layers), 0, -1):
                at_z = back * self.activation.derivative(preactivations[h - 1])
                gradient[f"W{h}"] = at_z.T @ states[h - 1]
                back = at_z @ self.layers[h - 1]
            gradient["A"] = back.T @ x
            return gradient

        return states[-1] @ self.a, pullback

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Parameters:
        """sum_i residual_i d f(x_i)/d parameter, for A, W1..WH and a."""
        return self.value_and_pullback(x)[1](residual)

    def parameters(self) -> Parameters:
        """A, W1..WH and a."""
        named = {f"W{h}": layer for h, layer in enumerate(self.layers, start=1)}
        return {"A": self.A, **named, "a": self.a}

    def replace(self, **tensors: Any) -> Self:
        """The same net with some tensors exchanged, layers by their names W1..WH."""
        unknown = set(tensors) - set(self.parameters()) - {"activation"}
        if unknown:
            raise ValueError(
                f"`Deep` has no tensor {sorted(unknown)[0]!r}; it has {', '.join(self.parameters())}."
            )
        layers = tuple(tensors.get(f"W{h}", layer) for h, layer in enumerate(self.layers, start=1))
        return type(self)(
            tensors.get("A", self.A),
            layers,
            tensors.get("a", self.a),
            tensors.get("activation", self.activation),
        )
