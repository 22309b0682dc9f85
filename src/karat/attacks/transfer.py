"""Transfer: perturbations computed on one classifier, judged on another."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.judge import judge
from karat.attacks.method import Method, method_name
from karat.attacks.precision import perturbations
from karat.core.classifier import Classifier
from karat.core.region import Region


@dataclass(frozen=True, eq=False)
class Transfer:
    """How perturbations of classifier i (row) do on classifier j (column).

    Args:
        error: (K, K) share of all samples that j gets wrong at x + delta_i.
        rate: (K, K) share of the samples that delta_i flips on i and that j gets right when clean, which
            delta_i flips on j; NaN where there is no such sample.
        count: (K, K) number of such samples.

    Reading: a sample counts as flipped on i if i errs at x + delta_i but not at x.
    """

    error: Tensor
    rate: Tensor
    count: Tensor


def transfer_matrix(
    classifiers: Sequence[Classifier],
    x: Tensor,
    y: Tensor,
    ball: Region,
    *,
    method: Method,
    generator: torch.Generator | None = None,
) -> Transfer:
    """Every classifier's perturbations on every classifier; each one is attacked once.

    Args:
        classifiers: K of them, with one kind of input and label.
        x: (n, ...) inputs.
        y: (n,) labels.
        ball: the allowed perturbations.
        method: the attack.
        generator: needed by attacks that draw random numbers.
    """
    name = method_name(method)
    correct = torch.stack([classifier.margin(x, y) > 0 for classifier in classifiers])
    wrong = []
    for source in classifiers:
        delta = perturbations(method, source, x, y, ball, generator=generator)
        wrong.append(
            torch.stack([judge(target, x, y, delta, ball, name=name).success for target in classifiers])
        )
    table = torch.stack(wrong)
    flipped = table.diagonal(dim1=0, dim2=1).T & correct
    eligible = flipped.unsqueeze(1) & correct.unsqueeze(0)
    count = eligible.sum(dim=2)
    rate = (eligible & table).sum(dim=2).double() / count.double()
    return Transfer(table.double().mean(dim=2), rate, count)
