"""Figures on Gaussian clusters and images: directions, filters, students on mixed inputs, double descent."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.study.drawing.picture import Picture, by_config
from karat.study.drawing.style import INK, PALETTE, curve_with_band, finish, fit_to_seeds, new_figure
from karat.study.record import Record

SETS = {
    "digits": "digits 0/1 (embedded)",
    "mnist": "MNIST 0/1",
    "cifar10_pair": "CIFAR-10 airplane/automobile",
    "svhn_pair": "SVHN 0/1",
    "cifar10": "CIFAR-10",
    "svhn": "SVHN",
}
INJECTED = {"gaussian": "Gaussian", "tiny_imagenet": "Tiny ImageNet"}


def _scatter(ax: Axes, points: np.ndarray, colors: Sequence[str] | str, s: float, alpha: float) -> None:
    ax.scatter(points[:, 0], points[:, 1], s, colors, linewidths=0, alpha=alpha)
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])


def draw_hypercube(records: Sequence[Record]) -> list[Picture]:
    """Neurons and cluster centres before and after training, one row per setting.

    Ref: features, Fig 16
    """
    groups = [g for g in by_config([r for r in records if r.status == "done"]) if "pictures" in g[0].values]
    if not groups:
        return []
    figure = Figure(figsize=(2.7 * len(groups), 5.2), layout="constrained")
    axes = figure.subplots(2, len(groups), squeeze=False)
    for column, group in enumerate(groups):
        values, config = group[0].values, group[0].config
        labels = np.array(values["centre_labels"])
        for row, stage in enumerate(("start", "end")):
            ax = axes[row, column]
            points = np.array(values["pictures"][stage]["points"])
            centres = points[-len(labels) :]
            for sign, color in ((1, PALETTE[1]), (-1, PALETTE[4])):
                chosen = centres[labels == sign]
                ax.plot(chosen[:, 0], chosen[:, 1], "o", color=color, fillstyle="none", markersize=9)
            _scatter(ax, points[: -len(labels)], PALETTE[0], s=8, alpha=0.6)
            title = f"d = {config['d']}, k = {config['k']}" if row == 0 else ""
            count = values[f"{stage}_covered"]
            finish(ax, x=f"{stage}: {count} of {values['centres']} covered", y="", title=title, legend=False)
    caption = (
        f"Seed {groups[0][0].seed}. Blue: the neurons of largest influence; rings: centres of the two "
        "labels. A centre is covered if some neuron has cosine above 0.9 to it."
    )
    return [Picture("Gaussian clusters with parity labels", caption, figure)]


def draw_clusters(records: Sequence[Record]) -> list[Picture]:
    """Neurons of two-layer nets on images over training, one row per set and start.

    Ref: features, Fig 17
    """
    groups = [g for g in by_config([r for r in records if r.status == "done"]) if "pictures" in g[0].values]
    if not groups:
        return []
    columns = max(len(g[0].values["steps"]) for g in groups)
    figure = Figure(figsize=(2.1 * columns, 2.25 * len(groups)), layout="constrained")
    axes = figure.subplots(len(groups), columns, squeeze=False)
    for row, group in enumerate(groups):
        values, config = group[0].values, group[0].config
        colors = [PALETTE[1] if sign > 0 else PALETTE[0] for sign in values["signs"]]
        for column, step in enumerate(values["steps"]):
            ax = axes[row, column]
            _scatter(ax, np.array(values["pictures"][column]), colors, s=14, alpha=0.8)
            ax.set_xlim(-1.1, 1.1)
            ax.set_ylim(-1.1, 1.1)
            label = f"step {step}: inside {values['inside'][column]:.2f}"
            title = f"{SETS[config['source']]}, start {config['init_scale']:g}" if column == 0 else ""
            finish(ax, x=label, y="", title=title, legend=False)
            ax.set_title(title, loc="left", fontsize=8, fontweight="bold", color=INK)
    caption = (
        f"Seed {groups[0][0].seed}; scaling of cosine distances in one plane. Colour: sign of the output "
        "weight at the end. Inside: mean cosine to the own cluster centre. The start's size decides how "
        "tight the clusters get."
    )
    return [Picture("Neurons on images", caption, figure)]


def draw_students(records: Sequence[Record]) -> list[Picture]:
    """Agreement with the teacher on original and injected inputs over the student's steps.

    Ref: features, Fig 22
    """
    groups = by_config([r for r in records if r.status == "done"])
    panels = [(group, size) for group in groups for size in group[0].config["students"]]
    if not panels:
        return []
    figure = Figure(figsize=(3.1 * len(panels), 3.1), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, (group, size) in zip(axes, panels, strict=True):
        config = group[0].config
        steps = group[0].values["mixture_steps"]
        injected = INJECTED[config["injected"]]
        lines = (("mixture", "original", "original part"), ("mixture", "injected", f"{injected} part"))
        for index, (arm, part, label) in enumerate(lines):
            curve_with_band(ax, steps, [r.values[f"{arm}_{size}_{part}"] for r in group], label, index=index)
        control = [r.values[f"control_{size}_original"] for r in group]
        curve_with_band(ax, steps, control, "control: originals only", index=2)
        ax.set_ylim(0, 1.02)
        net = "FC" if config["net"] == "fc" else "ResNet"
        name = SETS[config["source"]].removesuffix(" (embedded)").removesuffix(" 0/1")
        title = f"{name}\n{net}({size}), α = {config['alpha']:g}"
        finish(
            ax, x="step of the student", y="agreement with the teacher" if ax is axes[0] else "", title=title
        )
        ax.set_title(title, loc="left", fontsize=8, fontweight="bold", color=INK)
    values = groups[0][0].values
    caption = (
        f"Teacher accuracy {values['teacher_test']:.2f} on the original test images. The control has the "
        f"originals of the mixture only, with the same teacher's labels. {len(groups[0])} seed(s)."
    )
    return [Picture("Students on inputs with and without structure", caption, figure)]


def draw_descent(records: Sequence[Record]) -> list[Picture]:
    """Test loss and accuracy over the size, classical minimum marked.

    Ref: features, Fig 26
    """
    groups = by_config([r for r in records if r.status == "done"])
    if not groups:
        return []
    figure, (loss, accuracy) = new_figure(2)
    for index, group in enumerate(groups):
        config = group[0].config
        label = "images" if config["inputs"] == "original" else f"Gaussian, teacher FC({config['teacher']})"
        sizes = config["sizes"]
        curve_with_band(loss, sizes, [r.values["test_loss"] for r in group], label, index=index)
        curve_with_band(accuracy, sizes, [r.values["test"] for r in group], label, index=index)
        for record in group:
            size = record.values["minimum"]
            if size is not None and size == size:
                height = record.values["test_loss"][list(sizes).index(int(size))]
                loss.plot([size], [height], "v", color=PALETTE[index], markersize=6)
    for ax, y, title in ((loss, "test loss", "Test loss"), (accuracy, "test accuracy", "Accuracy")):
        ax.set_xscale("log")
        ax.set_xticks(groups[0][0].config["sizes"], [str(m) for m in groups[0][0].config["sizes"]])
        ax.minorticks_off()
        finish(ax, x="hidden units m", y=y, title=title, legend=ax is loss)
    fit_to_seeds(loss, [r.values["test_loss"] for group in groups for r in group], bottom=0.0)
    fit_to_seeds(accuracy, [r.values["test"] for group in groups for r in group])
    inputs = groups[0][0].values["inputs_used"]
    caption = (
        f"FC(m) with squares, n = {inputs}; all sizes trained side by side. Triangles: first local minimum "
        "of each seed, the size that Algorithm 1 takes. Accuracy has no such minimum."
    )
    return [Picture("Double descent of FC(m)", caption, figure)]


def draw_filters(records: Sequence[Record]) -> list[Picture]:
    """Cosines inside and between filter clusters per block, and movement early and late, per width.

    Ref: features, Fig 20
    """
    return [_filters(group) for group in by_config([r for r in records if r.status == "done"])]


def _filters(done: Sequence[Record]) -> Picture:
    figure, (cluster, move) = new_figure(2)
    blocks = np.arange(1, 5)
    for index, (place, label) in enumerate(((0, "inside"), (2, "between centres"))):
        for ending, style in (("", "-o"), ("_start", ":")):
            means = [np.mean([r.values[f"block{b}{ending}"][place] for r in done]) for b in blocks]
            name = label + (" at the start" if ending else "")
            cluster.plot(blocks, means, style, color=PALETTE[index], label=name, markersize=4)
    for index, (name, label) in enumerate(
        (("early_move", "until the early look"), ("late_move", "after it"))
    ):
        means = [np.mean([r.values[f"block{b}_{name}"] for r in done]) for b in blocks]
        move.bar(blocks + (index - 0.5) * 0.36, means, 0.36, color=PALETTE[index], label=label)
    cluster.axhline(0, color=INK, linewidth=0.7)
    finish(cluster, x="block", y="cosine", title="Filter clusters")
    finish(move, x="block", y="mean 1 - cos", title="How far filters turn")
    for ax in (cluster, move):
        ax.set_xticks(blocks)
    config = done[0].config
    caption = (
        f"ResNet({config['m']}) on {config['n']} images of {SETS[config['source']]}, test accuracy "
        f"{np.mean([r.values['test'] for r in done]):.2f}. Clusters: the filters at both ends of the "
        "leading direction at the end; dotted: the same filters before training. The paper's nets have "
        "128 and 256 filters."
    )
    return Picture(f"Filters of ResNet({config['m']})", caption, figure)
