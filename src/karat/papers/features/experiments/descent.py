"""Double descent of FC(m) with squares, and the size at which a student fits a teacher's labels best."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_number, require_settings
from karat.data.images import available
from karat.nets.convnets import QuadraticNets
from karat.papers.features.experiments.teachers import (
    Originals,
    classical_minimum,
    draw_injected,
    load_originals,
    predictions,
    train_teacher,
)
from karat.study.experiment import Experiment, Preset
from karat.training.images.classification import Classification, cross_entropy


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one curve.

    Args:
        source: digits.
        inputs: "original" images with their labels, or "gaussian" inputs labelled by a teacher FC(teacher)
            trained on the images.
        sizes: hidden units, trained side by side.
        n: training inputs.
        epochs, lr, batch_size: of Adam.
        confidence: lambda of the teacher's regulariser.
    """

    source: Literal["digits", "mnist"] = "digits"
    inputs: Literal["original", "gaussian"] = "original"
    teacher: int = 9
    sizes: tuple[int, ...] = (3, 5, 9, 15, 25, 40)
    n: int = 8000
    epochs: int = 40
    lr: float = 2e-3
    batch_size: int = 128
    confidence: float = 0.5

    def __post_init__(self) -> None:
        for name in ("teacher", "n", "epochs", "batch_size"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_number(self.lr, "lr", "Config", positive=True)
        require_number(self.confidence, "confidence", "Config", minimum=0)
        require_settings(self)
        if len(self.sizes) < 3 or self.sizes[0] < 1 or list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError(f"`sizes` of `Config` must be three or more increasing sizes, got {self.sizes}.")


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Test loss and accuracy over the size, and the minimum of the classical regime."""
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
    found = classical_minimum(config.sizes, losses)
    return {
        "sizes": list(config.sizes),
        "test_loss": losses,
        "test": right.double().mean(dim=1).tolist(),
        "minimum": found,
        "inputs_used": len(data.x),
    }


def _relabelled(config: Config, data: Originals, generator: torch.Generator) -> Originals:
    """Gaussian inputs, as many as there are images, with the labels of a regularised teacher."""
    fresh = [draw_injected("gaussian", data.x, n, generator, train=True) for n in (len(data.x), 4000)]
    teacher = QuadraticNets((config.teacher,), data.x.shape[1], data.classes, generator=generator)
    steps = 5 * max(1, len(data.x) // config.batch_size)
    plan = Classification(steps=steps, lr=3e-3, batch_size=config.batch_size)
    train_teacher(teacher, data, fresh[0], plan, config.confidence, generator)

    def labels(x: Tensor) -> Tensor:
        return predictions(teacher, x)[0]

    return Originals(fresh[0], labels(fresh[0]), fresh[1], labels(fresh[1]))


def _source() -> Literal["digits", "mnist"]:
    return "mnist" if available("mnist") else "digits"


_BASE = Config(source=_source())
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
        "quick": Preset(config=replace(_BASE, n=2500), points=_CURVES[:3], seeds=1, cell_seconds=5),
        "full": Preset(
            config=replace(_BASE, n=60_000, sizes=(2, 3, 5, 7, 9, 12, 15, 20, 30, 50, 100, 200)),
            points=_CURVES,
            seeds=3,
            cell_seconds=900,
        ),
    },
    run=run,
    undefined={"minimum": "the test loss has no minimum inside the sizes that were tried"},
)
