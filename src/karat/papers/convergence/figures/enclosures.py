"""Figures of two enclosures: the radius that a robust net needs, the distance of finite sums of features."""

from collections.abc import Sequence

from karat.papers.convergence.experiments.quadratic_features import (
    QUADRATIC_FEATURES,
    QuadraticFeaturesConfig,
    QuadraticFeaturesResult,
)
from karat.papers.convergence.experiments.radius import RADIUS, RadiusConfig, RadiusResult
from karat.papers.convergence.figures.each_seed import draw_each_seed
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import plain_ticks, round_ticks
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Run, pivot

RadiusRun = Run[RadiusConfig, RadiusResult]
SumsRun = Run[QuadraticFeaturesConfig, QuadraticFeaturesResult]


def draw_radius(runs: Sequence[RadiusRun]) -> list[Picture]:
    """Both ends of the smallest radius over the width, a line for every data set.

    Ref: convergence, Thm 5.2
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(width=4.2, height=3.0)
    ax.set_xscale("log")
    ax.set_yscale("log")
    m, found = pivot(runs, lambda run: run.config.m, lambda run: run.result.sufficient or float("nan"))
    _, excluded = pivot(runs, lambda run: run.config.m, lambda run: run.result.insufficient or float("nan"))
    draw_each_seed(ax, m, found, "a robust net was found", color=PALETTE[0])
    draw_each_seed(ax, m, excluded, "no net is robust", color=PALETTE[1], line="--", marker="s", fill=False)
    finish(ax, x="width m", y="radius R of the ball", legend=False)
    ax.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    plain_ticks(ax, m.tolist())
    round_ticks(ax)
    config = runs[0].config
    caption = (
        f"Balls around the start that hold a net of robust loss {config.tol:g} (solid), and balls of which "
        f"it is certain that they hold none (dashed); n = {config.n}, d = {config.d}, caps of radius "
        f"{config.tau:g}. "
        "One pair of lines per data set."
    )
    return [Picture("The smallest ball with a robust net", caption, figure)]


def draw_sums(runs: Sequence[SumsRun]) -> list[Picture]:
    """Distances found and certified over the number of features, against the distance that is asked for.

    Ref: convergence, Thm C.1
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(width=4.2, height=3.0)
    ax.set_xscale("log")
    ax.set_yscale("log")
    M = [run.result.features for run in runs]
    ax.plot(M, [run.result.error for run in runs], "o", color=PALETTE[0], label="found on a lattice")
    ax.plot(
        M,
        [run.result.certified for run in runs],
        "^",
        color=PALETTE[1],
        markerfacecolor="none",
        label="certified on the sphere",
    )
    asked = sorted({(run.result.features, run.config.tol) for run in runs})
    ax.plot([x for x, _ in asked], [y for _, y in asked], "--", color=INK, linewidth=1.0, label="tol")
    finish(ax, x="features M", y="uniform distance from h")
    round_ticks(ax, "x")
    caption = (
        "Least-squares sums of M random features of the quadratic ReLU for a function h of its kernel's "
        "space, d = 3; M is the number that Theorem C.1 asks for at tol, hidden constant 1. One mark per "
        "seed."
    )
    return [Picture("Random features of the quadratic ReLU", caption, figure)]


FIGURES = (Drawing(RADIUS, draw_radius), Drawing(QUADRATIC_FEATURES, draw_sums))
