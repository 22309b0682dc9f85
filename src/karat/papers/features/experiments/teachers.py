"""Labels for inputs of any structure: the size of the teacher, its training, and the mixtures of inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from karat.data.images import available, load_images
from karat.nets.convnets import QuadraticNets, ResNet
from karat.training.images.classification import Classification, balance_and_confidence

INJECTED = 512
"""Unlabelled inputs per step in the teacher's regulariser, for fully connected teachers."""


def digits_source() -> Literal["digits", "mnist"]:
    """Return the digits that are here: full MNIST where KARAT_DATA has it, else the embedded ones."""
    return "mnist" if available("mnist") else "digits"


def classical_minimum(sizes: Sequence[int], losses: Sequence[float]) -> int | None:
    """Return the size at the first local minimum of the test loss, None if the loss falls all the way.

    Algorithm 1 asks for the minimum of the classical, U-shaped regime, before the second descent.

    Args:
        sizes: increasing.
        losses: one per size.

    >>> classical_minimum((3, 5, 9, 25), (0.9, 0.5, 0.7, 0.4))
    5

    Ref: features, Alg 1
    """
    for size, here, later in zip(sizes, losses, losses[1:], strict=False):
        if later > here:
            return int(size)
    return None


@dataclass(frozen=True, eq=False)
class Originals:
    """A standardised image set.

    Args:
        x: training inputs, rows for fully connected nets and images for convolutions.
        labels: class indices of `x`.
        x_test: test inputs of the same shape.
        labels_test: class indices of `x_test`.
    """

    x: Tensor
    labels: Tensor
    x_test: Tensor
    labels_test: Tensor

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.labels_test.max()) + 1


def load_originals(
    source: str, n: int, generator: torch.Generator, *, flat: bool, side: int | None = None
) -> Originals:
    """Return n shuffled training images and the test images, with mean 0 and variance 1 over all pixels.

    Args:
        source: image set.
        n: training images, all if there are fewer.
        generator: draws which.
        flat: whether images become rows.
        side: resolution, None for that of the set.
    """
    (x, y), (x_test, y_test) = (load_images(source, train=train) for train in (True, False))
    if side is not None and side != x.shape[-1]:
        x, x_test = (nn.functional.adaptive_avg_pool2d(images, side) for images in (x, x_test))
    order = torch.randperm(len(x), generator=generator)[:n]
    mean, sd = x[order].mean(), x[order].std()
    x, x_test = (x[order] - mean) / sd, (x_test - mean) / sd
    if flat:
        x, x_test = x.flatten(1), x_test.flatten(1)
    return Originals(x, y[order], x_test, y_test)


def draw_injected(kind: str, like: Tensor, n: int, generator: torch.Generator, *, train: bool) -> Tensor:
    """Return n inputs shaped like the originals: standard Gaussian, or Tiny ImageNet images, standardised.

    Reading: Tiny ImageNet inputs are drawn with replacement when more are asked for than there are.

    Args:
        kind: "gaussian" or "tiny_imagenet".
        like: the originals.
        n: how many.
        generator: draws them.
        train: whether images come from the training or the test set.
    """
    if kind == "gaussian":
        return torch.randn(n, *like.shape[1:], generator=generator)
    x, _ = load_images("tiny_imagenet", train=train)
    x = nn.functional.adaptive_avg_pool2d(x, like.shape[-1])
    x = (x - x.mean()) / x.std()
    if n <= len(x):
        return x[torch.randperm(len(x), generator=generator)[:n]]
    return x[torch.randint(len(x), (n,), generator=generator)]


def train_teacher(
    module: nn.Module,
    data: Originals,
    injected: Tensor,
    plan: Classification,
    confidence: float,
    generator: torch.Generator,
) -> None:
    """Train on the originals with the balance and confidence regulariser on injected inputs.

    Args:
        module: the teacher, changed in place.
        data: original images.
        injected: inputs without labels.
        plan: of training.
        confidence: weight of the confidence in the regulariser.
        generator: draws batches.
    """
    # A generator of its own: batches of the originals stay the same whatever the regulariser draws.
    penalty_generator = torch.Generator().manual_seed(int(torch.randint(2**62, (), generator=generator)))
    count = min(INJECTED if injected.dim() == 2 else plan.batch_size, len(injected))

    def penalty(teacher: nn.Module) -> Tensor:
        batch = injected[torch.randint(len(injected), (count,), generator=penalty_generator)]
        logits = teacher(batch)
        logits = logits[0] if logits.dim() == 3 else logits
        return balance_and_confidence(torch.softmax(logits, dim=1), confidence)

    plan.run(module, data.x, data.labels, generator=generator, penalty=penalty)


def predictions(module: nn.Module, x: Tensor) -> Tensor:
    """Return class indices (networks, n) of a module in evaluation mode.

    Args:
        module: one network, or several side by side.
        x: inputs.
    """
    module.eval()
    with torch.no_grad():
        logits = [module(chunk) for chunk in x.split(1000)]
    per_network = [chunk if chunk.dim() == 3 else chunk.unsqueeze(0) for chunk in logits]
    return torch.cat(per_network, dim=1).argmax(dim=2)


def build(kind: str, sizes: tuple[int, ...], data: Originals, generator: torch.Generator) -> nn.Module:
    """Return FC(m) networks side by side for flat inputs ("fc"), one ResNet(m) for images ("resnet").

    Args:
        kind: "fc" or "resnet".
        sizes: one per network, exactly one for "resnet".
        data: whose inputs and classes the networks have.
        generator: draws the start.
    """
    if kind == "fc":
        return QuadraticNets(sizes, data.x.shape[1], data.classes, generator=generator)
    (size,) = sizes
    return ResNet(size, data.classes, generator=generator, channels=data.x.shape[1])
