"""The linear classifier, whose worst case is known exactly."""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from karat.core.checks import require_shape
from karat.core.norms import dual_exponent
from karat.nets.net import Parameters, Pullback, check_input


@dataclass(frozen=True, eq=False)
class Linear:
    r""":math:`f(x) = \langle w, x\rangle + c`.

    Args:
        w: (d,) weights.
        c: () offset or None.

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
        f = check_input(x, self.w, "Linear") @ self.w
        return f if self.c is None else f + self.c

    def value_and_input_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """f(x), and w for every sample."""
        return self(x), self.w.expand(len(x), -1)

    def input_gradient(self, x: Tensor) -> Tensor:
        """w for every sample, shape (n, d)."""
        return self.value_and_input_gradient(x)[1]

    def value_and_pullback(self, x: Tensor) -> tuple[Tensor, Pullback]:
        """f(x) and the map residual -> sum_i residual_i d f(x_i)/d parameter."""

        def pullback(residual: Tensor) -> Parameters:
            gradient = {"w": residual @ x}
            return gradient if self.c is None else gradient | {"c": residual.sum()}

        return self(x), pullback

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Parameters:
        """sum_i residual_i d f(x_i)/d parameter, for w and the offset if there is one."""
        return self.value_and_pullback(x)[1](residual)

    def parameters(self) -> Parameters:
        """w, and c when there is one."""
        return {"w": self.w} if self.c is None else {"w": self.w, "c": self.c}

    def replace(self, **tensors: Any) -> Self:
        """The same net with some fields exchanged."""
        return replace(self, **tensors)

    def worst_margin(self, x: Tensor, y: Tensor, p: float, tau: Tensor | float) -> Tensor:
        r"""Smallest :math:`y f(x + \delta)` in the ball, which is :math:`y f(x) - \tau \|w\|_q`, q dual to p.

        Args:
            x: (n, d) samples.
            y: (n,) labels +-1.
            p: norm of the perturbations.
            tau: radius, a number or (n,).

        Ref: purification, Sec 3
        """
        return y.to(x) * self(x) - tau * torch.linalg.vector_norm(self.w, ord=dual_exponent(p))
