"""The neurons before and after adversarial training: pure part against dense mixture."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from karat.study.drawing.picture import Picture, by_config, describe, varying
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, new_figure
from karat.study.record import Record

CLEAN, ROBUST, GOLD = PALETTE[1], PALETTE[0], "#C9A227"
"""Clean nets in vermilion, robust ones in blue, pure features in gold, in every figure of the paper."""


SHOWN = ("d", "k", "start", "dictionary", "w_star", "sigma_spike")
"""Settings named in titles; the others follow from them."""


def draw_purification(records: Sequence[Record]) -> list[Picture]:
    """The signature figure, the histogram of mixture coefficients, a perturbation, accuracy curves, hubs."""
    done = [record for record in records if record.status == "done"]
    names = [name for name in varying(done) if name in SHOWN]
    pictures = []
    for group in by_config(done)[:4]:
        where = describe(group[0].config, names)
        note = f" ({where})" if where else ""
        pictures.append(_neurons(group[0], note))
        pictures.append(_details(group, note))
        pictures.append(_curves(group, note))
    return pictures


def _neurons(record: Record, note: str) -> Picture:
    """Every live neuron as a point: pure part to the right, component of its mixture along M w* upwards."""
    figure = signature(record)
    values = record.values
    caption = (
        f"Every point is one of {len(values['clean_pure'])} live neurons of one net (seed {record.seed}). "
        "Right: "
        "length of its few own features. Up: component of the rest along the dense direction M w*, the "
        "direction "
        "of the universal attack. Colour: the share of the former in the squared length of both, in karat. "
        "Crosses: "
        "hubs that lean on more than ten features; those off the panel are counted in its corner. Dashed: "
        "the mixture that theory predicts for a neuron of one feature, E|z|_0/d per coefficient. Grey: where "
        "each neuron came from."
    )
    return Picture(f"Feature purification{note}", caption, figure)


KARAT = LinearSegmentedColormap.from_list("karat", ["#4A4E57", "#8C5A3C", "#C9862B", "#E9B824", "#FFD75E"])
"""From lead to gold."""

LEAST = 20.0
"""Karat at the lower end of the colours."""


def signature(record: Record) -> Figure:
    """The two panels of the signature figure, with their colour scale."""
    figure = Figure(figsize=(9.4, 4.3), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    shown = scatter_neurons(left, record, "clean")
    scatter_neurons(right, record, "robust")
    for ax, stage, title in ((left, "clean", "Clean training"), (right, "robust", "Adversarial training")):
        accuracy, attacked = record.values[f"{stage}_accuracy"], record.values[f"{stage}_pgd"]
        ax.set_title(title, loc="left", fontsize=12, fontweight="bold", color=INK, pad=20)
        text = f"accuracy {accuracy:.0%}, under attack {attacked:.0%}"
        ax.text(0, 1.02, text, transform=ax.transAxes, fontsize=9.5, color=INK)
    right.set_ylabel("")
    bar = figure.colorbar(shown, ax=[left, right], shrink=0.85, aspect=28, pad=0.015)
    bar.set_label("purity in karat", color=INK)
    bar.set_ticks([20, 21, 22, 23, 24])
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=8)
    return figure


def scatter_neurons(ax: Axes, record: Record, stage: str) -> PathCollection:
    """Draw the neurons of one stage; after adversarial training also the way each has come."""
    values = record.values
    pure, dense = np.array(values[f"{stage}_pure"]), np.array(values[f"{stage}_dense"])
    old = np.column_stack([values["clean_pure"], values["clean_dense"]])
    hub = np.array(values["clean_own"]) > 10
    if hub.all():
        hub[:] = False
    # Hubs reach far beyond all others; the panel shows the ordinary neurons and the hubs that fit.
    wide = 1.12 * float(np.quantile(old[~hub, 0], 0.995))
    high = 1.12 * float(np.quantile(old[~hub, 1], 0.985))
    low = min(-0.12 * high, 1.15 * float(np.min(np.array(values["robust_dense"])[~hub])))
    if stage == "robust":
        paths = np.stack([old, np.column_stack([pure, dense])], axis=1)
        ax.add_collection(
            LineCollection(list(paths), colors="#BBBBBB", linewidths=0.45, alpha=0.55, zorder=1)
        )
        ax.plot(old[:, 0], old[:, 1], "o", color="#C4C4C4", markersize=1.8, markeredgewidth=0, zorder=2)
    ax.axhline(0, color="#FFD75E", linewidth=5, alpha=0.55, zorder=0, solid_capstyle="butt")
    grid = np.array([0, wide])
    slope = values["support_ratio"] * np.sqrt(record.config["d"])
    ax.plot(grid, slope * grid, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), zorder=3)
    karat = 24 * pure**2 / np.maximum(pure**2 + dense**2, 1e-12)
    shown = ax.scatter(
        pure[~hub],
        dense[~hub],
        c=karat[~hub],
        cmap=KARAT,
        vmin=LEAST,
        vmax=24,
        s=26,
        linewidths=0.35,
        edgecolors="#3A3A3A",
        zorder=4,
    )
    ax.plot(pure[hub], dense[hub], "x", color=INK, markersize=4.5, markeredgewidth=1.1, zorder=5)
    off = int(((pure > wide) | (dense > high)).sum())
    ax.set_xlim(0, wide)
    ax.set_ylim(low, high)
    finish(ax, x="pure part", y="dense mixture along $Mw^\\star$", legend=False)
    if off:
        ax.text(0.015, 0.975, f"{off} more outside", transform=ax.transAxes, fontsize=8, color=INK, va="top")
    if stage == "clean":
        angle = np.degrees(np.arctan(slope))
        ax.text(
            0.30 * wide,
            slope * 0.30 * wide + 0.06 * high,
            "predicted mixture",
            fontsize=8.5,
            color=INK,
            rotation=angle,
            rotation_mode="anchor",
            transform_rotates_text=True,
        )
        ax.text(0.985 * wide, 0.035 * high, "pure features", fontsize=8.5, color="#8A6A00", ha="right")
    return shown


def _details(group: list[Record], note: str) -> Picture:
    """Coefficients of the mixture, one perturbation in the dictionary, and what deleting hubs does."""
    figure, axes = new_figure(3, width=3.4)
    draw_histogram(axes[0], group)
    draw_perturbation(axes[1], group[0])
    draw_hubs(axes[2], group)
    caption = (
        "Left: mixture coefficients beta_ij over alpha_i up to 0.1, all seeds; after clean training nearly "
        "all have the "
        "sign of w*. Middle: one median perturbation in the dictionary, coefficients sorted, positive "
        "against the label. Right: accuracy of the clean net without its densest neurons (mean over seeds)."
    )
    return Picture(f"Mixtures, perturbations, hubs{note}", caption, figure)


def draw_histogram(ax: Axes, group: Sequence[Record]) -> None:
    """Histogram of beta_ij / alpha_i before and after."""
    edges = np.linspace(-0.1, 0.1, 81)
    for stage, color in (("clean", CLEAN), ("robust", ROBUST)):
        counts = np.sum([record.values[f"{stage}_histogram"] for record in group], axis=0)
        shares = counts / counts.sum()
        ax.stairs(shares[1:-1], edges[1:-1], color=color, fill=True, alpha=0.35, label=stage)
        ax.stairs(shares[1:-1], edges[1:-1], color=color, linewidth=1.2)
    predicted = group[0].values["support_ratio"]
    ax.axvline(predicted, color=INK, linestyle="--", linewidth=0.9, label="$E|z|_0/d$")
    ax.set_xlim(-0.06, 0.09)
    ax.set_xticks([-0.05, 0, 0.05])
    finish(ax, x="mixture coefficient / pure part", y="share", title="Mixture coefficients")


def draw_perturbation(ax: Axes, record: Record) -> None:
    """Sorted coefficients of a perturbation before and after."""
    for stage, color in (("clean", CLEAN), ("robust", ROBUST)):
        profile = np.sort(record.values[f"{stage}_example"])[::-1]
        label = f"{stage}, density {record.values[f'{stage}_density']:.2f}"
        ax.fill_between(np.arange(len(profile)), profile, step="mid", color=color, alpha=0.35, linewidth=0)
        ax.step(np.arange(len(profile)), profile, where="mid", color=color, linewidth=1.2, label=label)
    finish(ax, x="feature, sorted", y="coefficient / $\\tau$", title="One perturbation")


def draw_hubs(ax: Axes, group: Sequence[Record]) -> None:
    """Accuracy after deleting the densest neurons."""
    deleted = group[0].values["ablation_deleted"]
    table = np.mean([record.values["ablation"] for record in group], axis=0)
    ticks = np.arange(len(deleted))
    for column, (name, color) in enumerate((("clean", GOLD), ("universal", CLEAN), ("FGM", PALETTE[3]))):
        ax.bar(ticks + 0.27 * (column - 1), table[:, column], 0.25, color=color, label=name)
    ax.set_xticks(ticks, [str(count) for count in deleted])
    ax.set_ylim(0, 1.3)
    ax.set_yticks([0, 0.5, 1])
    finish(ax, x="densest neurons deleted", y="accuracy", title="Hubs of the clean net", legend=False)
    ax.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", columnspacing=1.0, handlelength=1.0)


def _curves(group: list[Record], note: str) -> Picture:
    """Accuracy against the radius for the nets and the pure features, certified where it was."""
    figure, axes = new_figure(3, width=3.2, height=3.0)
    for ax, stage, title in zip(
        axes, ("clean", "robust", "pure"), ("Clean net", "Robust net", "Pure features"), strict=True
    ):
        _curve(ax, group, stage, title)
    caption = (
        "Accuracy against the radius, in units of the training radius: universal direction, FGM, and PGD "
        f"started from both ({len(group)} seeds, shaded: smallest to largest). Dots with bars: certified to "
        "unbroken share of the points that were certified; the truth on them lies between."
    )
    return Picture(f"Accuracy against radius{note}", caption, figure)


def _curve(ax: Axes, group: list[Record], stage: str, title: str) -> None:
    radii = [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2]
    for index, (name, label) in enumerate((("universal", "universal"), ("fgm", "FGM"), ("pgd", "PGD"))):
        table = np.array([record.values[f"{stage}_curve_{name}"] for record in group])
        color = (CLEAN, PALETTE[3], INK)[index]
        ax.plot(
            radii,
            table.mean(axis=0),
            color=color,
            linewidth=1.6,
            linestyle=("-", "--", "-")[index],
            label=label,
        )
        ax.fill_between(radii, table.min(axis=0), table.max(axis=0), color=color, alpha=0.15, linewidth=0)
    if all(f"{stage}_certified" in record.values for record in group):
        _certified(ax, group, stage)
    ax.axvline(1, color=FAINT, linewidth=1)
    ax.set_ylim(0, 1)
    finish(ax, x="radius / $\\tau$", y="accuracy", title=title, legend=stage != "robust")


def _certified(ax: Axes, group: list[Record], stage: str) -> None:
    values = group[0].values
    factors = values.get(f"{stage}_certified_factors", [1.0])
    whole = f"{stage}_certified_curve" in values
    low = np.mean(
        [r.values[f"{stage}_certified_curve"] if whole else [r.values[f"{stage}_certified"]] for r in group],
        axis=0,
    )
    high = np.mean(
        [r.values[f"{stage}_unbroken_curve"] if whole else [r.values[f"{stage}_pgd_few"]] for r in group],
        axis=0,
    )
    ax.errorbar(
        factors,
        low,
        yerr=[np.zeros_like(low), high - low],
        fmt="o",
        color=ROBUST,
        markersize=4,
        capsize=3,
        label="certified",
        zorder=5,
    )
