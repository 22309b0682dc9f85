"""What the proofs of convergence build: parity of kernels, shattered clusters, exits of unprojected runs."""

from collections.abc import Sequence

import numpy as np

from karat.study.drawing.picture import Picture
from karat.study.drawing.series import done, draw_series, plain_ticks, round_ticks, table_of
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.record import Record


def draw_parity(records: Sequence[Record]) -> list[Picture]:
    """Largest error of kernel interpolants on antipodal caps, plain and lifted.

    Ref: convergence, Fn 14
    """
    own = done(records)
    if not own:
        return []
    kinds = [(a, labels) for a in ("relu", "quadratic_relu") for labels in ("same", "opposite")]
    figure, (ax,) = new_figure(1, width=5.2, height=3.1)
    ax.set_yscale("log")
    lifts = sorted({bool(r.config["lift"]) for r in own})
    for index, lift in enumerate(lifts):
        for place, (activation, labels) in enumerate(kinds):
            values = [
                float(r.values["supremum"])
                for r in own
                if (r.config["activation"], r.config["antipodes"], r.config["lift"])
                == (activation, labels, lift)
            ]
            if values:
                at = place + 0.3 * (index - (len(lifts) - 1) / 2)
                middle = float(np.exp(np.mean(np.log(values))))
                ax.bar(
                    at,
                    middle,
                    0.28,
                    color=PALETTE[index],
                    alpha=0.8,
                    label=_LIFT[lift] if place == 0 else None,
                )
                ax.plot([at] * len(values), values, linestyle="", marker=".", color=INK, markersize=4)
    ax.axhline(1, color=INK, linewidth=1.0, linestyle=":")
    ax.text(len(kinds) - 0.5, 1.08, "1: signs no longer certain", fontsize=7.5, color=INK, ha="right")
    ax.set_xticks(range(len(kinds)), [f"{a.replace('_', ' ')}\n{labels} labels" for a, labels in kinds])
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * (high / low) ** 0.25)
    round_ticks(ax)
    finish(ax, x="", y="sup |f - y| on the caps")
    ax.legend(frameon=False, fontsize=8, loc="upper left", ncol=2)
    caption = (
        f"Interpolants on caps around {own[0].config['n'] // 2} antipodal pairs in R^{own[0].config['d']}. "
        "Equal labels ask for an even function, opposite ones for an odd one: beyond low degrees the ReLU "
        "kernel is even and the quadratic ReLU's odd, not even as the text says. Dots are seeds, bars their "
        "geometric mean."
    )
    return [Picture("Parity of the tangent kernels", caption, figure)]


_LIFT = {False: "points x", True: "lifted points [x, 1]"}


def draw_shattering(records: Sequence[Record]) -> list[Picture]:
    """Share of labellings that the construction shatters, with the corrected and the printed constant.

    Ref: convergence, Thm 6.1
    """
    own = done(records)
    if not own:
        return []
    figure, (left, right) = new_figure(2, width=3.7, height=2.8)
    for index, printed in enumerate((False, True)):
        cells = [r for r in own if r.config["printed"] is printed]
        if not cells:
            continue
        d, table = table_of(cells, lambda r: float(r.config["d"]), lambda r: float(r.values["shattered"]))
        label = "maximum, as printed" if printed else "minimum, corrected"
        draw_series(left, d, table, label, color=PALETTE[index], marker="os"[index])
    cells = [r for r in own if r.config["printed"] is False]
    d, ratio = table_of(cells, lambda r: float(r.config["d"]), lambda r: float(r.values["ratio"]))
    _, measured = table_of(cells, lambda r: float(r.config["d"]), lambda r: float(r.values["ratio_measured"]))
    for ax in (left, right):
        ax.set_xscale("log")
        plain_ticks(ax, list(d))
    right.set_yscale("log")
    draw_series(
        right, d, ratio, r"$\max_k \gamma_k$, closed form", color=INK, line=":", marker="", band=False
    )
    draw_series(right, d, measured, "smallest touching ball", color=PALETTE[2], band=False)
    round_ticks(right)
    left.set_ylim(-0.04, 1.3)
    finish(left, x="dimension d", y="share of labellings shattered", title="Construction")
    finish(right, x="dimension d", y="radius over offset", title="The constant")
    config = own[0].config
    caption = (
        f"{config['clusters']} clusters of d points, {config['labellings']} random labellings each: every "
        "label's points must fit into one ball of radius tau, balls of different labels lie on their sides "
        "of the plane, and centres stay more than 2 tau apart."
    )
    return [Picture("Shattered clusters", caption, figure)]


def draw_exit(records: Sequence[Record]) -> list[Picture]:
    """Loss before leaving B(3R) against the target, run by run.

    Ref: convergence, App B
    """
    own = done(records)
    if not own:
        return []
    figure, (ax,) = new_figure(1, width=4.4, height=3.1)
    for index, R in enumerate(sorted({float(r.config["R"]) for r in own})):
        for left, marker in ((True, "o"), (False, "s")):
            cells = [r for r in own if r.config["R"] == R and (r.values["left_triple"] is not None) is left]
            if cells:
                ax.plot(
                    [float(r.values["target_loss"]) for r in cells],
                    [float(r.values["loss_before_exit"]) for r in cells],
                    linestyle="",
                    marker=marker,
                    markersize=5,
                    markerfacecolor=PALETTE[index % 7] if left else "white",
                    color=PALETTE[index % 7],
                    label=f"R = {R:g}, {'left B(3R)' if left else 'stayed'}",
                )
    top = max(float(r.values["target_loss"]) for r in own) * 1.1
    grid = np.array([0.0, top])
    tol = own[0].config["tol"]
    ax.plot(grid, grid + tol, color=INK, linestyle="--", linewidth=1.0, label="target + tol")
    ax.plot(grid, grid, color=INK, linestyle=":", linewidth=1.0, label="target")
    ax.set_xlim(0, top)
    ax.set_ylim(bottom=0)
    finish(ax, x=r"target, robust loss of $W_*$ in B(R)", y=r"$\min_t L_A$ inside B(3R)", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    caption = (
        "Unprojected adversarial training, one marker per run: a run that leaves B(3R) must have met the "
        f"target loss plus tol = {tol:g} before, i.e. lie below the dashed line. "
        f"{len({r.seed for r in own})} seeds."
    )
    return [Picture("Inside B(3R), or successful before leaving", caption, figure)]


__all__ = ["draw_exit", "draw_parity", "draw_shattering"]
