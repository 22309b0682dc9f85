"""Robust error of trained nets over the attack radius, above the floor of every classifier."""

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D

from karat.papers.benign.checks.predictions import error_floor
from karat.papers.benign.figures.grid import seeds_text
from karat.study.drawing.picture import Picture, by_config
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.record import Record


def draw_floor(records: Sequence[Record]) -> list[Picture]:
    """Measured robust errors as points, the floor as a line, a colour per signal.

    Ref: benign, Thm 3.2
    """
    done = [record for record in records if record.status == "done"]
    if not done:
        return []
    groups = by_config(done)
    figure, (ax,) = new_figure(width=5.2, height=3.4)
    for index, mu in enumerate(sorted({group[0].config["mu"] for group in groups})):
        own = sorted((g for g in groups if g[0].config["mu"] == mu), key=lambda g: _ratio(g[0]))
        colour = PALETTE[index % len(PALETTE)]
        runs = [(_ratio(record), record.values["robust_error"]) for group in own for record in group]
        ax.plot(*zip(*runs, strict=True), "o", color=colour, markersize=5, alpha=0.8, label=f"|μ| = {mu:g}")
        ax.plot([_ratio(g[0]) for g in own], [error_floor(g[0]) for g in own], color=colour, linewidth=1.4)
    ax.set_ylim(0.0, 1.02)
    ax.axvline(1.0, color=INK, linewidth=0.9, linestyle=":")
    finish(ax, x=r"attack ratio $\tau/|\mu|$ in the test", y="robust test error", title="Theorem 3.2")
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(
        handles=[*handles, Line2D([], [], color=INK, label="floor")],
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        loc="lower right",
    )
    return [Picture("No classifier below the floor", _caption(records, groups), figure)]


def _ratio(record: Record) -> float:
    config = record.config
    return float(config["ratio"] if config["test_ratio"] is None else config["test_ratio"])


def _caption(records: Sequence[Record], groups: list[list[Record]]) -> str:
    seeds = seeds_text(np.array([len(group) for group in groups]), "point")
    notes = [f"A point per net, {seeds}."]
    notes.append(
        "Robust error by PGD, a lower bound on the true one. Lines join the theorem's lower bound "
        "for every classifier at the same radii: it is 1/2 from tau = |mu| on (dotted)."
    )
    if lost := len(records) - sum(map(len, groups)):
        notes.append(f"Diverged or failed and left out: {lost}.")
    return " ".join(notes)
