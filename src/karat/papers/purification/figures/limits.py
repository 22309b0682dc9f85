"""What vanishes as d grows, from pure features: errors, movement and mixture with their exponents."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.core.statistics import fit_power_law
from karat.papers.purification.experiments.limits import LIMITS, LIMITS_EDGE, LIMITS_INF, LimitsResult
from karat.papers.purification.experiments.pure_start_config import PureStartConfig
from karat.papers.purification.figures.drawings import CLEAN, GOLD, ROBUST
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, mean_and_half_width, new_figure
from karat.study.run import Run, Runs, pivot

Value = Callable[[LimitsResult], float]


def draw_limits(runs: Runs[PureStartConfig, LimitsResult]) -> list[Picture]:
    """Errors under attack, what vanishes, and the mixture, over d."""
    kept = [run for run in runs if run.config.robust_steps and run.config.clean_steps]
    if not kept:
        return []
    figure, (attacked, vanishing, mixture) = new_figure(3, width=3.9, height=3.5)
    _draw_attacked(attacked, kept)
    _draw_vanishing(vanishing, kept)
    _draw_mixture(mixture, kept)
    for ax in (attacked, vanishing, mixture):
        _mark_window(ax, kept)
    config = kept[0].config
    norm = "l2" if config.p == 2 else "l_inf"
    seeds = len({run.seed for run in kept})
    caption = (
        f"Clean training from w = M, then adversarial training in {norm} at tau = "
        f"k^-{config.radius_power:g}, by the "
        f"exact reduction to three numbers; k is the largest with k^2.5 <= d/log d, from "
        f"{_sparsities(kept)}. Bands: "
        f"95% intervals over {seeds} seeds. Grey: no k fits between d^(1/3) and that. Exponents in the "
        f"legends are "
        "fitted outside the grey. Robust error is a bracket: lines are attacks, crosses certificates."
    )
    return [Picture(f"What vanishes as d grows ({norm}, tau = k^-{config.radius_power:g})", caption, figure)]


def _draw_attacked(ax: Axes, runs: Sequence[Run[PureStartConfig, LimitsResult]]) -> None:
    rows: tuple[tuple[str, str, Value], ...] = (
        ("clean net", CLEAN, lambda r: r.clean.attacked),
        ("robust net", ROBUST, lambda r: r.robust.attacked),
        ("pure features", GOLD, lambda r: r.start.attacked),
    )
    for label, color, value in rows:
        _line(ax, runs, value, color, label)
    d, table = pivot(runs, lambda run: run.config.d, lambda run: run.result.robust.certified)
    ax.plot(d, np.nanmean(table, axis=0), "x", color=ROBUST, markersize=6, label="robust net, certified")
    ax.set_xscale("log")
    ax.set_ylim(0, 1.05)
    finish(ax, x="$d$", y="robust error", title="Error in the ball")


def _draw_vanishing(ax: Axes, runs: Sequence[Run[PureStartConfig, LimitsResult]]) -> None:
    rows: list[tuple[str, str, Value]] = [
        ("certified error", ROBUST, lambda r: r.robust.certified),
        ("error without attack", CLEAN, lambda r: r.clean.error),
        ("movement of the weights", PALETTE[2], lambda r: r.movement),
    ]
    ax.set_yscale("log")
    for label, color, value in rows:
        _line(ax, runs, value, color, f"{label}, {_exponent(runs, value)}")
    ax.set_xscale("log")
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * 6)
    finish(ax, x="$d$", y="share", title="What is said to be o(1)")


def _draw_mixture(ax: Axes, runs: Sequence[Run[PureStartConfig, LimitsResult]]) -> None:
    ax.set_yscale("log")
    rows: tuple[tuple[str, str, Value], ...] = (
        ("after clean training", CLEAN, lambda r: abs(r.clean.law)),
        ("after adversarial training", ROBUST, lambda r: abs(r.robust.law)),
    )
    for label, color, value in rows:
        _line(ax, runs, value, color, label)
    ax.axhline(1, color=INK, linestyle="--", linewidth=1)
    ax.set_xscale("log")
    finish(ax, x="$d$", y="mixture / ($E|z|_0/d$)", title="Mixture")


def _line(
    ax: Axes, runs: Sequence[Run[PureStartConfig, LimitsResult]], value: Value, color: str, label: str
) -> None:
    d, table = pivot(runs, lambda run: run.config.d, lambda run: value(run.result))
    logarithmic = ax.get_yscale() == "log"
    shown = np.log(np.where(table > 0, table, np.nan)) if logarithmic else table
    middle, half = mean_and_half_width(shown, 0.95)
    ends = (middle, middle - half, middle + half)
    middle, low, high = (np.exp(end) if logarithmic else end for end in ends)
    ax.plot(d, middle, "o-", color=color, markersize=3.5, linewidth=1.6, label=label)
    ax.fill_between(d, low, high, color=color, alpha=0.18, linewidth=0)


def _exponent(runs: Sequence[Run[PureStartConfig, LimitsResult]], value: Value) -> str:
    """The exponent over the dimensions inside, with its interval over seeds."""
    inside = [run for run in runs if run.config.has_window]
    d, table = pivot(inside, lambda run: run.config.d, lambda run: value(run.result))
    if len(d) < 3 or len(table) < 2 or not (table > 0).all():
        return "no exponent"
    slopes = np.array([[fit_power_law(d, row, 0.95).exponent] for row in table])
    middle, half = mean_and_half_width(slopes, 0.95)
    return f"$d^{{{middle[0]:.2f} \\pm {half[0]:.2f}}}$"


def _mark_window(ax: Axes, runs: Sequence[Run[PureStartConfig, LimitsResult]]) -> None:
    sizes = sorted({run.config.d for run in runs})
    outside = [run.config.d for run in runs if not run.config.has_window]
    ax.set_xlim(sizes[0] / 1.6, sizes[-1] * 1.6)
    if outside:
        inside = [d for d in sizes if d > max(outside)]
        edge = np.sqrt(max(outside) * min(inside)) if inside else sizes[-1] * 1.6
        ax.axvspan(sizes[0] / 1.6, edge, color=FAINT, alpha=0.45, linewidth=0, zorder=0)


def _sparsities(runs: Sequence[Run[PureStartConfig, LimitsResult]]) -> str:
    values = [run.result.k for run in runs]
    return f"{min(values)} to {max(values)}"


FIGURES = (
    Drawing(LIMITS, draw_limits),
    Drawing(LIMITS_EDGE, draw_limits),
    Drawing(LIMITS_INF, draw_limits),
)
