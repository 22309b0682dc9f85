"""Heat maps of clean and robust accuracy with the measured boundary, the bracket and the training error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.benign.figures.crossing import (
    Boundary,
    find_boundary,
    halfway,
    mark_boundary,
    mark_power_law,
)
from karat.papers.benign.figures.grid import (
    Grid,
    Setting,
    mean_over_seeds,
    read_grid,
    seeds_text,
    standard_error,
)
from karat.papers.benign.figures.heat import Frame, Heat, draw_heat
from karat.study.drawing.picture import Picture, describe, varying
from karat.study.drawing.style import INK
from karat.study.record import Record

PANEL = (3.75, 3.15)


@dataclass(frozen=True)
class Plan:
    """What a map shows: its axes, and the exponents p of d ~ x^p that the paper names for each accuracy."""

    x: str
    x_label: str
    y: Setting
    fixed: tuple[str, ...]
    laws: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def own(self) -> set[str]:
        """Settings that the axes stand for."""
        return {self.x, "d", "side"}


def _d(config: Mapping[str, Any]) -> float:
    return float(config["d"])


def _pixels(config: Mapping[str, Any]) -> float:
    return float(config["side"] ** 2)


_SIGNAL, _RATIO = r"signal $|\mu|$", r"attack ratio $\tau/|\mu|$"
_LAWS = {"clean": (4.0,), "robust": (2.0, 4.0)}

FIG1 = Plan("mu", _SIGNAL, _d, ("n", "m", "ratio", "flip_rate", "steps"), _LAWS)
FIG3 = Plan("ratio", _RATIO, _d, ("n", "m", "mu", "flip_rate", "steps"), {"robust": (-2.0,)})
FIG4 = Plan("mu", _SIGNAL, _pixels, ("source", "n", "m", "ratio", "steps"), _LAWS)
FIG5 = Plan("ratio", _RATIO, _pixels, ("source", "n", "m", "mu", "steps"))


def draw_fig1(records: Sequence[Record]) -> list[Picture]:
    """Accuracy over signal and dimension on the mixture.

    Ref: benign, Fig 1
    """
    return draw_map(records, FIG1)


def draw_fig3(records: Sequence[Record]) -> list[Picture]:
    """Accuracy over attack ratio and dimension on the mixture.

    Ref: benign, Fig 3
    """
    return draw_map(records, FIG3)


def draw_fig4(records: Sequence[Record]) -> list[Picture]:
    """Accuracy over signal and resolution on digits.

    Ref: benign, Fig 4
    """
    return draw_map(records, FIG4)


def draw_fig5(records: Sequence[Record]) -> list[Picture]:
    """Accuracy over attack ratio and resolution on digits.

    Ref: benign, Fig 5
    """
    return draw_map(records, FIG5)


def draw_map(records: Sequence[Record], plan: Plan) -> list[Picture]:
    """One figure per combination of the settings that are no axis."""
    others = [name for name in varying(records) if name not in plan.own]
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(describe(record.config, others), []).append(record)
    return [
        _draw(group, plan, settings)
        for settings, group in groups.items()
        if any(record.status == "done" for record in group)
    ]


def _draw(records: list[Record], plan: Plan, settings: str) -> Picture:
    grid = read_grid(records, lambda config: float(config[plan.x]), plan.y)
    config = records[0].config
    flip_rate = float(config.get("flip_rate", 0.0))
    broken = mean_over_seeds(grid.table("train_error"))
    heats = _heats(grid, broken, flip_rate)
    rows = (len(heats) + 1) // 2
    figure = Figure(figsize=(2 * PANEL[0], rows * PANEL[1] + 0.3), layout="constrained")
    frame = Frame(plan.x_label, "dimension $d$", broken > 0)
    found = {}
    for place, heat in enumerate(heats):
        ax = figure.add_subplot(rows, 2, place + 1)
        draw_heat(ax, grid, heat, frame)
        kind = heat.title.split()[0].lower()
        if heat.title.endswith("accuracy"):
            accuracy = 1 - grid.table(f"{kind}_error")
            found[kind] = find_boundary(grid.x, grid.y, accuracy, halfway(flip_rate))
            _mark(ax, found[kind], plan.laws.get(kind, ()), halfway(flip_rate), plan)
    base = describe(config, [name for name in plan.fixed if name in config])
    title = "Accuracy map, " + (settings or base)
    return Picture(title, _caption(grid, plan, found, flip_rate), figure)


def _heats(grid: Grid, broken: np.ndarray, flip_rate: float) -> list[Heat]:
    clean, robust = (1 - mean_over_seeds(grid.table(f"{kind}_error")) for kind in ("clean", "robust"))
    known = np.concatenate([clean[np.isfinite(clean)], robust[np.isfinite(robust)], [0.5]])
    low, high = float(known.min()), max(1 - flip_rate, float(known.max()))
    heats = [
        Heat("Clean accuracy", clean, "viridis", low, high, level=halfway(flip_rate)),
        Heat("Robust accuracy", robust, "viridis", low, high, level=halfway(flip_rate)),
    ]
    width = mean_over_seeds(grid.table("certified_error") - grid.table("robust_error"))
    if np.isfinite(width).any():
        heats.append(Heat("Certified − PGD error", width, "Purples", 0.0, max(0.1, float(np.nanmax(width)))))
    heats.append(Heat("Robust training error", broken, "Oranges", 0.0, max(0.5, np.nanmax(broken)), True))
    return heats


def _mark(ax: Axes, boundary: Boundary, laws: tuple[float, ...], level: float, plan: Plan) -> None:
    anchor = boundary.anchor
    if anchor is None:
        return
    letter = r"|\mu|" if plan.x == "mu" else r"(\tau/|\mu|)"
    for law, style in zip(laws, ("--", ":"), strict=False):
        mark_power_law(ax, anchor, law, rf"$d \propto {letter}^{{{law:g}}}$", style)
    mark_boundary(ax, boundary, f"accuracy {level:g}")
    ax.legend(
        fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, frameon=False, labelcolor=INK
    )


def _caption(grid: Grid, plan: Plan, found: Mapping[str, Boundary], flip_rate: float) -> str:
    counts = grid.count()
    seeds = seeds_text(counts)
    notes = [f"Mean over {seeds}." if seeds != "one seed" else "One seed, no interval."]
    spread = standard_error(1 - grid.table("robust_error"))
    if np.isfinite(spread).any():
        notes.append(f"Largest standard error of a robust accuracy: {np.nanmax(spread):.3f}.")
    level = halfway(flip_rate)
    if any(boundary.points for boundary in found.values()):
        bars = "" if seeds == "one seed" else ", bars: its 95% interval over seeds"
        notes.append(
            f"Circles: accuracy {level:g}, halfway from 1/2 to 1 - flip rate, interpolated on the probit "
            f"scale{bars}."
        )
        if any(plan.laws.get(kind) and boundary.points for kind, boundary in found.items()):
            notes.append(
                "Orange: exponents named by the paper, the constant set by the circle of the middle d."
            )
    for kind, boundary in found.items():
        if boundary.without:
            listed = ", ".join(f"{d:g}" for d in boundary.without)
            notes.append(f"No {kind} crossing on the grid at d = {listed}.")
    broken = mean_over_seeds(grid.table("train_error")) > 0
    if broken.any():
        notes.append(
            f"Hatched: the attack still breaks training points ({int(broken.sum())} of "
            f"{int((counts > 0).sum())} cells), so test accuracy there speaks of unfinished training."
        )
    else:
        notes.append("Robust training error is 0 in every cell and seed.")
    if lost := int(grid.lost.sum()):
        notes.append(f"Diverged or failed and left out: {lost} (× where nothing else is known).")
    return " ".join(notes)
