"""Checks on the net of clean training: it learns features, with mixtures that make it fragile."""

from collections.abc import Sequence
from typing import Any

from karat.papers.purification.checks.controls import NO_TRAINING
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    data_conditions,
    each,
    largest_standard,
    mean,
)
from karat.papers.purification.experiments.l2 import L2, TwoTrainingsResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.check import Check
from karat.study.finding import Finding, Unit
from karat.study.judging import bound, noted
from karat.study.run import Run, examples

TwoTrainings = Sequence[Run[OddNetConfig, TwoTrainingsResult]]


LOST = Unit("share of inputs lost", -1.0, 1.0)


def _universal(every: TwoTrainings) -> Finding:
    """The share of inputs that the move along -y M w* costs the clean net."""
    runs = largest_standard(every)
    lost = bound(each(runs, lambda r: r.clean.accuracy - r.clean.universal), "at least", 0.5, LOST)
    return noted(
        lost,
        f"Accuracy {mean(runs, lambda r: r.clean.accuracy):.2f} without the move, "
        f"{mean(runs, lambda r: r.clean.universal):.2f} with it, "
        f"{mean(runs, lambda r: r.clean.universal_far):.2f} at 1.5 tau.",
    )


def _cells(
    clean: dict[str, Any], power: float = 0.0, **values: Any
) -> list[tuple[OddNetConfig, TwoTrainingsResult]]:
    """Three sizes: numbers named in `clean` are multiplied by d^power."""
    cells = []
    for d, k in ((50, 7), (100, 9), (200, 14)):
        scaled = {name: value * d**power for name, value in clean.items()}
        cells.append((OddNetConfig(d=d, k=k), made_up(TwoTrainingsResult, clean=scaled, **values)))
    return cells


CHECKS = (
    Check(
        claim_id="purification.sec6.universal",
        experiment=L2,
        evaluate=_universal,
        conditions=data_conditions,
        satisfied=examples(*_cells({"accuracy": 0.95, "universal": 0.2})),
        violated=examples(*_cells({"accuracy": 0.3, "universal": 0.1})),
        controls=(NO_TRAINING,),
        reading="'A lot' is read as: half of all inputs, right before, are wrong after the move by -tau y M "
        "w*/|M w*|_2; the printed f(x - delta) would carry the sign twice.",
        headline=True,
    ),
)
