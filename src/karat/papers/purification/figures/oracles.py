"""Figure of the classifiers that are told the dictionary: a linear one and a thresholded one."""

import numpy as np

from karat.papers.purification.experiments.oracles import ORACLES, OraclesConfig, OraclesResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, curve_with_band, finish, new_figure
from karat.study.run import Runs, pivot


def draw_oracles(runs: Runs[OraclesConfig, OraclesResult]) -> list[Picture]:
    """Distance of the inputs from the linear boundary over d, robust accuracies there."""
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
    for index, (label, value) in enumerate(
        (
            ("best linear", lambda run: max(run.result.any_robust)),
            ("thresholded", lambda run: run.result.hard_robust),
        )
    ):
        d, shares = pivot(quiet, lambda run: run.config.dimension, value)
        curve_with_band(hard, d.tolist(), shares.tolist(), label, index=index)
    hard.set_xscale("log")
    hard.set_ylim(0, 1.05)
    finish(hard, x="dimension d", y="robust accuracy", title="At a radius of order $1/\\sqrt{d}$")
    caption = (
        "Without input noise, at the smallest dimension with k <= d^0.499. Left: mean l2 distance of the "
        "inputs from the boundary of <w*, M^T x>. Right: robust accuracy at the radius "
        f"{quiet[0].config.radius:g} sqrt(E z_1^2), of the best of four directions and of the thresholded "
        "oracle."
    )
    return [Picture("Classifiers that know the dictionary", caption, figure)]


FIGURES = (Drawing(ORACLES, draw_oracles),)
