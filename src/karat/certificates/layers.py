"""A user's model as a chain of affine layers and activations, each able to bound what passes through it."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from karat.certificates.profile import Profile, profile_of
from karat.core.activations import LeakyRelu, Relu
from karat.core.norms import norm
from karat.nets.unaltered import alteration

_SKIPPED = (nn.Identity, nn.Dropout)  # identities in evaluation mode
_LAYERS = (
    nn.Linear,
    nn.Conv2d,
    nn.AvgPool2d,
    nn.BatchNorm1d,
    nn.BatchNorm2d,
    nn.Flatten,
    nn.ReLU,
    nn.LeakyReLU,
)
SUPPORTED = ", ".join(kind.__name__ for kind in (nn.Sequential, *_SKIPPED, *_LAYERS))


class UnsupportedLayer(TypeError):
    """A model holds a layer that no certificate knows; the message names it."""


def named_layers(model: nn.Module | None, name: str = "model") -> list[tuple[str, nn.Module]]:
    """The layers of nested Sequential containers in the order of the forward pass, with their names.

    A layer is taken for what its class says only if it is of exactly that class and nothing hangs on it: a
    subclass, a hook or a `forward` of its own may compute anything. Identity and Dropout are left out.

    Args:
        model: a layer, or Sequential containers of layers; one used twice is listed twice.
        name: what the message calls the model.

    Raises:
        UnsupportedLayer: naming the first layer that is not known, and why.
    """
    kind = type(model)
    if kind is not nn.Sequential and kind not in _SKIPPED and kind not in _LAYERS:
        raise UnsupportedLayer(
            f"no certificate knows the layer `{kind.__name__}` at `{name}`; known are {SUPPORTED}, "
            "as torch defines them (a subclass may compute something else)."
        )
    assert model is not None
    reason = alteration(model) or _strange_setting(model)
    if reason:
        raise UnsupportedLayer(
            f"no certificate knows what the layer `{kind.__name__}` at `{name}` computes: it {reason}."
        )
    if kind in _SKIPPED:
        return []
    if kind is not nn.Sequential:
        return [(name, model)]
    # Not `named_children`, which leaves out the second use of a layer.
    children = model._modules.items()
    return [entry for key, child in children for entry in named_layers(child, f"{name}.{key}")]


def _strange_setting(layer: nn.Module) -> str | None:
    """Settings of a known layer with which it is not the map that the bounds below assume."""
    if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
        mean, variance = layer.running_mean, layer.running_var
        if mean is None or variance is None:
            return "normalises by the batch it is given: it has no running statistics"
        if not bool((variance + layer.eps > 0).all()):
            return "has a running variance that is not positive"
    if any(tensor.numel() == 0 for tensor in layer.parameters(recurse=False)):
        return "has no weights"
    if isinstance(layer, nn.LeakyReLU) and not 0 <= layer.negative_slope <= 1:
        return f"must have a slope in [0, 1], got {layer.negative_slope:g}"
    if isinstance(layer, nn.Conv2d) and layer.padding_mode != "zeros":
        return f"must pad with zeros, not with {layer.padding_mode!r}"
    if isinstance(layer, nn.AvgPool2d) and layer.divisor_override is not None and layer.divisor_override < 0:
        return f"must have a positive divisor, got {layer.divisor_override}"
    if isinstance(layer, nn.Flatten) and layer.start_dim < 1:
        return f"must leave the axis of samples alone (start_dim >= 1), got start_dim = {layer.start_dim}"
    return None


@dataclass(frozen=True, eq=False)
class Affine:
    """An affine map of (n, ...) samples, and the same map with absolute weights and no bias.

    Args:
        layer: the torch layer, in float64.
        kind: linear, conv, norm, pool or flatten.
        terms: summands of one output, for the rounding bound.
    """

    layer: nn.Module
    kind: str
    terms: int

    def forward(self, x: Tensor) -> Tensor:
        """L x + b."""
        return self.layer(x)

    def absolute(self, x: Tensor) -> Tensor:
        """|L| x, without bias."""
        layer: Any = self.layer
        if self.kind == "linear":
            return functional.linear(x, layer.weight.abs())
        if self.kind == "conv":
            return functional.conv2d(
                x, layer.weight.abs(), None, layer.stride, layer.padding, layer.dilation, layer.groups
            )
        if self.kind == "norm":
            shape = [1, -1] + [1] * (x.dim() - 2)
            return x * _norm_scale(layer).abs().reshape(shape)
        return self.layer(x)  # pooling and flattening have no negative weights and no bias

    def offset(self, shape: torch.Size) -> Tensor:
        """The output (1, ...) at zero input: the bias."""
        return self.forward(torch.zeros((1, *shape), dtype=torch.float64))

    def row_norms(self, shape: torch.Size, q: float) -> Tensor:
        """Bounds (1, ...) on the l_q norm of every output's row of L, for dense and convolutional layers."""
        weight: Tensor = self.layer.weight.detach()  # type: ignore[operator]
        if self.kind == "linear":
            return norm(weight, q).unsqueeze(0)
        ones = torch.ones((1, *shape), dtype=torch.float64)
        if q == 1:
            return self.absolute(ones)
        layer: Any = self.layer
        geometry = (layer.stride, layer.padding, layer.dilation, layer.groups)
        if q == 2:
            # Squares of one filter must not vanish beside those of another.
            top = weight.abs().amax(dim=(1, 2, 3), keepdim=True).clamp_min(torch.finfo(weight.dtype).tiny)
            scaled = functional.conv2d(ones, (weight / top).square(), None, *geometry).sqrt()
            return scaled * top.reshape(1, -1, 1, 1)
        largest = weight.abs().flatten(1).amax(dim=1).reshape(1, -1, 1, 1)
        return torch.ones_like(functional.conv2d(ones, weight, None, *geometry)) * largest

    def pull_back(self, coefficient: Tensor, shape: torch.Size, *, absolute: bool = False) -> Tensor:
        """The transpose of L applied to rows over outputs: rows over inputs.

        Args:
            coefficient: (N, ...) rows over outputs.
            shape: of one input.
            absolute: of |L| instead.
        """
        with torch.enable_grad():
            zero = torch.zeros((len(coefficient), *shape), dtype=torch.float64, requires_grad=True)
            image = self.absolute(zero) if absolute else self.forward(zero)
            (back,) = torch.autograd.grad(image, zero, coefficient.reshape(image.shape))
        return back.detach()


def _norm_scale(layer: Any) -> Tensor:
    scale = torch.rsqrt(layer.running_var + layer.eps)
    return scale if layer.weight is None else scale * layer.weight


def chain_of(model: nn.Module) -> list[Affine | Profile]:
    """The model's layers as affine maps and scalar functions."""
    chain: list[Affine | Profile] = []
    for _, layer in named_layers(model):
        if isinstance(layer, nn.ReLU):
            chain.append(profile_of(Relu()))
        elif isinstance(layer, nn.LeakyReLU):
            chain.append(profile_of(LeakyRelu(float(layer.negative_slope))))
        elif isinstance(layer, nn.Linear):
            chain.append(Affine(layer, "linear", layer.in_features + 1))
        elif isinstance(layer, nn.Conv2d):
            terms = layer.in_channels // layer.groups * math.prod(layer.kernel_size) + 1
            chain.append(Affine(layer, "conv", terms))
        elif isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
            chain.append(Affine(layer, "norm", 8))
        else:
            window = layer.kernel_size if isinstance(layer, nn.AvgPool2d) else 1
            terms = window * window if isinstance(window, int) else math.prod(window)
            chain.append(Affine(layer, "flatten" if isinstance(layer, nn.Flatten) else "pool", terms))
    return chain


def dense(W: Tensor, b: Tensor | None = None) -> Affine:
    """The affine map of a matrix."""
    layer = nn.Linear(W.shape[1], W.shape[0], bias=b is not None, dtype=torch.float64)
    layer.weight.data = W.detach().double()
    if b is not None:
        layer.bias.data = b.detach().double()
    return Affine(layer, "linear", W.shape[1] + 1)
