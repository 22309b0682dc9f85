"""Robust training loss and test errors over the steps of adversarial training."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.study.drawing.picture import Draw, Picture, by_config, describe, varying
from karat.study.drawing.style import (
    INK,
    PALETTE,
    curve_with_band,
    finish,
    fit_to_seeds,
    mean_and_half_width,
    new_figure,
)
from karat.study.record import Record

MOST = 8
"""Figures per experiment; a sweep over more settings needs a map, not curves."""


def draw_training_curves(records: Sequence[Record]) -> list[Picture]:
    """One figure per setting: training overfits (loss to 0) while the test errors settle near the flip rate.

    Ref: benign, Fig 2
    """
    done = [record for record in records if record.status == "done"]
    names = varying(done)
    groups = by_config(done)
    pictures = [_draw(group, describe(group[0].config, names), records) for group in groups[:MOST]]
    if len(groups) > MOST:
        last = pictures[-1]
        more = f" {len(groups) - MOST} more settings are not drawn."
        pictures[-1] = last._replace(caption=last.caption + more)
    return pictures


def _draw(group: list[Record], settings: str, records: Sequence[Record]) -> Picture:
    steps = group[0].values["iterations"]
    same = [record for record in group if record.values["iterations"] == steps]
    figure, (loss, error) = new_figure(2)
    loss.set_yscale("log")
    for ax in (loss, error):
        step_axis(ax)
    losses = [record.values["train_loss"] for record in same]
    curve_with_band(loss, steps, losses, "robust training loss")
    fit_to_seeds(loss, losses)
    finish(loss, x="step", y="loss", title="Robust training loss", legend=False)
    clean = [record.values["clean_error"] for record in same]
    robust = [record.values["robust_error"] for record in same]
    curve_with_band(error, steps, clean, "clean")
    curve_with_band(error, steps, robust, "robust", index=1)
    flip_rate = group[0].config.get("flip_rate")
    if flip_rate is not None:
        error.axhline(flip_rate, color=INK, linewidth=1.0, linestyle=":", label=f"flip rate {flip_rate:g}")
    certified = [record.values.get("final_certified_error", np.nan) for record in same]
    _mark_certified(error, steps[-1], certified)
    fit_to_seeds(error, [*clean, *robust, certified, [flip_rate or 0.0]], bottom=0.0)
    finish(error, x="step", y="test error", title="Test error")
    title = "Training curves" + (f", {settings}" if settings else "")
    return Picture(title, _caption(group, same, records), figure)


def step_axis(ax: Axes) -> None:
    """Steps on a logarithmic axis, with a place for step 0 left of step 1."""
    ax.set_xscale("symlog", linthresh=1.0, linscale=0.35)


def _mark_certified(ax: Axes, step: float, certified: list[float]) -> None:
    """The upper end of the robust error's bracket at the last step, with its interval over seeds."""
    mean, half = mean_and_half_width(np.array(certified, dtype=float).reshape(-1, 1), 0.95)
    if not np.isfinite(mean[0]):
        return
    if np.isfinite(half[0]):
        ax.errorbar(step, mean[0], yerr=half[0], color=PALETTE[1], capsize=3, linewidth=1.1, alpha=0.6)
    label = "robust, certified"
    ax.plot(step, mean[0], "v", color=PALETTE[1], markeredgecolor=INK, markersize=6, label=label)


def _caption(group: list[Record], same: list[Record], records: Sequence[Record]) -> str:
    several = f"Lines: mean over {len(same)} seeds; bands: its 95% interval."
    notes = [several if len(same) > 1 else "One seed, no interval."]
    if any("final_certified_error" in record.values for record in same):
        notes.append("Triangle: certified upper bound on the final robust error; the line is PGD's.")
    config = group[0].config
    if "ratio" in config:
        notes.append(f"Attack radius: {config['ratio']:g} of the signal.")
    if lost := sum(r.config_hash == group[0].config_hash and r.status != "done" for r in records):
        notes.append(f"Diverged or failed and left out: {lost}.")
    if other := len(group) - len(same):
        notes.append(f"Recorded at other steps and left out: {other}.")
    return " ".join(notes)


FIGURES: dict[str, Draw] = {"benign.thm3.1": draw_training_curves, "benign.sec5": draw_training_curves}
