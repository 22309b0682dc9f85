"""The paper's other figures: training curves, maps over the attack ratio, and what happens on digits."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mode

from karat.papers.benign.checks.boundary import find_crossings, log_slope
from karat.papers.benign.checks.ordering import ordering
from karat.papers.benign.checks.predictions import KINDS, settled_error
from karat.papers.benign.checks.settings import per_setting, sorted_settings
from karat.papers.benign.experiments.axes import Axis, axis_value
from karat.papers.benign.experiments.curves import FIG2
from karat.papers.benign.experiments.digits import FIG4, FIG5, FIG6, DigitsConfig
from karat.papers.benign.experiments.evaluation import CurvesResult, Evaluation
from karat.papers.benign.experiments.maps import FIG3
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.claim import Check, Finding
from karat.study.curves import combine, say, with_caveat
from karat.study.evaluate import tight_finding, upper_bound_finding
from karat.study.run import Run, grouped

MixtureCurves = Sequence[Run[MixtureConfig, CurvesResult]]
DigitsErrors = Sequence[Run[DigitsConfig, Evaluation]]

TEST_DIGITS = {"mnist": 2115, "embedded": 400}
"""Source -> zeros and ones in its test part."""


def _fig2(runs: MixtureCurves) -> Finding:
    """Where every curve ends, and the order of neighbouring curves."""
    axes: tuple[Axis, ...] = ("mu", "d", "ratio")
    # The most frequent value of each setting: the point that all rows go through.
    base = {axis: mode(axis_value(run.config, axis) for run in runs) for axis in axes}
    order = ordering(runs, lambda result: result.final.robust_error, {"mu": -1, "d": 1, "ratio": 1}, base)
    order = with_caveat(order, f"Its size: {say(order)}.")
    loss, error = per_setting(_loss_share)(runs), per_setting(_settled)(runs)
    ends = [_settled(group).verdict for group in sorted_settings(runs)]
    text = (
        f"Robust error settles in {ends.count('holds')} of {len(ends)} settings, worst at {say(error)}; "
        f"largest loss: {say(loss)} of its start."
    )
    return combine([error, loss, order], text)


def _loss_share(runs: MixtureCurves) -> Finding:
    """Last training loss over the first."""
    return upper_bound_finding([run.result.train_loss[-1] / run.result.train_loss[0] for run in runs], 0.01)


def _settled(runs: MixtureCurves) -> Finding:
    """Last robust error against the flip rate plus two standard deviations of the test set."""
    errors = [run.result.final.robust_error for run in runs]
    return upper_bound_finding(errors, settled_error(runs[0].config))


def _fig3(runs: Sequence[Run[MixtureConfig, Evaluation]]) -> Finding:
    """Exponent of the tolerated ratio in d, at robust accuracy halfway: negative if it shrinks."""
    crossings = find_crossings(runs, "ratio", "robust")
    slopes = [log_slope(points) for points in crossings.per_seed.values() if len(points) >= 2]
    if not slopes:
        raise ValueError("fewer than two dimensions cross the accuracy level on this grid.")
    return upper_bound_finding(slopes, 0.0)


def _fig4(runs: DigitsErrors) -> Finding:
    """Exponents of mu* in d, 1/4 for clean and 1/2 for robust accuracy, and whether the nets were trained.

    Fitted this way round because a boundary that does not move with d has no exponent the other way. An
    interval wider than 1/8 to each side cannot tell 1/4 from 1/2.
    """
    exponents = []
    for kind, predicted in zip(KINDS, (0.25, 0.5), strict=True):
        crossings = find_crossings(runs, "mu", kind)
        slopes = [log_slope(points) for points in crossings.per_seed.values() if len(points) >= 3]
        if not slopes:
            raise ValueError(f"fewer than three dimensions have a crossing of the {kind} error.")
        exponents.append(tight_finding(slopes, predicted, resolution=0.125))
    clean, robust = exponents
    inaccurate = [run for run in runs if run.result.clean_error > 0.1]
    untrained = sum(run.result.train_error > 0 for run in inaccurate)
    text = (
        f"|mu| ~ d^p: clean p = {say(clean)}, robust p = {say(robust)}. {untrained} of the "
        f"{len(inaccurate)} runs below 90 % clean accuracy are under-trained: their robust training error is "
        "above 0."
    )
    return combine(exponents, text)


def _fig5(runs: DigitsErrors) -> Finding:
    """Smallest step of the robust error along the ratio, at every resolution."""
    sides = grouped(runs, lambda run: run.config.side)
    orders = [
        ordering(sides[side], lambda result: result.robust_error, {"ratio": 1}, {}) for side in sorted(sides)
    ]
    broken = max(run.result.train_error for run in runs)
    return with_caveat(combine(orders), f"Largest robust training error: {broken:.2f}.")


def _fig6(runs: Sequence[Run[DigitsConfig, CurvesResult]]) -> Finding:
    """Robust test error at the end; zero errors in k points are compatible with 3/k, so that reads as 0."""
    points = TEST_DIGITS[runs[0].config.source]
    finding = upper_bound_finding([run.result.final.robust_error for run in runs], 3 / points)
    loss = max(run.result.final.train_loss for run in runs)
    return replace(
        finding, caveat=f"Zero is read as 3 / {points} test points. Largest training loss: {loss:.2g}."
    )


CHECKS = (
    Check(
        claim_id="benign.fig2",
        experiment=FIG2,
        evaluate=_fig2,
        reported="smaller |mu|, larger d, larger tau/|mu| lead to worse robust test error",
        reading="Loss 0 is read as 1 % of its start, 0.1 as 0.1 plus two standard deviations of the test "
        "set; neighbouring curves are compared seed by seed.",
    ),
    Check(
        claim_id="benign.fig3",
        experiment=FIG3,
        evaluate=_fig3,
        reported="the tolerated ratio shrinks as d grows",
    ),
    Check(
        claim_id="benign.fig4",
        experiment=FIG4,
        evaluate=_fig4,
        reported="transitions at d ~ |mu|^4 and d ~ |mu|^2",
        reading="The signal at half-way accuracy against d: exponents 1/4 (clean) and 1/2 (robust).",
    ),
    Check(
        claim_id="benign.fig5",
        experiment=FIG5,
        evaluate=_fig5,
        reported="robust accuracy falls with the ratio",
        reading="That it falls faster for larger d is not tested.",
    ),
    Check(
        claim_id="benign.fig6",
        experiment=FIG6,
        evaluate=per_setting(_fig6),
        reported="robust training loss and robust test error go to 0",
        reading="d = 1024 is 28 x 28 padded with zeros.",
    ),
)
