"""Figure of the classifiers that are told the dictionary: a linear one and a thresholded one."""

import numpy as np

from karat.papers.purification.experiments.oracles import ORACLES, OraclesConfig, OraclesResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, curve_with_band, finish, new_figure
from karat.study.run import Runs, pivot


def draw_oracles(runs: Runs[OraclesConfig, OraclesResult]) -> list[Picture]:
    """Distance of the inputs from the linear boundary over d, robust error of the thresholded one over k."""
    quiet = [run for run in runs if run.config.sigma_x == 0]
    if not quiet:
        return []
    figure, (linear, hard) = new_figure(2, width=3.9, height=3.1)
    d, distances = pivot(quiet, lambda run: run.config.dimension, lambda run: run.result.linear_distance)
    curve_with_band(linear, d.tolist(), distances.tolist(), "linear", index=1)
    linear.plot(
        d, np.nanmean(distances[:, 0]) * np.sqrt(d[0] / d), color=INK, linestyle="--", label="$d^{-1/2}$"
    )
    linear.set_xscale("log")
    linear.set_yscale("log")
    finish(linear, x="dimension d", y="mean distance", title="Distance from the boundary")
    for index, (label, error) in enumerate(
        (
            ("attack", lambda run: 1 - run.result.hard_attacked),
            ("certificate", lambda run: 1 - run.result.hard_certified),
        )
    ):
        k, errors = pivot(quiet, lambda run: run.config.k, error)
        curve_with_band(hard, k.tolist(), errors.tolist(), label, index=index)
    hard.set_xscale("log")
    hard.set_xticks(k, [f"{size:g}" for size in k])
    hard.minorticks_off()
    hard.set_ylim(bottom=0)
    finish(hard, x="sparsity k", y="robust error", title="Thresholded oracle")
    caption = (
        "Without input noise, at the smallest dimension with k <= d^0.499. Left: mean l2 distance of the "
        "inputs from the boundary of <w*, M^T x>. Right: robust error of the thresholded oracle at the "
        f"radius k^-{quiet[0].config.power:g}, between attack and certificate."
    )
    return [Picture("Classifiers that know the dictionary", caption, figure)]


FIGURES = (Drawing(ORACLES, draw_oracles),)
