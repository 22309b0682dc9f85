"""Bounds of the lemmas beside what was found, training without the ball, and readings of the algorithm."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.study.drawing.picture import Picture
from karat.study.drawing.series import done, seeds_note
from karat.study.drawing.style import INK, PALETTE, finish, new_figure
from karat.study.record import Record


def draw_lemmas(records: Sequence[Record]) -> list[Picture]:
    """Every lemma's bound over what was found, one row per lemma, one marker per size.

    Ref: lazy, App B
    """
    own = done(records)
    if not own:
        return []
    names = [(key, label) for key, label in ROWS.items() if all(_key(key, "bound") in r.values for r in own)]
    if not names:
        return []
    sizes = sorted({(r.config["m"], r.config["side"]) for r in own})
    figure, (ax,) = new_figure(1, width=7.6, height=0.42 * len(names) + 1.3)
    ax.set_xscale("log")
    for index, (m, side) in enumerate(sizes):
        cells = [r for r in own if r.config["m"] == m and r.config["side"] == side]
        ratios = [
            float(np.mean([r.values[_key(key, "bound")] / r.values[key] for r in cells])) for key, _ in names
        ]
        place = np.arange(len(names)) + 0.12 * (index - (len(sizes) - 1) / 2)
        ax.plot(
            ratios,
            place,
            linestyle="",
            marker="osD^v"[index % 5],
            markersize=5,
            color=PALETTE[index % 7],
            label=f"d = {side**2}, m = {m:,}",
        )
    _verdict_zones(ax)
    vacuous = {key for key in GRADIENT_CHANGES if all(_vacuous(r, key) for r in own)}
    ax.set_yticks(range(len(names)), [label + ", vacuous" * (key in vacuous) for key, label in names])
    ax.set_ylim(len(names) - 0.1, -0.6)
    finish(ax, x="bound over the value found", y="")
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    config = own[0].config
    caption = (
        f"C0 = {config['C0']:g}, failure probability {config['p_fail']:g}, radius {config['C1']:g}/sqrt(d); "
        "nets trained to the edge of the ball, suprema over the ball exact where they separate. Left of 1 "
        "the bound is violated; vacuous: it allows more than the gradient's own length. Lemma B.7 bounds "
        f"from below and is not shown. Means over {len({r.seed for r in own})} seeds."
    )
    return [Picture("Bounds of the lemmas over what was found", caption, figure)]


ROWS = {
    "can_switch": "B.4: neurons that can switch at x",
    "can_switch_nearby": "B.4: ... at some x + delta, as printed",
    "value_supremum": "B.5: sup |f|",
    "flip_probability": "B.6: chance of a sign change",
    "gradient_change": "B.8: change of the gradient, fixed delta",
    "gradient_change_all": "B.9: ... over all delta",
    "subset": "Eq (7): subset of switched neurons",
}


GRADIENT_CHANGES = ("gradient_change", "gradient_change_all")


def _vacuous(record: Record, key: str) -> bool:
    """A bound on the change of the gradient that exceeds the gradient itself."""
    bound = record.values.get(_key(key, "bound"), 0.0)
    return float(bound) > math.sqrt(record.config["side"] ** 2 / 2)


def _key(name: str, what: str) -> str:
    return f"{name}_{what}"


def _verdict_zones(ax: Axes) -> None:
    low, high = ax.get_xlim()
    low, high = min(low, 0.02), high * 2
    ax.set_xlim(low, high)
    ax.axvline(1, color=INK, linewidth=1.0)
    ax.axvspan(low, 1, color=PALETTE[1], alpha=0.08, linewidth=0)
    ax.text(0.93, 0.02, "violated", transform=ax.get_xaxis_transform(), ha="right", fontsize=8, color=INK)
    ax.text(1.07, 0.02, "holds, loose", transform=ax.get_xaxis_transform(), fontsize=8, color=INK)


def draw_beyond(records: Sequence[Record]) -> list[Picture]:
    """Robust accuracy with and without the projection, dimension by dimension.

    Ref: lazy, sec5.2.beyond
    """
    own = done(records)
    if not own:
        return []
    balls = sorted({float(r.config["C0"]) for r in own})
    groups = sorted({(r.config["side"], r.config["c"]) for r in own})
    labels = [f"d = {side**2}\n$\\tau$ = {c / side:.2f}" for side, c in groups]
    names = ["no projection" if math.isinf(C0) else f"C0 = {C0:g}" for C0 in balls]
    table = [
        [
            [r for r in own if (r.config["side"], r.config["c"]) == at and float(r.config["C0"]) == C0]
            for at in groups
        ]
        for C0 in balls
    ]
    figure, (ax,) = new_figure(1, width=4.6, height=3.0)
    _bars(ax, labels, names, table)
    caption = (
        f"Adversarial training of the same nets inside the ball and without any, m = {own[0].config['m']}, "
        f"at the radius where the ball holds about half of the test points. {_bars_note(own)}"
    )
    return [Picture("Beyond the lazy ball", caption, figure)]


def draw_algorithm(records: Sequence[Record]) -> list[Picture]:
    """Robust accuracy under the readings of Algorithm 1.

    Ref: lazy, Alg 1
    """
    own = done(records)
    if not own:
        return []
    projections, lines = ("step", "epoch"), ("iterated", "printed")
    table = [
        [[r for r in own if r.config["project"] == place and r.config["line4"] == line] for line in lines]
        for place in projections
    ]
    figure, (ax,) = new_figure(1, width=4.2, height=2.8)
    _bars(
        ax,
        ["line 4 iterated (PGD)", "line 4 as printed"],
        [f"projected every {p}" for p in projections],
        table,
    )
    config = own[0].config
    caption = (
        f"d = {config['side'] ** 2}, m = {config['m']}, C0 = {float(config['C0']):g}, radius "
        f"{config['c'] / config['side']:.2g}. As printed, every attack step follows the gradient at x, so "
        f"that the training attack is one short step. {_bars_note(own)}"
    )
    return [Picture("Readings of Algorithm 1", caption, figure)]


def _bars(
    ax: Axes, groups: Sequence[str], names: Sequence[str], table: Sequence[Sequence[list[Record]]]
) -> None:
    """Grouped bars of robust accuracy: one group per tick, one colour per name."""
    width = 0.8 / len(names)
    for index, (name, row) in enumerate(zip(names, table, strict=True)):
        values = [[float(r.values["robust_accuracy"]) for r in cells] for cells in row]
        place = np.arange(len(groups)) + (index - (len(names) - 1) / 2) * width
        means = [float(np.mean(v)) if v else 0.0 for v in values]
        spread = [float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in values]
        ax.bar(
            place, means, 0.92 * width, yerr=spread, capsize=2, color=PALETTE[index], alpha=0.85, label=name
        )
    ax.set_xticks(range(len(groups)), groups)
    ax.set_ylim(0, 1.25)
    finish(ax, x="", y="robust test accuracy")
    ax.legend(frameon=False, fontsize=8, loc="upper left", ncol=2)


def _bars_note(records: Sequence[Record]) -> str:
    return (
        seeds_note(records).split(",")[0].rstrip(".")
        + ", bars one standard deviation; robust accuracy by PGD."
    )
