"""Orders that the figures describe: which way an error moves along each row of settings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, TypeVar

from karat.papers.benign.experiments.axes import Axis, TrainingConfig, axis_value
from karat.study.claim import Finding
from karat.study.evaluate import lower_bound_finding
from karat.study.run import Run, grouped

C = TypeVar("C", bound=TrainingConfig)
R = TypeVar("R")
Direction = Literal[1, -1]


def ordering(
    runs: Sequence[Run[C, R]],
    value: Callable[[R], float],
    rows: Mapping[Axis, Direction],
    base: Mapping[Axis, float],
) -> Finding:
    """Return the smallest step of a measured value along each row, in the direction the paper describes.

    A row varies one setting with the others at `base`. Equal seeds share their randomness, so neighbours are
    compared seed by seed.

    Args:
        runs: of a figure.
        value: what is ordered.
        rows: the setting that varies -> whether the value grows (1) or falls (-1) with it.
        base: values of the settings that a row holds.
    """
    steps: list[Finding] = []
    for axis, direction in rows.items():
        held = {other: at for other, at in base.items() if other != axis}
        row = [run for run in runs if all(axis_value(run.config, other) == at for other, at in held.items())]
        steps += _steps(row, value, axis, direction)
    if not steps:
        raise ValueError("no row of the figure has two settings.")
    # The smallest step is reported whatever the verdicts: it is the one nearest to the wrong order.
    return min(steps, key=lambda step: step.measured or 0)


def _steps(
    row: Sequence[Run[C, R]], value: Callable[[R], float], axis: Axis, direction: Direction
) -> Iterator[Finding]:
    """The change of the value between neighbours on a row, which must not be negative."""
    groups = grouped(row, lambda run: axis_value(run.config, axis))
    for low, high in pairwise(sorted(groups)):
        before = {run.seed: value(run.result) for run in groups[low]}
        after = [(run.seed, value(run.result)) for run in groups[high]]
        changes = [direction * (error - before[seed]) for seed, error in after if seed in before]
        finding = lower_bound_finding(changes, 0.0)
        yield replace(finding, caveat=f"Smallest step: {axis} from {low:g} to {high:g}.")
