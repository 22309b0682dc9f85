"""Checks of the capacity lower bound: the shattering construction."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.shattering import SHATTERING, ShatteringConfig, ShatteringResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import SHARE, Finding
from karat.study.judging import Undecided, exact_bound, noted
from karat.study.run import Run, examples

ShatteringRun = Run[ShatteringConfig, ShatteringResult]


def _shattered(runs: Sequence[ShatteringRun]) -> Finding:
    """Share of labellings that the construction with the minimum shatters; it must be all of them."""
    corrected = [run for run in runs if not run.config.printed]
    finding = _all_labellings(corrected)
    deviation = max(abs(run.result.ratio_measured / run.result.ratio - 1) for run in corrected)
    largest = max(run.result.points for run in corrected)
    labellings = sum(run.config.labellings for run in corrected)
    return noted(
        finding,
        f"Share of {labellings} random labellings of up to {largest} points for which all balls hold their "
        "points, lie on their sides and have centres more than 2 tau apart.",
        f"gamma_k = sqrt d (1 - 1/k + 1/d)/2, met by bisection to {deviation:.0e}.",
    )


def _printed(runs: Sequence[ShatteringRun]) -> Finding:
    """The same share with the maximum, as the text prints."""
    printed = [run for run in runs if run.config.printed]
    share_of_d = {run.config.d: run.result.shattered for run in printed}
    listed = ", ".join(f"{d}: {share:.2f}" for d, share in sorted(share_of_d.items()))
    return noted(_all_labellings(printed), f"Share shattered with the printed maximum, by d: {listed}.")


def _all_labellings(runs: Sequence[ShatteringRun]) -> Finding:
    """A construction is no matter of chance: one labelling that is not shattered refutes it."""
    if not runs:
        raise Undecided("no run has this construction")
    shares = [run.result.shattered for run in runs]
    return exact_bound(shares, "at least", 1.0, SHARE, "a deterministic claim about every labelling")


_SHATTERED = ShatteringResult(
    shattered=1.0, held=1.0, smallest_distance=2.1, points=16, offset=1.0, ratio_measured=0.75, ratio=0.75
)
_CORRECTED, _AS_PRINTED = ShatteringConfig(d=4), ShatteringConfig(d=4, printed=True)

_CHEAP = {"d": 8, "labellings": 40}

CHECKS = (
    Check(
        claim_id="convergence.thm6.1",
        experiment=SHATTERING,
        evaluate=_shattered,
        satisfied=examples((_CORRECTED, _SHATTERED)),
        violated=examples((_CORRECTED, replace(_SHATTERED, shattered=0.99))),
        controls=(
            Control(
                name="offset too large",
                removes="scale",
                settings={"share": 1.5},
                cheap={**_CHEAP, "printed": False},
                why="beyond the supremum of the offset some ball cannot hold its points",
            ),
        ),
        reading="n even, n/2 clusters. Offset below tau min(1/gamma_1, ..., 1), the minimum where the text "
        "prints a maximum; balls shifted outwards so that centres are strictly more than 2 tau apart.",
        headline=True,
    ),
    Check(
        claim_id="convergence.appD.constant",
        experiment=SHATTERING,
        evaluate=_printed,
        satisfied=examples((_AS_PRINTED, _SHATTERED)),
        violated=examples((_AS_PRINTED, replace(_SHATTERED, shattered=0.2))),
        controls=(
            Control(
                name="offset too large",
                removes="scale",
                settings={"share": 1.5},
                cheap={**_CHEAP, "printed": True},
                why="beyond the supremum of the offset some ball cannot hold its points",
            ),
        ),
        reading="As printed, with the maximum.",
    ),
)
