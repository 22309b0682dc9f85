"""Figures of the lottery: trajectories and sets, growth, and the drift of the dense component."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from karat.papers.purification.checks.readings import largest_standard
from karat.papers.purification.experiments.drift import DRIFT, DriftResult
from karat.papers.purification.experiments.kinetics import KINETICS, KineticsResult
from karat.papers.purification.experiments.lottery import LOTTERY, LotteryResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.step_labels import StepConfig
from karat.papers.purification.experiments.tickets import TICKETS, StartCounts, TicketsConfig
from karat.papers.purification.figures.drawings import CLEAN, last_setting, table
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import FAINT, INK, PALETTE, curve_with_band, finish, new_figure
from karat.study.run import Run, Runs, pivot


def draw_lottery(runs: Runs[OddNetConfig, LotteryResult]) -> list[Picture]:
    """Trajectories of winning and losing coordinates against the bias, and the sets over time."""
    group = last_setting(runs)
    if not group:
        return []
    figure, (paths, sets) = new_figure(2, width=4.1, height=3.2)
    first = group[0].result
    _draw_paths(paths, first)
    for index, (label, shares) in enumerate(
        (
            ("sure winners still sure", table(group, lambda r: r.sure_kept)),
            ("sure winners above $2\\sqrt{k}\\,b$", table(group, lambda r: r.sure_grown)),
            ("potential winners not new", table(group, lambda r: r.no_new_potential)),
            ("ordinary neurons (ept)", table(group, lambda r: r.ept)),
        )
    ):
        curve_with_band(sets, first.steps, shares.tolist(), label, index=index)
    sets.set_ylim(0, 1.45)
    sets.set_yticks([0, 0.25, 0.5, 0.75, 1])
    finish(sets, x="step", y="share", title="The paper's sets, levels moving with b", legend=False)
    sets.legend(frameon=False, fontsize=7.5, loc="upper right")
    won, chance = table(group, lambda r: r.favourite_won).mean(), table(group, lambda r: r.chance).mean()
    caption = (
        f"Left: coordinates of six winning and six losing neurons (seed {group[0].seed}) and the bias. "
        f"{won:.0%} of the live neurons end on the feature their start leaned on most (chance {chance:.1%}). "
        "Right: shares that the theorems on the two phases say are one."
    )
    return [Picture("Lottery tickets", caption, figure)]


def _draw_paths(ax: Axes, result: LotteryResult) -> None:
    for lines, color, label in (
        (result.path.loser, "#9A9A9A", "best coordinate of a loser"),
        (result.path.runner_up, PALETTE[5], "second coordinate of a winner"),
        (result.path.winner, CLEAN, "winning coordinate"),
    ):
        for index, line in enumerate(lines):
            name = label if index == 0 else None
            ax.plot(result.steps, np.maximum(line, 1e-5), color=color, linewidth=1.1, label=name)
    ax.plot(result.steps, result.threshold, color=INK, linestyle="--", linewidth=1.3, label="bias $b(t)$")
    ax.set_yscale("log")
    ax.set_ylim(3e-4, 2)
    finish(ax, x="step", y="$\\langle w_i, M_j\\rangle\\,\\mathrm{sign}\\,w^\\star_j$", title="The lottery")


def draw_kinetics(runs: Runs[StepConfig, KineticsResult]) -> list[Picture]:
    """Growth of winners and others, and accuracy, over training."""
    if not runs:
        return []
    longest = max(run.config.clean_steps for run in runs)  # others show the first phase alone
    group = largest_standard(run for run in runs if run.config.clean_steps == longest)
    figure, (growth, accuracy) = new_figure(2, width=3.9)
    config, result = group[0].config, group[0].result
    steps = result.steps
    growth.set_yscale("log")
    winners = table(group, lambda r: r.winner_growth)
    curve_with_band(growth, steps, winners.tolist(), "winners", index=1)
    curve_with_band(growth, steps, table(group, lambda r: r.loser_growth).tolist(), "all others", index=0)
    bound = result.wake_rate * np.log(config.d) * winners.mean(axis=0)
    growth.plot(steps, bound, color=INK, linestyle="--", linewidth=1, label="winners x E|z|$_0$/d x log d")
    finish(growth, x="step", y="d E[y gate $z_j$]", title="Growth per unit of time")
    after = [step + 1 for step in steps]
    shares = table(group, lambda r: r.accuracy).tolist()
    curve_with_band(accuracy, after, shares, "clean accuracy", index=1)
    accuracy.set_xscale("log")
    accuracy.axhline(0.5, color=INK, linestyle="--", linewidth=1, label="chance")
    last = config.step_at(config.phases().T_b)
    accuracy.axvspan(1, last + 1, color=FAINT, alpha=0.6, linewidth=0, label="up to $T_b$")
    accuracy.set_ylim(0.3, 1)
    finish(accuracy, x="step + 1", y="accuracy", title="Accuracy")
    caption = (
        "Left: growth of the coordinates that win and of the others; dashed: what the text allows the "
        f"others, with constant one. Right: the text expects chance up to T_b, here step {last}."
    )
    return [Picture("Kinetics of the lottery", caption, figure)]


def draw_drift(runs: Runs[StepConfig, DriftResult]) -> list[Picture]:
    """Lower bound against measured drift of the dense component, neuron by neuron."""
    group = last_setting(runs)
    if not group:
        return []
    figure, (scatter, lowest) = new_figure(2, width=3.7, height=3.1)
    result = group[0].result
    points = np.array(result.points)
    low, high = points.min(), points.max()
    scatter.plot([low, high], [low, high], color=INK, linestyle="--", linewidth=1, label="equality")
    scatter.plot(points[:, 0], points[:, 1], "o", color=CLEAN, markersize=3.5, alpha=0.6, markeredgewidth=0)
    finish(scatter, x="growth less decay", y="measured", title="Drift of $\\langle w_i, Mw^\\star\\rangle$")
    curve_with_band(lowest, result.steps, table(group, lambda r: r.lowest).tolist(), "smallest", index=0)
    lowest.axhline(0, color=INK, linestyle="--", linewidth=1)
    finish(lowest, x="step", y="$\\min_i \\langle w_i, Mw^\\star\\rangle$", title="Smallest component")
    caption = (
        f"Left: live neurons of seed {group[0].seed} at the end of clean training (d = {group[0].config.d}, "
        f"sigma_x = {group[0].config.sigma_x:g}), per unit of rescaled time: the step against growth through "
        "one half of the pair less decay, on the same points. Right: the smallest component over training."
    )
    return [Picture("The drift of the dense component", caption, figure)]


def draw_tickets(runs: Runs[TicketsConfig, StartCounts]) -> list[Picture]:
    """Shares of ordinary, lucky and surely lucky neurons at the start, over the dimension."""
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    shares: tuple[tuple[str, Callable[[StartCounts], float]], ...] = (
        ("no coefficient above $\\sqrt{2 \\log d}$", lambda r: r.ordinary_share),
        ("one above $\\sqrt{2.01 \\log d}$", lambda r: r.lucky_share),
        ("one alone, above $\\sqrt{2.02 \\log d}$", lambda r: r.surely_lucky_share),
    )
    for index, (label, value) in enumerate(shares):
        d, rows = pivot(runs, lambda run: run.config.d, _of_result(value))
        curve_with_band(ax, d.tolist(), rows.tolist(), label, index=index)
    ax.set_xscale("log")
    ax.set_ylim(0, 1.3)
    finish(ax, x="dimension d", y="share of neurons", title="Tickets at the start")
    caption = "Coefficients of random rows in units of their standard deviation, m = 6 d rows."
    return [Picture("Tickets of a random start", caption, figure)]


def _of_result(
    value: Callable[[StartCounts], float],
) -> Callable[[Run[TicketsConfig, StartCounts]], float]:
    return lambda run: value(run.result)


FIGURES = (
    Drawing(TICKETS, draw_tickets),
    Drawing(LOTTERY, draw_lottery),
    Drawing(KINETICS, draw_kinetics),
    Drawing(DRIFT, draw_drift),
)
