"""Double descent of FC(m) with squares, and the size at which a student fits a teacher's labels best."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.nets.convnets import QuadraticNets
from karat.papers.features.experiments.teachers import (
    Originals,
    classical_minimum,
    digits_source,
    draw_injected,
    load_originals,
    predictions,
    train_teacher,
)
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined
from karat.training.images.classification import Classification, cross_entropy


@dataclass(frozen=True, kw_only=True)
@settings
class DescentConfig:
    r"""Settings of one curve over the size of the net.

    Args:
        source: digits.
        inputs: "original" images with their labels, or "gaussian" inputs labelled by a teacher that was
            trained on the images.
        teacher: its size, FC(teacher).
        sizes: hidden units, three or more increasing sizes that are trained side by side.
        n: training inputs.
        epochs: of Adam.
        lr: of Adam.
        batch_size: of Adam.
        confidence: :math:`\lambda` of the teacher's regulariser.
    """

    source: Literal["digits", "mnist"] = "digits"
    inputs: Literal["original", "gaussian"] = "original"
    teacher: Count = 9
    sizes: tuple[Count, ...] = (3, 5, 9, 15, 25, 40)
    n: Count = 8000
    epochs: Count = 40
    lr: Positive = 2e-3
    batch_size: Count = 128
    confidence: NonNegative = 0.5

    def __post_init__(self) -> None:
        if len(self.sizes) < 3 or list(self.sizes) != sorted(set(self.sizes)):
            owner = type(self).__name__
            raise ValueError(
                f"`sizes` of `{owner}` must be three or more increasing sizes, got {self.sizes}."
            )


@dataclass(frozen=True, kw_only=True)
class DescentResult:
    """Test loss and accuracy over the size.

    Args:
        sizes: hidden units.
        test_loss: cross-entropy of each size.
        test: accuracy of each size.
        minimum: size at the first local minimum of the test loss.
        inputs_used: training inputs there were.
    """

    sizes: list[int]
    test_loss: list[float]
    test: list[float]
    minimum: Annotated[float, Undefined("the test loss has no minimum inside the sizes that were tried")]
    inputs_used: int


def run(config: DescentConfig, generator: torch.Generator) -> DescentResult:
    """Train nets of all sizes; their test loss, accuracy, and the minimum of the classical regime.

    Args:
        config: settings of the curve.
        generator: draws images, inputs, starts and batches.
    """
    data = load_originals(config.source, config.n, generator, flat=True)
    if config.inputs == "gaussian":
        data = _relabelled(config, data, generator)
    nets = QuadraticNets(config.sizes, data.x.shape[1], data.classes, generator=generator)
    steps = config.epochs * max(1, len(data.x) // config.batch_size)
    plan = Classification(steps=steps, lr=config.lr, batch_size=config.batch_size)
    plan.run(nets, data.x, data.labels, generator=generator)
    with torch.no_grad():
        losses = cross_entropy(nets(data.x_test), data.labels_test).tolist()
    right = predictions(nets, data.x_test) == data.labels_test
    minimum = classical_minimum(config.sizes, losses)
    return DescentResult(
        sizes=list(config.sizes),
        test_loss=losses,
        test=right.double().mean(dim=1).tolist(),
        minimum=math.nan if minimum is None else minimum,
        inputs_used=len(data.x),
    )


def _relabelled(config: DescentConfig, data: Originals, generator: torch.Generator) -> Originals:
    """Gaussian inputs, as many as there are images, with the labels of a regularised teacher."""
    # Students are tested on new Gaussian inputs too: after the teacher's training no image is used.
    train, test = (draw_injected("gaussian", data.x, n, generator, train=True) for n in (len(data.x), 4000))
    teacher = QuadraticNets((config.teacher,), data.x.shape[1], data.classes, generator=generator)
    steps = 5 * max(1, len(data.x) // config.batch_size)
    plan = Classification(steps=steps, lr=3e-3, batch_size=config.batch_size)
    train_teacher(teacher, data, train, plan, config.confidence, generator)

    def labels(x: Tensor) -> Tensor:
        return predictions(teacher, x)[0]

    return Originals(train, labels(train), test, labels(test))


_BASE = DescentConfig(source=digits_source())
_CURVES: tuple[dict[str, Any], ...] = (
    {"inputs": "original"},
    *({"inputs": "gaussian", "teacher": size} for size in (9, 50, 500)),
)

FIG26 = Experiment(
    name="features.fig26",
    title="At which size does the test loss of FC(m) have its classical minimum?",
    paper="features",
    presets={
        "tiny": Preset(
            config=replace(_BASE, source="digits", n=300, epochs=2, sizes=(2, 4, 8)),
            grid={"inputs": ("original", "gaussian")},
            seeds=2,
            cell_seconds=0.5,
        ),
        "quick": Preset(config=replace(_BASE, n=2500), points=_CURVES[:3], seeds=1, cell_seconds=1.1),
        "full": Preset(
            config=replace(_BASE, n=60_000, sizes=(2, 3, 5, 7, 9, 12, 15, 20, 30, 50, 100, 200)),
            points=_CURVES,
            seeds=3,
            cell_seconds=900,
        ),
    },
    run=run,
)
