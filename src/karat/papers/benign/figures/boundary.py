"""The phase boundary: the dimension that training tolerates against the signal, and the law behind it."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from karat.papers.benign.checks.figures import boundary_exponent
from karat.papers.benign.figures.crossing import Boundary, find_boundary, halfway
from karat.papers.benign.figures.grid import read_grid, seeds_text
from karat.papers.benign.figures.law import draw_law
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK, PALETTE, finish
from karat.study.record import Record

STARTS = {"pytorch": "PyTorch start", "symmetric": "symmetric start"}
KINDS = {"clean": (4.0, PALETTE[0]), "robust": (2.0, PALETTE[1])}
"""Errors with the exponent the paper names and their colour."""


def draw_boundary(records: Sequence[Record]) -> list[Picture]:
    """Boundary on log-log axes with fitted and named slopes, and the threshold law against all cells.

    Ref: benign, Fig 1; benign, Thm 3.1
    """
    done = [record for record in records if record.status == "done"]
    pictures = []
    if crossing := _boundary(records, done):
        pictures.append(crossing)
    by_start = {
        name: [record for record in done if record.config["start"] == start] for start, name in STARTS.items()
    }
    return pictures + draw_law({name: own for name, own in by_start.items() if own})


def _boundary(records: Sequence[Record], done: list[Record]) -> Picture | None:
    if not done:
        return None
    figure = Figure(figsize=(6.2, 4.6), layout="constrained")
    ax = figure.add_subplot()
    ax.set_xscale("log")
    ax.set_yscale("log")
    found: dict[str, list[Boundary]] = {kind: [] for kind in KINDS}
    notes, counts = [], []
    for start, name in STARTS.items():
        own = [record for record in done if record.config["start"] == start]
        if not own:
            continue
        grid = read_grid(own, lambda config: float(config["mu"]), lambda config: float(config["d"]))
        counts.append(np.ravel(grid.count()))
        level = halfway(own[0].config["flip_rate"])
        for kind, boundaries in found.items():
            boundary = find_boundary(grid.x, grid.y, 1 - grid.table(f"{kind}_error"), level)
            _draw_points(ax, boundary, _label(own, kind, start), kind, hollow=start == "symmetric")
            boundaries.append(boundary)
            if boundary.without:
                listed = ", ".join(f"{d:g}" for d in boundary.without)
                notes.append(f"{name}, {kind}: not every seed crosses at d = {listed}; left out.")
    if any(boundary.points for boundaries in found.values() for boundary in boundaries):
        _draw_guides(ax, found)
    else:
        ax.text(0.5, 0.5, "no crossing on the grid", transform=ax.transAxes, ha="center", color=INK)
    _ticks(ax)
    finish(ax, x=r"signal $|\mu|^\star$ at half-way accuracy", y="dimension $d$", title="Phase boundary")
    return Picture(
        "Phase boundary", _caption(seeds_text(np.concatenate(counts)), notes, records, done), figure
    )


def _label(own: list[Record], kind: str, start: str) -> str:
    """Series with the exponent of d in |mu| and its interval, as the claim reads it."""
    text = f"{kind}, {STARTS[start]}"
    try:
        finding = boundary_exponent(own, f"{kind}_error", KINDS[kind][0], start)
    except ValueError:  # fewer than three crossings have no slope
        return text
    if finding.measured is None:
        return text
    text += f": slope {finding.measured:.2f}"
    if finding.interval is not None and np.isfinite([finding.interval.low, finding.interval.high]).all():
        text += f" [{finding.interval.low:.2f}, {finding.interval.high:.2f}]"
    return text


def _draw_points(ax: Axes, boundary: Boundary, label: str, kind: str, *, hollow: bool) -> None:
    if not boundary.points:
        return
    colour = KINDS[kind][1]
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


def _draw_guides(ax: Axes, found: dict[str, list[Boundary]]) -> None:
    """Lines of the named slopes through the middle crossing of the first start, behind the data."""
    points = [point for boundaries in found.values() for boundary in boundaries for point in boundary.points]
    x = np.array([crossing.value for _, crossing in points])
    y = np.array([d for d, _ in points])
    left, right = float(x.min()) / 1.35, float(x.max()) * 1.35
    grid = np.geomspace(left, right, 100)
    for kind, boundaries in found.items():
        slope, colour = KINDS[kind]
        anchor = next((boundary.anchor for boundary in boundaries if boundary.anchor), None)
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


def _caption(seeds: str, notes: list[str], records: Sequence[Record], done: list[Record]) -> str:
    flip_rate = done[0].config["flip_rate"]
    bars = (
        "One seed, no interval over seeds."
        if seeds == "one seed"
        else f"{seeds.capitalize()}; bars: 95% interval of the mean."
    )
    text = (
        f"Signal at which accuracy is {halfway(flip_rate):g}, halfway from 1/2 to 1 - flip rate, "
        f"interpolated on the probit scale at every d. {bars} Slopes: log d against log |mu|, fitted per "
        "seed, with their 95% interval. "
        "Shaded: the slopes the paper names, 4 and 2, their constants set by the middle crossing; 2 is the "
        "limit of the robust bound for large |mu|."
    )
    if lost := len(records) - len(done):
        notes = [*notes, f"Diverged or failed and left out: {lost}."]
    return " ".join([text, *notes])
