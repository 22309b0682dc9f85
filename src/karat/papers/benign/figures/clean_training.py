"""Robust error after clean and after adversarial training, beside that of the best classifier."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.benign.experiments.clean_training import CleanTrainingResult
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.papers.benign.figures.grid import mean_over_seeds, or_nan
from karat.papers.benign.figures.notes import lost_note, seeds_text, sentences
from karat.study.drawing.picture import Picture, describe_config, varied_settings
from karat.study.drawing.style import INK, PALETTE, finish, mean_and_half_width
from karat.study.run import Run, Runs, grouped


def draw_clean_training(runs: Runs[MixtureConfig, CleanTrainingResult]) -> list[Picture]:
    """Draw bars of robust error per setting with intervals over seeds; triangles where the certificate ends.

    Args:
        runs: after clean training (ratio 0) and adversarial training.

    Ref: purification, Sec 7
    """
    if not runs:
        return []
    names = [name for name in varied_settings(runs) if name != "ratio"]
    settings = grouped(runs, lambda run: describe_config(run.config, names))
    figure = Figure(figsize=(max(4.6, 1.6 + 0.95 * len(settings)), 3.4), layout="constrained")
    ax = figure.add_subplot()
    counts = []
    for column, group in enumerate(settings.values()):
        clean = [run for run in group if run.config.ratio == 0]
        adversarial = [run for run in group if run.config.ratio > 0]
        counts += [len(clean), len(adversarial)]
        first = column == 0  # the one whose bars are named in the legend
        if clean:
            _bar(ax, column - 0.3, clean, PALETTE[1], "clean training" if first else None)
        if adversarial:
            _bar(ax, column, adversarial, PALETTE[0], "adversarial training" if first else None)
        best, label = group[0].result.best_robust_error, "best classifier" if first else None
        ax.bar(column + 0.3, best, 0.28, color="#B0B0B0", label=label, zorder=2)
    ax.plot([], [], "v", color="white", markeredgecolor=INK, markersize=5, label="certified upper bound")
    ax.set_xticks(range(len(settings)), [text.replace(", ", "\n") for text in settings])
    ax.set_ylim(0.0, 1.3 * ax.get_ylim()[1])  # room for the legend
    finish(ax, x="", y="robust test error", title="Does clean training suffice?", legend=False)
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="upper left", labelcolor=INK)
    ax.grid(visible=False, axis="x")
    ax.tick_params(axis="x", length=0)
    return [Picture("Clean against adversarial training", _caption(runs, np.array(counts)), figure)]


def _bar(
    ax: Axes,
    x: float,
    runs: list[Run[MixtureConfig, CleanTrainingResult]],
    colour: str,
    label: str | None,
) -> None:
    """Mean robust error with its interval, and the mean of the certified errors above it."""
    errors = np.array([[run.result.robust_error] for run in runs])
    mean, half = mean_and_half_width(errors, 0.95)
    ax.bar(x, mean[0], 0.28, color=colour, alpha=0.85, label=label, zorder=2)
    if np.isfinite(half[0]):
        ax.errorbar(x, mean[0], yerr=half[0], color=INK, capsize=3, linewidth=1.1, zorder=4)
    upper = mean_over_seeds(np.array([or_nan(run.result.certified_error) for run in runs]))
    ax.plot([x], [upper], "v", color=colour, markeredgecolor=INK, markersize=5, zorder=5)


def _caption(runs: Runs[MixtureConfig, CleanTrainingResult], counts: np.ndarray) -> str:
    seeds = seeds_text(counts, "bar")
    bars = (
        "One seed, no interval." if seeds == "one seed" else f"Mean over {seeds}; whiskers: its 95% interval."
    )
    return sentences(
        f"{bars} Tested at attack radius {runs[0].config.tested_ratio:g} |mu| by PGD; triangles: upper end "
        "of the bracket from the certificate. Best classifier: sign of <mu, x>, robust error "
        "Phi(-(|mu| - tau)).",
        lost_note(runs.lost),
    )
