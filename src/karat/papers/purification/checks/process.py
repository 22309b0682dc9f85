"""Checks on clean training from pure features at small d."""

from collections.abc import Sequence

import numpy as np

from karat.papers.purification.checks.controls import CHEAP
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    FACTOR,
    data_conditions,
    each,
    largest_standard,
)
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.pureinit import PUREINIT, PureInitResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, SHARE, Finding
from karat.study.judging import all_of, bound, noted
from karat.study.run import Run, examples


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


def _pure_cell(ratio: float) -> tuple[OddNetConfig, PureInitResult]:
    clean = {"ratio": [0.0, ratio], "aligned": [0.5, 0.95], "pgd": [0.8, 0.2]}
    result = made_up(PureInitResult, predicted=0.02, clean=clean, robust={"pgd": [0.7]})
    return OddNetConfig(d=200, k=14, start="pure"), result


CHECKS = (
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
