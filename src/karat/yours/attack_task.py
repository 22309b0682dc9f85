"""What a user hands over to an attack, checked and brought into one form."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.attacks import BudgetError
from karat.core.activations import LeakyRelu, Relu
from karat.core.ball import Ball
from karat.core.checks import ShapeError
from karat.core.classifier import Classifier
from karat.nets.modes import still
from karat.nets.module import NetClassifier, NetModule, as_classifier
from karat.nets.net import Net
from karat.nets.outputs import fit_labels, score_count
from karat.nets.two_layer import TwoLayer
from karat.nets.unaltered import alteration

_TWO_LAYERS = ([nn.Linear, nn.ReLU, nn.Linear], [nn.Linear, nn.LeakyReLU, nn.Linear])


@dataclass(frozen=True, eq=False)
class AttackTask:
    """A model and samples, ready for an attack.

    Args:
        classifier: the user's model.
        x: (n, ...) in the model's type.
        y: (n,) as its scores need them.
        twin: the same function as a two-layer net, where the model is one.
        attacked: what the attack sees, the twin or the model itself.
        attacked_labels: (n,) labels for `attacked`, +-1 for the twin.
    """

    classifier: Classifier
    x: Tensor
    y: Tensor
    twin: TwoLayer | None
    attacked: Classifier
    attacked_labels: Tensor


@contextmanager
def prepared(model: Any, x: Any, y: Any, ball: Ball) -> Iterator[AttackTask]:
    """Check what was given to `attack`; a module is in eval mode until the end, then as it was.

    Args:
        model: a karat net, a module or a callable.
        x: (n, ...) inputs.
        y: (n,) labels.
        ball: allowed perturbations.
    """
    if not isinstance(ball, Ball):
        raise TypeError(f"`ball` of `attack` must be a `Ball`, such as Ball(2, 0.3), got {ball!r}.")
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    if x.dim() < 2 or len(x) == 0:
        raise ShapeError(f"`x` of `attack` must have shape (n, ...) with n >= 1, got {tuple(x.shape)}.")
    if y.shape != (len(x),):
        raise ShapeError(f"`y` of `attack` must have shape ({len(x)},), got {tuple(y.shape)}.")
    if not x.is_floating_point():
        raise TypeError(
            f"`x` of `attack` must hold floating-point numbers, in the units of the radius; got {x.dtype}."
        )
    if not bool(torch.isfinite(x.sum())) and not bool(torch.isfinite(x).all()):
        raise ValueError("`x` of `attack` must hold finite numbers.")
    modules = [model] if isinstance(model, nn.Module) else []
    with still(*modules):
        is_net = isinstance(model, Net)  # asked once: a protocol's answer is slow
        x = x.to(_dtype(model, is_net, x))
        classifier = NetClassifier(model) if is_net else as_classifier(model)
        y = _labels(model, is_net, x, y)
        twin = _twin(model, x)
        attacked, labels = (classifier, y) if twin is None else (NetClassifier(twin), fit_labels(y, 1).to(x))
        try:
            yield AttackTask(classifier, x, y, twin, attacked, labels)
        except (BudgetError, ArithmeticError) as error:
            lost = int(classifier.margin(x, y).isnan().sum())
            if lost:
                raise ArithmeticError(
                    f"the margin of {lost} of {len(x)} samples is NaN before any attack."
                ) from error
            raise


def _dtype(model: Any, is_net: bool, x: Tensor) -> torch.dtype:
    """That of the model's weights, or of x where the model has none to show."""
    tensors: list[Tensor] = []
    if is_net:
        tensors = list(model.parameters().values())
    elif isinstance(model, nn.Module):
        tensors = list(model.parameters())
    return next((tensor.dtype for tensor in tensors if tensor.is_floating_point()), x.dtype)


def _labels(model: Any, is_net: bool, x: Tensor, y: Tensor) -> Tensor:
    """+-1 for one score, class indices for logits; a classifier of the user's own takes them as they are."""
    if is_net or isinstance(model, NetModule):
        return fit_labels(y, 1)
    if isinstance(model, Classifier) or not callable(model):
        return y
    with torch.no_grad():
        output = model(x[:2].clone())
    return fit_labels(y, score_count(output, len(x[:2]))) if isinstance(output, Tensor) else y


def _twin(model: Any, x: Tensor) -> TwoLayer | None:
    """The two-layer net that a model is: karat's own, or Linear, ReLU, Linear with at most two outputs."""
    if type(model) is NetModule and alteration(model) is None:
        model = model.net()
    if type(model) is TwoLayer or x.dim() != 2:  # a subclass may be another function
        return model if type(model) is TwoLayer else None
    if type(model) is not nn.Sequential or any(map(alteration, model.modules())):
        return None
    layers: list[Any] = list(model)
    if [type(layer) for layer in layers] not in _TWO_LAYERS or layers[2].out_features > 2:
        return None
    first, middle, last = layers
    if isinstance(middle, nn.LeakyReLU) and not 0 <= middle.negative_slope <= 1:
        return None
    activation = LeakyRelu(middle.negative_slope) if isinstance(middle, nn.LeakyReLU) else Relu()
    # One score stays; of two logits the margin is a multiple +-1 of their difference.
    rows = torch.tensor([1.0] if last.out_features == 1 else [-1.0, 1.0]).to(x)
    c = None if last.bias is None else rows @ last.bias.detach()
    b = None if first.bias is None else first.bias.detach()
    return TwoLayer(first.weight.detach(), rows @ last.weight.detach(), b, c, activation)
