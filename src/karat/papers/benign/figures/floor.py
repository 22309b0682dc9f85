"""Robust error of trained nets over the attack radius, above the floor of every classifier."""

import numpy as np
from matplotlib.lines import Line2D

from karat.papers.benign.checks.predictions import error_floor
from karat.papers.benign.experiments.evaluation import Evaluation
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.papers.benign.figures.notes import lost_note, seeds_text, sentences
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Runs, by_setting, grouped


def draw_floor(runs: Runs[MixtureConfig, Evaluation]) -> list[Picture]:
    """Measured robust errors as points, the floor as a line, a colour per signal.

    Args:
        runs: of a sweep over signals and test radii.

    Ref: benign, Thm 3.2
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(width=5.2, height=3.4)
    signals = grouped(runs, lambda run: run.config.mu)
    for index, mu in enumerate(sorted(signals)):
        line = sorted(signals[mu], key=lambda run: run.config.tested_ratio)
        ratios, colour = [run.config.tested_ratio for run in line], PALETTE[index % len(PALETTE)]
        errors = [run.result.robust_error for run in line]
        ax.plot(ratios, errors, "o", color=colour, markersize=5, alpha=0.8, label=f"|μ| = {mu:g}")
        ax.plot(ratios, [error_floor(run.config) for run in line], color=colour, linewidth=1.4)
    ax.set_ylim(0.0, 1.02)
    ax.axvline(1.0, color=INK, linewidth=0.9, linestyle=":")
    finish(ax, x=r"attack ratio $\tau/|\mu|$ in the test", y="robust test error", title="Theorem 3.2")
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(
        handles=[*handles, Line2D([], [], color=INK, label="floor")],
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        loc="lower right",
    )
    return [Picture("Robust error beside the floor of every classifier", _caption(runs), figure)]


def _caption(runs: Runs[MixtureConfig, Evaluation]) -> str:
    seeds = seeds_text(np.array([len(group) for group in by_setting(runs)]), "point")
    return sentences(
        f"A point per net, {seeds}.",
        "Robust error by PGD, a lower bound on the true one. Lines join the theorem's lower bound "
        "for every classifier at the same radii: it is 1/2 from tau = |mu| on (dotted).",
        lost_note(runs.lost),
    )
