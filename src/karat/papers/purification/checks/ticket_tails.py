"""Check on the size from which on the lottery of the theory can take place at all."""

import math
from collections.abc import Sequence

from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.experiments.ticket_tails import TICKET_TAILS, TailsConfig, TailsResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding, Unit
from karat.study.judging import Undecided, all_of, exact_bound, noted
from karat.study.run import Run, examples

DIMENSION = Unit("log10 of a dimension")
STATED = 96.0
"""log10 of the dimension that the statement names, for the largest constants."""

WHY = "exact Gaussian tails, nothing is drawn"

TailRuns = Sequence[Run[TailsConfig, TailsResult]]


def _first_dimension(runs: TailRuns) -> Finding:
    """The first sufficient dimension by exact tails: that of the statement, and the smallest of all."""
    largest = [run for run in runs if run.config.c0 == 1.0 and run.config.gamma == 0.1]
    if not largest or len(runs) < 2:
        raise Undecided("the largest constants or all others are missing")
    first = largest[0].result.first
    others = min(run.result.first for run in runs if run not in largest)
    rounded = [abs(first - STATED)]
    fall = min(largest[0].result.log_sure) - largest[0].result.log_sure[0]
    formula = max(abs(run.result.formula / run.result.first - 1) for run in runs)
    return noted(
        all_of(
            exact_bound(rounded, "at most", 0.5, DIMENSION, WHY),
            exact_bound([fall], "at most", 0.0, Unit("logarithm of a number"), WHY),
            exact_bound([others - first], "at least", 0.0, DIMENSION, WHY),
            # The next term of a Gaussian tail is 1/s^2 of it, and s^2 > 2 log d > 400 here.
            exact_bound([formula], "at most", 0.01, Unit("relative difference"), WHY),
        ),
        "First dimensions: "
        + ", ".join(
            f"10^{run.result.first:.1f} (c0 = {run.config.c0:g}, gamma = {run.config.gamma:g})"
            for run in runs
        )
        + f". With the largest constants a feature expects "
        f"{math.exp(largest[0].result.log_sure[0]):.3f} sure winners at d = 100 and "
        f"{math.exp(min(largest[0].result.log_sure)):.4f} at d = 10^{largest[0].result.lowest:g}.",
    )


def _first(*dimensions: float) -> list[tuple[TailsConfig, TailsResult]]:
    constants = ((1.0, 0.1), (0.5, 0.1))
    return [
        (
            TailsConfig(c0=c0, gamma=gamma),
            made_up(TailsResult, first=first, formula=first, log_sure=[0.0, -0.1]),
        )
        for (c0, gamma), first in zip(constants, dimensions, strict=True)
    ]


CHECKS = (
    Check(
        claim_id="purification.lemB.2.size",
        experiment=TICKET_TAILS,
        evaluate=_first_dimension,
        satisfied=examples(*_first(96.1, 220.0)),
        violated=examples(*_first(57.0, 130.0)),
        controls=(
            Control(
                name="the exponent alone",
                removes="formula",
                settings={"tail": "exponent"},
                why="Without the factor 1/(s sqrt(2 pi)) of a Gaussian tail winners are far more frequent.",
            ),
        ),
        reading="All d features have a sure winner with probability 1 - d^-3 if each expects 4 log d of "
        "them; by exact tails, once more by the leading term of the closed form.",
    ),
)
