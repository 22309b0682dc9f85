"""Training curves of several settings, one panel per setting that varies: loss beside robust test error."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from karat.core.texts import number
from karat.papers.benign.experiments.axes import Axis, TrainingConfig, axis_value, other_settings
from karat.papers.benign.experiments.digits import DigitsConfig
from karat.papers.benign.experiments.evaluation import CurvesResult
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.papers.benign.figures.notes import lost_note, seeds_text, sentences
from karat.papers.benign.figures.training_curves import step_axis
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK, curve_with_band, finish, fit_to_seeds
from karat.study.run import Run, Runs, by_setting, grouped

AXES: tuple[Axis, ...] = ("mu", "d", "ratio")
SIGNS: dict[Axis, str] = {"mu": r"$|\mu|$", "d": "$d$", "ratio": r"$\tau/|\mu|$"}
WORDS: dict[Axis, str] = {"mu": "|mu|", "d": "d", "ratio": "tau/|mu|"}

C = TypeVar("C", bound=TrainingConfig)


@dataclass(frozen=True)
class CurveRow(Generic[C]):
    """Settings that differ along one axis only.

    Args:
        axis: the setting that varies.
        groups: runs of each value, values increasing.
    """

    axis: Axis
    groups: Sequence[Sequence[Run[C, CurvesResult]]]

    def held(self) -> str:
        """Return the settings that do not vary, as text."""
        config = self.groups[0][0].config
        return ", ".join(_text(config, axis) for axis in AXES if axis != self.axis)


def rows_of(runs: Sequence[Run[C, CurvesResult]]) -> list[CurveRow[C]]:
    """Return, for every axis along which the settings vary, the largest family in which nothing else does.

    Args:
        runs: of a design that varies a few settings around one.

    Reading: of equally large families the one with the rarest values is taken, for the values that all
        families share belong to the point the others vary around; then the one not drawn yet.
    """
    rows: list[CurveRow[C]] = []
    for axis in AXES:
        values = [axis_value(group[0].config, axis) for group in by_setting(runs)]
        if len(set(values)) < 2:
            continue
        drawn = {group[0].config_hash for row in rows for group in row.groups}
        best = max(_families(runs, axis), key=lambda family: _rank(family, axis, values, drawn))
        rows.append(CurveRow(axis, best))
    return rows


def _families(runs: Sequence[Run[C, CurvesResult]], axis: Axis) -> list[list[list[Run[C, CurvesResult]]]]:
    """Runs of equal settings but for the axis: for each family one group per value, values increasing."""
    families = grouped(runs, lambda run: other_settings(run.config, axis)).values()
    return [
        sorted(by_setting(family), key=lambda group: axis_value(group[0].config, axis)) for family in families
    ]


def _rank(
    family: Sequence[Sequence[Run[C, CurvesResult]]], axis: Axis, values: Sequence[float], drawn: set[str]
) -> tuple[int, int, int]:
    """Larger is better; `values` are those of all settings, `drawn` the settings of earlier rows."""
    return (
        len(family),
        -sum(values.count(axis_value(group[0].config, axis)) for group in family),
        -sum(group[0].config_hash in drawn for group in family),
    )


def draw_fig2(runs: Runs[MixtureConfig, CurvesResult]) -> list[Picture]:
    """Draw loss and robust error over training as signal, dimension and attack vary: a row for each.

    Args:
        runs: with their curves.

    Ref: benign, Fig 2
    """
    return _draw(runs, upright=True)


def draw_fig6(runs: Runs[DigitsConfig, CurvesResult]) -> list[Picture]:
    """Draw the same on digits: a column for each.

    Args:
        runs: with their curves.

    Ref: benign, Fig 6
    """
    return _draw(runs, upright=False)


def _draw(runs: Runs[C, CurvesResult], *, upright: bool) -> list[Picture]:
    if not runs:
        return []
    # A sweep without any variation is one row over the first axis.
    rows = rows_of(runs) or [CurveRow(AXES[0], by_setting(runs))]
    shape = (len(rows), 2) if upright else (2, len(rows))
    figure = Figure(figsize=(3.5 * shape[1], 2.45 * shape[0] + 0.2), layout="constrained")
    flip_rate = runs[0].config.flip_rate
    for index, row in enumerate(rows):
        first = 2 * index + 1 if upright else index + 1
        second = first + 1 if upright else first + len(rows)
        loss, error = figure.add_subplot(*shape, first), figure.add_subplot(*shape, second)
        loss.set_yscale("log")
        _panel(loss, row, lambda result: result.train_loss, bottom=None)
        finish(loss, x="step", y="robust training loss", title=f"{SIGNS[row.axis]} varies", legend=False)
        _panel(error, row, lambda result: result.robust_error, bottom=0.0)
        if flip_rate > 0:
            error.axhline(
                flip_rate, color=INK, linewidth=1.0, linestyle=":", label=f"flip rate {flip_rate:g}"
            )
        finish(error, x="step", y="robust test error")
        error.set_title(row.held(), loc="right", fontsize=8, color=INK)
    return [Picture(_title(rows), _caption(runs, rows), figure)]


def _panel(
    ax: Axes, row: CurveRow[C], curve: Callable[[CurvesResult], list[float]], *, bottom: float | None
) -> None:
    step_axis(ax)
    drawn = []
    for index, group in enumerate(row.groups):
        steps = group[0].result.iterations
        curves = [curve(run.result) for run in group if run.result.iterations == steps]
        # The half-width of this level is one standard error.
        level = 2 * float(stats.t.cdf(1.0, max(len(curves) - 1, 1))) - 1
        curve_with_band(ax, steps, curves, _text(group[0].config, row.axis), index=index, level=level)
        drawn += curves
    fit_to_seeds(ax, drawn, bottom=bottom)


def _text(config: TrainingConfig, axis: Axis) -> str:
    # Not `axis_value`: whole numbers are written in full, floats with four digits.
    return f"{SIGNS[axis]} = {number(getattr(config, axis))}"


def _title(rows: Sequence[CurveRow[C]]) -> str:
    names = [WORDS[row.axis] for row in rows]
    return f"Training curves as {' and '.join(names)} var{'ies' if len(names) == 1 else 'y'}"


def _caption(runs: Runs[C, CurvesResult], rows: Sequence[CurveRow[C]]) -> str:
    groups = [group for row in rows for group in row.groups]
    seeds = seeds_text(np.array([len(group) for group in groups]), "curve")
    broken = sum(np.mean([run.result.train_error[-1] for run in group]) > 0 for group in groups)
    hidden = {run.config_hash for run in runs} - {group[0].config_hash for group in groups}
    return sentences(
        "One seed, no band."
        if seeds == "one seed"
        else f"Lines: mean over {seeds} (of the logarithm for the loss); bands: one standard error.",
        f"At the end {broken} of {len(groups)} curves still have robust training error above 0."
        if broken
        else "Robust training error is 0 at the end of every curve.",
        f"Settings off these rows and not drawn: {len(hidden)}." if hidden else "",
        lost_note(runs.lost),
    )
