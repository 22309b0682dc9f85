"""What a user's model returns, as one tensor of scores, and labels in the form that these scores need."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.checks import ShapeError


class OneOutput(nn.Module):
    """A model seen through its first tensor: first of a tuple or list, `logits` (or first) of a mapping.

    The rule is the same on every call; a model whose scores stand elsewhere must be wrapped by its owner.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Any) -> Tensor:
        """The scores."""
        return first_tensor(self.model(*inputs))


def first_tensor(output: Any) -> Tensor:
    """The tensor of scores in a model's answer.

    >>> first_tensor((torch.ones(1), None))
    tensor([1.])
    """
    if isinstance(output, Tensor):
        return output
    parts: list[Any] = []
    if isinstance(output, Mapping):
        parts = [output["logits"]] if "logits" in output else list(output.values())
    elif isinstance(output, list | tuple):
        parts = list(output)
    for part in parts:
        if isinstance(part, Tensor):
            return part
    raise TypeError(
        f"the model must return scores as a tensor or in a tuple or mapping, got {type(output).__name__}."
    )


def returns_one_tensor(model: nn.Module, x: Tensor) -> bool:
    """Whether the model's answer is a tensor as it stands."""
    with torch.no_grad():
        return isinstance(model(x[:1].clone()), Tensor)


def count_outputs(model: nn.Module, x: Tensor) -> int:
    """Scores per sample of a model, 1 or the number of logits, from its answer to the first inputs."""
    with torch.no_grad():
        output = model(x[:2].clone())
    return score_count(output, len(x[:2]))


def score_count(output: Tensor, n: int) -> int:
    """Scores per sample in a model's answer to n samples: 1 for (n,) and (n, 1), else the number of logits.

    >>> score_count(torch.zeros(4, 1), 4), score_count(torch.zeros(4, 3), 4)
    (1, 3)
    """
    if output.shape in ((n,), (n, 1)):
        return 1
    if output.dim() != 2 or len(output) != n:
        raise ShapeError(f"the model must return (n,), (n, 1) or (n, classes), got {tuple(output.shape)}.")
    return output.shape[1]


def fit_labels(y: Tensor, outputs: int) -> Tensor:
    """Labels as the scores need them: +-1 for one score, class indices for logits.

    Reading: two classes may be written 0, 1 or -1, +1; the larger is +1 for one score and index 1 for two
        logits. Nothing else is translated.

    >>> fit_labels(torch.tensor([0, 1]), 1), fit_labels(torch.tensor([-1.0, 1.0]), 2)
    (tensor([-1.,  1.]), tensor([0, 1]))
    """
    values = set(y.unique().tolist())
    if outputs == 1:
        if values <= {-1, 1}:
            return y.to(torch.get_default_dtype())
        if values <= {0, 1}:
            return 2.0 * y.to(torch.get_default_dtype()) - 1
        raise ValueError(f"a model with one score needs labels +-1 or 0 and 1, got {sorted(values)[:6]}.")
    if outputs == 2 and -1 in values and values <= {-1, 1}:
        return (y > 0).long()
    whole = all(float(value).is_integer() for value in values)
    if not whole or min(values) < 0 or max(values) >= outputs:
        raise ValueError(
            f"a model with {outputs} logits needs class indices 0..{outputs - 1}, got {sorted(values)[:6]}."
        )
    return y.long()
