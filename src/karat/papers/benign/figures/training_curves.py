"""Robust training loss and test errors over the steps of adversarial training."""

import numpy as np
from matplotlib.axes import Axes

from karat.papers.benign.experiments.evaluation import CurvesResult
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.papers.benign.figures.grid import or_nan
from karat.papers.benign.figures.notes import lost_note, sentences
from karat.study.drawing.picture import Picture, describe_config, varied_settings
from karat.study.drawing.style import (
    INK,
    PALETTE,
    curve_with_band,
    finish,
    fit_to_seeds,
    mean_and_half_width,
    new_figure,
)
from karat.study.run import Run, Runs, by_setting

MOST = 8
"""Figures per experiment; a sweep over more settings needs a map, not curves."""

Group = list[Run[MixtureConfig, CurvesResult]]
"""Runs of one setting."""


def draw_training_curves(runs: Runs[MixtureConfig, CurvesResult]) -> list[Picture]:
    """Draw one figure per setting: training overfits (loss to 0) while the test errors settle.

    Args:
        runs: with their curves.

    Ref: benign, Fig 2
    """
    names = varied_settings(runs)
    groups = by_setting(runs)
    pictures = [_draw(group, describe_config(group[0].config, names), runs) for group in groups[:MOST]]
    if len(groups) > MOST:
        last = pictures[-1]
        more = f" {len(groups) - MOST} more settings are not drawn."
        pictures[-1] = last._replace(caption=last.caption + more)
    return pictures


def _draw(group: Group, settings: str, runs: Runs[MixtureConfig, CurvesResult]) -> Picture:
    steps, flip_rate = group[0].result.iterations, group[0].config.flip_rate
    # A mean over seeds needs the same steps in each of them.
    aligned = [run for run in group if run.result.iterations == steps]
    figure, (loss, error) = new_figure(2)
    loss.set_yscale("log")
    for ax in (loss, error):
        step_axis(ax)
    losses = [run.result.train_loss for run in aligned]
    curve_with_band(loss, steps, losses, "robust training loss")
    fit_to_seeds(loss, losses)
    finish(loss, x="step", y="loss", title="Robust training loss", legend=False)
    clean = [run.result.clean_error for run in aligned]
    robust = [run.result.robust_error for run in aligned]
    curve_with_band(error, steps, clean, "clean")
    curve_with_band(error, steps, robust, "robust", index=1)
    error.axhline(flip_rate, color=INK, linewidth=1.0, linestyle=":", label=f"flip rate {flip_rate:g}")
    certified = [or_nan(run.result.final.certified_error) for run in aligned]
    _mark_certified(error, steps[-1], certified)
    fit_to_seeds(error, [*clean, *robust, certified, [flip_rate]], bottom=0.0)
    finish(error, x="step", y="test error", title="Test error")
    title = "Training curves" + (f", {settings}" if settings else "")
    return Picture(title, _caption(group, aligned, runs), figure)


def step_axis(ax: Axes) -> None:
    """Put steps on a logarithmic axis, with a place for step 0 left of step 1.

    Args:
        ax: a panel over steps.
    """
    ax.set_xscale("symlog", linthresh=1.0, linscale=0.35)


def _mark_certified(ax: Axes, step: float, certified: list[float]) -> None:
    """The upper end of the robust error's bracket at the last step, with its interval over seeds."""
    mean, half = mean_and_half_width(np.array(certified).reshape(-1, 1), 0.95)
    if not np.isfinite(mean[0]):
        return
    if np.isfinite(half[0]):
        ax.errorbar(step, mean[0], yerr=half[0], color=PALETTE[1], capsize=3, linewidth=1.1, alpha=0.6)
    label = "robust, certified"
    ax.plot(step, mean[0], "v", color=PALETTE[1], markeredgecolor=INK, markersize=6, label=label)


def _caption(group: Group, aligned: Group, runs: Runs[MixtureConfig, CurvesResult]) -> str:
    several = f"Lines: mean over {len(aligned)} seeds; bands: its 95% interval."
    certified = any(run.result.final.certified_error is not None for run in aligned)
    other = len(group) - len(aligned)
    return sentences(
        several if len(aligned) > 1 else "One seed, no interval.",
        "Triangle: certified upper bound on the final robust error; the line is PGD's." if certified else "",
        f"Attack radius: {group[0].config.ratio:g} of the signal.",
        lost_note([record for record in runs.lost if record.config_hash == group[0].config_hash]),
        f"Recorded at other steps and left out: {other}." if other else "",
    )
