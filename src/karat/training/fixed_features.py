"""Linear classifiers on features that do not move: hidden units (RF) and gradients at the start (NTK)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from karat.core.activations import TruncatedRelu
from karat.core.checks import require_labels, require_shape
from karat.core.divergence import Diverged
from karat.core.ranges import NonNegative, checked
from karat.nets.two_layer import TwoLayer
from karat.training.classifier_learning import gated, shuffled_batches

Observe = Callable[[int, Any], Any]


@dataclass(frozen=True, kw_only=True)
@checked
class LinearLearning:
    """Hinge SGD of linear classifiers, several learning rates side by side on the same batches.

    Args:
        steps: updates.
        lrs: one classifier per rate, each falling linearly to zero.
        momentum: share of the velocity that is kept.
        batch_size: of an epoch's shuffled batches.
    """

    steps: int
    lrs: tuple[NonNegative, ...]
    momentum: float = 0.9
    batch_size: int = 1000

    def __post_init__(self) -> None:
        if not self.lrs:
            raise ValueError("`lrs` of `LinearLearning` must name at least one rate.")

    @torch.no_grad()
    def on_features(
        self,
        H: Tensor,
        y: Tensor,
        *,
        generator: torch.Generator,
        start: Tensor | None = None,
        observe: Observe | None = None,
        observe_at: Collection[int] = (),
    ) -> tuple[Tensor, list[tuple[int, Any]]]:
        """Train one linear classifier per rate on given features.

        Args:
            H: (n, N) features.
            y: (n,) labels.
            generator: of the batches.
            start: first weights, broadcast to (c, N); zero when left out.
            observe: called as observe(t, a) before update t with the weights a (c, N).
            observe_at: the steps at which it is called.

        Returns:
            the last weights (c, N), and pairs of a step and what `observe` returned.
        """
        require_shape(H, "H", (None, None))
        y = require_labels(y, len(H)).to(H)
        rates = torch.tensor(self.lrs, dtype=H.dtype).unsqueeze(1)
        a = torch.zeros(len(self.lrs), H.shape[1], dtype=H.dtype)
        a = a if start is None else a + start.to(H.dtype)
        velocity = torch.zeros_like(a)
        measured: list[tuple[int, Any]] = []
        batches = shuffled_batches(y, self.batch_size, generator=generator)
        # One table for the rows of every batch: making a new one costs more than filling it.
        h = H.new_empty(min(self.batch_size, len(H)), H.shape[1])
        for step in range(self.steps + 1):
            if observe is not None and step in observe_at:
                measured.append((step, observe(step, a.clone())))
            if step == self.steps:
                break
            batch = next(batches)
            torch.index_select(H, 0, batch, out=h)
            ys = y[batch].unsqueeze(1)
            margin = ys * (h @ a.T)
            if not bool(torch.isfinite(margin).all()):
                raise Diverged(step, "the training margins are not finite")
            residual = (margin <= 1).to(h.dtype).mul_(-ys / len(batch))
            velocity.mul_(self.momentum).add_(residual.T @ h)
            a.sub_(rates * self._fading(step) * velocity)
        return a, measured

    @torch.no_grad()
    def on_tangents(
        self,
        net: TwoLayer,
        x: Tensor,
        y: Tensor,
        *,
        generator: torch.Generator,
        observe: Observe | None = None,
        observe_at: Collection[int] = (),
    ) -> tuple["Tangent", list[tuple[int, Any]]]:
        """Train on the gradient features of the net, one rate only.

        Reading: the net itself, f at the start, is left out of the model; it is zero for a paired net.

        Args:
            net: whose gradients are the features.
            x: (n, d) samples.
            y: (n,) labels.
            generator: of the batches.
            observe: called as observe(t, model) before update t.
            observe_at: the steps at which it is called.

        Returns:
            the last model, and pairs of a step and what `observe` returned.
        """
        (lr,) = self.lrs
        y = require_labels(y, len(x)).to(x)
        model = Tangent.zero(net)
        velocity = Tangent.zero(net)
        measured: list[tuple[int, Any]] = []
        batches = shuffled_batches(y, self.batch_size, generator=generator)
        for step in range(self.steps + 1):
            if observe is not None and step in observe_at:
                measured.append((step, observe(step, model)))
            if step == self.steps:
                break
            batch = next(batches)
            xs, ys = x.index_select(0, batch), y[batch]
            hidden, gate = model.gates(xs)
            margin = ys * model.value(xs, hidden, gate)
            if not bool(torch.isfinite(margin).all()):
                raise Diverged(step, "the training margins are not finite")
            residual = (margin <= 1).to(ys.dtype).mul_(ys / -len(batch))
            # In place: `gate` was computed for this step alone.
            pushed = gate.mul_(residual.unsqueeze(1))
            velocity.a.mul_(self.momentum).add_(residual @ hidden)
            velocity.W.mul_(self.momentum).add_(pushed.T @ xs)
            velocity.b.mul_(self.momentum).add_(pushed.sum(dim=0))
            rate = lr * self._fading(step)
            for name in ("a", "W", "b"):
                getattr(model, name).sub_(rate * getattr(velocity, name))
        return model, measured

    def _fading(self, step: int) -> float:
        return 1 - step / self.steps


@dataclass(frozen=True, eq=False)
class Tangent:
    r"""A linear model on the gradient features of a net at its start.

    .. math:: f(x) = \sum_i \big[ a_i \phi(z_i) + a_{0i} \phi'(z_i) (\langle W_i, x \rangle + b_i) \big],
              \qquad z_i = \langle w_{0i}, x \rangle + b_{0i}

    Args:
        net: the start, with weights w0, b0 and a0.
        a: (m,) coefficients of the hidden units.
        W: (m, d) coefficients of the gradients in the hidden weights.
        b: (m,) coefficients of the gradients in the biases.
    """

    net: TwoLayer
    a: Tensor
    W: Tensor
    b: Tensor

    @classmethod
    def zero(cls, net: TwoLayer) -> "Tangent":
        """The model whose coefficients are all zero."""
        return cls(net, torch.zeros_like(net.a), torch.zeros_like(net.W), torch.zeros_like(net.a))

    def gates(self, x: Tensor) -> tuple[Tensor, Tensor]:
        r""":math:`\phi(z)` and :math:`a_0 \phi'(z)`, both (n, m)."""
        z = self.net.preactivations(x)
        arm = self.net.scale * self.net.a
        if isinstance(self.net.activation, TruncatedRelu):
            return self.net.activation(z), gated(arm, z)
        return self.net.activation(z), self.net.activation.derivative(z) * arm

    def value(self, x: Tensor, hidden: Tensor, gate: Tensor) -> Tensor:
        """f(x) from the features that `gates` gives.

        Args:
            x: (n, d) inputs.
            hidden: (n, m) hidden units there.
            gate: (n, m) their derivatives times the output weights.
        """
        inner = torch.addmm(self.b, x, self.W.T)
        return hidden @ (self.net.scale * self.a) + (gate * inner).sum(dim=1)

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (n,)."""
        return self.value(x, *self.gates(x))

    @property
    def norm(self) -> float:
        """Euclidean norm of all coefficients."""
        parts = (self.a, self.W, self.b)
        return float(sum(part.double().square().sum() for part in parts)) ** 0.5


def distinct_half(net: TwoLayer) -> TwoLayer:
    """The first half of a paired net.

    Partners have the same features up to sign, so a linear model on all of them, trained from a function
    that is zero, equals one on the first half at twice the learning rate.
    """
    half = net.m // 2
    return net.replace(W=net.W[:half], a=net.a[:half], b=None if net.b is None else net.b[:half])


def gradient_kernel(net: TwoLayer, x: Tensor, other: Tensor) -> Tensor:
    r"""The kernel of the gradient features, (n, n').

    .. math:: K(x, x') = \sum_i \phi(z_i) \phi(z_i')
              + a_i^2\, \phi'(z_i) \phi'(z_i')\, (\langle x, x' \rangle + 1)

    Args:
        net: whose gradients are the features.
        x: (n, d) inputs.
        other: (n', d) inputs.
    """

    def gates(points: Tensor) -> tuple[Tensor, Tensor]:
        return Tangent.zero(net).gates(points)

    (hidden, gate), (hidden_other, gate_other) = gates(x), gates(other)
    return hidden @ hidden_other.T + (gate @ gate_other.T) * (x @ other.T + 1)


def kernel_ridge(kernel: Tensor, y: Tensor, ridges: Sequence[float]) -> Tensor:
    r"""Coefficients (c, n) of kernel ridge regression, one row per ridge.

    :math:`f = \sum_i \alpha_i K(x_i, \cdot)` minimises :math:`\|f - y\|^2 + \text{ridge} \cdot \|f\|_K^2`.

    Args:
        kernel: (n, n) values at the samples.
        y: (n,) labels.
        ridges: relative to the mean diagonal of the kernel.
    """
    require_shape(kernel, "kernel", (len(y), len(y)))
    scale = float(kernel.diagonal().mean())
    eye = torch.eye(len(y), dtype=kernel.dtype)
    solved = [torch.linalg.solve(kernel + ridge * scale * eye, y.to(kernel)) for ridge in ridges]
    return torch.stack(solved)
