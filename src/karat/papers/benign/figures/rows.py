"""Training curves of several settings, one panel per setting that varies: loss beside robust test error."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from karat.core.texts import number
from karat.papers.benign.figures.grid import seeds_text
from karat.papers.benign.figures.training_curves import step_axis
from karat.study.drawing.picture import Picture, by_config
from karat.study.drawing.style import INK, curve_with_band, finish, fit_to_seeds
from karat.study.record import Record

NAMES = {"mu": r"$|\mu|$", "d": "$d$", "side": "$d$", "ratio": r"$\tau/|\mu|$"}
PLAIN = {"mu": "|mu|", "d": "d", "side": "d", "ratio": "tau/|mu|"}


@dataclass(frozen=True)
class Row:
    """Settings that differ in `name` only: one group of records per value, in increasing order."""

    name: str
    groups: tuple[tuple[Any, tuple[Record, ...]], ...]

    def fixed(self, names: Sequence[str]) -> str:
        """The other settings as text."""
        config = self.groups[0][1][0].config
        return ", ".join(
            f"{NAMES[name]} = {_value(name, config[name])}" for name in names if name != self.name
        )


def rows_of(records: Sequence[Record], names: Sequence[str]) -> list[Row]:
    """For every setting of `names` that varies, the largest family in which nothing else does.

    Reading: of equally large families the one with the rarest values is taken, for the values that all
        families share belong to the point the others vary around; then the one not drawn yet.
    """
    groups = by_config(records)
    rows: list[Row] = []
    for name in names:
        values = [group[0].config[name] for group in groups]
        if len(set(values)) < 2:
            continue
        families: dict[str, list[list[Record]]] = {}
        for group in groups:
            rest = repr(sorted((key, value) for key, value in group[0].config.items() if key != name))
            families.setdefault(rest, []).append(group)
        drawn = {group[0].config_hash for row in rows for _, group in row.groups}
        ranks = {
            rest: (
                len(family),
                -sum(values.count(group[0].config[name]) for group in family),
                -sum(group[0].config_hash in drawn for group in family),
            )
            for rest, family in families.items()
        }
        best = max(ranks, key=lambda rest: ranks[rest])
        family = sorted(families[best], key=lambda group: group[0].config[name])
        rows.append(Row(name, tuple((group[0].config[name], tuple(group)) for group in family)))
    return rows


def draw_fig2(records: Sequence[Record]) -> list[Picture]:
    """Loss and robust error over training as signal, dimension and attack vary: a row for each.

    Ref: benign, Fig 2
    """
    return _draw(records, ("mu", "d", "ratio"), upright=True)


def draw_fig6(records: Sequence[Record]) -> list[Picture]:
    """The same on digits: a column for each.

    Ref: benign, Fig 6
    """
    return _draw(records, ("mu", "side", "ratio"), upright=False)


def _draw(records: Sequence[Record], names: tuple[str, ...], *, upright: bool) -> list[Picture]:
    done = [record for record in records if record.status == "done"]
    if not done:
        return []
    # A sweep without any variation is one row over the first setting.
    rows = rows_of(done, names) or [
        Row(names[0], tuple((g[0].config[names[0]], tuple(g)) for g in by_config(done)))
    ]
    shape = (len(rows), 2) if upright else (2, len(rows))
    figure = Figure(figsize=(3.5 * shape[1], 2.45 * shape[0] + 0.2), layout="constrained")
    flip_rate = done[0].config.get("flip_rate")
    for place, row in enumerate(rows):
        first = 2 * place + 1 if upright else place + 1
        second = first + 1 if upright else first + len(rows)
        loss, error = figure.add_subplot(*shape, first), figure.add_subplot(*shape, second)
        loss.set_yscale("log")
        _panel(loss, row, "train_loss")
        finish(loss, x="step", y="robust training loss", title=f"{NAMES[row.name]} varies", legend=False)
        _panel(error, row, "robust_error")
        if flip_rate is not None:
            error.axhline(
                flip_rate, color=INK, linewidth=1.0, linestyle=":", label=f"flip rate {flip_rate:g}"
            )
        finish(error, x="step", y="robust test error")
        error.set_title(row.fixed(names), loc="right", fontsize=8, color=INK)
    used = [group for row in rows for _, group in row.groups]
    return [Picture(_title(rows), _caption(records, done, used), figure)]


def _panel(ax: Axes, row: Row, name: str) -> None:
    step_axis(ax)
    drawn = []
    for index, (value, group) in enumerate(row.groups):
        steps = group[0].values["iterations"]
        curves = [r.values[name] for r in group if r.values["iterations"] == steps]
        # The half-width of this level is one standard error.
        level = 2 * float(stats.t.cdf(1.0, max(len(curves) - 1, 1))) - 1
        label = f"{NAMES[row.name]} = {_value(row.name, value)}"
        curve_with_band(ax, steps, curves, label, index=index, level=level)
        drawn += curves
    fit_to_seeds(ax, drawn, bottom=None if name == "train_loss" else 0.0)


def _value(name: str, value: Any) -> str:
    return number(value**2) if name == "side" else number(value)


def _title(rows: list[Row]) -> str:
    names = [PLAIN[row.name] for row in rows]
    return f"Training curves as {' and '.join(names)} var{'ies' if len(names) == 1 else 'y'}"


def _caption(records: Sequence[Record], done: list[Record], used: list[tuple[Record, ...]]) -> str:
    seeds = seeds_text(np.array([len(group) for group in used]), "curve")
    notes = ["One seed, no band."]
    if seeds != "one seed":
        notes = [f"Lines: mean over {seeds} (of the logarithm for the loss); bands: one standard error."]
    ends = [float(np.mean([r.values["train_error"][-1] for r in group])) for group in used]
    broken = sum(end > 0 for end in ends)
    notes.append(
        f"At the end {broken} of {len(used)} curves still have robust training error above 0."
        if broken
        else "Robust training error is 0 at the end of every curve."
    )
    shown = {id(record) for group in used for record in group}
    if hidden := len({r.config_hash for r in done if id(r) not in shown}):
        notes.append(f"Settings off these rows and not drawn: {hidden}.")
    if lost := len(records) - len(done):
        notes.append(f"Diverged or failed and left out: {lost}.")
    return " ".join(notes)
