"""Figures of the tangent kernel: robust interpolation, parity, the net of the proof."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.convergence.checks.built import BuiltRun
from karat.papers.convergence.checks.kernel import KernelRun
from karat.papers.convergence.experiments.built import BUILT
from karat.papers.convergence.experiments.kernel import KERNEL, PARITY
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import grouped, pivot

_VANISHED = 1e-9
"""An eigenvalue this small is zero up to rounding: the kernel does not hold its degree."""

_LIFT = {False: "points x", True: "lifted points [x, 1]"}


def draw_kernel(runs: Sequence[KernelRun]) -> list[Picture]:
    """Robust interpolation on covered caps, and the kernels' weights by degree.

    Ref: convergence, Asm 5.2
    """
    if not runs:
        return []
    config = runs[0].config
    figure, (left, right) = new_figure(2, width=4.2, height=3.1)
    left.set_yscale("log")
    same_d = [run for run in runs if run.config.d == config.d]
    for index, (activation, cells) in enumerate(
        sorted(grouped(same_d, lambda run: run.config.activation).items())
    ):
        name = activation.replace("_", " ")
        x, table = pivot(cells, lambda run: run.config.cover, lambda run: run.result.supremum)
        draw_series(left, x, table, name, color=PALETTE[index % 7])
        _draw_degrees(right, cells[0].result.degrees, name, index)
    right.set_yscale("log")
    right.set_ylim(bottom=1e-9)
    right.text(0.03, 0.03, "x: degree missing", transform=right.transAxes, fontsize=8, color=INK)
    finish(left, x="points covered per cap", y="sup |f - y| on fresh points", title="Robust interpolation")
    finish(right, x="degree", y="eigenvalue", title="Weight by degree")
    caption = (
        f"Tangent kernels on the sphere of R^{config.d}, {config.n} caps of radius {config.tau:g}. Crosses: "
        f"degrees whose eigenvalue is zero up to rounding. {seeds_note(runs)}"
    )
    return [Picture("The tangent kernel's space", caption, figure)]


def _draw_degrees(ax: Axes, eigenvalues: Sequence[float], name: str, index: int) -> None:
    """Eigenvalues by degree, and crosses below them where a degree is missing."""
    weights = np.abs(np.array(eigenvalues))
    degrees = np.arange(len(weights))
    color = PALETTE[index % 7]
    present = np.where(weights > _VANISHED, weights, np.nan)
    ax.plot(degrees, present, linestyle="", marker="osD^v"[index % 5], color=color, label=name)
    missing = degrees[weights <= _VANISHED]
    # A row of its own for every kernel: crosses must not hide each other.
    height = np.full(len(missing), 10 ** (-7.2 - 0.35 * index))
    ax.plot(missing, height, linestyle="", marker="x", color=color)


def draw_parity(runs: Sequence[KernelRun]) -> list[Picture]:
    """Largest error of kernel interpolants on antipodal caps, plain and lifted.

    Ref: convergence, Fn 14
    """
    if not runs:
        return []
    config = runs[0].config
    cases = [(a, labels) for a in ("relu", "quadratic_relu") for labels in ("same", "opposite")]
    figure, (ax,) = new_figure(1, width=5.2, height=3.1)
    ax.set_yscale("log")
    _draw_suprema(ax, runs, cases)
    ax.axhline(1, color=INK, linewidth=1.0, linestyle=":")
    ax.text(len(cases) - 0.5, 1.08, "1: signs no longer certain", fontsize=7.5, color=INK, ha="right")
    ax.set_xticks(range(len(cases)), [f"{a.replace('_', ' ')}\n{labels} labels" for a, labels in cases])
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * (high / low) ** 0.25)
    round_ticks(ax)
    finish(ax, x="", y="sup |f - y| on the caps")
    ax.legend(frameon=False, fontsize=8, loc="upper left", ncol=2)
    caption = (
        f"Interpolants on caps around {config.n // 2} antipodal pairs in R^{config.d}. "
        "Equal labels ask for an even function, opposite ones for an odd one. Odd share of the weight of "
        f"degrees >= 4: {_odd_shares(runs)}. Dots are seeds, bars their geometric mean."
    )
    return [Picture("Parity of the tangent kernels", caption, figure)]


def _odd_shares(runs: Sequence[KernelRun]) -> str:
    """The share of every kernel's weight, beyond degree 3, that lies on odd degrees."""
    weights = {run.config.activation: run.result for run in runs}
    return ", ".join(
        f"{activation.replace('_', ' ')} {result.odd_weight / (result.odd_weight + result.even_weight):.2f}"
        for activation, result in sorted(weights.items())
    )


def _draw_suprema(ax: Axes, runs: Sequence[KernelRun], cases: Sequence[tuple[str, str]]) -> None:
    """A bar for every case, plain and lifted side by side, with the seeds as dots."""
    lifts = sorted({run.config.lift for run in runs})
    by_case: dict[tuple[bool, str, str], list[KernelRun]] = grouped(
        runs, lambda run: (run.config.lift, run.config.activation, run.config.antipodes)
    )
    for index, lift in enumerate(lifts):
        for position, (activation, labels) in enumerate(cases):
            suprema = [run.result.supremum for run in by_case.get((lift, activation, labels), [])]
            if suprema:
                at = position + 0.3 * (index - (len(lifts) - 1) / 2)
                middle = float(np.exp(np.mean(np.log(suprema))))
                label = _LIFT[lift] if position == 0 else None
                ax.bar(at, middle, 0.28, color=PALETTE[index], alpha=0.8, label=label)
                ax.plot([at] * len(suprema), suprema, linestyle="", marker=".", color=INK, markersize=4)


def draw_built(runs: Sequence[BuiltRun]) -> list[Picture]:
    """Error of the built net against its bound, and its robust loss.

    Ref: convergence, Thm 5.2
    """
    if not runs:
        return []
    config = runs[0].config
    figure, (left, right) = new_figure(2, width=4.0, height=3.0)
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_yscale("log")
    m, bound = pivot(runs, _width, lambda run: run.result.bound)
    _, error = pivot(runs, _width, lambda run: run.result.error)
    _, features = pivot(runs, _width, lambda run: run.result.finite_sum_error)
    draw_series(left, m, bound, "bound (19)", color=PALETTE[0], line="--")
    draw_series(left, m, error, "sup |f - g|", color=PALETTE[1])
    draw_series(left, m, features, "random features alone", color=PALETTE[2])
    _, on_grid = pivot(runs, _width, lambda run: run.result.robust_loss)
    _, certified = pivot(runs, _width, lambda run: run.result.certified_loss)
    draw_series(right, m, on_grid, "on a grid", color=PALETTE[0])
    draw_series(right, m, certified, "certified over the caps", color=PALETTE[1])
    right.axhline(config.tol, color=INK, linestyle=":", linewidth=1.1, label="tol")
    # Room above the curves for the legends.
    for ax, room in ((left, 8), (right, 3)):
        plain_ticks(ax, sorted({run.config.m for run in runs}))
        ax.set_ylim(top=room * ax.get_ylim()[1])
        round_ticks(ax)
    finish(left, x="width m", y="uniform error", title="Approximation")
    finish(right, x="width m", y="robust loss", title="Robustness")
    for ax in (left, right):
        ax.legend(frameon=False, fontsize=8, loc="upper right")
    size = np.mean([run.result.random_feature_norm for run in runs])
    caption = (
        f"The network of the proof with corrected signs and factors, d = {config.d}; its rows move "
        f"by |g|_RF/sqrt(m), |g|_RF = {size:.0f}: on lazy's axis it lies in the ball C0 = {size:.0f}. "
        f"{seeds_note(runs)}"
    )
    return [Picture("The robust net of the proof, built", caption, figure)]


def _width(run: BuiltRun) -> float:
    return run.config.m


FIGURES = (Drawing(KERNEL, draw_kernel), Drawing(PARITY, draw_parity), Drawing(BUILT, draw_built))
