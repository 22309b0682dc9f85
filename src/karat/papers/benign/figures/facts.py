"""Facts of the proof as a table: which hold in which setting, in how many seeds, and by how much."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from karat.papers.benign.checks.lemma_values import (
    ROUNDING,
    LemmaRun,
    active_share,
    excess_error,
    lowest_margin,
    movement_share,
)
from karat.papers.benign.figures.setting_names import Group
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK

HOLDS, FAILS, SILENT = "#CDEBDD", "#F8D9C4", "#F0F0F0"


@dataclass(frozen=True)
class Fact:
    """A statement about one run.

    Args:
        title: over the column, two lines.
        value: the number shown, None where the fact says nothing.
        holds: whether the number agrees.
        worst: which of several seeds to show.
    """

    title: str
    value: Callable[[LemmaRun], float | None]
    holds: Callable[[float], bool]
    worst: Callable[[list[float]], float]


def _active(run: LemmaRun) -> float | None:
    """The lemma speaks of the ReLU."""
    return active_share(run) if run.config.activation == "relu" else None


FACTS = (
    Fact("training error 0\nafter one step", lambda run: run.result.first_step.error, lambda v: v == 0, max),
    Fact("margins\nnever drop", lambda run: run.result.margin_drop, lambda v: v <= ROUNDING, max),
    Fact("first move over\nγ|μ|/10 is ≥ 1", movement_share, lambda v: v >= 1, min),
    Fact("margin\nstays > 0", lowest_margin, lambda v: v > 0, min),
    Fact("error − bound\n≤ 0 (Lem 4.2)", excess_error, lambda v: v <= 0, max),
    Fact("slack ≥ 0\n(Lem 4.3)", lambda run: run.result.increment_slack, lambda v: v >= 0, min),
    Fact("active share\n> 0 (Lem 4.5)", _active, lambda v: v > 0, min),
)


def draw_facts(groups: Sequence[Group], labels: Sequence[str], seeds: str) -> Picture:
    """Draw a table: rows are settings, columns facts; green where every seed agrees.

    Args:
        groups: runs of each setting.
        labels: names of the settings.
        seeds: how many, as text.

    Ref: benign, Sec 3; benign, Prop B.34; benign, Lemma B.9; benign, Lemma 4.3; benign, Lemma 4.5
    """
    wide, name_room = 1.0, 1.9
    figure = Figure(figsize=(name_room + wide * len(FACTS), 0.75 + 0.46 * len(groups)), layout="constrained")
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.set_xlim(-name_room / wide, len(FACTS))
    ax.set_ylim(len(groups), -1.05)
    for column, fact in enumerate(FACTS):
        ax.text(column + 0.5, -0.12, fact.title, ha="center", va="bottom", fontsize=7.5, color=INK)
    for row, (group, label) in enumerate(zip(groups, labels, strict=True)):
        ax.text(-0.1, row + 0.5, label, ha="right", va="center", fontsize=8, color=INK)
        for column, fact in enumerate(FACTS):
            text, colour = _cell(fact, group)
            ax.add_patch(Rectangle((column + 0.03, row + 0.06), 0.94, 0.88, facecolor=colour))
            ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7.5, color=INK)
    caption = (
        f"Per setting ({seeds}): ✓ where the fact holds in every seed, ✗ with the number of seeds in "
        "which it does otherwise; beside it the value of the worst seed. A dash: the fact does not speak of "
        "that activation. Facts with a hidden constant are read with every constant at 1."
    )
    return Picture("Yes or no: facts of the proof", caption, figure)


def _cell(fact: Fact, group: Group) -> tuple[str, str]:
    values = [value for value in map(fact.value, group) if value is not None]
    if not values:
        return "–", SILENT
    agree = sum(fact.holds(value) for value in values)
    worst = _short(fact.worst(values))
    if agree == len(values):
        return f"✓ {worst}", HOLDS
    return f"✗ {worst}\n{agree} of {len(values)}", FAILS


def _short(value: float) -> str:
    """Return two significant digits; tiny numbers as powers of ten.

    >>> _short(0.0), _short(0.1234), _short(3e-14), _short(12.3)
    ('0', '0.12', '3e-14', '12')
    """
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    return f"{value:.0e}" if abs(value) < 1e-3 else f"{value:.2g}"
