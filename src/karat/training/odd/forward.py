"""Outputs and gradients of an odd net at the price of its matrix products."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_labels
from karat.core.compiled import scalar_like
from karat.nets.net import check_input
from karat.nets.odd_two_layer import OddTwoLayer
from karat.training.odd.compiled_gates import (
    add_gated_inputs,
    add_gated_weights,
    gate_table,
    sharp_gates,
    smooth_gates,
)

# Share of open gates up to which visiting them one by one beats a dense product.
_SPARSE = 0.11
# Entries of the table of projections from which a look at the lengths pays, and the shares of neurons tried.
_SMALLEST = 2**17
_SHARES = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class GateBlock:
    r"""Gates of some neurons on some samples.

    Args:
        value: (samples, neurons) gates :math:`\phi'(u + b) + \phi'(b - u)`, zero where a neuron sleeps.
        awake: share of gates that are not zero.
        rows: which samples they are, None for all.
        neurons: which neurons they are, None for all.
    """

    value: Tensor
    awake: float
    rows: Tensor | None = None
    neurons: Tensor | None = None

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Tensor:
        """Sum over samples of residual * gate * x, for the neurons of this block."""
        if self.rows is not None:
            x, residual = x[self.rows], residual[self.rows]
        if self.awake > _SPARSE:
            return self.value.T @ (residual.unsqueeze(1) * x)
        out = x.new_zeros(self.value.shape[1], x.shape[1])
        add_gated_inputs(
            self.value.numpy(), residual.contiguous().numpy(), x.contiguous().numpy(), out.numpy()
        )
        return out

    def input_gradient(self, W: Tensor) -> Tensor:
        """Sum over neurons of gate * w, for the samples of this block."""
        W = W if self.neurons is None else W[self.neurons]
        if self.awake > _SPARSE:
            return self.value @ W
        out = W.new_zeros(len(self.value), W.shape[1])
        add_gated_weights(self.value.numpy(), W.contiguous().numpy(), out.numpy())
        return out


@dataclass(frozen=True, eq=False)
class Gates:
    """The state of every neuron on every sample, in blocks that leave out what sleeps for sure.

    Args:
        blocks: either one for everything, or one of all samples and one of all other neurons.
        n: number of samples.
        m: number of neurons.
    """

    blocks: tuple[GateBlock, ...]
    n: int
    m: int

    @property
    def awake(self) -> float:
        """Share of open gates among all n m."""
        return sum(block.awake * block.value.numel() for block in self.blocks) / max(1, self.n * self.m)

    @property
    def value(self) -> Tensor:
        """(n, m) gates in one table."""
        if len(self.blocks) == 1:
            return self.blocks[0].value
        every, rest = self.blocks
        assert every.neurons is not None
        assert rest.rows is not None
        assert rest.neurons is not None
        table = every.value.new_zeros(self.n, self.m)
        table[:, every.neurons] = every.value
        table[rest.rows.unsqueeze(1), rest.neurons] = rest.value
        return table

    def weight_gradient(self, x: Tensor, residual: Tensor) -> Tensor:
        r"""The gradient of the weights, :math:`\sum_i \text{residual}_i\, \text{gates}_{ij}\, x_i`, (m, d).

        Ref: purification, Fact A.1
        """
        if len(self.blocks) == 1:
            return self.blocks[0].weight_gradient(x, residual)
        out = x.new_empty(self.m, x.shape[1])
        for block in self.blocks:
            out[block.neurons] = block.weight_gradient(x, residual)
        return out

    def input_gradient(self, W: Tensor) -> Tensor:
        r"""The gradient of f in the inputs, :math:`\sum_j \text{gates}_{ij}\, w_j`, (n, d)."""
        out = self.blocks[0].input_gradient(W)
        for block in self.blocks[1:]:
            out[block.rows] += block.input_gradient(W)
        return out


def forward(net: OddTwoLayer, x: Tensor) -> tuple[Tensor, Gates]:
    r"""f(x), (n,), and the gates; equal to the net's own methods up to rounding, on the CPU.

    A gate below a quarter of the rounding unit counts as zero. Where :math:`\|w_i\| \|x\|` is too small for
    more, the projection is not even computed: after the lottery most neurons are that small. The bias must
    not be positive.
    """
    x = check_input(x, net.W, "OddTwoLayer")
    if not float(net.b) <= 0:
        raise ValueError(f"`b` of `OddTwoLayer` must be <= 0 for the fast pass, got {float(net.b):g}.")
    n, m = len(x), net.m
    split = _split(net, x) if n * m >= _SMALLEST else None
    if split is None:
        f, block = _block(net, x, None, None)
        return f, Gates((block,), n, m)
    large, small, rows = split
    f, every = _block(net, x, None, large)
    more, rest = _block(net, x, rows, small)
    f[rows] += more
    return f, Gates((every, rest), n, m)


def _block(
    net: OddTwoLayer, x: Tensor, rows: Tensor | None, neurons: Tensor | None
) -> tuple[Tensor, GateBlock]:
    """Outputs and gates of some neurons on some samples."""
    x = x if rows is None else x[rows]
    # The kernels overwrite `u` by the gates: no second table of this size is needed.
    u = x @ (net.W if neurons is None else net.W[neurons]).T
    f = u.new_empty(len(u))
    b = scalar_like(-float(net.b), u)
    if net.sigma_rho > 0:
        table_rows, rate = gate_table(_name(u))
        scale = scalar_like(1 / net.sigma_rho, u)
        awake = smooth_gates(u.numpy(), f.numpy(), table_rows, scale, b, scalar_like(rate, u))
    else:
        awake = sharp_gates(u.numpy(), f.numpy(), b)
    return f, GateBlock(u, awake / max(1, u.numel()), rows, neurons)


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _split(net: OddTwoLayer, x: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    r"""Long neurons for all samples, short ones only for samples long enough to wake them; None if no gain.

    :math:`|\langle w_i, x \rangle| \le \|w_i\| \|x\| < b - \text{depth} \cdot \sigma_\rho` puts every gate
    below the cut.
    """
    table_rows, rate = gate_table(_name(x))
    depth = (len(table_rows) - 2) / rate if net.sigma_rho > 0 else 0.0
    # A little below the exact limit: norms and projections are rounded.
    limit = (-float(net.b) - depth * net.sigma_rho) * (1 - 1e-5)
    if limit <= 0:
        return None
    length, order = torch.linalg.vector_norm(net.W, dim=1).sort()
    size = torch.linalg.vector_norm(x, dim=1)
    # A split must spare at least a fifth of the products, for picking rows costs copies.
    best, chosen = 0.8, 0
    for share in _SHARES:
        count = int(share * net.m)
        if count == 0:
            continue
        reach = float((~(size * length[count - 1] < limit)).double().mean())  # NaN is awake
        cost = 1 - share * (1 - reach)
        if cost < best:
            best, chosen = cost, count
    if chosen == 0:
        return None
    rows = (~(size * length[chosen - 1] < limit)).nonzero().squeeze(1)
    return order[chosen:], order[:chosen], rows


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
