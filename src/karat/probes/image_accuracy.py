"""Accuracy of image networks: on images, on the copies an attacker makes, and under strong attacks."""

import torch
from torch import Tensor, nn

from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.core.checks import require_integer
from karat.core.classifier import Classifier
from karat.nets.modes import evaluation, still
from karat.nets.module import ModuleClassifier
from karat.training.images.attackers import ImageAttacker, LogProbability, random_start

BATCH = 250
"""Images in one forward pass."""

SCOUT_STEPS = 10
"""Length of the first, cheap attack, whose victims the strong ones are spared."""


def correct(module: nn.Module, x: Tensor, labels: Tensor) -> Tensor:
    """(n,) booleans: images whose largest logit is the label's, in evaluation mode; on the CPU.

    Args:
        module: returns logits.
        x: (n, ...) images.
        labels: (n,) class indices.
    """
    device = device_of(module)
    with evaluation(module):
        parts = [module(part.to(device)).argmax(dim=1).cpu() for part in x.split(BATCH)]
    return torch.cat(parts) == labels.cpu()


def accuracy(module: nn.Module, x: Tensor, labels: Tensor) -> float:
    """Share of images that are classified as their label.

    Args:
        module: returns logits.
        x: (n, ...) images.
        labels: (n,) class indices.
    """
    return float(correct(module, x, labels).double().mean())


def attacker_accuracy(
    module: nn.Module, x: Tensor, labels: Tensor, attacker: ImageAttacker, *, generator: torch.Generator
) -> float:
    """Share of an attacker's copies that are classified right, their noise included.

    Reading: each noisy copy is scored by itself. Noise that hides the gradient flatters a clean net, so this
        number must stand beside `robust`, which has no noise.

    Args:
        module: returns logits.
        x: (n, ...) images.
        labels: (n,) class indices.
        attacker: makes the copies.
        generator: of noise and random starts.

    Ref: purification, Tab 1
    """
    device, right, total = device_of(module), 0, 0
    for images, truth in zip(x.split(BATCH), labels.split(BATCH), strict=True):
        copies, truths = attacker.copies(module, images.to(device), truth.to(device), generator=generator)
        right += int(correct(module, copies, truths).sum())
        total += len(truths)
    return right / total


def robust(
    module: nn.Module,
    x: Tensor,
    labels: Tensor,
    ball: Ball,
    *,
    generator: torch.Generator,
    steps: int = 50,
    restarts: int = 3,
) -> Tensor:
    """(n,) booleans: images that no attack tried inside the ball turns; all of them without noise.

    `SCOUT_STEPS` steps from the image itself, against the margin and against the cross entropy, then
    `restarts` runs of `steps` steps from random points of the ball, against the two in turn; each run sees
    the images that are still right.

    Args:
        module: returns logits.
        x: (n, ...) images.
        labels: (n,) class indices.
        ball: the perturbations allowed.
        generator: of random starts.
        steps: of a long run.
        restarts: number of long runs.
    """
    require_integer(steps, "steps", "robust", minimum=1)
    require_integer(restarts, "restarts", "robust", minimum=0)
    standing = correct(module, x, labels)
    scout, run = PGD(steps=min(SCOUT_STEPS, steps)), PGD(steps=steps, start=random_start)
    targets = (ModuleClassifier(module), LogProbability(module))
    tries = [(target, scout) for target in targets]
    tries += [(targets[index % 2], run) for index in range(restarts)]
    for target, pgd in tries:
        index = standing.nonzero().squeeze(1)
        for part in index.split(BATCH):
            standing[part] = _survive(module, x[part], labels[part], ball, target, pgd, generator)
    return standing


def robust_accuracy(
    module: nn.Module, x: Tensor, labels: Tensor, ball: Ball, *, generator: torch.Generator, **settings: int
) -> float:
    """Share of images that no attack of `robust` turns: an upper limit, like every attack.

    Args:
        module: returns logits.
        x: (n, ...) images.
        labels: (n,) class indices.
        ball: the perturbations allowed.
        generator: of random starts.
        settings: `steps` and `restarts` of `robust`.
    """
    return float(robust(module, x, labels, ball, generator=generator, **settings).double().mean())


def device_of(module: nn.Module) -> torch.device:
    """Where the module's first parameter lives; the CPU if it has none."""
    first = next(module.parameters(), None)
    return torch.device("cpu") if first is None else first.device


def _survive(
    module: nn.Module,
    x: Tensor,
    labels: Tensor,
    ball: Ball,
    target: Classifier,
    pgd: PGD,
    generator: torch.Generator,
) -> Tensor:
    device = device_of(module)
    x, labels = x.to(device), labels.to(device)
    with still(module):
        # Rounding must not buy a victim, hence the projection.
        delta = ball.project(pgd(target, x, labels, ball, generator=generator), x)
        return (ModuleClassifier(module).margin(x + delta, labels) > 0).cpu()
