"""Figure of the exact worst cases of the lemmas at one hidden layer, over width and radius of the ball."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from matplotlib.axes import Axes

from karat.papers.convergence.bounds_lemmas import worst_gradient_change, worst_non_convexity, worst_share
from karat.papers.convergence.experiments.patterns import PATTERNS, PatternsConfig, PatternsResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import PALETTE, finish, new_figure
from karat.study.run import Run

PatternsRun = Run[PatternsConfig, PatternsResult]
Value = Callable[[PatternsResult], float]
Formula = Callable[[float, int], float]

PANELS: tuple[tuple[str, str, Value, Value, Formula, float], ...] = (
    (
        "Signs (Eq 10)",
        "largest share of signs",
        lambda result: result.share,
        lambda result: result.share,
        worst_share,
        -1 / 3,
    ),
    (
        "Gradient (Lemma A.5)",
        "largest change of the gradient",
        lambda result: result.gradient,
        lambda result: result.gradient_attained,
        worst_gradient_change,
        1 / 3,
    ),
    (
        "Convexity (Lemma A.6)",
        "largest missed convexity",
        lambda result: result.non_convexity,
        lambda result: result.non_convexity_attained,
        worst_non_convexity,
        -1 / 6,
    ),
)
"""Title, axis, bound over the ball, what some weights attain, closed form, exponent of m in print."""


def draw_worst_cases(runs: Sequence[PatternsRun]) -> list[Picture]:
    """Bounds, attained values and closed forms for every radius.

    Ref: convergence, Eq 10; convergence, Lem A.5; convergence, Lem A.6
    """
    if not runs:
        return []
    figure, axes = new_figure(len(PANELS), width=3.3, height=3.1)
    radii = sorted({run.config.R for run in runs})
    for ax, (title, name, bound, attained, formula, exponent) in zip(axes, PANELS, strict=True):
        ax.set_xscale("log")
        ax.set_yscale("log")
        for index, R in enumerate(radii):
            of_radius = [run for run in runs if run.config.R == R]
            _draw_radius(ax, of_radius, R, bound, attained, formula, PALETTE[index % len(PALETTE)])
        power = Fraction(exponent).limit_denominator(6)
        finish(ax, x="width m", y=name, title=f"{title}: $m^{{{power}}}$", legend=False)
        widths = [run.config.m for run in runs]
        decades = [10**k for k in range(1, 9) if min(widths) <= 10**k <= max(widths)]
        ax.set_xticks(decades, [f"$10^{len(str(m)) - 1}$" for m in decades])
        ax.minorticks_off()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)
    caption = (
        "Exact worst cases over all weights within R/√m of a Gaussian start, one hidden layer. Dots: bounds "
        "that no weights of the ball exceed; crosses: what some of them attain, by a sort of the neurons; "
        "lines: closed forms for m to infinity. The title has the printed power of m. "
        f"{len({run.seed for run in runs})} seeds, one mark each."
    )
    return [Picture("Worst cases of the lemmas", caption, figure)]


def _draw_radius(
    ax: Axes,
    runs: Sequence[PatternsRun],
    R: float,
    bound: Value,
    attained: Value,
    formula: Formula,
    color: str,
) -> None:
    m = [run.config.m for run in runs]
    widths = sorted(set(m))
    bounds = [bound(run.result) for run in runs]
    ax.plot(m, bounds, "o", color=color, alpha=0.8, markersize=4, markerfacecolor="none")
    ax.plot(m, [attained(run.result) for run in runs], "x", color=color, alpha=0.8, markersize=4)
    ends = widths if len(widths) > 1 else [widths[0] / 1.5, widths[0] * 1.5]
    ax.plot(ends, [formula(R, int(width)) for width in ends], color=color, linewidth=1.0, label=f"R = {R:g}")


FIGURES = (Drawing(PATTERNS, draw_worst_cases),)
