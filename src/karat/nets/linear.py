"""The linear classifier, whose worst case is known exactly."""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from karat.core.checks import require_shape
from karat.core.norms import dual_exponent
from karat.nets.net import Parameters, check_input


@dataclass(frozen=True)
class Linear:
    """f(x) = <w, x> + c.

    Args:
        w: (d,) weights; c: () offset or None.

    >>> Linear(torch.tensor([3.0, 4.0]))(torch.eye(2))
    tensor([3., 4.])
    """

    w: Tensor
    c: Tensor | None = None

    def __post_init__(self) -> None:
        require_shape(self.w, "w", (None,))
        if self.c is not None:
            require_shape(self.c, "c", ())

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.w.shape[0]

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (n,)."""
        f = check_input(x, self.d, "Linear") @ self.w
        return f if self.c is None else f + self.c

    def input_gradient(self, x: Tensor) -> Tensor:
        """w for every sample."""
        return self.w.expand(len(check_input(x, self.d, "Linear")), -1)

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Parameters:
        """Gradients of sum_i residual_i f(x_i)."""
        gradient = {"w": residual @ check_input(x, self.d, "Linear")}
        return gradient if self.c is None else gradient | {"c": residual.sum()}

    def parameters(self) -> Parameters:
        """w, and c when there is one."""
        return {"w": self.w} if self.c is None else {"w": self.w, "c": self.c}

    def replace(self, **tensors: Any) -> Self:
        """The same net with some fields exchanged."""
        return replace(self, **tensors)

    def worst_margin(self, x: Tensor, y: Tensor, p: float, tau: Tensor | float) -> Tensor:
        """Smallest y f(x + delta) over |delta|_p <= tau: the margin less tau times the dual norm of w.

        Ref: purification, Sec 3
        """
        return y * self(x) - tau * torch.linalg.vector_norm(self.w, ord=dual_exponent(p))
