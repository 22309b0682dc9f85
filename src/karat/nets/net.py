"""What every karat net offers: values, closed-form gradients, and parameters as plain tensors."""

from typing import Any, Protocol, Self

from torch import Tensor

from karat.core.checks import ShapeError

Parameters = dict[str, Tensor]


class Net(Protocol):
    """A scalar network whose state is a value: tensors go in, a new net comes out."""

    @property
    def d(self) -> int:
        """Input dimension."""
        ...

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs f(x), (n, d) -> (n,)."""
        ...

    def input_gradient(self, x: Tensor) -> Tensor:
        """Gradients of f with respect to the input, (n, d) -> (n, d)."""
        ...

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Parameters:
        """sum_i residual_i * d f(x_i) / d parameter, for every parameter."""
        ...

    def parameters(self) -> Parameters:
        """The net's tensors by name."""
        ...

    def replace(self, **tensors: Any) -> Self:
        """The same net with some tensors exchanged."""
        ...


def check_input(x: Tensor, d: int, owner: str) -> Tensor:
    """Return x if it is (n, d)."""
    if x.dim() != 2 or x.shape[1] != d:
        raise ShapeError(f"`x` of `{owner}` must have shape (n, {d}), got {tuple(x.shape)}.")
    return x
