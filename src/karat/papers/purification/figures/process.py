"""Figures of how training gets there: the mixture law, pure and random starts, the lottery, the drift."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from karat.papers.purification.checks.settings import plain, regime_of
from karat.papers.purification.figures.drawings import CLEAN, GOLD, ROBUST
from karat.study.drawing.picture import Picture, by_config
from karat.study.drawing.style import FAINT, INK, PALETTE, curve_with_band, finish, new_figure
from karat.study.record import Record


def _done(records: Sequence[Record]) -> list[Record]:
    """Finished records of the last setting, which is the largest of the presets."""
    done = [record for record in records if record.status == "done"]
    return by_config(done)[-1] if done else []


def _table(records: Sequence[Record], name: str) -> np.ndarray:
    return np.array([record.values[name] for record in records], dtype=float)


def draw_scaling(records: Sequence[Record]) -> list[Picture]:
    """beta/alpha against E|z|_0/d over all d and k, with the predicted line, and the way to equilibrium."""
    done = [record for record in records if record.status == "done"]
    if not done:
        return []
    figure, (law, way) = new_figure(2, width=3.8, height=3.1)
    x = np.array([record.values["predicted"] for record in done])
    y = np.array([record.values["ratio"] for record in done])
    d = np.array([record.config["d"] for record in done])
    calm = np.array([r.values["rate"] <= 1.1 * r.values["start_rate"] for r in done])
    for index, size in enumerate(sorted(set(d.tolist()))):
        color = PALETTE[index % len(PALETTE)]
        for mask, fill in ((calm, color), (~calm, "none")):
            here = mask & (d == size)
            label = f"d = {size}" if fill == color else None
            law.plot(x[here], y[here], "o", color=color, markerfacecolor=fill, markersize=5, label=label)
    ends = np.array([0.8 * x.min(), 1.25 * x.max()])
    law.plot(ends, ends, color=INK, linestyle="--", linewidth=1, label="$E|z|_0/d$")
    law.fill_between(ends, ends / 2, 2 * ends, color=FAINT, alpha=0.5, linewidth=0)
    law.set_xscale("log")
    law.set_yscale("log")
    law.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    law.xaxis.set_major_formatter("{x:g}")
    law.xaxis.set_minor_formatter(NullFormatter())
    finish(
        law, x="probability that a neuron wakes, $E|z|_0/d$", y="mixture / pure part", title="The mixture law"
    )
    for index, group in enumerate(by_config(done)):
        config = group[0].config
        share = _table(group, "ratio_curve") / group[0].values["predicted"]
        label = f"d = {config['d']}, k = {config['k']}"
        curve_with_band(way, group[0].values["steps"], share.tolist(), label, index=index)
    way.axhline(1, color=INK, linestyle="--", linewidth=1)
    finish(way, x="step of clean training", y="mixture / prediction", title="Towards equilibrium")
    caption = (
        "Clean training from w = M. Left: beta/alpha of every cell against the prediction with no free "
        "constant; grey: within a factor two; hollow: mixtures have begun to wake neurons, outside the law's "
        "assumption."
    )
    return [Picture("The mixture of every neuron is k/d of its pure part", caption, figure)]


def draw_pureinit(records: Sequence[Record]) -> list[Picture]:
    """Mixture and accuracies over clean and then adversarial training from pure features."""
    group = _done(records)
    if not group:
        return []
    figure, (mixture, accuracy) = new_figure(2, width=4.0)
    first = group[0].values
    last = first["clean_steps"][-1]
    for stage, color in (("clean", CLEAN), ("robust", ROBUST)):
        steps = [step + (last if stage == "robust" else 0) for step in first[f"{stage}_steps"]]
        _band(mixture, steps, _table(group, f"{stage}_ratio"), color, f"{stage} training")
        _band(
            accuracy,
            steps,
            _table(group, f"{stage}_pgd"),
            color,
            "under attack" if stage == "clean" else None,
        )
        _band(
            accuracy, steps, _table(group, f"{stage}_accuracy"), GOLD, "clean" if stage == "clean" else None
        )
    mixture.axhline(first["predicted"], color=INK, linestyle="--", linewidth=1, label="$E|z|_0/d$")
    for ax in (mixture, accuracy):
        ax.axvline(last, color=FAINT, linewidth=1.2)
    accuracy.set_ylim(0, 1.02)
    finish(mixture, x="step", y="mixture / pure part", title="Soiled, then cleaned")
    finish(accuracy, x="step", y="accuracy", title="Accuracy")
    caption = (
        f"Start at the pure features w = M (d = {group[0].config['d']}, k = {group[0].config['k']}): clean "
        "training "
        "builds the mixture and loses all robustness, adversarial training takes it away again. Bands: "
        f"smallest to largest of {len(group)} seeds."
    )
    return [Picture("Mixtures accumulate even from pure features", caption, figure)]


def _band(
    ax: Axes, x: Sequence[float], table: np.ndarray, color: str, label: str | None, **style: Any
) -> None:
    ax.plot(x, table.mean(axis=0), color=color, linewidth=1.7, label=label, **style)
    ax.fill_between(x, table.min(axis=0), table.max(axis=0), color=color, alpha=0.2, linewidth=0)


def draw_lottery(records: Sequence[Record]) -> list[Picture]:
    """Trajectories of winning and losing coordinates against the bias, and the sets over time."""
    group = _done(records)
    if not group:
        return []
    figure, (paths, sets) = new_figure(2, width=4.1, height=3.2)
    values = group[0].values
    steps = values["steps"]
    for name, color, label in (
        ("loser", "#9A9A9A", "best coordinate of a loser"),
        ("runner_up", PALETTE[5], "second coordinate of a winner"),
        ("winner", CLEAN, "winning coordinate"),
    ):
        for index, line in enumerate(values[f"path_{name}"]):
            paths.plot(
                steps, np.maximum(line, 1e-5), color=color, linewidth=1.1, label=label if index == 0 else None
            )
    paths.plot(steps, values["threshold"], color=INK, linestyle="--", linewidth=1.3, label="bias $b(t)$")
    paths.set_yscale("log")
    paths.set_ylim(3e-4, 2)
    finish(
        paths, x="step", y="$\\langle w_i, M_j\\rangle\\,\\mathrm{sign}\\,w^\\star_j$", title="The lottery"
    )
    for index, (name, label) in enumerate(
        (
            ("sure_kept", "sure winners still sure"),
            ("sure_grown", "sure winners above $2\\sqrt{k}\\,b$"),
            ("no_new_potential", "potential winners not new"),
            ("ept", "ordinary neurons (ept)"),
        )
    ):
        curve_with_band(sets, steps, _table(group, name).tolist(), label, index=index)
    sets.set_ylim(0, 1.45)
    sets.set_yticks([0, 0.25, 0.5, 0.75, 1])
    finish(sets, x="step", y="share", title="The paper's sets, levels moving with b", legend=False)
    sets.legend(frameon=False, fontsize=7.5, loc="upper right")
    won, chance = _table(group, "favourite_won").mean(), _table(group, "chance").mean()
    caption = (
        f"Left: coordinates of six winning and six losing neurons (seed {group[0].seed}); a coordinate "
        "above the bias "
        f"grows, one below stays. {won:.0%} of the live neurons end on the feature their start leaned on "
        f"most (chance {chance:.1%}). Right: inclusions that hold exactly for d to infinity."
    )
    return [Picture("Lottery tickets", caption, figure)]


def draw_kinetics(records: Sequence[Record]) -> list[Picture]:
    """Growth of winners and others, and accuracy, over training."""
    group = [record for record in records if record.status == "done"]
    group = plain(group) if group else []
    if not group:
        return []
    figure, (growth, accuracy) = new_figure(2, width=3.9)
    steps = group[0].values["steps"]
    growth.set_yscale("log")
    curve_with_band(growth, steps, _table(group, "winner_growth").tolist(), "winners", index=1)
    curve_with_band(growth, steps, _table(group, "loser_growth").tolist(), "all others", index=0)
    rate = group[0].values["wake_rate"] * np.log(group[0].config["d"])
    bound = rate * _table(group, "winner_growth").mean(axis=0)
    growth.plot(steps, bound, color=INK, linestyle="--", linewidth=1, label="winners x E|z|$_0$/d x log d")
    finish(growth, x="step", y="d E[y gate $z_j$]", title="Growth per unit of time")
    after = [step + 1 for step in steps]
    curve_with_band(accuracy, after, _table(group, "accuracy").tolist(), "clean accuracy", index=1)
    accuracy.set_xscale("log")
    accuracy.axhline(0.5, color=INK, linestyle="--", linewidth=1, label="chance")
    regime = regime_of(group[0].config)
    last = regime.step_at(regime.phases()["T_b"])
    accuracy.axvspan(1, last + 1, color=FAINT, alpha=0.6, linewidth=0, label="up to $T_b$")
    accuracy.set_ylim(0.3, 1)
    finish(accuracy, x="step + 1", y="accuracy", title="Accuracy hardly waits")
    caption = (
        "Left: growth of the coordinates that win and of the others; dashed: what the text allows the "
        f"others, with constant one. Right: the text expects chance up to T_b, here step {last}."
    )
    return [Picture("Kinetics of the lottery", caption, figure)]


def draw_drift(records: Sequence[Record]) -> list[Picture]:
    """Predicted against measured drift of the dense component, neuron by neuron."""
    group = _done(records)
    if not group:
        return []
    figure, (scatter, ratio) = new_figure(2, width=3.7, height=3.1)
    points = np.array(group[0].values["points"])
    low, high = points.min(), points.max()
    scatter.plot([low, high], [low, high], color=INK, linestyle="--", linewidth=1, label="identity")
    scatter.plot(points[:, 0], points[:, 1], "o", color=CLEAN, markersize=3.5, alpha=0.6, markeredgewidth=0)
    finish(scatter, x="predicted", y="measured", title="Drift of $\\langle w_i, Mw^\\star\\rangle$")
    for index, (name, label) in enumerate(
        (("without_noise", "without noise term"), ("total_ratio", "all terms"))
    ):
        curve_with_band(ratio, group[0].values["steps"], _table(group, name).tolist(), label, index=index)
    ratio.axhline(1, color=INK, linestyle="--", linewidth=1)
    ratio.set_ylim(0.8, 1.2)
    finish(ratio, x="step", y="measured / predicted", title="Total drift")
    caption = (
        f"Left: live neurons of seed {group[0].seed} at the end of clean training, per unit of rescaled "
        "time, against the sum of decay, growth and noise with both indicators: a step and its parts, on "
        "independent samples. Right: their sums over all neurons. The claim drops one indicator and bounds "
        "the noise."
    )
    return [Picture("The drift of the dense component", caption, figure)]


def draw_random_init(records: Sequence[Record]) -> list[Picture]:
    """The mixture over training with and without an adversary from the start."""
    group = _done(records)
    if not group:
        return []
    figure, (mixture, accuracy) = new_figure(2, width=3.9)
    steps = group[0].values["steps"]
    # While all neurons are as small as at the start, there is no pure part to divide by.
    shown = [i for i, step in enumerate(steps) if step >= 0.2 * steps[-1]]
    for stage, color, label in (("clean", CLEAN, "clean"), ("robust", ROBUST, "adversarial from the start")):
        table = _table(group, f"{stage}_ratio_curve")[:, shown]
        _band(mixture, [steps[i] for i in shown], table, color, label)
    mixture.set_ylim(bottom=0)
    finish(mixture, x="step", y="mixture / pure part", title="Random start")
    names = ("accuracy", "universal", "fgm", "pgd")
    for index, (stage, color) in enumerate((("clean", CLEAN), ("robust", ROBUST))):
        table = np.array([[record.values[f"{stage}_{name}"] for name in names] for record in group])
        accuracy.bar(np.arange(4) + 0.38 * index - 0.19, table.mean(axis=0), 0.36, color=color, label=stage)
    accuracy.set_xticks(range(4), ["none", "universal", "FGM", "PGD"])
    accuracy.set_ylim(0, 1.25)
    finish(accuracy, x="attack", y="accuracy", title="At the end")
    caption = (
        f"Same start and data for both arms, {len(group)} seeds. The radius of the adversarial arm grows "
        "over "
        f"{group[0].config['ramp']:.0%} of training; at full radius from the first step most neurons never "
        "wake."
    )
    return [Picture("Adversarial training from random weights", caption, figure)]
