"""What every karat net offers: values, closed-form gradients, and parameters as plain tensors."""

from collections.abc import Callable
from typing import Any, Protocol, Self, runtime_checkable

from torch import Tensor

from karat.core.checks import ShapeError

Parameters = dict[str, Tensor]
Pullback = Callable[[Tensor], Parameters]


@runtime_checkable
class Net(Protocol):
    """A scalar network whose state is a value: tensors go in, a new net comes out."""

    @property
    def d(self) -> int:
        """Input dimension."""
        ...

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs f(x), (n, d) -> (n,)."""
        ...

    def value_and_input_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """f(x) and grad_x f, (n,) and (n, d), from one forward pass."""
        ...

    def input_gradient(self, x: Tensor) -> Tensor:
        """Gradients of f with respect to the input, (n, d) -> (n, d)."""
        ...

    def value_and_pullback(self, x: Tensor) -> tuple[Tensor, Pullback]:
        """f(x), and the map residual (n,) -> weight_gradient(x, residual) that reuses its forward pass."""
        ...

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Parameters:
        """sum_i residual_i * d f(x_i) / d parameter, for every parameter, in tensors of its own."""
        ...

    def parameters(self) -> Parameters:
        """The net's tensors by name."""
        ...

    def replace(self, **tensors: Any) -> Self:
        """The same net with some tensors exchanged."""
        ...


def check_input(x: Tensor, weights: Tensor, owner: str) -> Tensor:
    """Return x if it is (n, d) in the dtype of the weights.

    Args:
        x: what was given.
        weights: (..., d).
        owner: the net, for the message.
    """
    if x.dim() != 2 or x.shape[1] != weights.shape[-1]:
        raise ShapeError(f"`x` of `{owner}` must have shape (n, {weights.shape[-1]}), got {tuple(x.shape)}.")
    if x.dtype != weights.dtype:
        raise TypeError(f"`x` of `{owner}` must be {weights.dtype} like the weights, got {x.dtype}.")
    return x


def parameter(net: Net, name: str, owner: str) -> Tensor:
    """The net's tensor of that name, or an error that lists the names it has.

    Args:
        net: any net.
        name: of the tensor.
        owner: of the name, for the message.
    """
    parameters = net.parameters()
    if name not in parameters:
        listed = ", ".join(parameters)
        raise ValueError(f"`{owner}` names the parameter {name!r}, but the net has {listed}.")
    return parameters[name]
