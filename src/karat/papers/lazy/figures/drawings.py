"""Figures of lazy: flips against dimension, contours of adversarial training, the worst nets of the ball."""

from collections.abc import Sequence

import numpy as np

from karat.papers.lazy.checks.figures import at_ball, dimension
from karat.papers.lazy.checks.training import robust_accuracy
from karat.papers.lazy.figures.bounds import draw_bracket, draw_subset, draw_worst
from karat.papers.lazy.figures.lemmas import draw_algorithm, draw_beyond, draw_lemmas
from karat.study.curves import setting
from karat.study.drawing.picture import Draw, Picture
from karat.study.drawing.series import (
    done,
    draw_series,
    plain_ticks,
    power_guide,
    round_ticks,
    seeds_note,
    table_of,
)
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.record import Record, number

POWERS = {
    "perturbation": (r"smallest flip $|\delta|/|x|$", -0.5, r"$d^{-1/2}$"),
    "gradient": (r"gradient $|\nabla_x f|$", 0.5, r"$d^{1/2}$"),
    "step": (r"step $\eta$", -1.0, r"$d^{-1}$"),
}


TICKS = (25, 49, 100, 196, 256, 400, 784, 1600, 3136)


def draw_flips(records: Sequence[Record]) -> list[Picture]:
    """Smallest flip, gradient and step against d, one line per width and ball.

    Ref: lazy, Fig 2; lazy, Fig 5
    """
    own = done(records)
    if not own:
        return []
    figure, axes = new_figure(3, width=3.4, height=3.1)
    lines = sorted({(r.config["m"], C0) for r in own for C0 in r.values["C0"]})
    for ax, (name, (label, exponent, law)) in zip(axes, POWERS.items(), strict=True):
        ax.set_xscale("log")
        ax.set_yscale("log")
        for index, (m, C0) in enumerate(lines):
            cells = [r for r in own if r.config["m"] == m and C0 in r.values["C0"]]
            x, table = table_of(cells, dimension, at_ball(name, C0))
            width = f"m = {m:,}, " if len({line[0] for line in lines}) > 1 else ""
            draw_series(
                ax, x, table, f"{width}C0 = {C0:g}", color=PALETTE[index % 7], marker="osD^v"[index % 5]
            )
            if index == 0:
                power_guide(ax, x, (x[-1], float(np.nanmean(table[:, -1]))), exponent, law)
        plain_ticks(ax, [d for d in TICKS if d in {dimension(r) for r in own}])
        round_ticks(ax)
        finish(ax, x="input dimension d", y=label, legend=ax is axes[0])
    config = own[0].config
    data = "raw pixels, first-layer bias" if config["scaling"] == "raw" else "unit-length inputs, no bias"
    padded = (
        f", {config['padded_from']} x {config['padded_from']} images zero-padded"
        if config["padded_from"]
        else ""
    )
    caption = (
        f"Digits {config['classes'][0]} and {config['classes'][1]}, {data}{padded}; the last net inside each "
        "ball C0/sqrt(m). Dotted: the paper's power through the largest d of the first line. "
        f"{seeds_note(own)}"
    )
    pictures = [Picture("Smallest flip along the gradient", caption, figure)]
    return [*pictures, _histograms(own)]


def _histograms(records: Sequence[Record]) -> Picture:
    """The three quantities over the test images at the largest dimension, smallest ball."""
    side = max(record.config["side"] for record in records)
    record = max((r for r in records if r.config["side"] == side), key=lambda r: (r.config["m"], -r.seed))
    figure, axes = new_figure(3, width=3.0, height=2.4)
    for ax, (name, (label, _, _)) in zip(axes, POWERS.items(), strict=True):
        shape = record.values["histograms"][0][name]
        edges = np.array(shape["edges"])
        ax.bar(edges[:-1], shape["counts"], width=np.diff(edges), align="edge", color=PALETTE[0], alpha=0.75)
        middle = number(shape["median"])  # NaN if no prediction flips, which draws no line
        ax.axvline(middle, color=PALETTE[1], linewidth=1.4, label=f"median {middle:.3g}")
        finish(ax, x=label, y="test images")
        ax.set_ylim(top=ax.get_ylim()[1] * 1.25)
    caption = (
        f"One net, d = {side**2}, m = {record.config['m']:,}, C0 = {record.values['C0'][0]:g}, seed "
        f"{record.seed}. The paper reports bell shapes and a step that concentrates around 0.045."
    )
    return Picture("Flip, gradient and step over the test images", caption, figure)


def draw_radius(records: Sequence[Record]) -> list[Picture]:
    """Robust accuracy against radius for every d, and where it crosses three levels.

    Ref: lazy, fig4.radius
    """
    own = done(records)
    if not own:
        return []
    figure, (left, right) = new_figure(2, width=4.3, height=3.3)
    left.set_xscale("log")
    dims = sorted({dimension(r) for r in own})
    for index, d in enumerate(dims):
        cells = [r for r in own if dimension(r) == d]
        x, table = table_of(cells, setting("c"), robust_accuracy)
        draw_series(left, x, table, f"d = {d:g}", color=PALETTE[index % 7])
    left.axvline(5, color=INK, linestyle=":", linewidth=1.2)
    left.text(5.1, 0.5, "5 (paper)", fontsize=8, color=INK)
    left.set_ylim(-0.03, 1.03)
    plain_ticks(left, [1.5, 2, 3, 4, 5, 6, 7])
    finish(left, x=r"radius $\tau\sqrt{d}$", y="robust test accuracy", title="Accuracy")
    right.set_xscale("log")
    right.set_yscale("log")
    for level, color in zip((0.05, 0.5, 0.8), (PALETTE[1], PALETTE[0], PALETTE[2]), strict=True):
        points = [(d, *_crossing([r for r in own if dimension(r) == d], "c", level)) for d in dims]
        kept = [(d, c / d**0.5, spread / d**0.5) for d, c, spread in points if c is not None]
        if kept:
            at, radius, spread = np.array(kept).T
            right.errorbar(
                at,
                radius,
                yerr=spread,
                color=color,
                marker="o",
                markersize=4,
                capsize=2,
                label=f"{level:.0%}",
            )
    grid = np.array([min(dims), max(dims)])
    right.plot(
        grid, 5 / np.sqrt(grid), color=INK, linestyle=":", linewidth=1.2, label=r"$5/\sqrt{d}$ (paper)"
    )
    plain_ticks(right, dims)
    round_ticks(right)
    finish(right, x="input dimension d", y=r"radius $\tau$ of the contour", title="Contours")
    config = own[0].config
    caption = (
        f"Projected adversarial training in the ball C0 = {float(config['C0']):g}, m = {config['m']}, "
        "unit-length digits; robust accuracy by PGD. Contours interpolated per seed, bars one standard "
        f"deviation. {seeds_note(own)}"
    )
    return [Picture("Radius that adversarially trained lazy nets withstand", caption, figure)]


def draw_movement(records: Sequence[Record]) -> list[Picture]:
    """Robust accuracy against the movement allowed to the rows, for every width.

    Ref: lazy, fig4.movement
    """
    own = done(records)
    if not own:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.2)
    ax.set_xscale("log")
    for index, m in enumerate(sorted({r.config["m"] for r in own})):
        cells = [r for r in own if r.config["m"] == m]
        x, table = table_of(cells, setting("C0"), robust_accuracy)
        draw_series(ax, x, table, f"m = {m}", color=PALETTE[index % 7], marker="osD"[index % 3])
    ax.axvline(25, color=INK, linestyle=":", linewidth=1.2)
    ax.text(25.6, 0.03, "25 (paper)", fontsize=8, color=INK)
    plain_ticks(ax, [8, 10, 15, 20, 25, 30, 40])
    ax.set_ylim(-0.03, 1.03)
    finish(ax, x=r"movement allowed $C_0 = V\sqrt{m}$", y="robust test accuracy")
    caption = (
        f"d = {dimension(own[0]):g}, radius {own[0].config['c'] / own[0].config['side']:.2g}. The widths "
        f"fall on one curve: the transition scales as 1/sqrt(m). {seeds_note(own)}"
    )
    return [Picture("Movement that robustness needs", caption, figure)]


def _crossing(records: Sequence[Record], axis: str, level: float) -> tuple[float | None, float]:
    """Mean and standard deviation over seeds of where accuracy falls to a level, in log coordinates."""
    x, table = table_of(records, setting(axis), robust_accuracy)
    found = []
    for row in table:
        below = np.flatnonzero((row[:-1] >= level) & (row[1:] < level))
        if len(below) == 0:
            return None, 0.0
        i = below[0]
        share = (row[i] - level) / (row[i] - row[i + 1])
        found.append(np.exp(np.log(x[i]) + share * (np.log(x[i + 1]) - np.log(x[i]))))
    return float(np.mean(found)), float(np.std(found, ddof=1)) if len(found) > 1 else 0.0


FIGURES: dict[str, Draw] = {
    "lazy.fig5": draw_flips,
    "lazy.fig2": draw_flips,
    "lazy.padding": draw_flips,
    "lazy.fig4.radius": draw_radius,
    "lazy.fig4.movement": draw_movement,
    "lazy.worst": draw_worst,
    "lazy.thm3.1": draw_worst,
    "lazy.subset": draw_subset,
    "lazy.bracket": draw_bracket,
    "lazy.cor3.2": draw_bracket,
    "lazy.lemmas": draw_lemmas,
    "lazy.beyond": draw_beyond,
    "lazy.alg1": draw_algorithm,
}
