"""Outputs and gradients of an odd net at the price of its matrix products."""

from dataclasses import dataclass

from torch import Tensor

from karat.core.checks import require_labels
from karat.nets.odd_two_layer import OddTwoLayer
from karat.training.odd.kernels import (
    add_gated_inputs,
    add_gated_weights,
    sharp_gates,
    smooth_gates,
    table,
)
from karat.training.reduction.compiled import scalar_like

# Share of open gates up to which visiting them one by one beats a dense product.
_SPARSE = 0.08


@dataclass(frozen=True, eq=False)
class Gates:
    """The state of every neuron on every sample.

    Args:
        value: (n, m) gates phi'(u + b) + phi'(b - u), zero where a neuron sleeps; awake: share of others.
    """

    value: Tensor
    awake: float

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Tensor:
        """sum_i residual_i gates_ij x_i, (m, d): the gradient of the weights.

        Ref: purification, Fact A.1
        """
        if self.awake > _SPARSE:
            return self.value.T @ (residual.unsqueeze(1) * x)
        out = x.new_zeros(self.value.shape[1], x.shape[1])
        add_gated_inputs(self.value.numpy(), residual.contiguous().numpy(), x.contiguous().numpy(), out.numpy())
        return out

    def input_gradient(self, W: Tensor) -> Tensor:
        """sum_j gates_ij w_j, (n, d): the gradient of f with respect to the inputs."""
        if self.awake > _SPARSE:
            return self.value @ W
        out = W.new_zeros(len(self.value), W.shape[1])
        add_gated_weights(self.value.numpy(), W.contiguous().numpy(), out.numpy())
        return out


def forward(net: OddTwoLayer, x: Tensor) -> tuple[Tensor, Gates]:
    """f(x), (n,), and the gates; equal to the net's own methods up to rounding, on the CPU.

    A gate below a quarter of the rounding unit is set to zero, which lets later products skip the neuron.
    """
    u = net.projections(x)
    f = u.new_empty(len(u))
    b = scalar_like(-float(net.b), u)
    if net.sigma_rho > 0:
        rows, rate = table(str(u.dtype).removeprefix("torch."))
        scale = scalar_like(1 / net.sigma_rho, u)
        awake = smooth_gates(u.numpy(), f.numpy(), rows, scale, b, scalar_like(rate, u))
    else:
        awake = sharp_gates(u.numpy(), f.numpy(), b)
    return f, Gates(u, awake / max(1, u.numel()))


@dataclass(frozen=True, eq=False)
class OddClassifier:
    """An odd net seen through its margin y f(x), by the fast forward pass; any attack can use it."""

    net: OddTwoLayer

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """y f(x)."""
        return require_labels(y, len(x)).to(x) * forward(self.net, x)[0]

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """y f(x) and y grad_x f."""
        sign = require_labels(y, len(x)).to(x)
        f, gates = forward(self.net, x)
        return sign * f, gates.input_gradient(self.net.W).mul_(sign.unsqueeze(1))
