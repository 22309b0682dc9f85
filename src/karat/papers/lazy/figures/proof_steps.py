"""Steps of the proofs as printed and repaired, over the dimension."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from karat.papers.lazy.experiments.proof_steps import PROOF_STEPS, ProofStepsConfig, ProofStepsResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.series import draw_series, plain_ticks, round_ticks
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, pivot

StepRuns = Runs[ProofStepsConfig, ProofStepsResult]
Value = Callable[[ProofStepsResult], float]


class Step(NamedTuple):
    """One step in the picture.

    Args:
        label: what it is.
        printed: left over right side as printed.
        repaired: the same for the repair.
    """

    label: str
    printed: Value
    repaired: Value


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


STEPS = (
    Step("B.9: width", lambda result: result.width, lambda result: result.width_repaired),
    Step(
        "B.9: subsets",
        lambda result: _mean(result.subsets),
        lambda result: _mean(result.subsets_repaired_ceiling),
    ),
    Step("B.9: dimension", lambda result: result.dimension, lambda result: result.last_line),
    Step("Sketch: step", lambda result: 1 / result.sketch, lambda result: 1 / result.sketch_repaired),
)


def draw_steps(runs: StepRuns) -> list[Picture]:
    """Draw left over right side of every step, and the chance that all rows stay within their bound.

    Ref: lazy, App B
    """
    if not runs:
        return []
    figure, (left, right) = new_figure(2, width=4.4, height=3.3)
    for index, step in enumerate(STEPS):
        _draw(left, runs, step.printed, step.label, index, printed=True)
        _draw(left, runs, step.repaired, None, index, printed=False)
    left.set_yscale("log")
    left.axhline(1, color=INK, linewidth=1.0)
    _draw(right, runs, lambda result: result.all_rows, r"$\sqrt{\log(m/p)}$ (printed)", 0, printed=True)
    repaired = r"$\sqrt{2\, \log(2m/p)}$"
    _draw(right, runs, lambda result: result.all_rows_repaired, repaired, 0, printed=False)
    config = runs[0].config
    right.axhline(1 - config.p_fail, color=INK, linewidth=1.0)
    right.set_ylim(-0.03, 1.05)
    for ax in (left, right):
        ax.set_xscale("log")
        plain_ticks(ax, sorted({run.config.d for run in runs}))
    low, high = left.get_ylim()
    left.set_ylim(low, high * 20)  # room for the legend
    round_ticks(left)
    finish(left, x="input dimension d", y="left over right side", title="Inequalities")
    left.legend(frameon=False, fontsize=7.5, loc="upper right", ncol=2)
    finish(right, x="input dimension d", y="chance", title="B.8: no row exceeds", legend=False)
    right.legend(frameon=False, fontsize=8, loc="center right")
    caption = (
        f"m = d^{config.exponent:g}, C0 = {config.C0:g}, p = {config.p_fail:g}. Solid: as printed; dashed: "
        "repaired. Left, a step is true at 1 and below; dimension: the hypothesis that the proof names, and "
        "the line that it is named for; subsets are drawn in law, as printed from below and repaired from "
        f"above. Right, the lemma wants {1 - config.p_fail:g} and more."
    )
    return [Picture("Steps of the proofs", caption, figure)]


def _draw(ax: Axes, runs: StepRuns, value: Value, label: str | None, index: int, *, printed: bool) -> None:
    d, table = pivot(runs, lambda run: run.config.d, lambda run: value(run.result))
    line, marker = ("-", "o") if printed else ("--", "s")
    # On a logarithmic axis a sum that is certainly 0 or more has no place.
    positive = np.where(table > 0, table, np.nan)
    draw_series(ax, d, positive, label, color=PALETTE[index], line=line, marker=marker, band=False)


FIGURES = (Drawing(PROOF_STEPS, draw_steps),)
