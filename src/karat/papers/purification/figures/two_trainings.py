"""Figures of the clean and the robust net: neurons, mixtures, perturbations, hubs, accuracy curves."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.purification.experiments.l2 import L2, NetMeasures, TwoTrainingsResult
from karat.papers.purification.experiments.net_measures import CURVE, HUB, RadiusCurves
from karat.papers.purification.experiments.neuron_parts import HISTOGRAM
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.figures.drawings import CLEAN, ROBUST, TwoTrainingsRun, draw_surgery, signature
from karat.study.drawing.picture import Drawing, Picture, describe_config, varied_settings
from karat.study.drawing.style import FAINT, INK, PALETTE, finish, new_figure
from karat.study.run import Runs, by_setting

TITLED = ("d", "k", "start", "dictionary", "w_star", "sigma_spike")
"""Settings named in titles; the others follow from them."""


def draw_two_trainings(runs: Runs[OddNetConfig, TwoTrainingsResult]) -> list[Picture]:
    """The signature figure, the histogram of mixture coefficients, a perturbation, accuracy curves, hubs."""
    names = [name for name in varied_settings(runs) if name in TITLED]
    pictures = []
    for group in by_setting(runs)[:4]:
        setting = describe_config(group[0].config, names)
        note = f" ({setting})" if setting else ""
        pictures += [_neurons(group[0], note), _details(group, note), _curves(group, note)]
    return pictures


def _neurons(run: TwoTrainingsRun, note: str) -> Picture:
    """Every live neuron as a point: pure part to the right, component of its mixture along M w* upwards."""
    caption = (
        f"Every point is a live neuron of one net (seed {run.seed}), {len(run.result.clean.pure)} of "
        f"{run.result.hubs + run.result.ordinary} that are live after clean training or become so. "
        "Right: length of its few own features. Up: component of the rest along the dense direction M w*, "
        "the direction of the universal attack. Colour: the share of the former in the squared length of "
        "both, in karat. Crosses: hubs that lean on more than ten features; those off the panel are counted "
        "in its corner. Dashed: the mixture that theory predicts for a neuron of one feature, E|z|_0/d per "
        "coefficient. Grey: where each neuron came from. Bars: the clean net after surgery, hubs deleted or "
        "every other live neuron cut down to its own features, and the adversarially trained net."
    )
    return Picture(f"Feature purification{note}", caption, signature(run))


def _details(runs: Sequence[TwoTrainingsRun], note: str) -> Picture:
    """Coefficients of the mixture, one perturbation in the dictionary, and the surgery on the clean net."""
    figure, (coefficients, perturbation, hubs) = new_figure(3, width=3.4)
    _draw_histogram(coefficients, runs)
    _draw_perturbation(perturbation, runs[0].result)
    draw_surgery(hubs, runs, legend_at=-0.3)
    hubs.set_title("Surgery on the clean net", loc="left", fontsize=10, color=INK, pad=18)
    caption = (
        "Left: mixture coefficients beta_ij over alpha_i up to 0.1, all seeds; after clean training "
        f"{np.mean([run.result.clean.aligned for run in runs]):.0%} have the sign of w*. Middle: one median "
        "perturbation in the dictionary, coefficients sorted, positive against the label. Right: accuracies "
        f"of the clean net without its hubs (more than {HUB} own features), without the mixture of all other "
        "live neurons, and without both (mean over seeds)."
    )
    return Picture(f"Mixtures, perturbations, hubs{note}", caption, figure)


def _stages(result: TwoTrainingsResult) -> tuple[tuple[str, NetMeasures, str], ...]:
    return ("clean", result.clean, CLEAN), ("robust", result.robust, ROBUST)


def _draw_histogram(ax: Axes, runs: Sequence[TwoTrainingsRun]) -> None:
    """Histogram of beta_ij / alpha_i before and after."""
    low, high, bins = HISTOGRAM
    edges = np.linspace(low, high, bins + 1)
    for label, histograms, color in (
        ("clean", [run.result.clean.histogram for run in runs], CLEAN),
        ("robust", [run.result.robust.histogram for run in runs], ROBUST),
    ):
        counts = np.sum(histograms, axis=0)
        # The outermost bins also hold everything beyond the range.
        shares = (counts / counts.sum())[1:-1]
        ax.stairs(shares, edges[1:-1], color=color, fill=True, alpha=0.35, label=label)
        ax.stairs(shares, edges[1:-1], color=color, linewidth=1.2)
    predicted = runs[0].result.support_ratio
    ax.axvline(predicted, color=INK, linestyle="--", linewidth=0.9, label="$E|z|_0/d$")
    ax.set_xlim(-0.06, 0.09)
    ax.set_xticks([-0.05, 0, 0.05])
    finish(ax, x="mixture coefficient / pure part", y="share", title="Mixture coefficients")


def _draw_perturbation(ax: Axes, result: TwoTrainingsResult) -> None:
    """Sorted coefficients of a perturbation before and after."""
    for stage, net, color in _stages(result):
        profile = np.sort(net.example)[::-1]
        label = f"{stage}, density {net.density:.2f}"
        ax.fill_between(np.arange(len(profile)), profile, step="mid", color=color, alpha=0.35, linewidth=0)
        ax.step(np.arange(len(profile)), profile, where="mid", color=color, linewidth=1.2, label=label)
    finish(ax, x="feature, sorted", y="coefficient / $\\tau$", title="One perturbation")


def _curves(runs: Sequence[TwoTrainingsRun], note: str) -> Picture:
    """Accuracy against the radius for the nets and the pure features, certified where it was."""
    figure, (left, middle, right) = new_figure(3, width=3.2, height=3.0)
    _draw_curves(left, [run.result.clean.curve for run in runs])
    _draw_certified(left, [run.result.clean for run in runs])
    _finish_curves(left, "Clean net")
    _draw_curves(middle, [run.result.robust.curve for run in runs])
    _draw_certified(middle, [run.result.robust for run in runs])
    _finish_curves(middle, "Robust net", legend=False)
    _draw_curves(right, [run.result.pure.curve for run in runs])
    _finish_curves(right, "Pure features")
    caption = (
        "Accuracy against the radius, in units of the training radius: universal direction, FGM, and PGD "
        f"started from both ({len(runs)} seeds, shaded: smallest to largest). Dots with bars: certified to "
        "unbroken share of the points that were certified; the truth on them lies between."
    )
    return Picture(f"Accuracy against radius{note}", caption, figure)


def _draw_curves(ax: Axes, curves: Sequence[RadiusCurves]) -> None:
    radii = [0, *CURVE]
    for rows, label, color, line in (
        ([curve.universal for curve in curves], "universal", CLEAN, "-"),
        ([curve.fgm for curve in curves], "FGM", PALETTE[3], "--"),
        ([curve.pgd for curve in curves], "PGD", INK, "-"),
    ):
        shares = np.array(rows)
        ax.plot(radii, shares.mean(axis=0), color=color, linewidth=1.6, linestyle=line, label=label)
        ax.fill_between(radii, shares.min(axis=0), shares.max(axis=0), color=color, alpha=0.15, linewidth=0)


def _finish_curves(ax: Axes, title: str, *, legend: bool = True) -> None:
    ax.axvline(1, color=FAINT, linewidth=1)
    ax.set_ylim(0, 1)
    finish(ax, x="radius / $\\tau$", y="accuracy", title=title, legend=legend)


def _draw_certified(ax: Axes, nets: Sequence[NetMeasures]) -> None:
    """From the certified to the unbroken share, at the radii that were certified, if any were."""
    if any(net.certified is None for net in nets):
        return
    factors = nets[0].certified_factors or [1.0]
    low, high = (
        np.array(shares, dtype=float).mean(axis=0)
        for shares in (
            [net.certified_curve or (net.certified,) for net in nets],
            [net.unbroken_curve or (net.pgd_few,) for net in nets],
        )
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


FIGURES = (Drawing(L2, draw_two_trainings),)
