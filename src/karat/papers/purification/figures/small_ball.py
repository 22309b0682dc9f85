"""Figure of the codes alone: how many are on, and the mass of their score near the boundary."""

from collections.abc import Sequence

import numpy as np

from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK, PALETTE, curve_with_band, finish, new_figure
from karat.study.record import Record


def draw_small_ball(records: Sequence[Record]) -> list[Picture]:
    """|z|_0/k against k, and P(|<w*, z>| <= t) over t for every k."""
    done = [record for record in records if record.status == "done"]
    if not done:
        return []
    sizes = sorted({record.config["k"] for record in done})
    groups = [[record for record in done if record.config["k"] == k] for k in sizes]
    figure, (on, mass) = new_figure(2, width=3.9, height=3.1)
    low, middle, high = np.array([_quantiles(group) / k for k, group in zip(sizes, groups, strict=True)]).T
    on.fill_between(sizes, low, high, color=PALETTE[0], alpha=0.2, linewidth=0, label="90% of the codes")
    on.plot(sizes, middle, "o-", color=PALETTE[0], markersize=4, label="median")
    means = [group[0].values["expected_support"] / k for k, group in zip(sizes, groups, strict=True)]
    on.plot(sizes, means, color=INK, linestyle="--", linewidth=1, label="mean, exact")
    on.set_xscale("log")
    on.set_xticks(sizes, [f"{k}" for k in sizes])
    on.minorticks_off()
    on.set_ylim(bottom=0)
    finish(on, x="sparsity k", y="$|z|_0/k$", title="Codes that are on")
    mass.set_xscale("log")
    mass.set_yscale("log")
    for index, (k, group) in enumerate(zip(sizes, groups, strict=True)):
        t = group[0].values["t"]
        curve_with_band(mass, t, [r.values["boundary_mass"] for r in group], f"k = {k}", index=index)
    mass.set_xticks(t, [f"{value:g}" for value in t])
    mass.set_yticks(t, [f"{value:g}" for value in t])
    mass.minorticks_off()
    mass.plot(t, t, color=INK, linestyle=":", linewidth=1, label="t")
    finish(mass, x="distance t", y="$P(|\\langle w^*, z\\rangle| \\leq t)$", title="Mass near the boundary")
    caption = (
        f"Codes drawn at the smallest dimension with k <= d^0.499, {len(groups[-1])} seeds. Left: |z|_0 is "
        "of order k once k is large. Right: the mass near the boundary falls to a multiple of t; what lies "
        "above it at small k is the lemma's term of order 1/sqrt(k)."
    )
    return [Picture("How many codes are on, and how often the score is small", caption, figure)]


def _quantiles(group: Sequence[Record]) -> np.ndarray:
    """5%, 50% and 95% of |z|_0 over all seeds."""
    rows = [record.values["support_counts"] for record in group]
    values = np.concatenate([np.repeat(np.arange(len(row)), row) for row in rows])
    return np.asarray(np.quantile(values, (0.05, 0.5, 0.95)))
