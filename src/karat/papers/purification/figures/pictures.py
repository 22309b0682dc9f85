"""Image nets before and after adversarial training: filters, perturbations and feature pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from karat.papers.purification.figures.density import (
    CLEAN,
    OTHER,
    ROBUST,
    decay,
    draw_activity,
    draw_codes,
    draw_density,
    net_name,
    source_name,
)
from karat.study.drawing.mosaic import show_rows, signed, sorted_by_size
from karat.study.drawing.picture import Draw, Picture, by_config
from karat.study.drawing.style import INK, finish, new_figure
from karat.study.quantised import restore
from karat.study.record import Record

MOST = 16
"""Filters in a row."""


def draw_alexnet(records: Sequence[Record]) -> list[Picture]:
    """Filters with their decomposition, then perturbations, density, codes, activity and feature pictures.

    Ref: purification, Fig 1; purification, Fig 4; purification, Fig 5; purification, Fig 7;
        purification, Fig 8; purification, Fig 10; purification, Fig 12
    """
    done = [record for record in records if record.status == "done"]
    if not done:
        return []
    firsts = sorted((group[0] for group in by_config(done)), key=lambda r: -r.config["weight_decay"])
    return [
        _filters(firsts),
        _decomposition(firsts),
        _perturbations(firsts[0]),
        draw_density(firsts),
        draw_codes(firsts),
        _rebuilt(firsts[0]),
        draw_activity(firsts),
        _ascent(firsts[0]),
    ]


def draw_resnet(records: Sequence[Record]) -> list[Picture]:
    """Perturbations, their density, feature pictures and activity of a residual net.

    Ref: purification, Fig 6; purification, Fig 7; purification, Fig 10
    """
    done = [record for record in records if record.status == "done"]
    if not done:
        return []
    record = done[0]
    return [_perturbations(record), draw_density([record]), _ascent(record), draw_activity([record])]


def _filters(records: Sequence[Record]) -> Picture:
    """One block of rows per weight decay: filters at the start, after clean and after robust training."""
    side = restore(records[0].values["filters"]["clean"]).shape
    count = min(MOST, side[0])
    figure = Figure(figsize=(0.62 * count + 1.6, 2.15 * len(records) + 0.1), layout="compressed")
    axes = figure.subplots(len(records), 1, squeeze=False)[:, 0]
    for ax, record in zip(axes, records, strict=True):
        stored = record.values["filters"]
        order = sorted_by_size(restore(stored["clean"]))[:count]
        rows = {}
        for name, label in (("start", "start"), ("clean", "clean"), ("robust", "adversarial")):
            rough = np.mean(record.values["filter_roughness"][name])
            rows[f"{label}\nroughness {rough:.2f}"] = signed(restore(stored[name])[order])
        left = record.values["leftover_robust"]
        title = (
            f"{decay(record, long=True)}: {left['energy_before']:.0%} of a clean filter "
            f"is its start, {_forgotten(left)}"
        )
        show_rows(ax, rows, title=title)
    caption = (
        f"First-layer filters of {net_name(records[0])} on {source_name(records[0])}, each column one filter "
        "at the start, after clean and after adversarial training from there (seed "
        f"{records[0].seed}); zero is mid-grey, every filter on its own scale, longest first. The start's "
        "share is that of the squared length along the filter's own first weights."
    )
    return Picture("The same filters before and after adversarial training", caption, figure)


def _forgotten(left: dict[str, Any]) -> str:
    share = left["forgotten"]
    if share is None or share != share:
        return "filters do not get smoother"
    return f"{max(share, 0):.0%} of the smoothing is forgetting it"


def _decomposition(records: Sequence[Record]) -> Picture:
    """Roughness with and without the component along the start; more clean training as a control."""
    figure, axes = new_figure(len(records), width=3.9, height=2.9)
    for ax, record in zip(axes, records, strict=True):
        left, more = (record.values[f"leftover_{name}"] for name in ("robust", "continued"))
        groups = ("filters", "without\ntheir start")
        bars = (
            ("clean", CLEAN, (left["rough_before"], left["rest_before"])),
            ("clean, trained on", OTHER, (more["rough_after"], more["rest_after"])),
            ("adversarial", ROBUST, (left["rough_after"], left["rest_after"])),
        )
        for index, (label, color, heights) in enumerate(bars):
            place = np.arange(2) + (index - 1) * 0.26
            drawn = ax.bar(place, heights, 0.24, color=color, label=label)
            ax.bar_label(drawn, fmt="%.2f", fontsize=7, color=INK)
        ax.set_xticks(np.arange(2), groups)
        ax.grid(False, axis="x")
        cosine = left["cosine"]
        title = f"Decay {record.config['weight_decay']:g}: cos(w' − w, w₀) = {cosine:.2f}"
        finish(ax, x="", y="roughness Σ|∇u|²", title=title, legend=False)
        ax.set_ylim(0, 1.5 * max(r.values["leftover_robust"]["rough_before"] for r in records))
        if ax is axes[0]:
            ax.legend(frameon=False, fontsize=8, loc="upper right")
    caption = (
        "Mean roughness of unit first-layer filters, as they are and with the component along each filter's "
        "own first weights projected out. What falls on the left and not on the right is the start being "
        "forgotten. Grey: the same further epochs without attacker. Chance level of |cos| "
        f"{records[0].values['leftover_robust']['chance']:.2f}."
    )
    return Picture("How much of the smoothing is a forgotten start", caption, figure)


def _perturbations(record: Record) -> Picture:
    """Images with the perturbations of both nets under them."""
    values = record.values
    images = restore(values["shown"])
    rows = {"image": images}
    for name, label in (("clean_delta", "clean net"), ("robust_delta", "adversarial")):
        rows[label] = signed(restore(values["shown_deltas"][name]), 0.995)
    figure = Figure(figsize=(1.05 * len(images) + 1.0, 3.5), layout="compressed")
    show_rows(figure.add_subplot(), rows)
    caption = (
        f"Perturbations of l2 length {record.config['tau']:g} against {net_name(record)} on "
        f"{source_name(record)} after clean training (accuracy {values['clean_accuracy']:.2f}, under attack "
        f"{values['clean_strong']:.2f}) and after adversarial training ({values['robust_accuracy']:.2f}, "
        f"{values['robust_strong']:.2f}); zero is mid-grey, every picture on its own scale."
    )
    return Picture(f"Perturbations before and after ({net_name(record)})", caption, figure)


def _rebuilt(record: Record) -> Picture:
    """Images beside what few adversarial filters make of them."""
    values = record.values
    label = f"rebuilt from\n{values['rebuilt_share']:.1%} of atoms"
    rows = {"image": restore(values["shown"]), label: np.clip(restore(values["rebuilt"]), 0, 1)}
    count = min(len(pictures) for pictures in rows.values())
    rows = {name: pictures[:count] for name, pictures in rows.items()}
    figure = Figure(figsize=(1.05 * count + 1.0, 2.4), layout="compressed")
    show_rows(figure.add_subplot(), rows)
    caption = (
        f"Sparse combinations of adversarially trained first-layer filters: {values['rebuilt_share']:.2%} of "
        f"the {values['atoms']['code']} coefficients are not zero, relative squared error "
        f"{values['rebuilt_error']:.2f}. The paper prints 4.05% and no error."
    )
    return Picture("Images rebuilt from few filters", caption, figure)


def _ascent(record: Record) -> Picture:
    """Feature pictures of the same channels in both nets, per layer."""
    values = record.values
    layers = list(dict.fromkeys(name.split("|", 1)[1] for name in values["ascent_pictures"]))
    count = restore(values["ascent_pictures"][f"clean|{layers[0]}"]).shape[0]
    figure = Figure(figsize=(1.05 * count + 1.4, 2.55 * len(layers)), layout="compressed")
    axes = figure.subplots(len(layers), 1, squeeze=False)[:, 0]
    for ax, layer in zip(axes, layers, strict=True):
        rows = {}
        for name, label in (("clean", "clean"), ("robust", "adversarial")):
            found = values["ascent"][f"{name}|{layer}"]
            text = f"{label}\nroughness {np.mean(found['roughness']):.2f}"
            rows[text] = _stretched(restore(values["ascent_pictures"][f"{name}|{layer}"]))
        show_rows(ax, rows, title=f"Layer {layer}")
    how = "2000 raw steps (footnote 16)" if record.config["paper_ascent"] else "normalised steps"
    caption = (
        f"Inputs that excite the middle neuron of a channel most, by gradient ascent from one noise image "
        f"pulled to grey ({how}); the channels with the longest clean filters, the same in both nets, "
        "contrast stretched alike for each. Smoother is not yet meaningful: judge by eye."
    )
    return Picture(f"Feature pictures ({net_name(record)})", caption, figure)


def _stretched(pictures: np.ndarray) -> np.ndarray:
    """Each picture around its mean colour, 99 % of its values inside the range."""
    mean = pictures.mean(axis=(2, 3), keepdims=True)
    return np.clip(signed(pictures - mean, 0.99) - 0.5 + mean, 0, 1)


FIGURES: dict[str, Draw] = {
    "purification.alexnet": draw_alexnet,
    "purification.resnet_pictures": draw_resnet,
}
"""The figures of the image experiments by experiment."""
