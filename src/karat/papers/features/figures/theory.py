"""Figures of the lemmas and lower bounds: signal over samples, best classifiers, parities in fixed spans."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK, PALETTE, curve_with_band, finish, fit_to_seeds, new_figure
from karat.study.record import Record

STAGES = {
    "start": "start",
    "step1": "one step",
    "step1_rescaled": "one step,\nrescaled",
    "step2": "two steps",
    "end": "end",
}


def draw_signal(records: Sequence[Record]) -> list[Picture]:
    """Relevant over background part after each step against n, and what finite samples alone predict.

    Ref: features, Lem 6
    """
    own = [r for r in records if r.status == "done" and r.config["p_o"] == 0.5]
    sizes = sorted({r.config["n"] for r in own})
    if len(sizes) < 2:
        return []
    figure, (ratio, noise) = new_figure(2)
    for ax in (ratio, noise):
        ax.set_xscale("log")
        ax.set_yscale("log")
    for index, (name, label) in enumerate(
        (("ratio_one", "after one step"), ("ratio_two", "after two steps"))
    ):
        curve_with_band(ratio, sizes, _by_seed(own, sizes, name), label, index=index)
    for ax in (ratio, noise):
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
    base = np.mean([r.values["ratio_one"] for r in own if r.config["n"] == sizes[0]])
    ratio.plot(sizes, base * np.sqrt(np.array(sizes) / sizes[0]), ":", color=INK, label=r"$\sqrt{n}$")
    curve_with_band(noise, sizes, _by_seed(own, sizes, "background"), "background, measured")
    predicted = [np.mean([r.values["background_sampling"] for r in own if r.config["n"] == n]) for n in sizes]
    noise.plot(sizes, predicted, ":", color=INK, label="sampling noise alone")
    curve_with_band(noise, sizes, _by_seed(own, sizes, "signal_error"), "error of the signal", index=1)
    finish(ratio, x="samples n", y="relevant / background", title="Quality of the neurons")
    finish(noise, x="samples n", y=r"relative to $\beta\gamma/\tilde\sigma$", title="After one step")
    gain = np.mean([r.values["gain"] for r in own])
    predicted_gain = np.mean([r.values["gain_predicted"] for r in own])
    caption = (
        f"p_o = 1/2, {len({r.seed for r in own})} seeds. The second step gains a factor {gain:.2f} at "
        f"every n; using all samples instead of the active ones predicts {predicted_gain:.2f}."
    )
    return [Picture("Signal and noise in the neurons", caption, figure)]


def _by_seed(records: Sequence[Record], sizes: Sequence[int], name: str) -> list[list[float]]:
    seeds = sorted({r.seed for r in records})
    found = {(r.seed, r.config["n"]): float(r.values[name]) for r in records}
    return [[found.get((seed, n), float("nan")) for n in sizes] for seed in seeds]


def draw_quality(records: Sequence[Record]) -> list[Picture]:
    """Smallest hinge loss of any linear classifier on the features of each stage, per setting.

    Ref: features, Lem 23
    """
    done = [r for r in records if r.status == "done"]
    settings = sorted({(r.config["p_o"], r.config["n"]) for r in done}, reverse=True)
    if not settings:
        return []
    figure, (train, test) = new_figure(2, width=4.3, height=3.0)
    places = np.arange(len(STAGES))
    width = 0.8 / len(settings)
    for index, (p_o, n) in enumerate(settings):
        group = [r for r in done if (r.config["p_o"], r.config["n"]) == (p_o, n)]
        shift = (index - (len(settings) - 1) / 2) * width
        for ax, ending in ((train, "loss"), (test, "test_error")):
            means = [_mean(group, f"{stage}_{ending}") for stage in STAGES]
            label = f"$p_o$ = {p_o:g}, n = {n}"
            ax.bar(places + shift, means, width, color=PALETTE[index % len(PALETTE)], label=label)
            for stage, place in zip(STAGES, places, strict=True):
                values = [r.values[f"{stage}_{ending}"] for r in group if f"{stage}_{ending}" in r.values]
                ax.plot([place + shift] * len(values), values, ".", color=INK, markersize=3)
    for ax, y, title in (
        (train, "smallest hinge loss", "In the sample"),
        (test, "test error", "On new points"),
    ):
        ax.set_xticks(places, list(STAGES.values()))
        finish(ax, x="", y=y, title=title, legend=ax is train)
        ax.tick_params(axis="x", labelsize=7)
    caption = (
        "Linear program over all classifiers on the features: no learning rate enters. As they are, "
        "one-step weights are too short to reach a kink, so their features are linear functions and stop "
        "at p_o. With the lengths of step two the same directions separate the sample too; how much the "
        "second step still improves them shows on new points. Dots: seeds."
    )
    return [Picture("What the best classifier reaches at every stage", caption, figure)]


def _mean(group: Sequence[Record], name: str) -> float:
    values = [r.values[name] for r in group if name in r.values]
    return float(np.mean(values)) if values else float("nan")


def draw_cube(records: Sequence[Record]) -> list[Picture]:
    """Parities in the span of fixed features against their number, and queries against their bound.

    Ref: features, Thm 2; features, Thm 4
    """
    done = [r for r in records if r.status == "done"]
    if not done:
        return []
    figure, (span, queries) = new_figure(2)
    for index, kind in enumerate(dict.fromkeys(r.config["kind"] for r in done)):
        own = [r for r in done if r.config["kind"] == kind]
        share = [r.values["rank"] / r.values["sets"] for r in own]
        span.plot(
            share, [max(r.values["explained_mean"], 1e-5) for r in own], "os^"[index % 3], label=kind.upper(),
            color=PALETTE[index], markersize=5, alpha=0.8,
        )  # fmt: skip
    span.set_xscale("log")
    span.set_yscale("log")
    reach = np.array([min(_shares(done)) / 1.5, max(1.0, max(_shares(done)))])
    span.plot(
        reach, np.minimum(reach, 1.0), color=INK, linewidth=1, linestyle="--", label="bound: rank / sets"
    )
    _queries(queries, done)
    finish(
        span, x="rank of the features / number of sets A", y=r"mean $R^2$ of a parity", title="Fixed features"
    )
    finish(queries, x="queries", y="best |correlation|, mean over A", title="Neurons as queries")
    config = done[-1].config
    caption = (
        f"Exact over the whole cube of D = {config['D']} and all sets A of k elements. Left: how much of a "
        "parity the span of features holds that were fixed before (points at the bottom: nothing). Right: "
        "correlation of the best of the first q neurons with a parity; dashed: no q queries can do better "
        "on average."
    )
    return [Picture("Parities and what is fixed before seeing them", caption, figure)]


def _shares(records: Sequence[Record]) -> list[float]:
    return [r.values["rank"] / r.values["sets"] for r in records]


def _queries(ax: Axes, records: Sequence[Record]) -> None:
    longest = max(records, key=lambda r: r.values["queries"][-1] if r.config["kind"] == "rf" else 0)
    same = [r for r in records if r.config_hash == longest.config_hash]
    counts = longest.values["queries"]
    ax.set_xscale("log")
    ax.set_yscale("log")
    curves = [r.values["best_correlation"] for r in same]
    bound = longest.values["best_correlation_bound"]
    curve_with_band(ax, counts, curves, "random neurons")
    ax.plot(counts, bound, "--", color=INK, label=r"$\sqrt{q/\mathrm{sets}}$")
    fit_to_seeds(ax, [*curves, bound])


def draw_kernels(records: Sequence[Record]) -> list[Picture]:
    """Hinge loss of kernel machines against their exact floor.

    Ref: features, Cor 3
    """
    done = [r for r in records if r.status == "done"]
    if not done:
        return []
    figure, (ax,) = new_figure(1, width=4.4)
    widths = sorted({r.config["bandwidth"] for r in done})
    for place, width in enumerate(widths):
        group = [r for r in done if r.config["bandwidth"] == width]
        losses = [r.values["hinge"] for r in group]
        ax.plot(
            [place] * len(losses), losses, "o", color=PALETTE[0], label="measured" if place == 0 else None
        )
        floor = np.mean([r.values["floor"] for r in group])
        ax.plot(
            [place - 0.25, place + 0.25], [floor, floor], color=INK, label="floor" if place == 0 else None
        )
    ax.set_xticks(range(len(widths)), [f"{width:g}" for width in widths])
    ax.set_ylim(0, None)
    finish(ax, x="bandwidth of the radial kernel", y="test hinge loss", title="Kernels on parity")
    caption = (
        "Kernel ridge regression, ridge chosen on validation. Floor: p_o (1 - L sqrt(lambda)), with the "
        "RKHS norm L of the fitted function and the kernel's exact eigenvalue at the parities of k patterns."
    )
    return [Picture("Kernels stop above p_o", caption, figure)]
