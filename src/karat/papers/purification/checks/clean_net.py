"""Checks on the net of clean training: it learns features, with mixtures that make it fragile."""

from collections.abc import Sequence
from typing import Any

from karat.papers.purification.checks.controls import NO_TRAINING
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    ONE_SIZE,
    SMALL,
    clean_conditions,
    data_conditions,
    each,
    fragile_conditions,
    largest_standard,
    mean,
    vanishes,
)
from karat.papers.purification.experiments.l2 import L2, TwoTrainingsResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.check import Check
from karat.study.finding import ERROR, Finding, Unit
from karat.study.judging import all_of, bound, noted
from karat.study.run import Run, examples

TwoTrainings = Sequence[Run[OddNetConfig, TwoTrainingsResult]]


LOST = Unit("share of inputs lost", -1.0, 1.0)


def _clean_error(every: TwoTrainings) -> Finding:
    """The clean error, o(1); the pure net shows which part of it no training can remove."""
    best = 1 - mean(largest_standard(every), lambda r: r.pure.accuracy)
    return noted(
        vanishes(every, lambda r: 1 - r.clean.accuracy, ERROR),
        f"The pure net itself errs on {best:.3f}.",
    )


def _falls_along_the_universal_direction(every: TwoTrainings) -> Finding:
    """Errors on moved inputs of a net that is right on natural ones."""
    runs = largest_standard(every)
    moved = each(runs, lambda r: 1 - r.clean.universal)
    return noted(
        all_of(
            bound(moved, "at least", 1 - SMALL, ERROR),
            bound(each(runs, lambda r: 1 - r.clean.accuracy), "at most", SMALL, ERROR),
        ),
        f"At 1.5 tau the error is {1 - mean(runs, lambda r: r.clean.universal_far):.2f}, without the move "
        f"{1 - mean(runs, lambda r: r.clean.accuracy):.2f}.",
    )


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
    Check(
        claim_id="purification.thm5.1b",
        experiment=L2,
        evaluate=_clean_error,
        conditions=clean_conditions,
        satisfied=examples(*_cells({"accuracy": 0.95})[-1:]),
        violated=examples(*_cells({"accuracy": 0.6})),
        controls=(NO_TRAINING,),
        reading="Error of sign(E_rho f), which is deterministic; Thm 5.1 draws rho. sign(0) = +1 as printed: "
        f"a net that sleeps on an input predicts +1, here and under attack. {ONE_SIZE}",
    ),
    Check(
        claim_id="purification.thm5.1c",
        experiment=L2,
        evaluate=_falls_along_the_universal_direction,
        conditions=fragile_conditions,
        satisfied=examples(*_cells({"accuracy": 0.95, "universal": 0.05})),
        violated=examples(*_cells({"accuracy": 0.95, "universal": 0.5})),
        controls=(NO_TRAINING,),
        reading=f"f != y is read as sign(f) != y, 1 - o(1) as at least {1 - SMALL:g} at the largest d, of a "
        "net that errs on at most a quarter without the move, part (b) of the same theorem.",
    ),
)
