"""From a model to the batch of minimisation problems its worst margins are."""

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.certificates.layers import UnsupportedLayer, named_layers
from karat.certificates.problem import Problem
from karat.certificates.profile import IDENTITY, Profile, odd_profile, profile_of
from karat.core.activations import LeakyRelu, Relu
from karat.core.ball import Ball
from karat.core.checks import ShapeError, require_labels
from karat.nets.deep import Deep
from karat.nets.linear import Linear
from karat.nets.module import NetModule
from karat.nets.odd_two_layer import OddTwoLayer
from karat.nets.two_layer import TwoLayer
from karat.nets.unaltered import alteration


@dataclass(frozen=True, eq=False)
class Ridge:
    r"""A two-layer net with one or more outputs: one row of A for a scalar net, one per logit else.

    .. math:: f_j(x) = \text{offset}_j + \sum_s A_{js}\, \psi(\langle w_s, x\rangle + b_s)

    Args:
        W: (m, d).
        b: (m,).
        A: (outputs, m).
        offset: (outputs,), all float64.
        profile: psi.
    """

    W: Tensor
    b: Tensor
    A: Tensor
    offset: Tensor
    profile: Profile


def plain(model: Any) -> Any:
    """The model in float64, detached, in evaluation mode; NaN or infinite weights are an error.

    Raises:
        UnsupportedLayer: for a module that may compute something else than its layers say.
        TypeError: for any other model that is not exactly one of karat's nets.
    """
    if type(model) is NetModule:
        reason = alteration(model)
        if reason:
            raise UnsupportedLayer(f"no certificate knows what the module computes: it {reason}.")
        model = model.net()
    if isinstance(model, nn.Module):
        named_layers(model)  # before the copy, which need not carry everything that was hung on the model
        model = copy.deepcopy(model).double().eval()
        for layer in model.modules():
            if hasattr(layer, "inplace"):  # else a first layer would overwrite the samples
                layer.inplace = False
        tensors: dict[str, Tensor] = dict(model.state_dict())
    elif type(model) in (Linear, TwoLayer, OddTwoLayer, Deep):  # a subclass may be another function
        model = model.replace(**{name: t.detach().double() for name, t in model.parameters().items()})
        tensors = model.parameters()
    else:
        raise TypeError(
            f"`certify` knows karat's own nets and torch.nn.Module, got {type(model).__name__}; "
            "`smoothed_certificate` takes any callable."
        )
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ValueError(f"the weights `{name}` of the model must be finite numbers.")
    return model


def as_ridge(model: Any) -> Ridge | None:
    """The two-layer form of a plain model, or None if it has none (deeper nets, convolutions)."""
    if isinstance(model, Linear):
        offset = torch.zeros(1).double() if model.c is None else model.c.reshape(1)
        one = torch.ones(1, 1, dtype=torch.float64)
        return Ridge(model.w.unsqueeze(0), torch.zeros(1, dtype=torch.float64), one, offset, IDENTITY)
    if isinstance(model, TwoLayer):
        b = torch.zeros(model.m, dtype=torch.float64) if model.b is None else model.b
        offset = torch.zeros(1, dtype=torch.float64) if model.c is None else model.c.reshape(1)
        return Ridge(model.W, b, (model.scale * model.a).unsqueeze(0), offset, profile_of(model.activation))
    if isinstance(model, OddTwoLayer):
        zero, ones = torch.zeros(model.m, dtype=torch.float64), torch.ones(1, model.m, dtype=torch.float64)
        profile = odd_profile(model.activation, float(model.b))
        return Ridge(model.W, zero, ones, torch.zeros(1, dtype=torch.float64), profile)
    if isinstance(model, nn.Module):
        return _from_module(model)
    return None


def _from_module(model: nn.Module) -> Ridge | None:
    """Linear layers around one activation, or none, behind any number of Flatten."""
    layers: list[Any] = [layer for _, layer in named_layers(model)]
    while layers and isinstance(layers[0], nn.Flatten):
        layers.pop(0)
    kinds = [isinstance(layer, nn.Linear) for layer in layers]
    if len(layers) == 3 and kinds == [True, False, True] and isinstance(layers[1], nn.ReLU | nn.LeakyReLU):
        first, middle, last = layers
        slope = middle.negative_slope if isinstance(middle, nn.LeakyReLU) else 0.0
        activation = LeakyRelu(slope) if slope else Relu()
        return Ridge(
            first.weight.detach(),
            _bias(first),
            last.weight.detach(),
            _bias(last),
            profile_of(activation),
        )
    if len(layers) == 1 and kinds == [True]:
        W = layers[0].weight.detach()
        m = W.shape[0]
        return Ridge(W, _bias(layers[0]), torch.eye(m).double(), torch.zeros(m).double(), IDENTITY)
    return None


def _bias(layer: Any) -> Tensor:
    bias: Tensor | None = layer.bias
    return torch.zeros(layer.out_features, dtype=torch.float64) if bias is None else bias.detach()


def label_rows(y: Tensor, outputs: int) -> tuple[Tensor, Tensor]:
    """Rows (N, outputs) whose products with the outputs are the margins to bound, and the sample of each.

    A scalar net with labels +-1 has one row per sample; with logits there is one per rival class, and the
    sample's margin is the smallest.
    """
    if outputs == 1:
        return require_labels(y, len(y)).double().unsqueeze(1), torch.arange(len(y))
    if y.dim() != 1 or y.is_floating_point():
        raise ValueError(f"a model with {outputs} logits needs class indices `y` as whole numbers (n,).")
    if len(y) and (int(y.min()) < 0 or int(y.max()) >= outputs):
        raise ValueError(
            f"class indices `y` must lie in 0..{outputs - 1}, got {int(y.min())}..{int(y.max())}."
        )
    sample = torch.arange(len(y)).repeat_interleave(outputs - 1)
    rival = torch.stack([torch.cat([torch.arange(k), torch.arange(k + 1, outputs)]) for k in y.tolist()])
    rows = torch.zeros(len(sample), outputs, dtype=torch.float64)
    rows.scatter_(1, y.long()[sample].unsqueeze(1), 1.0)
    rows.scatter_(1, rival.reshape(-1, 1), -1.0)
    return rows, sample


def problem_of(ridge: Ridge, x: Tensor, y: Tensor, ball: Ball) -> tuple[Problem, Tensor]:
    """The problems of all samples (and rivals), and the sample each belongs to.

    Args:
        ridge: the net.
        x: (n, d) samples.
        y: (n,) labels +-1, or class indices for logits.
        ball: radii (n,).

    Reading: y a_s and differences of logit weights are formed in float64; a difference is rounded once, which
        the error bounds of the problem cover.
    """
    flat = x.flatten(1).double()
    if flat.shape[1] != ridge.W.shape[1]:
        raise ShapeError(f"`x` must have {ridge.W.shape[1]} inputs per sample, got {flat.shape[1]}.")
    rows, sample = label_rows(y, len(ridge.A))
    radius = ball.radius(flat)
    problem = Problem(
        ridge.W,
        ridge.b,
        rows @ ridge.A,
        rows @ ridge.offset,
        flat[sample],
        ball.with_tau(radius[sample]),
        ridge.profile,
        logits=(rows.abs() @ ridge.A.abs(), rows.abs() @ ridge.offset.abs()) if len(ridge.A) > 1 else None,
    )
    return problem, sample
