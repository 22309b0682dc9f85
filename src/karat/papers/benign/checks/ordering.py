"""Orders that the figures describe: which way an error moves along each row of settings."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

from karat.papers.benign.experiments.axes import Axis, TrainingConfig, axis_value
from karat.study.finding import Finding, Unit
from karat.study.judging import Undecided, all_of, bound, noted
from karat.study.run import Run, grouped

C = TypeVar("C", bound=TrainingConfig)
R = TypeVar("R")
Direction = Literal[1, -1]

DIFFERENCE = Unit("difference of error rates", -1.0, 1.0)


def ordering(
    runs: Sequence[Run[C, R]],
    value: Callable[[R], float],
    rows: Mapping[Axis, Direction],
    base: Mapping[Axis, float],
    least: float,
) -> Finding:
    """Judge how a measured error changes from one end of each row to the other, as the paper describes it.

    A row varies one setting with the others at `base`. Equal seeds share their randomness, so the ends are
    compared seed by seed. Every row must move.

    Args:
        runs: of a figure.
        value: what is ordered.
        rows: the setting that varies -> whether the value grows (1) or falls (-1) with it.
        base: values of the settings that a row holds.
        least: smallest change that counts, one test point: a tie is no order.
    """
    findings = []
    for axis, direction in rows.items():
        held = {other: at for other, at in base.items() if other != axis}
        row = [run for run in runs if all(axis_value(run.config, other) == at for other, at in held.items())]
        findings.append(_ends(row, value, axis, direction, least))
    return all_of(*findings)


def end_changes(row: Sequence[Run[C, R]], value: Callable[[R], float], axis: Axis) -> dict[int, float]:
    """Return seed -> change of the value from the lowest to the highest point of a row.

    Args:
        row: runs that differ in one setting.
        value: of a result.
        axis: the setting.
    """
    groups = grouped(row, lambda run: axis_value(run.config, axis))
    if len(groups) < 2:
        raise Undecided(f"no row of the figure has two values of {axis}.")
    before = {run.seed: value(run.result) for run in groups[min(groups)]}
    return {
        run.seed: value(run.result) - before[run.seed] for run in groups[max(groups)] if run.seed in before
    }


def _ends(
    row: Sequence[Run[C, R]], value: Callable[[R], float], axis: Axis, direction: Direction, least: float
) -> Finding:
    changes = [direction * change for change in end_changes(row, value, axis).values()]
    finding = bound(changes, "at least", least, DIFFERENCE)
    return noted(finding, f"{'Rise' if direction > 0 else 'Fall'} along {axis}: {finding}.")
