"""Section 8.2: accuracies and angles above frozen layers, and features of the layer drawn anew."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from karat.papers.purification.experiments.freezing import FREEZING, LAYER_27, MOMENTS, FreezingResult
from karat.papers.purification.experiments.frozen_stages import FreezingConfig
from karat.papers.purification.figures.angles import LINES, bands
from karat.papers.purification.figures.drawings import CLEAN, ROBUST
from karat.study.drawing.image_labels import GREY, SETS, attacker_label, dot, network_label, patch
from karat.study.drawing.mosaic import show_rows, stretched
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, finish
from karat.study.quantised import restore
from karat.study.run import Run, by_setting, grouped

FreezingRun = Run[FreezingConfig, FreezingResult]
FreezingRuns = Sequence[FreezingRun]

NAMES = dict(zip(MOMENTS, ("drawn anew", "clean", "adversarial"), strict=True))
"""Moments as the rows of pictures are called."""


def draw_freezing(runs: FreezingRuns) -> list[Picture]:
    """Draw accuracies and angles, features of all layers, and of one layer against several attackers.

    Ref: purification, Sec 8.2; purification, Fig 11; purification, Fig 13
    """
    pictures = []
    for of_net in grouped(runs, lambda run: run.config.network).values():
        settings = by_setting(of_net)
        most = max(len(group[0].config.layers) for group in settings)
        for group in settings:
            if len(group[0].config.layers) == most:
                pictures += [_two_panels(group), _features(group[0])]
        pictures += _attackers([group[0] for group in settings])
    return pictures


def _two_panels(group: FreezingRuns) -> Picture:
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _stages(left, group)
    _frozen_angles(right, group)
    caption = (
        "Stage 1 trains the whole net adversarially; everything below the named layer is then frozen bit "
        "for bit and the rest drawn anew, trained clean (stage 2), then adversarially (stage 3). At the "
        "first layer nothing is frozen. Bars: strong noise-free attack, with the 95% interval of the share; "
        "dots: clean accuracy; dashed: stage 1 under that attack. The paper reports 0% after stage 2."
    )
    return Picture(f"Frozen robust layers, {_setting(group[0])}", caption, figure)


def _features(run: FreezingRun) -> Picture:
    """The same channels of every layer at its three moments."""
    panels = [(layer, run, layer) for layer in run.config.layers]
    title = f"Features of the layer drawn anew, {_setting(run)}"
    return Picture(title, f"One panel per layer. {_how(run)}", _panels(panels))


def _attackers(runs: FreezingRuns) -> list[Picture]:
    """The same layer against every attacker, where there are several of them."""
    layer = next((name for name in (LAYER_27, runs[-1].config.layers[-1]) if _everywhere(name, runs)), None)
    if layer is None or len({run.config.attacker for run in runs}) < 2:
        return []
    panels = []
    for run in sorted(runs, key=lambda each: _strength(each.config.attacker)):
        index = run.config.layers.index(layer)
        before, after = (stage.attacker[index] for stage in (run.result.stage2, run.result.stage3))
        attacker = attacker_label(run.config.attacker)
        panels.append((f"{attacker}: {before:.0%}, then {after:.0%} robust", run, layer))
    title = f"Features of {layer} against several attackers, {_setting(runs[0])}"
    return [Picture(title, f"One panel per attacker of stages 1 and 3. {_how(runs[0])}", _panels(panels))]


def _everywhere(layer: str, runs: FreezingRuns) -> bool:
    return all(layer in run.config.layers for run in runs)


def _strength(attacker: str) -> tuple[str, float]:
    norm, radius = attacker.partition("@")[0].split(":")[:2]
    return norm, float(radius)


def _panels(panels: Sequence[tuple[str, FreezingRun, str]]) -> Figure:
    """Rows of feature pictures at the three moments, two panels beside each other."""
    count = len(restore(next(iter(panels[0][1].result.feature_pictures.values()))))
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    size = (columns * max(0.52 * count + 1.2, 4.2), rows * 2.15)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, (title, run, layer) in zip(axes, panels, strict=False):
        result = run.result
        shown = {
            f"{NAMES[moment]}\n{np.mean(result.features[f'{moment}|{layer}'].waves):.0f} waves": stretched(
                restore(result.feature_pictures[f"{moment}|{layer}"])
            )
            for moment in MOMENTS
        }
        show_rows(ax, shown, title=title)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    return figure


def _how(run: FreezingRun) -> str:
    steps = "2000 raw steps (footnote 16)" if run.config.paper_ascent else f"{run.config.ascent_steps} steps"
    return (
        "Inputs that excite the middle neuron of a channel most, by gradient ascent from one noise image "
        f"pulled to {run.config.background} ({steps}): as drawn anew above frozen layers, after stage 2, "
        "after stage 3. The channels are those with the longest filters after stage 2; contrast stretched "
        f"alike for each. Waves: effective number of cosine waves, mean over channels. Seed {run.seed}."
    )


def _setting(run: FreezingRun) -> str:
    return f"{network_label(run.config.network)}, {SETS[run.config.source]}"


def _stages(ax: Axes, group: FreezingRuns) -> None:
    config, result = group[0].config, group[0].result
    size = result.images_attacked(config)
    stages = (
        (-0.2, [run.result.stage2 for run in group], CLEAN),
        (0.2, [run.result.stage3 for run in group], ROBUST),
    )
    highest = 0.0
    for shift, scores, color in stages:
        strong = np.mean([score.strong for score in scores], axis=0)
        clean = np.mean([score.accuracy for score in scores], axis=0)
        x = np.arange(len(strong)) + shift
        half = 1.96 * np.sqrt(np.maximum(strong * (1 - strong), 1 / size) / size)
        highest = max(highest, *clean, *(strong + half))
        ax.bar(x, strong, 0.36, color=color, zorder=2)
        ax.vlines(x, np.maximum(strong - half, 0), strong + half, color=INK, linewidth=0.9, zorder=4)
        ax.plot(x, clean, "o", color="white", markeredgecolor=color, markersize=5, zorder=5)
        for middle, value, top in zip(x, strong, strong + half, strict=True):
            ax.text(
                middle,
                top + 0.01,
                f"{100 * value:.0f}",
                ha="center",
                fontsize=8,
                color=INK,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                zorder=6,
            )
    first = float(np.mean([run.result.stage1.strong for run in group]))
    ax.axhline(first, color=INK, linewidth=1, linestyle=(0, (5, 3)), zorder=1)
    layers = config.layers
    finish(ax, x="first layer drawn anew", y="accuracy", title="After stages 2 and 3", legend=False)
    names = [
        f"{layer}\n(all)" if count == 0 else layer
        for layer, count in zip(layers, result.frozen_tensors, strict=True)
    ]
    _name_layers(ax, names)
    ax.grid(visible=False, axis="x")
    stage1 = Line2D([], [], color=INK, linewidth=1, linestyle=(0, (5, 3)), label="stage 1")
    ax.legend(
        handles=[patch(CLEAN, "stage 2: clean"), patch(ROBUST, "stage 3: adversarial"), stage1, dot()],
        frameon=False,
        fontsize=8,
        ncols=2,
        columnspacing=1.0,
        handlelength=1.6,
        loc="upper center",
    )
    ax.set_ylim(0, 1.4 * max(highest, first))


def _name_layers(ax: Axes, names: Sequence[str]) -> None:
    """One tick per layer; many names stand aslant."""
    if len(names) > 4:
        ax.set_xticks(range(len(names)), names, rotation=35, ha="right", fontsize=7.5)
    else:
        ax.set_xticks(range(len(names)), names)


def _frozen_angles(ax: Axes, group: FreezingRuns) -> None:
    layers = group[0].config.layers
    x = np.arange(len(layers))
    bands(ax)
    for angles, label, color, line, marker, size in LINES:
        mean = np.mean([angles(run.result) for run in group], axis=0)
        short = label.partition(":")[0]
        ax.plot(x, mean, line, marker=marker, color=color, markersize=size, linewidth=1.4, label=short)
    ax.step(x, group[0].result.chance, where="mid", color=GREY, linewidth=0.9, label="chance")
    finish(ax, x="", y=r"$\theta$ at this layer", title="Angles of the layer drawn anew")
    _name_layers(ax, layers)
    ax.set_ylim(0, 1.03)


FIGURES = (Drawing(FREEZING, draw_freezing),)
