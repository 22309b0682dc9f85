"""Figures on Gaussian clusters and images: directions, filters, students on mixed inputs, double descent."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.features.experiments.clusters import ClustersConfig, ClustersResult
from karat.papers.features.experiments.descent import DescentConfig, DescentResult
from karat.papers.features.experiments.filters import FiltersConfig, FiltersResult
from karat.papers.features.experiments.hypercube import HypercubeConfig, HypercubeResult
from karat.papers.features.experiments.students import StudentsConfig, StudentsResult
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK, PALETTE, curve_with_band, finish, fit_to_seeds, new_figure
from karat.study.run import Run, by_setting

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


def draw_hypercube(runs: Sequence[Run[HypercubeConfig, HypercubeResult]]) -> list[Picture]:
    """Draw neurons and cluster centres before and after training, one column per setting.

    Args:
        runs: the first seed of every setting is drawn, if it kept pictures.

    Ref: features, Fig 16
    """
    firsts = [group[0] for group in by_setting(runs) if group[0].result.pictures is not None]
    if not firsts:
        return []
    figure = Figure(figsize=(2.7 * len(firsts), 5.2), layout="constrained")
    axes = figure.subplots(2, len(firsts), squeeze=False)
    for column, run in enumerate(firsts):
        result, config = run.result, run.config
        labels = np.array(result.centre_labels)
        for row, (stage, coverage) in enumerate((("start", result.start), ("end", result.end))):
            ax = axes[row, column]
            points = np.array((result.pictures or {})[stage].points)
            centres = points[-len(labels) :]
            for sign, color in ((1, PALETTE[1]), (-1, PALETTE[4])):
                chosen = centres[labels == sign]
                ax.plot(chosen[:, 0], chosen[:, 1], "o", color=color, fillstyle="none", markersize=9)
            _scatter(ax, points[: -len(labels)], PALETTE[0], s=8, alpha=0.6)
            title = f"d = {config.d}, k = {config.k}" if row == 0 else ""
            label = f"{stage}: {coverage.covered} of {result.centres} covered"
            finish(ax, x=label, y="", title=title, legend=False)
    caption = (
        f"Seed {firsts[0].seed}. Blue: the neurons of largest influence; rings: centres of the two "
        "labels. A centre is covered if some neuron has cosine above 0.9 to it."
    )
    return [Picture("Gaussian clusters with parity labels", caption, figure)]


def draw_clusters(runs: Sequence[Run[ClustersConfig, ClustersResult]]) -> list[Picture]:
    """Draw neurons of two-layer nets on images over training, one row per set and start.

    Args:
        runs: the first seed of every setting is drawn, if it kept pictures.

    Ref: features, Fig 17
    """
    firsts = [group[0] for group in by_setting(runs) if group[0].result.pictures is not None]
    if not firsts:
        return []
    columns = max(len(run.result.steps) for run in firsts)
    figure = Figure(figsize=(2.1 * columns, 2.25 * len(firsts)), layout="constrained")
    axes = figure.subplots(len(firsts), columns, squeeze=False)
    for row, run in enumerate(firsts):
        result, config = run.result, run.config
        colors = [PALETTE[1] if sign > 0 else PALETTE[0] for sign in result.signs or []]
        for column, (step, points) in enumerate(zip(result.steps, result.pictures or [], strict=True)):
            ax = axes[row, column]
            _scatter(ax, np.array(points), colors, s=14, alpha=0.8)
            ax.set_xlim(-1.1, 1.1)
            ax.set_ylim(-1.1, 1.1)
            label = f"step {step}: inside {result.inside[column]:.2f}"
            title = f"{SETS[config.source]}, start {config.init_scale:g}" if column == 0 else ""
            finish(ax, x=label, y="", title=title, legend=False)
            ax.set_title(title, loc="left", fontsize=8, fontweight="bold", color=INK)
    caption = (
        f"Seed {firsts[0].seed}; scaling of cosine distances in one plane. Colour: sign of the output "
        "weight at the end. Inside: mean cosine to the own cluster centre."
    )
    return [Picture("Neurons on images", caption, figure)]


def draw_students(runs: Sequence[Run[StudentsConfig, StudentsResult]]) -> list[Picture]:
    """Draw agreement with the teacher on original and injected inputs over the students' steps.

    Args:
        runs: of any mixtures, a panel for each and every size of the students.

    Ref: features, Fig 22
    """
    groups = by_setting(runs)
    panels = [(group, size) for group in groups for size in group[0].config.students]
    if not panels:
        return []
    figure = Figure(figsize=(3.1 * len(panels), 3.1), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, (group, size) in zip(axes, panels, strict=True):
        config = group[0].config
        mixture = [run.result.mixture.students[size] for run in group]
        control = [run.result.control.students[size] for run in group]
        lines = {
            "original part": [student.original for student in mixture],
            f"{INJECTED[config.injected]} part": [student.injected for student in mixture],
            "control: originals only": [student.original for student in control],
        }
        for index, (label, curves) in enumerate(lines.items()):
            curve_with_band(ax, group[0].result.mixture.steps, curves, label, index=index)
        ax.set_ylim(0, 1.02)
        net = "FC" if config.net == "fc" else "ResNet"
        name = SETS[config.source].removesuffix(" (embedded)").removesuffix(" 0/1")
        title = f"{name}\n{net}({size}), α = {config.alpha:g}"
        finish(
            ax, x="step of the student", y="agreement with the teacher" if ax is axes[0] else "", title=title
        )
        ax.set_title(title, loc="left", fontsize=8, fontweight="bold", color=INK)
    caption = (
        f"Teacher accuracy {groups[0][0].result.teacher_test:.2f} on the original test images. The control "
        "has the originals of the mixture only, with the same teacher's labels. "
        f"{len(groups[0])} seed(s)."
    )
    return [Picture("Students on inputs with and without structure", caption, figure)]


def draw_descent(runs: Sequence[Run[DescentConfig, DescentResult]]) -> list[Picture]:
    """Draw test loss and accuracy over the size, classical minimum marked.

    Args:
        runs: of any inputs and teachers, a curve for each.

    Ref: features, Fig 26
    """
    groups = by_setting(runs)
    if not groups:
        return []
    figure, (loss, accuracy) = new_figure(2)
    for index, group in enumerate(groups):
        config = group[0].config
        label = "images" if config.inputs == "original" else f"Gaussian, teacher FC({config.teacher})"
        curve_with_band(loss, config.sizes, [run.result.test_loss for run in group], label, index=index)
        curve_with_band(accuracy, config.sizes, [run.result.test for run in group], label, index=index)
        for run in group:
            if np.isfinite(run.result.minimum):
                height = run.result.test_loss[config.sizes.index(int(run.result.minimum))]
                loss.plot([run.result.minimum], [height], "v", color=PALETTE[index], markersize=6)
    sizes = groups[0][0].config.sizes
    for ax, y, title in ((loss, "test loss", "Test loss"), (accuracy, "test accuracy", "Accuracy")):
        ax.set_xscale("log")
        ax.set_xticks(sizes, [str(m) for m in sizes])
        ax.minorticks_off()
        finish(ax, x="hidden units m", y=y, title=title, legend=ax is loss)
    fit_to_seeds(loss, [run.result.test_loss for run in runs], bottom=0.0)
    fit_to_seeds(accuracy, [run.result.test for run in runs])
    caption = (
        f"FC(m) with squares, n = {groups[0][0].result.inputs_used}; all sizes trained side by side. "
        "Triangles: first local minimum of each seed, the size that Algorithm 1 takes."
    )
    return [Picture("Double descent of FC(m)", caption, figure)]


def draw_filters(runs: Sequence[Run[FiltersConfig, FiltersResult]]) -> list[Picture]:
    """Draw cosines inside and between filter clusters per block, and movement early and late, per width.

    Args:
        runs: of any settings, a picture for each.

    Ref: features, Fig 20
    """
    return [_filters(group) for group in by_setting(runs)]


def _filters(runs: Sequence[Run[FiltersConfig, FiltersResult]]) -> Picture:
    figure, (cluster, move) = new_figure(2)
    blocks = np.arange(1, 5)
    training = [[run.result.training[f"block{block}"] for block in blocks] for run in runs]
    ends = np.mean([run.result.ends for run in runs], axis=0)  # (blocks, 3)
    starts = np.mean([[block.start for block in row] for row in training], axis=0)
    for index, (column, label) in enumerate(((0, "inside"), (2, "between centres"))):
        color = PALETTE[index]
        cluster.plot(blocks, ends[:, column], "-o", color=color, label=label, markersize=4)
        cluster.plot(blocks, starts[:, column], ":", color=color, label=f"{label} at the start")
    moves = {
        "until the early look": np.mean([[block.early_move for block in row] for row in training], axis=0),
        "after it": np.mean([[block.late_move for block in row] for row in training], axis=0),
    }
    for index, (label, means) in enumerate(moves.items()):
        move.bar(blocks + (index - 0.5) * 0.36, means, 0.36, color=PALETTE[index], label=label)
    cluster.axhline(0, color=INK, linewidth=0.7)
    finish(cluster, x="block", y="cosine", title="Filter clusters")
    finish(move, x="block", y="mean 1 - cos", title="How far filters turn")
    for ax in (cluster, move):
        ax.set_xticks(blocks)
    config = runs[0].config
    caption = (
        f"ResNet({config.m}) on {config.n} images of {SETS[config.source]}, test accuracy "
        f"{np.mean([run.result.test for run in runs]):.2f}. Clusters: the filters at both ends of the "
        "leading direction at the end; dotted: the same filters before training. The paper's nets have "
        "128 and 256 filters."
    )
    return Picture(f"Filters of ResNet({config.m})", caption, figure)
