"""One adapter both ways: a karat net as torch.nn.Module, and any model as a Classifier."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from karat.core.checks import require_labels
from karat.core.classifier import Classifier
from karat.core.hinges import Hinges
from karat.core.line import Line
from karat.nets.net import Net
from karat.nets.neurons import hinges_of, line_of
from karat.nets.outputs import score_count
from karat.nets.unaltered import alteration


class NetModule(torch.nn.Module):
    """A karat net whose tensors are torch parameters, for autograd, optimisers and checkpoints."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        for name, tensor in net.parameters().items():
            self.register_parameter(name, torch.nn.Parameter(tensor.detach().clone()))
        # The template shares the module's parameters, so that the weights are held once.
        self._template = net.replace(**dict(self.named_parameters()))

    def net(self) -> Net:
        """The karat net with the module's present tensors, still attached to autograd."""
        return self._template.replace(**dict(self.named_parameters()))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (n,)."""
        return self.net()(x)


def to_module(net: Net) -> NetModule:
    """A torch.nn.Module with the same function and a copy of the same tensors."""
    return NetModule(net)


@dataclass(frozen=True)
class NetClassifier:
    """A karat net seen through its margin y f(x), labels +-1, gradients in closed form."""

    net: Net

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """y f(x)."""
        return require_labels(y, len(x)).to(x) * self.net(x)

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """y f(x) and y grad_x f."""
        sign = require_labels(y, len(x)).to(x)
        f, gradient = self.net.value_and_input_gradient(x)
        return sign * f, sign.unsqueeze(1) * gradient

    def line(self, x: Tensor, direction: Tensor, y: Tensor) -> Line | None:
        """The margin on the rays x + t direction, by neurons; None unless the net has one hidden layer.

        Args:
            x: (n, d) samples.
            direction: (n, d) directions of their rays.
            y: (n,) labels.
        """
        return line_of(self.net, x, direction, require_labels(y, len(x)).to(x))

    def hinges(self, x: Tensor, y: Tensor) -> Hinges | None:
        """The net by its neurons; None unless it is two-layer with a ReLU or leaky ReLU."""
        return hinges_of(self.net, require_labels(y, len(x)).to(x))


@dataclass(frozen=True)
class ModuleClassifier:
    """Any callable on tensors seen through its margin, gradients by autograd.

    A scalar output, (n,) or (n, 1), goes with labels +-1; logits (n, classes) go with class indices.
    The model is used in the mode it is in: call `.eval()` first to still its batch norm and dropout.
    """

    model: Callable[[Tensor], Tensor]

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """Margins without a graph."""
        with torch.no_grad():
            return self._margin(x, y)

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Margins and their input gradients from one backward pass."""
        with torch.enable_grad():
            leaf = x.detach().requires_grad_(True)
            margin = self._margin(leaf, y)
            if not margin.requires_grad:
                raise ValueError(
                    "the model's output carries no gradient: it must be computed from x by torch, "
                    "outside of torch.inference_mode()."
                )
            (gradient,) = torch.autograd.grad(margin.sum(), leaf, materialize_grads=True)
        return margin.detach(), gradient

    def _margin(self, x: Tensor, y: Tensor) -> Tensor:
        output = self.model(x.clone())  # a copy: the first layer may work in place
        if not isinstance(output, Tensor):
            raise TypeError(
                f"the model must return one tensor, got {type(output).__name__}; wrap it to select one."
            )
        if score_count(output, len(x)) == 1:
            return require_labels(y, len(x)).to(output) * output.reshape(len(x))
        return _logit_margin(output, y)


def _logit_margin(logits: Tensor, y: Tensor) -> Tensor:
    """logit of the true class less the largest other logit."""
    if y.shape != (len(logits),) or y.is_floating_point():
        raise ValueError(
            f"a model with {logits.shape[1]} logits needs class indices `y` as whole numbers (n,)."
        )
    if bool(((y < 0) | (y >= logits.shape[1])).any()):
        raise ValueError(
            f"class indices `y` must lie in 0..{logits.shape[1] - 1}, got {int(y.min())}..{int(y.max())}."
        )
    true = y.long().unsqueeze(1)
    return logits.gather(1, true).squeeze(1) - logits.scatter(1, true, -torch.inf).amax(dim=1)


def as_classifier(model: Any) -> Classifier:
    """The Classifier of a karat net, a torch.nn.Module, any callable on tensors, or a Classifier itself."""
    if isinstance(model, Classifier):
        return model
    if type(model) is NetModule and alteration(model) is None:  # else it may not be the net's function
        model = model.net().replace(**{name: p.detach() for name, p in model.named_parameters()})
    if isinstance(model, Net):
        return NetClassifier(model)
    if callable(model):
        return ModuleClassifier(model)
    raise TypeError(
        f"`model` must be a karat net, a torch.nn.Module or a callable, got {type(model).__name__}."
    )
