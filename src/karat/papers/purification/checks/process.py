"""Checks on how training gets there: the mixture law and pure starts."""

from collections.abc import Sequence

import numpy as np

from karat.papers.purification.checks.controls import CHEAP
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    FACTOR,
    data_conditions,
    each,
    halfway,
    largest_standard,
    mean,
)
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.pureinit import PUREINIT, PureInitResult
from karat.papers.purification.experiments.scaling import SCALING, ScalingResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import RATIO, SHARE, Finding
from karat.study.judging import Undecided, all_of, bound, noted, rate
from karat.study.run import Run, examples

ScalingRuns = Sequence[Run[OddNetConfig, ScalingResult]]


def _law(every: ScalingRuns) -> Finding:
    """The exponent of beta/alpha in k/d over all cells."""
    x, table = curves(every, lambda run: run.config.k / run.config.d, lambda run: run.result.ratio)
    if not table:
        raise Undecided("no seed has all cells")
    constants = [run.result.ratio / (run.config.k / run.config.d) for run in every]
    predicted = each(every, lambda r: r.ratio / r.predicted)
    return noted(
        rate(x, table, 1.0, halfway(0.5, "sqrt(k/d), the length of a random walk")),
        f"Over a factor {max(x) / min(x):.1f} of k/d the constant ranges from {min(constants):.3f} to "
        f"{max(constants):.3f}, in units of E|z|_0/d from {min(predicted):.2f} to {max(predicted):.2f}. A "
        f"share {mean(every, lambda r: r.aligned):.3f} of the coefficients has the sign of w*.",
    )


def _pure_start(every: Sequence[Run[OddNetConfig, PureInitResult]]) -> Finding:
    """From beta = 0: the mixture reached by clean training, in units of E|z|_0/d, and its signs."""
    runs = largest_standard(every)
    before, after, again = (
        np.mean(values)
        for values in (
            each(runs, lambda r: r.clean.pgd[0]),
            each(runs, lambda r: r.clean.pgd[-1]),
            each(runs, lambda r: r.robust.pgd[-1]),
        )
    )
    return noted(
        all_of(
            bound(each(runs, lambda r: r.clean.ratio[-1] / r.predicted), "at least", 1 / FACTOR, RATIO),
            bound(each(runs, lambda r: r.clean.aligned[-1]), "at least", 0.75, SHARE),
        ),
        f"In units of E|z|_0/d, after training from exactly 0. Accuracy under attack: {before:.3f} -> "
        f"{after:.3f}, and {again:.3f} after adversarial training.",
    )


def _law_cells(power: float) -> list[tuple[OddNetConfig, ScalingResult]]:
    return [
        (
            OddNetConfig(d=d, k=7, start="pure"),
            made_up(ScalingResult, ratio=0.1 * (7 / d) ** power, predicted=0.02, aligned=1.0),
        )
        for d in (50, 100, 200)
    ]


def _pure_cell(ratio: float) -> tuple[OddNetConfig, PureInitResult]:
    clean = {"ratio": [0.0, ratio], "aligned": [0.5, 0.95], "pgd": [0.8, 0.2]}
    result = made_up(PureInitResult, predicted=0.02, clean=clean, robust={"pgd": [0.7]})
    return OddNetConfig(d=200, k=14, start="pure"), result


_PURE_UNTRAINED = Control(
    name="no training",
    removes="training",
    settings={"clean_steps": 0},
    cheap=CHEAP,
    why="Pure features themselves have no mixture, and numbers that are all 0 follow no power law.",
    unanswered=True,
)

CHECKS = (
    Check(
        claim_id="purification.eq5.1",
        experiment=SCALING,
        evaluate=_law,
        conditions=data_conditions,
        satisfied=examples(*_law_cells(1.0)),
        violated=examples(*_law_cells(0.6)),
        controls=(_PURE_UNTRAINED,),
        headline=True,
        reading="From w = M; the exponent of beta/alpha in k/d, over d and k, nearer to 1 than to 1/2.",
    ),
    Check(
        claim_id="purification.sec6.pureinit",
        experiment=PUREINIT,
        evaluate=_pure_start,
        conditions=data_conditions,
        satisfied=examples(_pure_cell(0.018)),
        violated=examples(_pure_cell(0.004)),
        controls=(
            Control(
                name="no training",
                removes="training",
                settings={"clean_steps": 0, "robust_steps": 0},
                cheap={**CHEAP, "d": 100, "k": 9},
                why="Pure features themselves have no mixture.",
            ),
        ),
        headline=True,
        reading=f"Accumulates: at least 1/{FACTOR:g} of E|z|_0/d, with the sign of w* in three quarters of "
        "the coefficients, half-way from chance to all.",
    ),
)
