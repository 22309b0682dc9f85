"""Checks of the capacity lower bound: the shattering construction and the smallest nets."""

import math
from collections.abc import Sequence

from karat.papers.convergence.checks.averages import mean
from karat.papers.convergence.experiments.capacity import CAPACITY, CapacityConfig, CapacityResult
from karat.papers.convergence.experiments.shattering import SHATTERING, ShatteringConfig, ShatteringResult
from karat.study.claim import Check, Finding
from karat.study.curves import curves, power, say, with_caveat
from karat.study.evaluate import lower_bound_finding
from karat.study.run import Run

ShatteringRun = Run[ShatteringConfig, ShatteringResult]
CapacityRun = Run[CapacityConfig, CapacityResult]


def _shattered(runs: Sequence[ShatteringRun]) -> Finding:
    """Share of labellings that the construction with the minimum shatters; it must be all of them."""
    corrected = [run for run in runs if not run.config.printed]
    # A construction is no matter of chance: one labelling that is not shattered refutes it.
    finding = lower_bound_finding([run.result.shattered for run in corrected], 1.0, deterministic=True)
    deviation = max(abs(run.result.ratio_measured / run.result.ratio - 1) for run in corrected)
    largest = max(run.result.points for run in corrected)
    labellings = sum(run.config.labellings for run in corrected)
    return with_caveat(
        finding,
        f"Share of {labellings} random labellings of up to {largest} points for which all balls hold their "
        "points, lie on their sides and have centres more than 2 tau apart.",
        f"gamma_k = sqrt d (1 - 1/k + 1/d)/2, met by bisection to {deviation:.0e}.",
    )


def _printed(runs: Sequence[ShatteringRun]) -> Finding:
    """The same share with the maximum, as the text prints."""
    printed = [run for run in runs if run.config.printed]
    finding = lower_bound_finding([run.result.shattered for run in printed], 1.0, deterministic=True)
    share_of_d = {run.config.d: run.result.shattered for run in printed if run.seed == 0}
    return with_caveat(
        finding,
        "Share of labellings shattered with the printed maximum, by d: "
        + ", ".join(f"{d}: {share:.2f}" for d, share in sorted(share_of_d.items()))
        + "; with the minimum it is 1.",
    )


def _capacity(runs: Sequence[CapacityRun]) -> Finding:
    """Exponent in d of the smallest number of parameters found, robust against ordinary."""
    share = max(run.config.share for run in runs)
    robust, robust_sizes = _parameter_growth(runs, share, predicted=1.0)
    ordinary, ordinary_sizes = _parameter_growth(runs, 0.0, predicted=0.0)
    missing = sum(run.result.parameters is None for run in runs if run.config.share == share)
    return with_caveat(
        robust,
        f"Parameters of the smallest certified robust net by d: {robust_sizes}; of the smallest "
        f"interpolating net: {ordinary_sizes} (exponents {say(robust, 2)} and "
        f"{say(ordinary, 2)}; n = {runs[0].result.n}).",
        f"{missing} point sets were never certified." if missing else "",
        "Upper bounds by an optimiser on random points, no VC dimension; tau grows with d.",
    )


def _parameter_growth(runs: Sequence[CapacityRun], share: float, *, predicted: float) -> tuple[Finding, str]:
    """The exponent in d at one radius, and the mean sizes behind it as text."""
    solved = [run for run in runs if run.config.share == share and run.result.parameters is not None]
    d, table = curves(solved, lambda run: run.config.d, lambda run: run.result.parameters or math.nan)
    means = [mean(column) for column in zip(*table, strict=True)]
    listed = ", ".join(f"{at:g}: {mean:.0f}" for at, mean in zip(d, means, strict=True))
    # Widths on a coarse grid make sizes jump: an exponent is not known to better than a half.
    return power(d, table, predicted, resolution=0.5), listed


CHECKS = (
    Check(
        claim_id="convergence.thm6.1",
        experiment=SHATTERING,
        evaluate=_shattered,
        reading="Offset below tau min(1/gamma_1, ..., 1), the minimum where the text prints a maximum; balls "
        "shifted outwards so that centres are strictly more than 2 tau apart.",
        headline=True,
    ),
    Check(
        claim_id="convergence.appD.constant",
        experiment=SHATTERING,
        evaluate=_printed,
        reading="As printed, with the maximum.",
    ),
    Check(
        claim_id="convergence.thm6.1.capacity",
        experiment=CAPACITY,
        evaluate=_capacity,
        reading="Robust interpolation counts when every ball is certified, not when an attack fails.",
    ),
)
