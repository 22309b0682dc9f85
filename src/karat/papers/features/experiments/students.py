"""The same labelling function on inputs with and without structure: how a student learns each part."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from karat.core.checks import require_integer, require_number, require_settings
from karat.data.images import available
from karat.papers.features.experiments.teachers import (
    Originals,
    build,
    draw_injected,
    load_originals,
    predictions,
    train_teacher,
)
from karat.study.experiment import Experiment, Preset
from karat.training.images.classification import Classification

PARTS = ("original", "injected")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one mixture of original and injected inputs.

    Args:
        source: original images.
        injected: what replaces part of them.
        alpha: share of injected inputs.
        net: "fc" (FC(m), squares) or "resnet" (ResNet(m)).
        teacher: its size m.
        students: their sizes, several only for "fc", trained side by side.
        n: inputs of the student's training set.
        steps: of the student.
        teacher_steps: of the teacher.
        lr, batch_size: of Adam.
        confidence: lambda of the teacher's regulariser.
        side: resolution, None for that of the set.
        n_test: inputs per part of the test.
    """

    source: Literal["digits", "mnist", "cifar10", "svhn", "cifar10_pair", "svhn_pair"]
    injected: Literal["gaussian", "tiny_imagenet"] = "gaussian"
    alpha: float = 0.5
    net: Literal["fc", "resnet"] = "fc"
    teacher: int
    students: tuple[int, ...]
    n: int
    steps: int
    teacher_steps: int
    lr: float = 3e-3
    batch_size: int = 128
    confidence: float = 0.5
    side: int | None = None
    n_test: int = 2000
    evaluations: int = 8

    def __post_init__(self) -> None:
        for name in ("teacher", "n", "steps", "teacher_steps", "batch_size", "n_test"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_integer(self.evaluations, "evaluations", "Config", minimum=2)
        require_number(self.alpha, "alpha", "Config", minimum=0, maximum=1)
        if round(self.alpha * self.n) >= self.n:
            raise ValueError(
                f"`alpha` of `Config` must leave at least one of `n` = {self.n} original images to the "
                f"control, got {self.alpha:g}."
            )
        require_number(self.lr, "lr", "Config", positive=True)
        require_number(self.confidence, "confidence", "Config", minimum=0)
        require_settings(self)
        for size in self.students:
            require_integer(size, "students", "Config", minimum=1)
        if self.side is not None:
            require_integer(self.side, "side", "Config", minimum=8)
        if not self.students or (self.net == "resnet" and len(self.students) > 1):
            raise ValueError(
                f"`students` of `Config` must be one size for net=resnet and at least one for net=fc, "
                f"got {self.students}."
            )
        if self.injected == "tiny_imagenet" and self.net == "fc":
            raise ValueError("`injected` of `Config` can be tiny_imagenet only for net=resnet (RGB images).")


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train teacher and student; agreement with the teacher on each part over the student's steps.

    The control is a student of the same size on as many original images as the mixture has, with the same
    teacher's labels.
    """
    flat = config.net == "fc"
    data = load_originals(config.source, config.n, generator, flat=flat, side=config.side)
    pool = draw_injected(config.injected, data.x, config.n, generator, train=True)
    teacher = build(config.net, (config.teacher,), data, generator)
    plan = Classification(steps=config.teacher_steps, lr=config.lr, batch_size=config.batch_size)
    train_teacher(teacher, data, pool, plan, config.confidence, generator)
    tests = _tests(config, data, generator)
    labels = {part: predictions(teacher, x)[0] for part, x in tests.items()}
    count = round(config.alpha * len(data.x))
    kept = data.x[: len(data.x) - count]
    mixture = torch.cat([kept, pool[:count]])
    values = _teacher_values(teacher, data, pool, tests, labels)
    for name, x in (("mixture", mixture), ("control", kept)):
        student = build(config.net, config.students, data, generator)
        curve = _learn(config, student, x, predictions(teacher, x)[0], tests, labels, generator)
        values[f"{name}_steps"] = [step for step, _ in curve]
        for index, size in enumerate(config.students):
            for part in PARTS:
                agreement = [measured[part][index] for _, measured in curve]
                values[f"{name}_{size}_{part}"] = agreement
                values[f"{name}_{size}_{part}_final"] = agreement[-1]
    return values


def _tests(config: Config, data: Originals, generator: torch.Generator) -> dict[str, Tensor]:
    injected = draw_injected(config.injected, data.x, config.n_test, generator, train=False)
    chosen = torch.randperm(len(data.x_test), generator=generator)[: config.n_test]
    return {"original": data.x_test[chosen], "injected": injected}


def _teacher_values(
    teacher: nn.Module, data: Originals, pool: Tensor, tests: dict[str, Tensor], labels: dict[str, Tensor]
) -> dict[str, Any]:
    """Accuracy of the teacher, and how unequally it uses the classes on injected inputs."""
    right = predictions(teacher, data.x_test)[0] == data.labels_test
    share = torch.bincount(labels["injected"], minlength=data.classes) / len(tests["injected"])
    return {
        "teacher_test": float(right.double().mean()),
        "class_share_min": float(share.min()),
        "class_share_max": float(share.max()),
        "majority_original": float(torch.bincount(labels["original"]).max() / len(labels["original"])),
    }


def _learn(
    config: Config,
    student: nn.Module,
    x: Tensor,
    y: Tensor,
    tests: dict[str, Tensor],
    labels: dict[str, Tensor],
    generator: torch.Generator,
) -> list[tuple[int, dict[str, list[float]]]]:
    """Train the student(s); at each evaluation the agreement with the teacher, per part and size."""

    def observe(step: int, module: nn.Module) -> dict[str, list[float]]:
        agree = {part: predictions(module, inputs) == labels[part] for part, inputs in tests.items()}
        return {part: right.double().mean(dim=1).tolist() for part, right in agree.items()}

    places = sorted({round(config.steps * i / config.evaluations) for i in range(config.evaluations + 1)})
    plan = Classification(steps=config.steps, lr=config.lr, batch_size=config.batch_size)
    return plan.run(student, x, y, generator=generator, observe=observe, observe_at=places)


def _digits() -> Literal["digits", "mnist"]:
    return "mnist" if available("mnist") else "digits"


_FC = Config(source=_digits(), teacher=9, students=(9, 50), n=20_000, steps=1000, teacher_steps=600)

FIG22 = Experiment(
    name="features.fig22",
    title="Do students of one teacher learn digits faster than Gaussian inputs?",
    paper="features",
    presets={
        "tiny": Preset(
            config=replace(
                _FC,
                source="digits",
                n=400,
                students=(4, 6),
                steps=60,
                teacher_steps=60,
                n_test=200,
                evaluations=3,
            ),
            seeds=2,
            cell_seconds=0.5,
        ),
        "quick": Preset(config=_FC, seeds=2, cell_seconds=6),
        "full": Preset(
            config=replace(_FC, n=60_000, steps=10_000, teacher_steps=5000),
            seeds=5,
            cell_seconds=120,
        ),
    },
    run=run,
)

# CIFAR-10 and SVHN hold 5,000 images each here; the paper trains on the full sets.
_CNN = Config(
    source="svhn",
    net="resnet",
    teacher=2,
    students=(8,),
    n=4000,
    steps=2000,
    teacher_steps=2000,
    batch_size=100,
    n_test=1000,
)
_CIFAR: dict[str, Any] = {"source": "cifar10", "teacher": 5, "students": (9,)}
_PAPER: tuple[dict[str, Any], ...] = (
    {"source": "svhn"},
    {"source": "svhn", "injected": "tiny_imagenet"},
    *({**_CIFAR, "alpha": alpha} for alpha in (0.25, 0.5, 0.75)),
    {**_CIFAR, "injected": "tiny_imagenet"},
)
# Few images of two classes at a quarter of the resolution: the same code in seconds, weak as evidence.
_FEW = replace(
    _CNN,
    source="cifar10_pair",
    n=1000,
    steps=60,
    teacher_steps=60,
    batch_size=50,
    side=8,
    n_test=300,
    evaluations=5,
    students=(4,),
)
_HERE = all(available(name) for name in ("cifar10_pair", "svhn_pair", "tiny_imagenet"))
_QUICK: tuple[dict[str, Any], ...] = (
    {"alpha": 0.25},
    {"alpha": 0.5},
    {"alpha": 0.75},
    {"injected": "tiny_imagenet"},
)

FIG24 = Experiment(
    name="features.fig24",
    title="Do residual students learn natural images faster than Gaussian or foreign inputs?",
    paper="features",
    presets={
        "tiny": Preset(
            config=replace(
                _FEW, source="digits", teacher=1, students=(1,), n=60, steps=3, teacher_steps=3, n_test=20
            ),
            seeds=2,
            cell_seconds=1,
        ),
        "quick": Preset(
            config=_FEW if _HERE else replace(_FEW, source="digits"),
            points=_QUICK if _HERE else ({},),
            seeds=1,
            cell_seconds=5,
        ),
        "full": Preset(config=_CNN, points=_PAPER, seeds=3, cell_seconds=3000),
    },
    run=run,
)
