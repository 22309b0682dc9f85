"""Sweeps as maps, finished or not: what was asked for, how far it has come, the means so far."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes

from karat.core.texts import number
from karat.errors import TargetError
from karat.lab.adaptive import Target
from karat.lab.averages import Group, average_seeds
from karat.lab.store import Store
from karat.report.default_figure import draw_means
from karat.report.embed import data_uri
from karat.study.drawing.picture import describe
from karat.study.drawing.style import FAINT, INK, finish, literal, new_figure
from karat.study.record import Record

MOST_PANELS, MOST_MAPS, MOST_NUMBERS = 4, 6, 150
MARKS = {"above": "▲", "below": "▼", "open": "?"}


@dataclass(frozen=True, kw_only=True)
class SweepView:
    """One sweep on a page.

    Args:
        experiment: its name.
        scale: the preset it grew from.
        axes: what varies, in words.
        seeds: per config, at most.
        planned: cells of the grid.
        done: finished cells.
        lost: diverged and failed cells.
        notes: sentences for the caption.
        images: (title, data address) of its maps.
    """

    experiment: str
    scale: str
    axes: str
    seeds: int
    planned: int
    done: int
    lost: int
    notes: tuple[str, ...]
    images: tuple[tuple[str, str], ...]


def sweep_views(store: Store) -> list[SweepView]:
    """Draw every sweep the store remembers, the latest first."""
    return [_view(plan, store) for plan in store.sweeps()]


def _view(plan: Mapping[str, Any], store: Store) -> SweepView:
    stored = store.records(plan["experiment"], plan["hashes"])
    records = [record for record in stored if record.seed < plan["seeds"]]
    done = [record for record in records if record.status == "done"]
    target = Target(**plan["target"]) if plan["target"] else None
    try:
        sides, wrong = _sides(target, records), []
    except TargetError as error:
        target, sides, wrong = None, {}, [f"No adaptive seeds: {error}"]
    return SweepView(
        experiment=plan["experiment"],
        scale=plan["scale"],
        axes=" × ".join(f"{name} ({len(values)})" for name, values in plan["axes"].items()),
        seeds=plan["seeds"],
        planned=len(plan["hashes"]) * plan["seeds"],
        done=len(done),
        lost=len(records) - len(done),
        notes=(*wrong, *_notes(plan, records, target, sides)),
        images=tuple(_images(plan, done, target, sides)),
    )


def _sides(target: Target | None, records: Sequence[Record]) -> dict[str, str]:
    """Config hash -> side of the target's level."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.finished:
            groups.setdefault(record.config_hash, []).append(record)
    return {key: target.decide(group).side for key, group in groups.items()} if target else {}


def _notes(
    plan: Mapping[str, Any], records: Sequence[Record], target: Target | None, sides: Mapping[str, str]
) -> list[str]:
    planned = len(plan["hashes"]) * plan["seeds"]
    if target is None:
        missing = planned - len(records)
        return [f"{missing} cells are still to come."] if missing else []
    counts = {side: list(sides.values()).count(side) for side in MARKS}
    counts["open"] += len(plan["hashes"]) - len(sides)
    full = {key for key in sides if sum(r.config_hash == key for r in records) >= plan["seeds"]}
    settled = all(side != "open" or key in full for key, side in sides.items())
    ended = settled and len(sides) == len(plan["hashes"])
    return [
        f"Adaptive seeds, {target.value} against {target.level:g}: {counts['above']} configs above (▲), "
        f"{counts['below']} below (▼), {counts['open']} open (?).",
        f"{planned - len(records)} of {planned} cells {'were saved' if ended else 'not computed so far'}.",
        f"Method: {target.method}; {100 * target.confidence:g} % per config, valid whenever its seeds stop.",
    ]


def _images(
    plan: Mapping[str, Any], done: Sequence[Record], target: Target | None, sides: Mapping[str, str]
) -> list[tuple[str, str]]:
    groups = average_seeds(done)
    names = list(dict.fromkeys(name for group in groups for name in group.averages))
    if target and target.value in names:
        names = [target.value, *(name for name in names if name != target.value)]
    names = names[:MOST_PANELS]
    if not names or not plan["axes"]:
        return []
    *fixed_axes, column = list(plan["axes"])
    row = fixed_axes.pop() if fixed_axes else None
    images = []
    for values in itertools.islice(
        itertools.product(*(plan["axes"][name] for name in fixed_axes)), MOST_MAPS
    ):
        fixed = dict(zip(fixed_axes, values, strict=True))
        chosen = [group for group in groups if all(group.config[n] == v for n, v in fixed.items())]
        figure, panels = new_figure(len(names))
        for axes, name in zip(panels, names, strict=True):
            if row is None:
                _curve(axes, chosen, name, column)
            else:
                marks = sides if target and name == target.value else {}
                _map(axes, chosen, name, (row, plan["axes"][row]), (column, plan["axes"][column]), marks)
        title = describe(fixed, list(fixed))
        images.append((title or "Means over the seeds so far", data_uri(figure)))
    return images


def _curve(axes: Axes, groups: Sequence[Group], name: str, column: str) -> None:
    draw_means(
        axes, [(group.config[column], group.averages[name]) for group in groups if name in group.averages]
    )
    finish(axes, x=literal(column), y="mean and 95% interval", title=literal(name), legend=False)


def _map(
    axes: Axes,
    groups: Sequence[Group],
    name: str,
    rows: tuple[str, Sequence[Any]],
    columns: tuple[str, Sequence[Any]],
    marks: Mapping[str, str],
) -> None:
    """Cells of equal size in the order of the grid; those without a record stay grey."""
    table = np.full((len(rows[1]), len(columns[1])), np.nan)
    for group in groups:
        position = rows[1].index(group.config[rows[0]]), columns[1].index(group.config[columns[0]])
        if name in group.averages:
            table[position] = group.averages[name].mean
            if group.config_hash in marks and table.size <= MOST_NUMBERS:
                sign = MARKS[marks[group.config_hash]]
                rim = [patheffects.withStroke(linewidth=1.5, foreground=INK)]
                axes.text(
                    *position[::-1], sign, ha="center", va="center", size=6, color="w", path_effects=rim
                )
    axes.set_facecolor(FAINT)
    measured = np.ma.masked_invalid(table)
    mesh = axes.imshow(measured, origin="lower", aspect="auto", cmap="viridis", interpolation="nearest")
    axes.figure.colorbar(mesh, ax=axes, fraction=0.05, pad=0.02).ax.tick_params(labelsize=7, colors=INK)
    for axis, (_, values) in ((axes.yaxis, rows), (axes.xaxis, columns)):
        step = max(1, -(-len(values) // 8))
        axis.set_ticks(
            range(0, len(values), step), [literal(number(value, missing="None")) for value in values[::step]]
        )
    finish(axes, x=literal(columns[0]), y=literal(rows[0]), title=literal(name), legend=False)
    axes.grid(visible=False)
