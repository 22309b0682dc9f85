"""Figures of the lemmas and lower bounds: signal over samples, best classifiers, parities in fixed spans."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.papers.features.experiments.cube import CubeConfig, CubeResult
from karat.papers.features.experiments.kernels import KernelConfig, KernelResult
from karat.papers.features.experiments.quality import Quality, QualityConfig, QualityResult
from karat.papers.features.experiments.settings import LearningConfig
from karat.papers.features.experiments.signal import SignalResult
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK, PALETTE, curve_with_band, finish, fit_to_seeds, new_figure
from karat.study.run import Run, grouped, pivot

STAGES = {
    "start": "start",
    "step1": "one step",
    "step1_rescaled": "one step,\nrescaled",
    "step2": "two steps",
    "end": "end",
}
CubeRun = Run[CubeConfig, CubeResult]


def draw_signal(runs: Sequence[Run[LearningConfig, SignalResult]]) -> list[Picture]:
    """Draw relevant over background part after each step against n, and what finite samples alone predict.

    Args:
        runs: those with p_o = 1/2 are drawn, if they have several n.

    Ref: features, Lem 6
    """
    half = [run for run in runs if run.config.p_o == 0.5 and run.config.D == runs[0].config.D]
    by_n = grouped(half, lambda run: run.config.n)
    sizes = sorted(by_n)
    if len(sizes) < 2:
        return []
    figure, (ratio, noise) = new_figure(2)
    for ax in (ratio, noise):
        ax.set_xscale("log")
        ax.set_yscale("log")

    def line(ax: Axes, value: Callable[[SignalResult], float], label: str, index: int = 0) -> None:
        n, table = pivot(half, lambda run: run.config.n, lambda run: value(run.result))
        curve_with_band(ax, list(n), table.tolist(), label, index=index)

    line(ratio, lambda result: result.ratio_one, "after one step")
    line(ratio, lambda result: result.ratio_two, "after two steps", 1)
    for ax in (ratio, noise):
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
    base = np.mean([run.result.ratio_one for run in by_n[sizes[0]]])
    ratio.plot(sizes, base * np.sqrt(np.array(sizes) / sizes[0]), ":", color=INK, label=r"$\sqrt{n}$")
    line(noise, lambda result: result.background, "background, measured")
    sampling = [np.mean([run.result.background_sampling for run in by_n[n]]) for n in sizes]
    noise.plot(sizes, sampling, ":", color=INK, label="sampling noise alone")
    line(noise, lambda result: result.signal_error, "error of the signal", 1)
    finish(ratio, x="samples n", y="relevant / background", title="Quality of the neurons")
    finish(noise, x="samples n", y=r"relative to $\beta\gamma/\tilde\sigma$", title="After one step")
    gain = np.mean([run.result.gain for run in half])
    predicted_gain = np.mean([run.result.gain_predicted for run in half])
    caption = (
        f"p_o = 1/2, {len({run.seed for run in half})} seeds. The second step changes the ratio by a "
        f"factor {gain:.2f}, mean over n; using all samples instead of the active ones predicts "
        f"{predicted_gain:.2f}."
    )
    return [Picture("Signal and noise in the neurons", caption, figure)]


def draw_quality(runs: Sequence[Run[QualityConfig, QualityResult]]) -> list[Picture]:
    """Draw the smallest hinge loss of any linear classifier on the features of each stage, per setting.

    Args:
        runs: of any p_o and n.

    Ref: features, Lem 23
    """
    groups = grouped(runs, lambda run: (run.config.p_o, run.config.n))
    if not groups:
        return []
    figure, (train, test) = new_figure(2, width=4.3, height=3.0)
    places = np.arange(len(STAGES))
    width = 0.8 / len(groups)
    for index, (p_o, n) in enumerate(sorted(groups, reverse=True)):
        stages = [run.result.stages for run in groups[p_o, n]]
        shift = (index - (len(groups) - 1) / 2) * width
        label = f"$p_o$ = {p_o:g}, n = {n}"
        color = PALETTE[index % len(PALETTE)]
        _bars(train, stages, lambda quality: quality.loss, shift, width, color=color, label=label)
        _bars(test, stages, lambda quality: quality.test_error, shift, width, color=color, label=label)
    for ax, y, title in (
        (train, "smallest hinge loss", "In the sample"),
        (test, "test error", "On new points"),
    ):
        ax.set_xticks(places, list(STAGES.values()))
        finish(ax, x="", y=y, title=title, legend=ax is train)
        ax.tick_params(axis="x", labelsize=7)
    caption = (
        "Linear program over all classifiers on the features: no learning rate enters. Step 1 rescaled: "
        "directions after one step with the lengths of step two. Dots: seeds."
    )
    return [Picture("What the best classifier reaches at every stage", caption, figure)]


def _bars(
    ax: Axes,
    runs: Sequence[dict[str, Quality]],
    value: Callable[[Quality], float],
    shift: float,
    width: float,
    *,
    color: str,
    label: str,
) -> None:
    """A bar per stage with its mean, and the seeds as dots; no bar where a stage was not looked at."""
    seeds = [[value(stages[stage]) for stages in runs if stage in stages] for stage in STAGES]
    places = np.arange(len(STAGES)) + shift
    means = [float(np.mean(values)) if values else np.nan for values in seeds]
    ax.bar(places, means, width, color=color, label=label)
    for place, values in zip(places, seeds, strict=True):
        ax.plot([place] * len(values), values, ".", color=INK, markersize=3)


def draw_cube(runs: Sequence[CubeRun]) -> list[Picture]:
    """Draw parities in the span of fixed features against their number, and queries against their bound.

    Args:
        runs: of any features.

    Ref: features, Thm 2; features, Thm 4
    """
    if not runs:
        return []
    figure, (span, queries) = new_figure(2)
    for index, (kind, group) in enumerate(grouped(runs, lambda run: run.config.kind).items()):
        # A parity that the span does not hold at all is drawn at the bottom of the logarithmic axis.
        explained = [max(run.result.explained_mean, 1e-5) for run in group]
        span.plot(
            list(map(_rank_share, group)), explained, "os^"[index % 3], label=kind.upper(),
            color=PALETTE[index], markersize=5, alpha=0.8,
        )  # fmt: skip
    span.set_xscale("log")
    span.set_yscale("log")
    shares = list(map(_rank_share, runs))
    reach = np.array([min(shares) / 1.5, max(1.0, max(shares))])
    span.plot(
        reach, np.minimum(reach, 1.0), color=INK, linewidth=1, linestyle="--", label="bound: rank / sets"
    )
    _queries(queries, runs)
    finish(
        span, x="rank of the features / number of sets A", y=r"mean $R^2$ of a parity", title="Fixed features"
    )
    finish(queries, x="queries", y="best |correlation|, mean over A", title="Neurons as queries")
    caption = (
        f"Exact over the whole cube of D = {runs[-1].config.D} and all sets A of k elements. Left: how much "
        "of a parity the span of features holds that were fixed before (points at the bottom: nothing). "
        "Right: correlation of the best of the first q neurons with a parity; dashed: no q queries can do "
        "better on average."
    )
    return [Picture("Parities and what is fixed before seeing them", caption, figure)]


def _rank_share(run: CubeRun) -> float:
    return run.result.rank / run.result.sets


def _queries(ax: Axes, runs: Sequence[CubeRun]) -> None:
    """The setting of random features with the most queries."""
    longest = max(runs, key=lambda run: run.result.queries[-1] if run.config.kind == "rf" else 0)
    counts, bound = longest.result.queries, longest.result.best_correlation_bound
    ax.set_xscale("log")
    ax.set_yscale("log")
    curves = [run.result.best_correlation for run in runs if run.config == longest.config]
    curve_with_band(ax, counts, curves, "random neurons")
    ax.plot(counts, bound, "--", color=INK, label=r"$\sqrt{q/\mathrm{sets}}$")
    fit_to_seeds(ax, [*curves, bound])


def draw_kernels(runs: Sequence[Run[KernelConfig, KernelResult]]) -> list[Picture]:
    """Draw the hinge loss of kernel machines against their exact floor.

    Args:
        runs: of any bandwidths.

    Ref: features, Cor 3
    """
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.4)
    by_width = dict(sorted(grouped(runs, lambda run: run.config.bandwidth).items()))
    for place, group in enumerate(by_width.values()):
        losses = [run.result.hinge for run in group]
        ax.plot(
            [place] * len(losses), losses, "o", color=PALETTE[0], label="measured" if place == 0 else None
        )
        floor = np.mean([run.result.floor for run in group])
        ax.plot(
            [place - 0.25, place + 0.25], [floor, floor], color=INK, label="floor" if place == 0 else None
        )
    ax.set_xticks(range(len(by_width)), [f"{width:g}" for width in by_width])
    ax.set_ylim(0, 1.1 * max(run.result.hinge for run in runs))
    finish(ax, x="bandwidth of the radial kernel", y="test hinge loss", title="Kernels on parity")
    caption = (
        "Kernel ridge regression, ridge chosen on validation. Floor: p_o (1 - L sqrt(lambda)), with the "
        "RKHS norm L of the fitted function and the kernel's exact eigenvalue at the parities of k patterns."
    )
    return [Picture("Kernels on parity beside their floor", caption, figure)]
