"""Robust error after clean and after adversarial training, beside that of the best classifier."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from karat.papers.benign.figures.grid import mean_over_seeds, seeds_text
from karat.study.drawing.picture import Picture, describe, varying
from karat.study.drawing.style import INK, PALETTE, finish, mean_and_half_width
from karat.study.record import Record

SERIES = (("clean training", PALETTE[1]), ("adversarial training", PALETTE[0]))


def draw_clean_training(records: Sequence[Record]) -> list[Picture]:
    """Bars of robust error per setting with intervals over seeds; ticks where the certificate ends.

    Ref: purification, Sec 7
    """
    done = [record for record in records if record.status == "done"]
    if not done:
        return []
    names = [name for name in varying(done) if name != "ratio"]
    settings: dict[str, list[Record]] = {}
    for record in done:
        settings.setdefault(describe(record.config, names), []).append(record)
    figure = Figure(figsize=(max(4.6, 1.6 + 0.95 * len(settings)), 3.4), layout="constrained")
    ax = figure.add_subplot()
    counts = []
    for place, group in enumerate(settings.values()):
        for side, (label, colour) in enumerate(SERIES):
            own = [record for record in group if (record.config["ratio"] > 0) == (side == 1)]
            if not own:
                continue
            counts.append(len(own))
            errors = np.array([[record.values["robust_error"]] for record in own])
            mean, half = mean_and_half_width(errors, 0.95)
            at = place + 0.3 * (side - 1)
            ax.bar(at, mean[0], 0.28, color=colour, alpha=0.85, label=None if place else label, zorder=2)
            if np.isfinite(half[0]):
                ax.errorbar(at, mean[0], yerr=half[0], color=INK, capsize=3, linewidth=1.1, zorder=4)
            upper = mean_over_seeds(np.array([r.values.get("certified_error", np.nan) for r in own]))
            ax.plot([at], [upper], "v", color=colour, markeredgecolor=INK, markersize=5, zorder=5)
        best = group[0].values["best_robust_error"]
        ax.bar(place + 0.3, best, 0.28, color="#B0B0B0", label=None if place else "best classifier", zorder=2)
    ax.plot([], [], "v", color="white", markeredgecolor=INK, markersize=5, label="certified upper bound")
    ax.set_xticks(range(len(settings)), [text.replace(", ", "\n") for text in settings])
    ax.set_ylim(0.0, 1.3 * ax.get_ylim()[1])  # room for the legend
    finish(ax, x="", y="robust test error", title="Does clean training suffice?", legend=False)
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="upper left", labelcolor=INK)
    ax.grid(visible=False, axis="x")
    ax.tick_params(axis="x", length=0)
    return [Picture("Clean against adversarial training", _caption(records, done, np.array(counts)), figure)]


def _caption(records: Sequence[Record], done: list[Record], counts: np.ndarray) -> str:
    config = done[0].config
    seeds = seeds_text(counts, "bar")
    bars = (
        "One seed, no interval." if seeds == "one seed" else f"Mean over {seeds}; whiskers: its 95% interval."
    )
    ratio = config["ratio"] if config.get("test_ratio") is None else config["test_ratio"]
    notes = [
        f"{bars} Tested at attack radius {ratio:g} |mu| by PGD; triangles: upper end of the bracket from the "
        "certificate. Best classifier: sign of <mu, x>, robust error Phi(-(|mu| - tau))."
    ]
    if lost := len(records) - len(done):
        notes.append(f"Diverged or failed and left out: {lost}.")
    return " ".join(notes)
