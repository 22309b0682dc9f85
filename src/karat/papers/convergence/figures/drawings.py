"""Figures of convergence: gaps and movement, kernels and their parity, the built net, capacity."""

from collections.abc import Sequence

import numpy as np

from karat.papers.convergence.figures.joint import draw_joint
from karat.papers.convergence.figures.proofs import draw_exit, draw_parity, draw_shattering
from karat.study.curves import setting
from karat.study.drawing.picture import Draw, Picture
from karat.study.drawing.series import (
    Value,
    done,
    draw_series,
    plain_ticks,
    power_guide,
    round_ticks,
    seeds_note,
    table_of,
)
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.record import Record


def _value(name: str) -> Value:
    return lambda record: float(record.values[name])


def _certificate(record: Record) -> float:
    return float(record.values["reference"]) - float(record.values["reference_bound"])


def draw_width(records: Sequence[Record]) -> list[Picture]:
    """Distance to the best robust loss, movement and pattern changes over the width.

    Ref: convergence, Eq 10
    """
    own = done(records)
    own = [r for r in own if r.config["R"] == own[0].config["R"]]
    if not own:
        return []
    figure, axes = new_figure(3, width=3.3, height=3.3)
    gaps, movement, signs = axes
    for ax in axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
    for index, projected in enumerate((True, False)):
        cells = [r for r in own if r.config["projected"] is projected]
        if not cells:
            continue
        color, label = PALETTE[index], "projected" if projected else "unprojected"
        m, table = table_of(cells, setting("m"), lambda r: abs(float(r.values["final_gap"])))
        if projected:
            draw_series(gaps, m, table, label, color=color)
            _, width = table_of(cells, setting("m"), _certificate)
            draw_series(gaps, m, width, "certificate's width", color=INK, line="--", marker="", band=False)
        for name, line, ax in (
            ("rows", "-", movement),
            ("frobenius", "--", movement),
            ("pattern_change", "-", signs),
        ):
            _, table = table_of(cells, setting("m"), _value(name))
            text = {"rows": "largest row", "frobenius": "Frobenius"}.get(name, "")
            draw_series(ax, m, table, f"{text} {label}".strip(), color=color, line=line)
            if name != "frobenius" and projected:
                power_guide(ax, m, (m[0], float(np.nanmean(table[:, 0])) * 0.7), -0.5, r"$m^{-1/2}$")
            if name == "pattern_change" and projected:
                guide = float(np.nanmean(table[:, 0])) * 1.6
                ax.plot(
                    m,
                    guide * (m / m[0]) ** (-1 / 3),
                    color=INK,
                    linestyle="--",
                    linewidth=1.0,
                    label=r"$m^{-1/3}$ (Eq 10)",
                )
    for ax, room in zip(axes, (0.0, 0.9, 0.7), strict=True):
        low, high = ax.get_ylim()
        ax.set_ylim(low / (high / low) ** room, high)
        plain_ticks(ax, sorted({setting("m")(r) for r in own}))
        round_ticks(ax)
    finish(gaps, x="width m", y=r"$|\min_t L_A - L_*|$", title="Gap to the reference")
    finish(movement, x="width m", y=r"$|W - W_0|$", title="Movement")
    finish(signs, x="width m", y="share of signs changed", title="Activation patterns")
    for ax in (movement, signs):
        ax.legend(frameon=False, fontsize=7.5, loc="lower left")
    config = own[0].config
    caption = (
        f"Paired two-layer nets, n = {config['n']}, d = {config['d']}, cap radius "
        f"{config['tau']:g}, reference ball R = "
        f"{config['R']:g}; the reference is the linearised problem's certified lower bound. {seeds_note(own)}"
    )
    return [Picture("Width, movement and patterns", caption, figure)]


def draw_deep(records: Sequence[Record]) -> list[Picture]:
    """Gap over the steps for every depth and width.

    Ref: convergence, Thm 4.1
    """
    own = done(records)
    if not own:
        return []
    depths = sorted({r.config["depth"] for r in own})
    figure, axes = new_figure(len(depths), width=3.1, height=2.9)
    for ax, depth in zip(axes, depths, strict=True):
        ax.set_xscale("log")
        for index, m in enumerate(sorted({r.config["m"] for r in own})):
            cells = [r for r in own if r.config["depth"] == depth and r.config["m"] == m]
            steps = cells[0].values["steps"]
            table = np.array([r.values["gap"] for r in cells if r.values["steps"] == steps], dtype=float)
            draw_series(ax, np.array(steps, dtype=float), table, f"m = {m}", color=PALETTE[index % 7])
        ax.axhline(0, color=INK, linewidth=0.8, linestyle=":")
        plain_ticks(ax, own[0].values["steps"])
        finish(ax, x="steps", y=r"$\min_t L_A - L_*$", title=f"H = {depth}", legend=ax is axes[-1])
    caption = (
        f"Deep ReLU nets projected to R/sqrt(m) per layer, R = {own[0].config['R']:g}; the gap is to the "
        f"certified lower bound of the linearised problem in the same ball. {seeds_note(own)}"
    )
    return [Picture("Projected adversarial training of deep nets", caption, figure)]


def draw_attacks(records: Sequence[Record]) -> list[Picture]:
    """Surrogate loss reached and robust loss left, for every perturbation function.

    Ref: convergence, Thm 5.1
    """
    own = done(records)
    if not own:
        return []
    names = sorted({r.config["attack"] for r in own})
    figure, (ax,) = new_figure(1, width=5.0, height=2.9)
    place = np.arange(len(names))
    for index, (value, label) in enumerate(
        (("best_loss", r"$\min_t L_A$"), ("robust_loss", "robust loss at the end"))
    ):
        table = [[float(r.values[value]) for r in own if r.config["attack"] == name] for name in names]
        means = [np.mean(row) for row in table]
        spread = [np.std(row, ddof=1) if len(row) > 1 else 0.0 for row in table]
        ax.bar(
            place + 0.38 * index - 0.19,
            means,
            0.36,
            yerr=spread,
            color=PALETTE[index],
            label=label,
            capsize=2,
            alpha=0.85,
        )
    target = float(np.mean([float(r.values["reference_bound"]) for r in own]))
    ax.axhline(target, color=INK, linestyle=":", linewidth=1.2, label=r"best robust loss nearby, $L_*$")
    ax.axhline(target + own[0].config["tol"], color=INK, linestyle="--", linewidth=0.9, label=r"$L_*$ + tol")
    ax.set_xticks(place, [name.replace("_", " ") for name in names])
    ax.set_ylim(top=1.45 * ax.get_ylim()[1])
    finish(ax, x="perturbation function", y="loss")
    config = own[0].config
    caption = (
        f"Unprojected descent, m = {config['m']}, R = {config['R']:g}, {config['steps']} steps. Whatever the "
        "perturbation function, the loss it sees falls below L_* + tol; what weak ones leave of the robust "
        f"loss is no part of the guarantee. Means over {len({r.seed for r in own})} seeds, bars one standard "
        "deviation."
    )
    return [Picture("Arbitrary perturbation functions", caption, figure)]


def draw_kernel(records: Sequence[Record]) -> list[Picture]:
    """Robust interpolation on covered caps, and the kernels' weights by degree.

    Ref: convergence, Asm 5.2
    """
    own = done(records)
    if not own:
        return []
    figure, (left, right) = new_figure(2, width=4.2, height=3.1)
    left.set_yscale("log")
    names = sorted({r.config["activation"] for r in own})
    for index, name in enumerate(names):
        cells = [r for r in own if r.config["activation"] == name and r.config["d"] == own[0].config["d"]]
        x, table = table_of(cells, setting("cover"), _value("supremum"))
        draw_series(left, x, table, name.replace("_", " "), color=PALETTE[index % 7])
        weights = np.abs(np.array(cells[0].values["degrees"]))
        degrees = np.arange(len(weights))
        shown = np.where(weights > 1e-9, weights, np.nan)
        right.plot(
            degrees,
            shown,
            linestyle="",
            marker="osD^v"[index % 5],
            color=PALETTE[index % 7],
            label=name.replace("_", " "),
        )
        gone = degrees[weights <= 1e-9]
        right.plot(
            gone,
            np.full(len(gone), 10 ** (-7.2 - 0.35 * index)),
            linestyle="",
            marker="x",
            color=PALETTE[index % 7],
        )
    right.set_yscale("log")
    right.set_ylim(bottom=1e-9)
    right.text(0.03, 0.03, "x: degree missing", transform=right.transAxes, fontsize=8, color=INK)
    finish(left, x="points covered per cap", y="sup |f - y| on fresh points", title="Robust interpolation")
    finish(right, x="degree", y="eigenvalue", title="Weight by degree")
    caption = (
        f"Tangent kernels on the sphere of R^{own[0].config['d']}, {own[0].config['n']} caps of radius "
        f"{own[0].config['tau']:g}. Beyond degree 3 the ReLU keeps even degrees, the quadratic ReLU "
        f"odd ones. {seeds_note(own)}"
    )
    return [Picture("The tangent kernel's space", caption, figure)]


def draw_built(records: Sequence[Record]) -> list[Picture]:
    """Error of the built net against its bound, and its robust loss.

    Ref: convergence, Thm 5.2
    """
    own = done(records)
    if not own:
        return []
    figure, (left, right) = new_figure(2, width=4.0, height=3.0)
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_yscale("log")
    for index, (name, label) in enumerate(
        (("bound", "bound (19)"), ("error", "sup |f - g|"), ("finite_sum_error", "random features alone"))
    ):
        m, table = table_of(own, setting("m"), _value(name))
        draw_series(left, m, table, label, color=PALETTE[index], line="--" if name == "bound" else "-")
    for index, (name, label) in enumerate(
        (("robust_loss", "on a grid"), ("certified_loss", "certified over the caps"))
    ):
        m, table = table_of(own, setting("m"), _value(name))
        draw_series(right, m, table, label, color=PALETTE[index])
    right.axhline(own[0].config["tol"], color=INK, linestyle=":", linewidth=1.1, label="tol")
    for ax in (left, right):
        plain_ticks(ax, sorted({setting("m")(r) for r in own}))
    left.set_ylim(top=8 * left.get_ylim()[1])
    right.set_ylim(top=3 * right.get_ylim()[1])
    round_ticks(left)
    round_ticks(right)
    finish(left, x="width m", y="uniform error", title="Approximation")
    finish(right, x="width m", y="robust loss", title="Robustness")
    left.legend(frameon=False, fontsize=8, loc="upper right")
    right.legend(frameon=False, fontsize=8, loc="upper right")
    size = np.mean([float(r.values["random_feature_norm"]) for r in own])
    caption = (
        f"The network of the proof with corrected signs and factors, d = {own[0].config['d']}; its rows move "
        f"by |g|_RF/sqrt(m), |g|_RF = {size:.0f}: on lazy's axis it lies in the ball C0 = {size:.0f}. "
        f"{seeds_note(own)}"
    )
    return [Picture("The robust net of the proof, built", caption, figure)]


def draw_capacity(records: Sequence[Record]) -> list[Picture]:
    """Parameters of the smallest nets that interpolate, and that provably interpolate robustly.

    Ref: convergence, Thm 6.1
    """
    own = [r for r in done(records) if r.values["parameters"] is not None]
    if not own:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for index, share in enumerate(sorted({r.config["share"] for r in own})):
        cells = [r for r in own if r.config["share"] == share]
        d, table = table_of(cells, setting("d"), _value("parameters"))
        label = "ordinary" if share == 0 else f"robust, certified, {share:g} of half the distance"
        draw_series(ax, d, table, label, color=PALETTE[index], marker="osD"[index % 3], band=False)
        for row in table:
            ax.plot(d, row, linestyle="", marker=".", markersize=5, color=PALETTE[index], alpha=0.5)
    d = np.array(sorted({float(r.config["d"]) for r in own}))
    n = float(own[0].values["n"])
    ax.plot(d, n * d, color=INK, linestyle=":", linewidth=1.2, label="n d")
    ax.axhline(n, color=INK, linestyle="--", linewidth=0.9, label="n")
    plain_ticks(ax, list(d))
    round_ticks(ax)
    finish(ax, x="dimension d", y="parameters of the smallest net found")
    caption = (
        f"{n:g} spread-out points with random labels; two-layer ReLU nets with biases. Robust interpolation "
        "counts only when every ball is certified. Upper bounds found by an optimiser; dots are the point "
        "sets, lines their mean."
    )
    return [Picture("What robust interpolation costs", caption, figure)]


FIGURES: dict[str, Draw] = {
    "convergence.vs-lazy": draw_joint,
    "convergence.width": draw_width,
    "convergence.thm4.1": draw_deep,
    "convergence.thm5.1": draw_attacks,
    "convergence.kernel": draw_kernel,
    "convergence.built": draw_built,
    "convergence.capacity": draw_capacity,
    "convergence.parity": draw_parity,
    "convergence.shattering": draw_shattering,
    "convergence.exit": draw_exit,
}
