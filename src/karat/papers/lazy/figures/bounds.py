"""Worst nets of the ball against the theorem, the worst subset against its bound, brackets of errors."""

from collections.abc import Sequence
from statistics import median

import numpy as np
from matplotlib.axes import Axes

from karat.study.drawing.picture import Picture
from karat.study.drawing.series import done, draw_series, plain_ticks, round_ticks, seeds_note, table_of
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, new_figure
from karat.study.record import Record


def draw_worst(records: Sequence[Record]) -> list[Picture]:
    """Longest flip that an adversary over the weights enforces, against the sharp formula.

    Ref: lazy, Thm 3.1
    """
    own = done(records)
    if not own:
        return []
    figure, (left, right) = new_figure(2, width=4.2, height=3.3)
    left.set_xscale("log")
    left.set_yscale("log")
    for index, C0 in enumerate(sorted({r.config["C0"] for r in own})):
        cells = [r for r in own if r.config["C0"] == C0]
        color = PALETTE[index]
        d, worst = table_of(cells, _d, lambda r: median(r.values["worst"]))
        _, start = table_of(cells, _d, lambda r: median(r.values["at_start"]))
        _, sharp = table_of(cells, _d, lambda r: median(r.values["sharp"]))
        short = np.where(worst <= 1, worst, np.nan)
        draw_series(left, d, short, f"worst net, C0 = {C0:g}", color=color)
        draw_series(
            left,
            d,
            np.where(np.isfinite(sharp), sharp, np.nan),
            f"sharp formula, C0 = {C0:g}",
            color=color,
            line="--",
            marker="",
            band=False,
        )
        if index == 0:
            draw_series(left, d, start, "the start W0", color=INK, line=":", marker="", band=False)
        never = d[np.isnan(short).any(axis=0)]
        text = "median never flips within |x| = 1" if len(never) else None
        left.plot(never, np.full(len(never), 1.25), linestyle="", marker="x", color=color, label=text)
    left.axhline(1.0, color=FAINT, linewidth=1.0)
    low, high = left.get_ylim()
    left.set_ylim(low / (high / low) ** 0.7, high)
    for ax in (left, right):
        ax.set_xscale("log")
        plain_ticks(ax, sorted({_d(r) for r in own}))
    finish(left, x="input dimension d", y="flip length along the gradient", title="Longest flip of the ball")
    left.legend(frameon=False, fontsize=7.5, loc="lower left")
    round_ticks(left)
    _draw_gradients(right, own)
    widths = sorted({r.config["m"] for r in own})
    text = f"m = {widths[0]}" if len(widths) == 1 else "m = d^2.4, the window's lower end"
    caption = (
        f"Adversary over all W with rows within C0/sqrt(m) of W0, at inputs fixed before W0; {text}. Medians "
        f"over inputs. Dashed: |f| + C0/2 sqrt(1 + T^2) = T |P grad f|, about C0/sqrt(2 d). {seeds_note(own)}"
    )
    return [Picture("The worst nets of the lazy ball", caption, figure)]


def _draw_gradients(right: Axes, own: Sequence[Record]) -> None:
    """Smallest gradient that the adversary finds, over that of the start."""
    for index, C0 in enumerate(sorted({r.config["C0"] for r in own})):
        cells = [r for r in own if r.config["C0"] == C0]
        d, table = table_of(cells, _d, lambda r: min(r.values["smallest_gradient"]) / (_d(r) / 2) ** 0.5)
        draw_series(right, d, table, f"adversary, C0 = {C0:g}", color=PALETTE[index])
    right.axhline(1, color=INK, linestyle=":", linewidth=1.1, label=r"start, $\sqrt{d/2}$")
    right.axhline(0.25 * 2**0.5, color=INK, linestyle="--", linewidth=1.1, label=r"lemma, $\sqrt{d}/4$")
    right.set_ylim(0, 1.5)
    finish(
        right,
        x="input dimension d",
        y=r"smallest $|\nabla f|/\sqrt{d/2}$ of the ball",
        title="Smallest gradient",
    )
    right.legend(frameon=False, fontsize=8, loc="upper left", ncol=2)


def _d(record: Record) -> float:
    return float(record.config["d"])


def draw_subset(records: Sequence[Record]) -> list[Picture]:
    """Worst subset of switched neurons against the printed bound, over the width.

    Ref: lazy, Eq 7
    """
    own = done(records)
    if not own:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    d = max(r.config["d"] for r in own)
    cells = [r for r in own if r.config["d"] == d]
    m, found = table_of(cells, lambda r: float(r.config["m"]), lambda r: float(r.values["subset"]))
    _, bound = table_of(cells, lambda r: float(r.config["m"]), lambda r: float(r.values["bound"]))
    draw_series(ax, m, found, "worst subset found", color=PALETTE[1])
    draw_series(ax, m, bound, "printed bound (7)", color=PALETTE[0], line="--", marker="s", band=False)
    ax.axhline(float(cells[0].values["limit"]), color=INK, linestyle=":", linewidth=1.1, label=r"$C_0/\pi$")
    round_ticks(ax)
    finish(ax, x="width m", y=r"$|\sum_{s \in S} \pm P w_s|/\sqrt{m}$")
    caption = (
        f"d = {d}, C0 = {cells[0].config['C0']:g}. The adversary chooses which neurons near their kink "
        "switch; the printed bound treats their weights as independent of that choice and tends to 0, the "
        f"worst subset to C0/pi. {seeds_note(cells)}"
    )
    return [Picture("Switched neurons", caption, figure)]


def draw_bracket(records: Sequence[Record]) -> list[Picture]:
    """Robust error of trained nets between attack and certificate, over the radius.

    Ref: lazy, Cor 3.2
    """
    own = done(records)
    if not own:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.0)
    for index, side in enumerate(sorted({r.config["side"] for r in own})):
        cells = [r for r in own if r.config["side"] == side]
        c, low = table_of(cells, lambda r: float(r.config["c"]), lambda r: float(r.values["error_low"]))
        _, high = table_of(cells, lambda r: float(r.config["c"]), lambda r: float(r.values["error_high"]))
        bottom, top = np.nanmean(low, axis=0), np.nanmean(high, axis=0)
        color = PALETTE[index % 7]
        ax.fill_between(c, bottom, top, color=color, alpha=0.2, linewidth=0)
        ax.plot(c, bottom, color=color, marker="o", markersize=4, label=f"d = {side**2}, attack")
        ax.plot(
            c,
            top,
            color=color,
            marker="s",
            markersize=4,
            markerfacecolor="white",
            linestyle="--",
            label=f"d = {side**2}, certificate",
        )
    ax.axhline(0.9, color=INK, linestyle=":", linewidth=1.1, label="0.9 (corollary)")
    ax.set_ylim(-0.03, 1.05)
    finish(ax, x=r"radius $\tau\sqrt{d}$", y="robust test error")
    config = own[0].config
    caption = (
        f"Adversarially trained at each radius inside C0 = {float(config['C0']):g}, m = {config['m']}; the "
        f"shaded bracket holds the true robust error of {config['certified']} test images. Means over "
        f"{len({r.seed for r in own})} seeds."
    )
    return [Picture("Robust error, enclosed", caption, figure)]
