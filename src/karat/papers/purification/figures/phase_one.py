"""Figures of the lottery's first phase: speeds of winners and others, and the accuracy of the net."""

import numpy as np
from matplotlib.axes import Axes

from karat.papers.purification.checks.phase_findings import sizes
from karat.papers.purification.experiments.phase_one import PHASE_ONE, PROOF_SHARE
from karat.papers.purification.experiments.phase_one_config import PhaseConfig, PhaseResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.run import Run, Runs, grouped

FLOOR = 1e-12
"""Speeds below it are drawn there."""


def draw_phase(runs: Runs[PhaseConfig, PhaseResult]) -> list[Picture]:
    """Speeds over the phase at every d, and the accuracy at two speeds of the bias."""
    if not runs:
        return []
    figure, (growth, accuracy) = new_figure(2, width=4.2, height=3.3)
    first = min(sizes(runs), key=lambda run: (run.config.d, run.seed))
    groups = grouped(sorted(sizes(runs), key=lambda run: run.config.d), lambda run: run.config.d)
    for index, (d, group) in enumerate(groups.items()):
        _draw_speeds(growth, group[0], PALETTE[index % len(PALETTE)], f"d = {d:,}")
    growth.axhline(1, color=INK, linestyle=":", linewidth=1)
    growth.set_xscale("log")
    growth.set_yscale("log")
    growth.set_ylim(FLOOR, 30)
    finish(growth, x="growth of b so far / growth up to $T_b$", y="speed / explicit constant", title="Speeds")
    for run, color in ((first, PALETTE[0]), (_at_proof_speed(runs), PALETTE[1])):
        if run is not None:
            x, y = _shares(run), np.array(run.result.accuracy)
            label = f"bias at {run.config.bias_share:g} of a winner's speed"
            accuracy.plot(x[x > 0], y[x > 0], color=color, marker="o", markersize=3, label=label)
    accuracy.axhline(0.5, color=INK, linestyle="--", linewidth=1, label="chance")
    accuracy.set_xscale("log")
    accuracy.set_ylim(0.4, 1.2)
    finish(
        accuracy, x="growth of b so far / growth up to $T_b$", y="accuracy", title="One winner per feature"
    )
    caption = (
        "Left: slowest sampled winner (solid), fastest coordinate that is no potential winner (dashed) and "
        "k log(d)/d (dotted) over the first phase, one seed per d. Right: accuracy of a net with one sure "
        f"winner per feature at d = {first.config.d:,}, from when on all other neurons are asleep."
    )
    return [Picture("The first phase inside its regime", caption, figure)]


def _shares(run: Run[PhaseConfig, PhaseResult]) -> np.ndarray:
    return np.array(run.result.passed) / run.config.phases().T_b


def _at_proof_speed(runs: Runs[PhaseConfig, PhaseResult]) -> Run[PhaseConfig, PhaseResult] | None:
    return next((run for run in runs if run.config.bias_share == PROOF_SHARE), None)


def _draw_speeds(ax: Axes, run: Run[PhaseConfig, PhaseResult], color: str, label: str) -> None:
    x, result = _shares(run), run.result
    later = x > 0
    for values, style, name in ((result.winner_least, "-", label), (result.others, "--", None)):
        speeds = np.maximum(np.array(values) / result.explicit, FLOOR)
        ax.plot(x[later], speeds[later], color=color, linestyle=style, linewidth=1.3, label=name)
    unit = run.config.k / run.config.d * np.log(run.config.d)
    ax.plot([x[later].min(), 1], [unit, unit], color=color, linestyle=":", linewidth=1)


FIGURES = (Drawing(PHASE_ONE, draw_phase),)
