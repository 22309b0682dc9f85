"""The same labelling function on inputs with and without structure: how a student learns each part."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Tensor, nn

from karat.core.ranges import Count, NonNegative, Positive, Share, settings
from karat.data.images import available
from karat.papers.features.experiments.teachers import (
    Originals,
    build,
    digits_source,
    draw_injected,
    load_originals,
    predictions,
    train_teacher,
)
from karat.study.experiment import Experiment, Preset
from karat.study.result import Spread
from karat.training.images.classification import Classification

Part = Literal["original", "injected"]
"""Of the inputs: images, or what replaces some of them."""


@dataclass(frozen=True, kw_only=True)
@settings
class StudentsConfig:
    r"""Settings of one mixture of original and injected inputs.

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
        lr: of Adam.
        batch_size: of Adam.
        confidence: :math:`\lambda` of the teacher's regulariser.
        side: resolution, None for that of the set.
        n_test: inputs per part of the test.
        evaluations: how often the student is looked at after its start.
    """

    source: Literal["digits", "mnist", "cifar10", "svhn", "cifar10_pair", "svhn_pair"]
    injected: Literal["gaussian", "tiny_imagenet"] = "gaussian"
    alpha: Share = 0.5
    net: Literal["fc", "resnet"] = "fc"
    teacher: Count
    students: tuple[Count, ...]
    n: Count
    steps: Count
    teacher_steps: Count
    lr: Positive = 3e-3
    batch_size: Count = 128
    confidence: NonNegative = 0.5
    side: Annotated[int, Ge(8)] | None = None
    n_test: Count = 2000
    evaluations: Annotated[int, Ge(2)] = 8

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if round(self.alpha * self.n) >= self.n:
            raise ValueError(
                f"`alpha` of `{owner}` must leave at least one of `n` = {self.n} original images to the "
                f"control, got {self.alpha:g}."
            )
        if not self.students or (self.net == "resnet" and len(self.students) > 1):
            raise ValueError(
                f"`students` of `{owner}` must be one size for net=resnet and at least one for net=fc, "
                f"got {self.students}."
            )
        if self.injected == "tiny_imagenet" and self.net == "fc":
            raise ValueError(
                f"`injected` of `{owner}` can be tiny_imagenet only for net=resnet (RGB images)."
            )


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Share of test inputs on which a student agrees with the teacher, over its steps.

    Args:
        original: on original images.
        injected: on injected inputs.
        original_final: the last of `original`.
        injected_final: the last of `injected`.
    """

    original: list[float]
    injected: list[float]
    original_final: float
    injected_final: float

    def final(self, part: Part) -> float:
        """Return the agreement on one part at the end."""
        return self.original_final if part == "original" else self.injected_final


@dataclass(frozen=True, kw_only=True)
class StudentCurves:
    """Students of all sizes on one training set.

    Args:
        steps: at which they were looked at.
        students: size -> agreement with the teacher.
    """

    steps: list[int]
    students: Annotated[dict[int, Agreement], Spread()]


@dataclass(frozen=True, kw_only=True)
class StudentsResult:
    """How students learn both parts of a mixture.

    Args:
        teacher_test: accuracy of the teacher on the original test images.
        class_share_min: share of the class that the teacher gives least to injected inputs.
        class_share_max: share of the class that it gives most.
        majority_original: share of the class that it gives most to original test images.
        mixture: students of the mixture.
        control: students of its original images only, with the same teacher's labels.
    """

    teacher_test: float
    class_share_min: float
    class_share_max: float
    majority_original: float
    mixture: StudentCurves
    control: StudentCurves


@dataclass(frozen=True, eq=False)
class _TestInputs:
    """Inputs of both parts with the teacher's labels."""

    inputs: dict[Part, Tensor]
    labels: dict[Part, Tensor]


def run(config: StudentsConfig, generator: torch.Generator) -> StudentsResult:
    """Train teacher and students; agreement with the teacher on each part over the students' steps.

    The control is a student of the same size on the original images of the mixture alone, with the same
    teacher's labels.

    Args:
        config: settings of the mixture.
        generator: draws images, inputs, starts and batches.
    """
    flat = config.net == "fc"
    data = load_originals(config.source, config.n, generator, flat=flat, side=config.side)
    pool = draw_injected(config.injected, data.x, config.n, generator, train=True)
    teacher = build(config.net, (config.teacher,), data, generator)
    plan = Classification(steps=config.teacher_steps, lr=config.lr, batch_size=config.batch_size)
    train_teacher(teacher, data, pool, plan, config.confidence, generator)
    test = _test_inputs(config, teacher, data, generator)
    right = predictions(teacher, data.x_test)[0] == data.labels_test
    share = torch.bincount(test.labels["injected"], minlength=data.classes) / len(test.labels["injected"])
    count = round(config.alpha * len(data.x))
    originals = data.x[: len(data.x) - count]
    mixture = torch.cat([originals, pool[:count]])
    # The order matters: both draw from the generator.
    on_mixture, on_originals = (
        _learn(config, data, x, predictions(teacher, x)[0], test, generator) for x in (mixture, originals)
    )
    return StudentsResult(
        teacher_test=float(right.double().mean()),
        class_share_min=float(share.min()),
        class_share_max=float(share.max()),
        majority_original=float(torch.bincount(test.labels["original"]).max() / len(test.labels["original"])),
        mixture=on_mixture,
        control=on_originals,
    )


def _test_inputs(
    config: StudentsConfig, teacher: nn.Module, data: Originals, generator: torch.Generator
) -> _TestInputs:
    injected = draw_injected(config.injected, data.x, config.n_test, generator, train=False)
    chosen = torch.randperm(len(data.x_test), generator=generator)[: config.n_test]
    inputs: dict[Part, Tensor] = {"original": data.x_test[chosen], "injected": injected}
    return _TestInputs(inputs, {part: predictions(teacher, x)[0] for part, x in inputs.items()})


def _learn(
    config: StudentsConfig,
    data: Originals,
    x: Tensor,
    y: Tensor,
    test: _TestInputs,
    generator: torch.Generator,
) -> StudentCurves:
    """Train the student(s) on x with labels y; their agreement with the teacher at each evaluation."""

    def observe(step: int, module: nn.Module) -> dict[Part, list[float]]:
        agree = {part: predictions(module, x) == test.labels[part] for part, x in test.inputs.items()}
        return {part: same.double().mean(dim=1).tolist() for part, same in agree.items()}

    student = build(config.net, config.students, data, generator)
    steps = sorted({round(config.steps * i / config.evaluations) for i in range(config.evaluations + 1)})
    plan = Classification(steps=config.steps, lr=config.lr, batch_size=config.batch_size)
    observed = plan.run(student, x, y, generator=generator, observe=observe, observe_at=steps)

    def agreement(index: int) -> Agreement:
        original, injected = (
            [rates[part][index] for _, rates in observed] for part in ("original", "injected")
        )
        return Agreement(
            original=original,
            injected=injected,
            original_final=original[-1],
            injected_final=injected[-1],
        )

    return StudentCurves(
        steps=[step for step, _ in observed],
        students={size: agreement(index) for index, size in enumerate(config.students)},
    )


_FC = StudentsConfig(
    source=digits_source(), teacher=9, students=(9, 50), n=20_000, steps=1000, teacher_steps=600
)

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
        "quick": Preset(config=_FC, seeds=3, cell_seconds=3),
        "full": Preset(
            config=replace(_FC, n=60_000, steps=10_000, teacher_steps=5000),
            seeds=5,
            cell_seconds=120,
        ),
    },
    run=run,
)

# CIFAR-10 and SVHN hold 5,000 images each here; the paper trains on the full sets.
_CNN = StudentsConfig(
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
            cell_seconds=1.4,
        ),
        "full": Preset(config=_CNN, points=_PAPER, seeds=3, cell_seconds=3000),
    },
    run=run,
)
