"""The phase boundary: the dimension that training tolerates against the signal, and the law behind it."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from karat.papers.benign.checks.boundary import boundary_exponent, halfway
from karat.papers.benign.experiments.evaluation import ErrorKind, Evaluation
from karat.papers.benign.experiments.mixture import MixtureConfig, Start
from karat.papers.benign.figures.crossing import Boundary, find_boundary
from karat.papers.benign.figures.grid import read_grid
from karat.papers.benign.figures.law import draw_law
from karat.papers.benign.figures.notes import lost_note, seeds_text, sentences
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK, PALETTE, finish
from karat.study.judging import Undecided
from karat.study.run import Run, Runs, grouped

STARTS: dict[Start, str] = {"pytorch": "PyTorch start", "symmetric": "symmetric start"}
LAWS: dict[ErrorKind, tuple[float, str]] = {"clean": (4.0, PALETTE[0]), "robust": (2.0, PALETTE[1])}
"""Errors with the exponent the paper names and their colour."""

BoundaryRuns = Sequence[Run[MixtureConfig, Evaluation]]
Boundaries = dict[ErrorKind, list[Boundary]]
"""Error -> its boundary from every start."""


def draw_boundary(runs: Runs[MixtureConfig, Evaluation]) -> list[Picture]:
    """Draw the boundary on log-log axes with fitted and named slopes, and the threshold law.

    Args:
        runs: of a sweep over dimensions and signals, from one start or both.

    Ref: benign, Fig 1; benign, Thm 3.1
    """
    if not runs:
        return []
    groups = grouped(runs, lambda run: run.config.start)
    by_start: dict[Start, BoundaryRuns] = {start: groups[start] for start in STARTS if start in groups}
    laws = draw_law({STARTS[start]: from_start for start, from_start in by_start.items()})
    return [_draw(by_start, runs), *laws]


def _draw(by_start: Mapping[Start, BoundaryRuns], runs: Runs[MixtureConfig, Evaluation]) -> Picture:
    figure = Figure(figsize=(6.2, 4.6), layout="constrained")
    ax = figure.add_subplot()
    ax.set_xscale("log")
    ax.set_yscale("log")
    boundaries: Boundaries = {kind: [] for kind in LAWS}
    notes, counts = [], []
    for start, from_start in by_start.items():
        grid = read_grid(from_start, "mu")
        counts.append(np.ravel(grid.count()))
        level = halfway(from_start[0].config.flip_rate)
        for kind in LAWS:
            boundary = find_boundary(grid.x, grid.y, 1 - grid.test_error(kind), level)
            label = _label(from_start, kind, start)
            _draw_points(ax, boundary, label, LAWS[kind][1], hollow=start == "symmetric")
            boundaries[kind].append(boundary)
            notes.append(_note(boundary, kind, start))
    if any(boundary.points for of_kind in boundaries.values() for boundary in of_kind):
        _draw_guides(ax, boundaries)
    else:
        ax.text(0.5, 0.5, "no crossing on the grid", transform=ax.transAxes, ha="center", color=INK)
    _ticks(ax)
    finish(ax, x=r"signal $|\mu|^\star$ at half-way accuracy", y="dimension $d$", title="Phase boundary")
    caption = _caption(seeds_text(np.concatenate(counts)), runs[0].config.flip_rate)
    return Picture("Phase boundary", sentences(caption, *notes, lost_note(runs.lost)), figure)


def _note(boundary: Boundary, kind: ErrorKind, start: Start) -> str:
    if not boundary.without:
        return ""
    listed = ", ".join(f"{d:g}" for d in boundary.without)
    return f"{STARTS[start]}, {kind}: not every seed crosses at d = {listed}; left out."


def _label(runs: BoundaryRuns, kind: ErrorKind, start: Start) -> str:
    """Series with the exponent of |mu| in d and its interval, as the claim reads it."""
    text = f"{kind}, {STARTS[start]}"
    try:
        finding = boundary_exponent(runs, kind)
    except Undecided:
        return text
    return text if finding.measured is None else f"{text}: exponent {finding}"


def _draw_points(ax: Axes, boundary: Boundary, label: str, colour: str, *, hollow: bool) -> None:
    if not boundary.points:
        return
    y = np.array([d for d, _ in boundary.points])
    x = np.array([crossing.value for _, crossing in boundary.points])
    low = np.array([crossing.interval.low for _, crossing in boundary.points])
    high = np.array([crossing.interval.high for _, crossing in boundary.points])
    known = np.isfinite(low) & np.isfinite(high)
    # On a logarithmic axis a bar cannot reach 0; a tenth of the value is off every panel.
    bars = np.where(known, [x - np.maximum(low, x / 10), high - x], 0.0)
    ax.errorbar(
        x,
        y,
        xerr=bars,
        fmt="o",
        color=colour,
        markerfacecolor="white" if hollow else colour,
        markersize=5.5,
        capsize=2,
        linestyle="--" if hollow else "-",
        linewidth=1.5,
        elinewidth=1.1,
        ecolor=to_rgba(colour, 0.5),
        label=label,
        zorder=3,
    )


def _draw_guides(ax: Axes, boundaries: Boundaries) -> None:
    """Lines of the named slopes through the middle crossing of the first start, behind the data."""
    points = [point for of_kind in boundaries.values() for boundary in of_kind for point in boundary.points]
    x = np.array([crossing.value for _, crossing in points])
    y = np.array([d for d, _ in points])
    left, right = float(x.min()) / 1.35, float(x.max()) * 1.35
    grid = np.geomspace(left, right, 100)
    for kind, (slope, colour) in LAWS.items():
        anchor = next((boundary.anchor for boundary in boundaries[kind] if boundary.anchor), None)
        if anchor is None:
            continue
        law = anchor[1] * (grid / anchor[0]) ** slope
        label = rf"paper, {kind}: $d \propto |\mu|^{slope:.0f}$"
        ax.plot(grid, law, color=colour, linewidth=5, alpha=0.16, zorder=1, label=label)
    ax.set_xlim(left, right)
    # Room above the data for the legend.
    ax.set_ylim(float(y.min()) / 1.35, float(y.max()) * (float(y.max()) / float(y.min())) ** 0.45 * 1.35)


def _ticks(ax: Axes) -> None:
    """Plain numbers at 1, 2, 5 of every decade."""
    low, high = ax.get_xlim()
    decades = range(-2, 4)
    ticks = [
        digit * 10.0**power
        for power in decades
        for digit in (1, 2, 3, 5)
        if low <= digit * 10.0**power <= high
    ]
    ax.set_xticks(ticks)
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())


def _caption(seeds: str, flip_rate: float) -> str:
    bars = (
        "One seed, no interval over seeds."
        if seeds == "one seed"
        else f"{seeds.capitalize()}; bars: 95% interval of the mean."
    )
    return (
        f"Signal at which accuracy is {halfway(flip_rate):g}, halfway from 1/2 to 1 - flip rate, "
        f"interpolated on the probit scale at every d. {bars} Exponents: log |mu| against log d, "
        "fitted per seed, with their 95% interval; at the dimensions in which every seed crosses. "
        "Shaded: the laws the paper names, exponents 1/4 and 1/2, their constants set by "
        "the middle crossing; 1/2 is the limit of the robust bound for large |mu|."
    )
