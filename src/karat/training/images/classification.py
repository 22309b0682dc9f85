"""Cross-entropy training of torch modules with several classes: Adam or SGD, batches from one generator."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from karat.core.divergence import Diverged
from karat.core.ranges import Count, Positive, checked
from karat.nets.modes import evaluation
from karat.training.classifier_learning import shuffled_batches

TINY = 1e-30
Penalty = Callable[[nn.Module], Tensor]
Observe = Callable[[int, nn.Module], Any]


@dataclass(frozen=True, kw_only=True)
@checked
class Classification:
    """Mini-batch minimisation of the cross entropy, the rate falling linearly to zero.

    Args:
        steps: updates.
        lr: the first learning rate.
        batch_size: images per update.
        optimiser: "adam" or "sgd" (momentum 0.9).

    Reading: modules may return logits (n, classes) of one network or (networks, n, classes) of several; the
        losses of several are added, which trains each on its own.
    """

    steps: Count
    lr: Positive
    batch_size: Count = 128
    optimiser: Literal["adam", "sgd"] = "adam"

    def run(
        self,
        module: nn.Module,
        x: Tensor,
        labels: Tensor,
        *,
        generator: torch.Generator,
        penalty: Penalty | None = None,
        observe: Observe | None = None,
        observe_at: Collection[int] = (),
    ) -> list[tuple[int, Any]]:
        """Train the module in place; it ends in evaluation mode.

        Args:
            module: returns logits.
            x: (n, ...) inputs.
            labels: (n,) class indices.
            generator: of the batches.
            penalty: added to the loss, None for none.
            observe: called as observe(t, module) before update t, in evaluation mode.
            observe_at: the steps at which it is called.

        Returns:
            pairs of a step and what `observe` returned.
        """
        parameters = list(module.parameters())
        if self.optimiser == "adam":
            optimiser: torch.optim.Optimizer = torch.optim.Adam(parameters, lr=self.lr, foreach=True)
        else:
            optimiser = torch.optim.SGD(parameters, lr=self.lr, momentum=0.9, foreach=True)
        batches = shuffled_batches(torch.ones(len(x)), self.batch_size, generator=generator)
        measured: list[tuple[int, Any]] = []
        module.train()
        for step in range(self.steps + 1):
            if observe is not None and step in observe_at:
                with evaluation(module):
                    measured.append((step, observe(step, module)))
            if step == self.steps:
                break
            batch = next(batches)
            loss = cross_entropy(module(x[batch]), labels[batch]).sum()
            if penalty is not None:
                loss = loss + penalty(module)
            if not bool(torch.isfinite(loss)):
                raise Diverged(step, "the training loss is not finite")
            for group in optimiser.param_groups:
                group["lr"] = self.lr * (1 - step / self.steps)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        module.eval()
        return measured


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross entropy of one network (1,) or of each of several (networks,).

    Args:
        logits: (n, classes) or (networks, n, classes).
        labels: (n,) class indices.
    """
    several = logits if logits.dim() == 3 else logits.unsqueeze(0)
    picked = torch.log_softmax(several, dim=2).gather(2, labels.expand(len(several), -1).unsqueeze(2))
    return -picked.squeeze(2).mean(dim=1)


def balance_and_confidence(probabilities: Tensor, confidence: float) -> Tensor:
    r"""A loss on unlabelled inputs: classes are used equally often, and each answer is far from uniform.

    .. math:: R_1 + \lambda R_2, \qquad R_1 = \sum_j \bar p_j \ln \bar p_j, \qquad
              R_2 = -\frac1n \sum_i \sum_j p_{ij} \ln p_{ij},

    where :math:`\bar p` is the mean of the rows :math:`p_i`.

    Symbols: confidence is lambda. Both terms are minimised.

    Args:
        probabilities: (n, classes), rows of sum 1.
        confidence: weight of the second term.

    >>> sure = torch.eye(2)
    >>> round(float(balance_and_confidence(sure, 1.0)), 4)  # -log 2: balanced and certain
    -0.6931

    Ref: features, Eq (291)
    """
    mean = probabilities.mean(dim=0)
    # Underflowed probabilities must not have an infinite slope: p ln p is cut off where p is nothing.
    balance = (mean * mean.clamp_min(TINY).log()).sum()
    entropy = -(probabilities * probabilities.clamp_min(TINY).log()).sum(dim=1).mean()
    return balance + confidence * entropy
