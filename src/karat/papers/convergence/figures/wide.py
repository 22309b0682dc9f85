"""Figure of Theorem 4.1's hidden layer: the worst cases of the lemmas beside what training does."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.convergence.bounds_lemmas import worst_gradient_change, worst_non_convexity, worst_share
from karat.papers.convergence.checks.wide import WideRun
from karat.papers.convergence.experiments.wide import WIDE, WideResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, round_ticks, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import pivot

Value = Callable[[WideResult], float]
Formula = Callable[[float, int], float]

PANELS: tuple[tuple[str, str, Value, Value, Formula], ...] = (
    (
        "Signs (Eq 10)",
        "share of signs changed",
        lambda result: result.ball_pattern_change,
        lambda result: result.pattern_change,
        worst_share,
    ),
    (
        "Gradient (Lemma A.5)",
        "change of the gradient",
        lambda result: result.ball_gradient_change,
        lambda result: result.gradient_change,
        worst_gradient_change,
    ),
    (
        "Convexity (Lemma A.6)",
        "missed convexity",
        lambda result: result.ball_non_convexity,
        lambda result: result.non_convexity,
        worst_non_convexity,
    ),
)
"""Title, axis, worst case of the ball, value of training, and closed form of the worst case."""


def draw_worst_cases(runs: Sequence[WideRun]) -> list[Picture]:
    """Signs, gradient and convexity over the width: worst weights of the ball, and trained ones.

    Ref: convergence, Eq 10; convergence, Lem A.5; convergence, Lem A.6
    """
    strongest = [run for run in runs if run.config.attack == "worst"]
    if not strongest:
        return []
    R = min(run.config.R for run in strongest)
    same_ball = [run for run in strongest if run.config.R == R]
    figure, axes = new_figure(len(PANELS), width=3.3, height=3.0)
    shares = []
    for ax, (title, name, of_ball, of_training, formula) in zip(axes, PANELS, strict=True):
        _draw_panel(ax, same_ball, of_ball, of_training, formula, R)
        finish(ax, x="width m", y=name, title=title, legend=False)
        ratios = [of_training(run.result) / of_ball(run.result) for run in same_ball]
        shares.append(f"{name} {min(ratios):.1%} to {max(ratios):.1%}")
    axes[0].legend(frameon=False, fontsize=7.5, loc="lower left")
    config = same_ball[0].config
    caption = (
        f"One hidden layer, R = {R:g}, n = {config.n}, d = {config.d}, K = {config.K}; largest values over "
        "all allowed points. Black: the worst weights of the ball, by a sort of the neurons at the runs' own "
        "starts, and their closed forms for m to infinity (dashed). Colour: weights that projected "
        "adversarial training met. "
        f"Training over worst case, over all runs: {'; '.join(shares)}. {seeds_note(same_ball)}"
    )
    return [Picture("Worst cases of the lemmas and what training uses", caption, figure)]


def _draw_panel(
    ax: Axes,
    runs: Sequence[WideRun],
    of_ball: Value,
    of_training: Value,
    formula: Formula,
    R: float,
) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    m, worst = pivot(runs, lambda run: run.config.m, lambda run: of_ball(run.result))
    _, trained = pivot(runs, lambda run: run.config.m, lambda run: of_training(run.result))
    draw_series(ax, m, worst, "worst of the ball", color=INK, line="", marker="s", band=False)
    ax.plot(
        m,
        [formula(R, int(width)) for width in m],
        color=INK,
        linestyle="--",
        linewidth=1.0,
        label="closed form",
    )
    draw_series(ax, m, trained, "met by training", color=PALETTE[0])
    lowest = float(np.nanmin(trained))
    ax.set_ylim(bottom=lowest / 8)  # room for the legend
    plain_ticks(ax, m.tolist())
    round_ticks(ax)


FIGURES = (Drawing(WIDE, draw_worst_cases),)
