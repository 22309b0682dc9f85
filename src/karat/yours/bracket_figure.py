"""Robust accuracy against the radius as a picture: what attacks leave standing, and what is proved."""

from collections.abc import Sequence
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.certificates import ErrorBracket, RadiusBracket
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, new_figure

SUFFIXES = (".png", ".svg", ".pdf")


def bracket_figure(
    radii: Sequence[float],
    curve: Sequence[ErrorBracket],
    *,
    p: float,
    minimal: RadiusBracket | None = None,
) -> Figure:
    """Draw brackets of robust accuracy with their intervals, and the radii of single samples if known.

    Args:
        radii: of the balls.
        curve: the bracket at each radius.
        p: norm of the ball.
        minimal: adds the step curves of all samples.
    """
    figure, (ax,) = new_figure(width=5.2, height=3.4)
    if minimal is not None:
        _steps(ax, minimal, max(radii))
    for k, (radius, point) in enumerate(zip(radii, curve, strict=True)):
        low, high = 1 - point.high, 1 - point.low
        ends = 1 - point.interval.high, 1 - point.interval.low
        label = f"{100 * point.interval.level:.0f} % interval, {point.trials} samples" if k == 0 else None
        ax.plot(
            [radius, radius], ends, color=FAINT, linewidth=6, solid_capstyle="butt", label=label, zorder=2
        )
        ax.plot([radius, radius], [low, high], color=INK, linewidth=2.2, zorder=3)
    curves: tuple[tuple[str, list[float], str, str], ...] = (
        ("no attack succeeds", [1 - point.low for point in curve], PALETTE[1], "v"),
        ("proved robust", [1 - point.high for point in curve], PALETTE[0], "^"),
    )
    for label, heights, colour, marker in curves:
        if minimal is None:
            ax.plot(radii, heights, ":", color=colour, linewidth=1.2, zorder=4)
        ax.plot(radii, heights, marker, color=colour, markersize=5, label=label, zorder=5)
    ax.set_ylim(-0.03, 1.05)
    ax.set_xlim(0, 1.05 * max(radii) or 1.0)
    norm = {1.0: r"$\ell_1$", 2.0: r"$\ell_2$"}.get(p, r"$\ell_\infty$")
    finish(ax, x=f"radius of the {norm} ball", y="robust accuracy", title="Robust accuracy, bracketed")
    return figure


def _steps(ax: Axes, minimal: RadiusBracket, most: float) -> None:
    """Share of samples whose smallest adversarial radius is larger: at least, and at most."""
    n = len(minimal.certified)
    grid = torch.linspace(0, most, 400, dtype=torch.float64)
    below = [float((minimal.certified >= r).sum()) / n if r > 0 else float("nan") for r in grid]
    above = [float((minimal.broken > r).sum()) / n for r in grid]
    ax.fill_between(
        grid.numpy(), below, above, step="post", color=PALETTE[5], alpha=0.35, linewidth=0, label="undecided"
    )
    ax.plot(grid.numpy(), above, color=PALETTE[1], linewidth=1, drawstyle="steps-post")
    ax.plot(grid.numpy(), below, color=PALETTE[0], linewidth=1, drawstyle="steps-post")


def save_figure(figure: Figure, path: Path) -> None:
    """Write the picture; the ending of the name says which kind."""
    if path.suffix not in SUFFIXES:
        raise ValueError(f"a figure must end in {', '.join(SUFFIXES)}, got {str(path)!r}.")
    figure.savefig(path, dpi=160)
