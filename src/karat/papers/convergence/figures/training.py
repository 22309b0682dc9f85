"""Figures of adversarial training: deep nets, the summed recursion, the target of the loss, exits."""

from collections.abc import Sequence

import numpy as np

from karat.papers.convergence.bounds import curvature_constant, regret_gap
from karat.papers.convergence.checks.deep import DeepRun
from karat.papers.convergence.checks.two_layer_runs import START_LOSS, TwoLayerRun
from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.deep import THM41
from karat.papers.convergence.experiments.descent import COR51, EXIT, THM51
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import grouped


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
            draw_series(
                ax, np.array(steps, dtype=float), table, f"m = {m}", color=color, band=m == widths[-1]
            )
        ax.axhline(0, color=INK, linewidth=0.8, linestyle=":")
        plain_ticks(ax, runs[0].result.steps)
        finish(ax, x="steps", y=r"$\min_t L_A - L_*$", title=f"H = {depth}", legend=ax is axes[-1])
    lowest, highest = (extreme(ax.get_ylim()[side] for ax in axes) for side, extreme in ((0, min), (1, max)))
    for ax in axes:
        ax.set_ylim(lowest, highest)
    caption = (
        f"Deep ReLU nets projected to R/sqrt(m) per layer, R = {runs[0].config.R:g}; the gap is to the "
        "certified lower bound of the linearised problem in the same ball. Bands at the largest width. "
        f"{seeds_note(runs)}"
    )
    return [Picture("Projected adversarial training of deep nets", caption, figure)]


def draw_regret(runs: Sequence[TwoLayerRun]) -> list[Picture]:
    """Gap to the best robust loss over the steps for every perturbation function, below the summed recursion.

    Ref: convergence, Eq 17
    """
    smooth = [run for run in runs if run.config.activation in SLOPE_LIPSCHITZ and not run.config.projected]
    if not smooth:
        return []
    config = smooth[0].config
    figure, (ax,) = new_figure(1, width=5.4, height=3.3)
    ax.set_xscale("log")
    same = [run for run in smooth if run.config.activation == config.activation]
    by_attack = sorted(grouped(same, lambda run: run.config.attack).items())
    for index, (attack, cells) in enumerate(by_attack):
        steps = np.array([1, *cells[0].result.steps, config.steps], dtype=float)
        table = np.array([_gaps(run) for run in cells])
        label = attack.replace("_", "-")
        draw_series(
            ax, steps, table, label, color=PALETTE[index], marker="osD^v"[index % 5], band=attack == "worst"
        )
    c = curvature_constant(SLOPE_LIPSCHITZ[config.activation])
    T = np.geomspace(4, config.steps, 60)
    limits = [regret_gap(config.R, config.m, config.lr, round(step), c) for step in T]
    ax.plot(T, limits, color=INK, linewidth=1.4, linestyle="--", label="summed recursion (Eq 17)")
    ax.axhline(config.tol, color=INK, linewidth=0.9, linestyle=":", label=f"tol = {config.tol:g}")
    ax.axhline(0, color=INK, linewidth=0.6)
    top = max(float(_gaps(run)[0]) for run in same)
    ax.set_ylim(top=2.5 * top)
    plain_ticks(ax, [1, *(step for step in same[0].result.steps if 2 * step < config.steps), config.steps])
    finish(ax, x="steps T", y=r"$\min_{t<T} L_A(W_t) - L_*(W_*)$", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    caption = (
        f"Unprojected descent, m = {config.m}, R = {config.R:g}, lr = {config.lr:g}; at T = 1 the gap of "
        f"the start. W_* is the linearised optimum of B(R), which a net outside may beat. {seeds_note(same)}"
    )
    return [Picture("The summed recursion and the gap", caption, figure)]


def _gaps(run: TwoLayerRun) -> list[float]:
    """Gaps to the robust loss of W_* at the start, at the steps noted, and after all steps."""
    above = run.result.reference_bound - run.result.target_loss
    noted = [gap + above for gap in (*run.result.gap, run.result.final_gap)]
    return [START_LOSS - run.result.target_loss, *noted]


def draw_target(runs: Sequence[TwoLayerRun]) -> list[Picture]:
    """Smallest loss so far over the steps, a line per seed, and the target.

    Ref: convergence, Cor 5.1
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.2, height=2.9)
    for run in runs:
        losses = [
            START_LOSS,
            *(gap + run.result.reference_bound for gap in run.result.gap),
            run.result.best_loss,
        ]
        steps = [0, *run.result.steps, run.config.steps]
        ax.plot(steps, losses, color=PALETTE[0], linewidth=1.0, marker="o", markersize=3)
    config = runs[0].config
    ax.axhline(config.tol, color=INK, linestyle="--", linewidth=1.0, label=f"tol = {config.tol:g}")
    ax.set_ylim(bottom=0)
    finish(ax, x="steps T", y=r"$\min_{t<T} L_A(W_t)$")
    caption = (
        f"Unprojected descent, m = {config.m}, R = {config.R:g}, n = {config.n} caps of radius "
        f"{config.tau:g}, a line for each of {len({run.seed for run in runs})} seeds."
    )
    return [Picture("The loss against its target", caption, figure)]


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
    Drawing(THM41, draw_deep),
    Drawing(THM51, draw_regret),
    Drawing(COR51, draw_target),
    Drawing(EXIT, draw_exit),
)
