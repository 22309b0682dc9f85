"""Figure of the smallest classes: how many points they shatter, against the bound with ceiling and floor."""

from collections.abc import Sequence

from karat.papers.convergence.experiments.classes import CLASSES, ClassesConfig, ClassesResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import plain_ticks
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Run

ClassesRun = Run[ClassesConfig, ClassesResult]


def draw_classes(runs: Sequence[ClassesRun]) -> list[Picture]:
    """VC dimension of every family over d, and what the theorem asks of it in both readings.

    Ref: convergence, Thm 6.1
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(width=4.6, height=3.0)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=1)
    for index, family in enumerate(dict.fromkeys(run.config.family for run in runs)):
        same = sorted((run for run in runs if run.config.family == family), key=lambda run: run.config.d)
        d, n = [run.config.d for run in same], same[0].result.n
        color = PALETTE[index % len(PALETTE)]
        ax.plot(d, [run.result.shattered for run in same], "o", color=color, label=f"{family}, n = {n}")
        ax.plot(d, [-(-n // 2) * one for one in d], color=color, linestyle=":", label=f"⌈n/2⌉ d at n = {n}")
        ax.plot(d, [(n // 2) * one for one in d], color=color, linewidth=1.0, label=f"⌊n/2⌋ d at n = {n}")
    finish(ax, x="dimension d", y="VC dimension", legend=False)
    ax.legend(frameon=False, fontsize=7.5, labelcolor=INK, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plain_ticks(ax, sorted({run.config.d for run in runs}))
    ticks = [0, 1, 2, 5, 10, 20, 50]
    ax.set_yticks(ticks, [str(tick) for tick in ticks])
    largest = max(run.result.shattered for run in runs)
    ax.set_ylim(-0.3, 1.5 * largest)
    caption = (
        "Dots: size of the largest set that the family shatters. Lines: what Theorem 6.1 asks of a class "
        "that robustly interpolates any n points, with the ceiling (dotted) and with the floor (solid)."
    )
    return [Picture("VC dimension of the smallest classes", caption, figure)]


FIGURES = (Drawing(CLASSES, draw_classes),)
