"""Image nets before and after adversarial training: filters, perturbations and feature pictures."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from karat.papers.purification.experiments.alexnet import (
    ALEXNET,
    AlexnetConfig,
    AlexnetResult,
    LeftoverMeans,
)
from karat.papers.purification.experiments.resnet_pictures import (
    RESNET_PICTURES,
    ResnetPicturesConfig,
    ResnetPicturesResult,
)
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
from karat.study.drawing.mosaic import show_rows, signed, sorted_by_size, stretched
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, finish, new_figure
from karat.study.quantised import restore
from karat.study.run import Run, by_setting

AlexnetRun = Run[AlexnetConfig, AlexnetResult]
ResnetRun = Run[ResnetPicturesConfig, ResnetPicturesResult]

MOST = 16
"""Filters in a row."""


def draw_alexnet(runs: Sequence[AlexnetRun]) -> list[Picture]:
    """Draw filters and their decomposition, perturbations, density, codes, activity and feature pictures.

    Ref: purification, Fig 1; purification, Fig 4; purification, Fig 5; purification, Fig 7;
        purification, Fig 8; purification, Fig 10; purification, Fig 12
    """
    if not runs:
        return []
    # The largest weight decay first: there the start is forgotten, and the filters show what was learned.
    firsts = sorted((group[0] for group in by_setting(runs)), key=lambda run: -run.config.weight_decay)
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


def draw_resnet(runs: Sequence[ResnetRun]) -> list[Picture]:
    """Draw perturbations, their density, feature pictures and activity of a residual net.

    Ref: purification, Fig 6; purification, Fig 7; purification, Fig 10
    """
    if not runs:
        return []
    firsts = [group[0] for group in by_setting(runs)]
    # Some settings differ only in the colour behind their feature pictures.
    nets = {run.config.network: run for run in reversed(firsts)}
    return [
        _perturbations(firsts[0]),
        draw_density(firsts[:1]),
        *map(_ascent, firsts),
        *(draw_activity([run]) for run in reversed(nets.values())),
    ]


def _filters(runs: Sequence[AlexnetRun]) -> Picture:
    """One block of rows per weight decay: filters at the start, after clean and after robust training."""
    count = min(MOST, len(restore(runs[0].result.filters["clean"])))
    figure = Figure(figsize=(0.62 * count + 1.6, 2.15 * len(runs) + 0.1), layout="compressed")
    axes = figure.subplots(len(runs), 1, squeeze=False)[:, 0]
    for ax, run in zip(axes, runs, strict=True):
        stored = run.result.filters
        order = sorted_by_size(restore(stored["clean"]))[:count]
        rows = {}
        for name, label in (("start", "start"), ("clean", "clean"), ("robust", "adversarial")):
            rough = np.mean(run.result.filter_roughness[name])
            rows[f"{label}\nroughness {rough:.2f}"] = signed(restore(stored[name])[order])
        left = run.result.leftover_robust
        title = (
            f"{decay(run.config, long=True)}: {left.energy_before:.0%} of a clean filter "
            f"is its start, {_forgotten(left)}"
        )
        show_rows(ax, rows, title=title)
    first = runs[0].config
    caption = (
        f"First-layer filters of {net_name(first)} on {source_name(first)}, each column one filter "
        "at the start, after clean and after adversarial training from there (seed "
        f"{runs[0].seed}); zero is mid-grey, every filter on its own scale, longest first. The start's "
        "share is that of the squared length along the filter's own first weights."
    )
    return Picture("The same filters before and after adversarial training", caption, figure)


def _forgotten(left: LeftoverMeans) -> str:
    if np.isnan(left.forgotten):
        return "filters do not get smoother"
    return f"{max(left.forgotten, 0):.0%} of the smoothing is forgetting it"


def _decomposition(runs: Sequence[AlexnetRun]) -> Picture:
    """Roughness with and without the component along the start; more clean training as a control."""
    figure, axes = new_figure(len(runs), width=3.9, height=2.9)
    for ax, run in zip(axes, runs, strict=True):
        left, more = run.result.leftover_robust, run.result.leftover_continued
        bars = (
            ("clean", CLEAN, (left.rough_before, left.rest_before)),
            ("clean, trained on", OTHER, (more.rough_after, more.rest_after)),
            ("adversarial", ROBUST, (left.rough_after, left.rest_after)),
        )
        for index, (label, color, heights) in enumerate(bars):
            x = np.arange(2) + (index - 1) * 0.26
            ax.bar_label(
                ax.bar(x, heights, 0.24, color=color, label=label), fmt="%.2f", fontsize=7, color=INK
            )
        ax.set_xticks(np.arange(2), ("filters", "without\ntheir start"))
        ax.grid(False, axis="x")
        title = f"Decay {run.config.weight_decay:g}: cos(w' − w, w₀) = {left.cosine:.2f}"
        finish(ax, x="", y="roughness Σ|∇u|²", title=title, legend=False)
        ax.set_ylim(0, 1.5 * max(each.result.leftover_robust.rough_before for each in runs))
        if ax is axes[0]:
            ax.legend(frameon=False, fontsize=8, loc="upper right")
    caption = (
        "Mean roughness of unit first-layer filters, as they are and with the component along each filter's "
        "own first weights projected out. Grey: the same further epochs without attacker. Chance level of "
        f"|cos| {runs[0].result.leftover_robust.chance:.2f}."
    )
    return Picture("Roughness with and without the first weights", caption, figure)


def _perturbations(run: AlexnetRun | ResnetRun) -> Picture:
    """Images with the perturbations of both nets under them."""
    result, config = run.result, run.config
    images = restore(result.shown)
    rows = {"image": images}
    for name, label in (("clean_delta", "clean net"), ("robust_delta", "adversarial")):
        rows[label] = signed(restore(result.shown_deltas[name]), 0.995)
    figure = Figure(figsize=(1.05 * len(images) + 1.0, 3.5), layout="compressed")
    show_rows(figure.add_subplot(), rows)
    caption = (
        f"Perturbations of l2 length {config.tau:g} against {net_name(config)} on "
        f"{source_name(config)} after clean training (accuracy {result.clean.accuracy:.2f}, under attack "
        f"{result.clean.strong:.2f}) and after adversarial training ({result.robust.accuracy:.2f}, "
        f"{result.robust.strong:.2f}); zero is mid-grey, every picture on its own scale."
    )
    return Picture(f"Perturbations before and after ({net_name(config)})", caption, figure)


def _rebuilt(run: AlexnetRun) -> Picture:
    """Images beside what few adversarial filters make of them."""
    result = run.result
    label = f"rebuilt from\n{result.rebuilt_share:.1%} of atoms"
    rows = {"image": restore(result.shown), label: np.clip(restore(result.rebuilt), 0, 1)}
    count = min(len(pictures) for pictures in rows.values())
    rows = {name: pictures[:count] for name, pictures in rows.items()}
    figure = Figure(figsize=(1.05 * count + 1.0, 2.4), layout="compressed")
    show_rows(figure.add_subplot(), rows)
    caption = (
        f"Sparse combinations of adversarially trained first-layer filters: {result.rebuilt_share:.2%} of "
        f"the {result.atoms.code} coefficients are not zero, relative squared error "
        f"{result.rebuilt_error:.2f}. The paper prints 4.05% and no error."
    )
    return Picture("Images rebuilt from few filters", caption, figure)


def _ascent(run: AlexnetRun | ResnetRun) -> Picture:
    """Feature pictures of the same channels in both nets, per layer."""
    measures, stored = run.result.ascent, run.result.ascent_pictures
    layers = list(dict.fromkeys(name.split("|", 1)[1] for name in stored))
    count = len(restore(stored[f"clean|{layers[0]}"]))
    figure = Figure(figsize=(1.05 * count + 1.4, 2.55 * len(layers)), layout="compressed")
    axes = figure.subplots(len(layers), 1, squeeze=False)[:, 0]
    for ax, layer in zip(axes, layers, strict=True):
        rows = {}
        for name, label in (("clean", "clean"), ("robust", "adversarial")):
            text = f"{label}\nroughness {np.mean(measures[f'{name}|{layer}'].roughness):.2f}"
            rows[text] = stretched(restore(stored[f"{name}|{layer}"]))
        show_rows(ax, rows, title=f"Layer {layer}")
    how = "2000 raw steps (footnote 16)" if run.config.paper_ascent else "normalised steps"
    caption = (
        "Inputs that excite the middle neuron of a channel most, by gradient ascent from one noise image "
        f"pulled to {run.config.background} ({how}); the channels with the longest clean filters, the same "
        "in both nets, contrast stretched alike for each. Roughness sees smoothness, not meaning."
    )
    behind = ", on black" if run.config.background == "black" else ""
    return Picture(f"Feature pictures ({net_name(run.config)}{behind})", caption, figure)


FIGURES = (Drawing(ALEXNET, draw_alexnet), Drawing(RESNET_PICTURES, draw_resnet))
