"""Figures 22 to 25: which part of a mixture students learn."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from karat.papers.features.checks.images import MISSING
from karat.papers.features.checks.printed_size import LEAD
from karat.papers.features.experiments.students import (
    FIG22,
    FIG24,
    Agreement,
    StudentCurves,
    StudentsConfig,
    StudentsResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.experiment import Experiment
from karat.study.finding import Finding
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import Undecided, all_of, bound, noted
from karat.study.run import Run, by_setting, examples

StudentsRun = Run[StudentsConfig, StudentsResult]


CLEAR = 0.05
"""A lead of the original part up to this is no clear gap, one beyond it is."""


def part_gap(
    size: int | None = None, *, injected: str | None = None, all_alphas: bool = False
) -> Callable[[Sequence[StudentsRun]], Finding]:
    """Judge the lead of the original over the injected part, at the end and in the mean over the steps.

    The original part must be learned at all: constant answers lead wherever the teacher prefers a class.

    Args:
        size: of the students, None for the largest.
        injected: which injected inputs, None for any.
        all_alphas: whether all shares of injected inputs count, or only one half.
    """

    def evaluate(runs: Sequence[StudentsRun]) -> Finding:
        mixtures = [
            run
            for run in runs
            if injected in (None, run.config.injected) and (all_alphas or run.config.alpha == 0.5)
        ]
        if not mixtures:
            raise Undecided(f"no such mixture was run: {MISSING}")
        parts = []
        for group in by_setting(mixtures):
            parts.append(bound([_lead(run, size) for run in group], "at least", CLEAR, LEAD))
            # "Slower and worse": a part that is worse at the end but led on the way is not learned slower.
            parts.append(bound([_lead_on_the_way(run, size) for run in group], "at least", 0.0, LEAD))
            parts.append(_learned(group, size))
        return noted(all_of(*parts), _said_of(mixtures, size))

    return evaluate


def no_clear_gap(runs: Sequence[StudentsRun]) -> Finding:
    """Lead of the digits over the Gaussian part for FC(9), which the paper calls no significant trend.

    The digits must be learned: students that learn nothing show no trend either.
    """
    gap = bound([_lead(run, 9) for run in runs], "at most", CLEAR, LEAD)
    return noted(all_of(gap, _learned(runs, 9)), _said_of(runs, 9))


def clearer_gap(runs: Sequence[StudentsRun]) -> Finding:
    """The lead of the digits for FC(50), which must also exceed that for FC(9)."""
    more = [_lead(run, 50) - _lead(run, 9) for run in runs]
    return all_of(part_gap(50)(runs), bound(more, "at least", 0.0, LEAD))


def _learned(runs: Sequence[StudentsRun], size: int | None) -> Finding:
    """Agreement on the original part, above half-way between the best constant answer and the teacher."""
    halfway = [(1 + run.result.majority_original) / 2 for run in runs]
    above = [_agreement(run, size).original_final - level for run, level in zip(runs, halfway, strict=True)]
    return bound(above, "at least", 0.0, LEAD)


def _agreement(run: StudentsRun, size: int | None) -> Agreement:
    """Agreement of the students of a size with the teacher, of the largest without one."""
    sizes = run.config.students
    chosen = sizes[-1] if size is None else size
    if chosen not in sizes:
        raise Undecided(f"no student of size {chosen} was trained.")
    return run.result.mixture.students[chosen]


def _lead(run: StudentsRun, size: int | None) -> float:
    """Of the original over the injected part at the end."""
    student = _agreement(run, size)
    return student.original_final - student.injected_final


def _lead_on_the_way(run: StudentsRun, size: int | None) -> float:
    student = _agreement(run, size)
    return float(np.mean(student.original)) - float(np.mean(student.injected))


def _said_of(runs: Sequence[StudentsRun], size: int | None) -> str:
    students = [_agreement(run, size) for run in runs]
    constant = np.mean([run.result.class_share_max for run in runs])
    return (
        f"Original part {np.mean([s.original_final for s in students]):.3f}, injected part "
        f"{np.mean([s.injected_final for s in students]):.3f}, where a constant answer has {constant:.3f}; "
        f"teacher accuracy {np.mean([run.result.teacher_test for run in runs]):.3f}."
    )


def foreign_images(runs: Sequence[StudentsRun]) -> Finding:
    """Tiny ImageNet inputs are learned better than Gaussian ones and worse than originals, seed by seed."""
    foreign = {run.seed: run for run in runs if run.config.injected == "tiny_imagenet"}
    noise = {run.seed: run for run in runs if run.config.injected == "gaussian" and run.config.alpha == 0.5}
    seeds = sorted(foreign.keys() & noise.keys())
    if not seeds:
        raise Undecided(f"no mixture with Tiny ImageNet was run: {MISSING}")
    low = np.array([_agreement(noise[seed], None).injected_final for seed in seeds])
    middle = np.array([_agreement(foreign[seed], None).injected_final for seed in seeds])
    high = np.array([_agreement(foreign[seed], None).original_final for seed in seeds])
    better = bound(middle - low, "at least", 0.0, LEAD), bound(high - middle, "at least", 0.0, LEAD)
    return noted(
        all_of(*better, _learned([foreign[seed] for seed in seeds], None)),
        f"Gaussian {low.mean():.3f}, Tiny ImageNet {middle.mean():.3f}, originals {high.mean():.3f}.",
    )


def _paper_students(config: StudentsConfig) -> list[Condition]:
    if config.net != "resnet":
        return [
            is_so("Sec E.5.2: MNIST", config.source == "mnist"),
            at_least("Sec E.5.2: all 60,000 digits", config.n, 60_000),
        ]
    return [
        is_so("Sec E.5.2: CIFAR-10 and SVHN with all ten classes", config.source in ("cifar10", "svhn")),
        is_so("Sec E.5.2: images of 32 x 32", config.side in (None, 32)),
        at_least("Sec E.5.2: the full training sets", config.n, 50_000),
    ]


_ONE_STEP = {"steps": 1}
_WHY_ONE_STEP = "Students that never learn agree with the teacher on neither part."

UNTRAINED = Control(
    name="no training",
    removes="training",
    settings=_ONE_STEP,
    cheap={"source": "digits", "n": 3000, "n_test": 500, "evaluations": 2},
    why=_WHY_ONE_STEP,
)

FEW_INPUTS = Control(
    name="few inputs",
    removes="scale",
    settings={"n": 500},
    cheap={"source": "digits", "steps": 100, "teacher_steps": 200, "n_test": 500, "evaluations": 2},
    why="So few Gaussians cannot be learned, which opens a gap that is not one of structure.",
)

UNTRAINED_RESNET = Control(
    name="no training",
    removes="training",
    settings=_ONE_STEP,
    cheap={"source": "digits", "injected": "gaussian", "side": 8, "students": (4,), "alpha": 0.5, "n": 3000}
    | {"steps": 300, "teacher_steps": 300, "n_test": 300, "evaluations": 2},
    why=_WHY_ONE_STEP,
)

UNTRAINED_ON_IMAGES = Control(
    name="no training",
    removes="training",
    settings=_ONE_STEP,
    cheap={"alpha": 0.5, "n_test": 300, "evaluations": 2},
    why=_WHY_ONE_STEP,
)


def _students(lead9: float, lead50: float, **settings: Any) -> tuple[StudentsConfig, StudentsResult]:
    """Students of sizes 9 and 50 with given leads of the original part, whose agreement is 0.95."""

    def agreement(lead: float) -> Agreement:
        return Agreement(
            original=[0.1, 0.95], injected=[0.1, 0.95 - lead], original_final=0.95, injected_final=0.95 - lead
        )

    base: dict[str, Any] = {
        "source": "mnist",
        "teacher": 9,
        "students": (9, 50),
        "n": 60_000,
        "steps": 9,
        "teacher_steps": 9,
    }
    config = StudentsConfig(**(base | settings))
    students = {size: agreement(lead9 if size == 9 else lead50) for size in config.students}
    curves = StudentCurves(steps=[0, 10], students=students)
    result = StudentsResult(
        teacher_test=0.9,
        class_share_min=0.1,
        class_share_max=0.1,
        majority_original=0.1,
        mixture=curves,
        control=curves,
    )
    return config, result


_RESNET: dict[str, Any] = {"source": "cifar10", "net": "resnet", "students": (9,)}

_FOREIGN = {**_RESNET, "injected": "tiny_imagenet"}


def _students_check(
    item: str,
    experiment: Experiment[StudentsConfig, StudentsResult],
    evaluate: Callable[[Sequence[StudentsRun]], Finding],
    **more: Any,
) -> Check[StudentsConfig, StudentsResult]:
    return Check(
        claim_id=f"features.{item}",
        experiment=experiment,
        evaluate=evaluate,
        conditions=_paper_students,
        reading="Agreement with the teacher's labels on both parts; alpha is the share of injected inputs. A "
        f"lead of the original part up to {CLEAR:g} is read as no clear gap, learned as above half-way "
        "between the best constant answer and the teacher.",
        **more,
    )


CHECKS = (
    _students_check(
        "fig22",
        FIG22,
        no_clear_gap,
        satisfied=examples(_students(0.02, 0.2)),
        violated=examples(_students(0.3, 0.4)),
        controls=(FEW_INPUTS, UNTRAINED),
    ),
    _students_check(
        "fig22.images",
        FIG24,
        part_gap(injected="gaussian"),
        satisfied=examples(_students(0.3, 0.3, **_RESNET)),
        violated=examples(_students(0.0, 0.0, **_RESNET)),
        controls=(UNTRAINED_RESNET,),
    ),
    _students_check(
        "fig25",
        FIG22,
        clearer_gap,
        satisfied=examples(_students(0.02, 0.2)),
        violated=examples(_students(0.3, 0.2)),
        controls=(UNTRAINED,),
    ),
    _students_check(
        "fig23",
        FIG24,
        foreign_images,
        satisfied=examples(_students(0.5, 0.5, **_RESNET), _students(0.2, 0.2, **_FOREIGN)),
        violated=examples(_students(0.2, 0.2, **_RESNET), _students(0.5, 0.5, **_FOREIGN)),
        controls=(UNTRAINED_ON_IMAGES,),
    ),
    _students_check(
        "fig24",
        FIG24,
        part_gap(injected="gaussian", all_alphas=True),
        satisfied=examples(_students(0.3, 0.3, alpha=0.25, **_RESNET), _students(0.3, 0.3, **_RESNET)),
        violated=examples(_students(0.3, 0.3, alpha=0.25, **_RESNET), _students(-0.1, -0.1, **_RESNET)),
        controls=(UNTRAINED_RESNET,),
    ),
)
