"""Figures of adversarial training: the width, deep nets, arbitrary perturbation functions, exits."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.convergence.checks.deep import DeepRun
from karat.papers.convergence.checks.two_layer_runs import TwoLayerRun
from karat.papers.convergence.experiments.deep import THM41
from karat.papers.convergence.experiments.descent import EXIT, THM51, WIDTH
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, power_guide, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import grouped, pivot

_PROJECTED = {True: (PALETTE[0], "projected"), False: (PALETTE[1], "unprojected")}


def draw_width(runs: Sequence[TwoLayerRun]) -> list[Picture]:
    """Distance to the best robust loss, movement and pattern changes over the width.

    Ref: convergence, Eq 10
    """
    if not runs:
        return []
    config = runs[0].config
    same_ball = [run for run in runs if run.config.R == config.R]
    figure, axes = new_figure(3, width=3.3, height=3.3)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
    gaps, movement, signs = axes
    _draw_gaps(gaps, [run for run in same_ball if run.config.projected])
    _draw_movement(movement, same_ball)
    _draw_signs(signs, same_ball)
    # Room below the curves, where two panels have their legend.
    for ax, room in zip(axes, (0.0, 0.9, 0.7), strict=True):
        low, high = ax.get_ylim()
        ax.set_ylim(low / (high / low) ** room, high)
        plain_ticks(ax, sorted({run.config.m for run in same_ball}))
        round_ticks(ax)
    finish(gaps, x="width m", y=r"$|\min_t L_A - L_*|$", title="Gap to the reference")
    finish(movement, x="width m", y=r"$|W - W_0|$", title="Movement")
    finish(signs, x="width m", y="share of signs changed", title="Activation patterns")
    for ax in (movement, signs):
        ax.legend(frameon=False, fontsize=7.5, loc="lower left")
    caption = (
        f"Paired two-layer nets, n = {config.n}, d = {config.d}, cap radius {config.tau:g}, reference ball "
        f"R = {config.R:g}; the reference is the linearised problem's certified lower bound. "
        f"{seeds_note(same_ball)}"
    )
    return [Picture("Width, movement and patterns", caption, figure)]


def _width(run: TwoLayerRun) -> float:
    return run.config.m


def _draw_gaps(ax: Axes, projected: Sequence[TwoLayerRun]) -> None:
    """Gaps of projected runs only: an unprojected net may leave the ball and beat its reference."""
    if not projected:
        return
    color, label = _PROJECTED[True]
    m, gap = pivot(projected, _width, lambda run: abs(run.result.final_gap))
    draw_series(ax, m, gap, label, color=color)
    _, width = pivot(projected, _width, lambda run: run.result.certificate_width)
    draw_series(ax, m, width, "certificate's width", color=INK, line="--", marker="", band=False)


def _draw_movement(ax: Axes, runs: Sequence[TwoLayerRun]) -> None:
    by_projection = grouped(runs, lambda run: run.config.projected)
    for projected, (color, label) in _PROJECTED.items():
        cells = by_projection.get(projected, [])
        if not cells:
            continue
        m, rows = pivot(cells, _width, lambda run: run.result.rows)
        _, frobenius = pivot(cells, _width, lambda run: run.result.frobenius)
        draw_series(ax, m, rows, f"largest row {label}", color=color)
        if projected:
            _half_power_guide(ax, m, rows)
        draw_series(ax, m, frobenius, f"Frobenius {label}", color=color, line="--")


def _draw_signs(ax: Axes, runs: Sequence[TwoLayerRun]) -> None:
    by_projection = grouped(runs, lambda run: run.config.projected)
    for projected, (color, label) in _PROJECTED.items():
        cells = by_projection.get(projected, [])
        if not cells:
            continue
        m, changed = pivot(cells, _width, lambda run: run.result.pattern_change)
        draw_series(ax, m, changed, label, color=color)
        if projected:
            _half_power_guide(ax, m, changed)
            bound = 1.6 * float(np.nanmean(changed[:, 0])) * (m / m[0]) ** (-1 / 3)
            ax.plot(m, bound, color=INK, linestyle="--", linewidth=1.0, label=r"$m^{-1/3}$ (Eq 10)")


def _half_power_guide(ax: Axes, m: np.ndarray, table: np.ndarray) -> None:
    power_guide(ax, m, (m[0], 0.7 * float(np.nanmean(table[:, 0]))), -0.5, r"$m^{-1/2}$")


def draw_deep(runs: Sequence[DeepRun]) -> list[Picture]:
    """Gap over the steps for every depth and width.

    Ref: convergence, Thm 4.1
    """
    if not runs:
        return []
    by_depth = sorted(grouped(runs, lambda run: run.config.depth).items())
    widths = sorted({run.config.m for run in runs})
    figure, axes = new_figure(len(by_depth), width=3.1, height=2.9)
    for ax, (depth, same_depth) in zip(axes, by_depth, strict=True):
        ax.set_xscale("log")
        for m, cells in sorted(grouped(same_depth, lambda run: run.config.m).items()):
            steps = cells[0].result.steps
            table = np.array([run.result.gap for run in cells if run.result.steps == steps], dtype=float)
            color = PALETTE[widths.index(m) % 7]
            draw_series(ax, np.array(steps, dtype=float), table, f"m = {m}", color=color)
        ax.axhline(0, color=INK, linewidth=0.8, linestyle=":")
        plain_ticks(ax, runs[0].result.steps)
        finish(ax, x="steps", y=r"$\min_t L_A - L_*$", title=f"H = {depth}", legend=ax is axes[-1])
    caption = (
        f"Deep ReLU nets projected to R/sqrt(m) per layer, R = {runs[0].config.R:g}; the gap is to the "
        f"certified lower bound of the linearised problem in the same ball. {seeds_note(runs)}"
    )
    return [Picture("Projected adversarial training of deep nets", caption, figure)]


def draw_attacks(runs: Sequence[TwoLayerRun]) -> list[Picture]:
    """Surrogate loss reached and robust loss left, for every perturbation function.

    Ref: convergence, Thm 5.1
    """
    if not runs:
        return []
    by_attack = sorted(grouped(runs, lambda run: run.config.attack).items())
    reached = [[run.result.best_loss for run in cells] for _, cells in by_attack]
    left = [[run.result.robust_loss for run in cells] for _, cells in by_attack]
    figure, (ax,) = new_figure(1, width=5.0, height=2.9)
    middle = np.arange(len(by_attack))
    for index, (losses, label) in enumerate(((reached, r"$\min_t L_A$"), (left, "robust loss at the end"))):
        ax.bar(
            middle + 0.38 * index - 0.19,
            [np.mean(row) for row in losses],
            0.36,
            yerr=[np.std(row, ddof=1) if len(row) > 1 else 0.0 for row in losses],
            color=PALETTE[index],
            label=label,
            capsize=2,
            alpha=0.85,
        )
    config = runs[0].config
    target = float(np.mean([run.result.reference_bound for run in runs]))
    ax.axhline(target, color=INK, linestyle=":", linewidth=1.2, label=r"best robust loss nearby, $L_*$")
    ax.axhline(target + config.tol, color=INK, linestyle="--", linewidth=0.9, label=r"$L_*$ + tol")
    ax.set_xticks(middle, [attack.replace("_", " ") for attack, _ in by_attack])
    ax.set_ylim(top=1.45 * ax.get_ylim()[1])
    finish(ax, x="perturbation function", y="loss")
    caption = (
        f"Unprojected descent, m = {config.m}, R = {config.R:g}, {config.steps} steps. The theorem "
        "is about the loss that each perturbation function sees, against L_* + tol; what weak ones leave of "
        f"the robust loss is no part of it. Means over {len({run.seed for run in runs})} seeds, bars one "
        "standard deviation."
    )
    return [Picture("Arbitrary perturbation functions", caption, figure)]


def draw_exit(runs: Sequence[TwoLayerRun]) -> list[Picture]:
    """Loss before leaving B(3R) against the target, run by run.

    Ref: convergence, App B
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.4, height=3.1)
    by_exit = grouped(runs, lambda run: (run.config.R, run.result.left_triple is not None))
    for index, R in enumerate(sorted({run.config.R for run in runs})):
        for left, marker in ((True, "o"), (False, "s")):
            cells = by_exit.get((R, left), [])
            if cells:
                ax.plot(
                    [run.result.target_loss for run in cells],
                    [run.result.loss_before_exit for run in cells],
                    linestyle="",
                    marker=marker,
                    markersize=5,
                    markerfacecolor=PALETTE[index % 7] if left else "white",
                    color=PALETTE[index % 7],
                    label=f"R = {R:g}, {'left B(3R)' if left else 'stayed'}",
                )
    tol = runs[0].config.tol
    diagonal = np.array([0.0, 1.1 * max(run.result.target_loss for run in runs)])
    ax.plot(diagonal, diagonal + tol, color=INK, linestyle="--", linewidth=1.0, label="target + tol")
    ax.plot(diagonal, diagonal, color=INK, linestyle=":", linewidth=1.0, label="target")
    ax.set_xlim(0, diagonal[1])
    ax.set_ylim(bottom=0)
    finish(ax, x=r"target, robust loss of $W_*$ in B(R)", y=r"$\min_t L_A$ inside B(3R)", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    caption = (
        "Unprojected adversarial training, one marker per run: a run that leaves B(3R) must have met the "
        f"target loss plus tol = {tol:g} before, i.e. lie below the dashed line. "
        f"{len({run.seed for run in runs})} seeds."
    )
    return [Picture("Loss inside B(3R) against the target", caption, figure)]


FIGURES = (
    Drawing(WIDTH, draw_width),
    Drawing(THM41, draw_deep),
    Drawing(THM51, draw_attacks),
    Drawing(EXIT, draw_exit),
)
