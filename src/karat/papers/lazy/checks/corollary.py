"""Checks of the corollary: every net of the ball at once, and trained nets in the ball of the figures."""

import math
from collections.abc import Sequence

from karat.papers.lazy.checks.made_up import trained_cell
from karat.papers.lazy.checks.trained import TrainedRun
from karat.papers.lazy.checks.window import width_conditions
from karat.papers.lazy.experiments.adversarial import BRACKET
from karat.papers.lazy.experiments.adversarial_training import (
    AdversarialTrainingConfig,
    Enclosure,
)
from karat.papers.lazy.experiments.every_net import EVERY_NET, EveryNetConfig, EveryNetResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import ERROR, Finding
from karat.study.hypothesis import Condition
from karat.study.judging import Undecided, all_of, bound, noted, share
from karat.study.run import Run, examples, grouped

EveryNetRun = Run[EveryNetConfig, EveryNetResult]

LEAST_ERROR = 0.9
"""Robust error that the corollary grants to every net of the ball."""

P_FAIL = 0.01
"""The corollary holds with probability 1 - 10 p_fail, which says nothing from 0.1 on."""


def _every_net(runs: Sequence[EveryNetRun]) -> Finding:
    """Share of starts whose whole ball has robust error >= 0.9 at the largest radius, at every dimension.

    Reading: one constant c must do for all dimensions, and the largest of the run is tried.
    """
    c = max(radius for run in runs for radius in run.config.c)
    at_largest = grouped([run for run in runs if c in run.config.c], lambda run: run.config.d)
    findings = []
    for d, cells in sorted(at_largest.items()):
        errors = errors_by_radius(cells)[c]
        broken = sum(error >= LEAST_ERROR for error in errors)
        finding = share(broken, len(errors), "at least", 1 - 10 * P_FAIL)
        findings.append(noted(finding, f"d = {d}: {_by_radius(cells)}."))
    return all_of(*findings)


def errors_by_radius(cells: Sequence[EveryNetRun]) -> dict[float, list[float]]:
    """Return radius times sqrt d -> the robust errors of all starts, radii increasing.

    Args:
        cells: of one dimension.
    """
    errors: dict[float, list[float]] = {}
    for run in cells:
        for c, of_radius in zip(run.config.c, run.result.robust_error, strict=True):
            errors.setdefault(c, []).extend(of_radius)
    return dict(sorted(errors.items()))


def _by_radius(cells: Sequence[EveryNetRun]) -> str:
    """Over radii: the mean share of images at which no net of the ball is robust."""
    means = [
        f"{sum(errors) / len(errors):.2f} of the images at {c:g}/sqrt d"
        for c, errors in errors_by_radius(cells).items()
    ]
    return "no net of the ball is robust at " + ", ".join(means)


def _every_net_conditions(config: EveryNetConfig) -> Sequence[Condition]:
    return width_conditions(config.d, config.m, P_FAIL)


def enclosure(run: TrainedRun) -> Enclosure:
    """Return the two numbers between which the robust error lies.

    Args:
        run: of a net whose robust error was enclosed; `Undecided` if it was not.
    """
    if run.result.error is None:
        raise Undecided("no robust error was enclosed: the setting `certified` is 0.")
    return run.result.error


def _trained(runs: Sequence[TrainedRun]) -> Finding:
    """Attacked error of trained nets at the largest radius, dimension by dimension."""
    c = max(run.config.c for run in runs)
    at_largest = grouped([run for run in runs if run.config.c == c], lambda run: run.config.d)
    findings = []
    for d, cells in sorted(at_largest.items()):
        # What an attack breaks is broken: a lower bound on the robust error.
        attacked = [1 - run.result.robust_accuracy for run in cells]
        clean = sum(run.result.clean_accuracy for run in cells) / len(cells)
        findings.append(
            noted(
                bound(attacked, "at least", LEAST_ERROR, ERROR),
                f"d = {d}, radius {c:g}/sqrt d = {c / math.sqrt(d):.2f}: clean accuracy {clean:.2f}.",
            )
        )
    return all_of(*findings)


def _example(*, error: float) -> list[tuple[EveryNetConfig, EveryNetResult]]:
    return [
        (EveryNetConfig(side=side, m=math.ceil(side**4.8)), EveryNetResult(robust_error=[[error] * 30] * 3))
        for side in (6, 7, 8)
    ]


_CHEAP = {"side": 6, "m": 5432, "draws": 10}
_FIGURE = AdversarialTrainingConfig(side=28, c=7.1)

CHECKS = (
    Check(
        claim_id="lazy.cor3.2",
        experiment=EVERY_NET,
        evaluate=_every_net,
        conditions=_every_net_conditions,
        satisfied=examples(*_example(error=0.98)),
        violated=examples(*_example(error=0.5)),
        controls=(
            Control(
                name="no ball",
                removes="ball",
                settings={"C0": math.inf},
                cheap=_CHEAP,
                why="Rows that may move anywhere can be robust at any point.",
            ),
            Control(
                name="a ball ten times larger",
                removes="ball",
                settings={"C0": 10.0},
                cheap=_CHEAP,
                why="At d = 36 rows of this ball can cancel the gradient sqrt(d/2) of the start.",
            ),
            Control(
                name="short rows",
                removes="structure",
                settings={"rows": "unit"},
                cheap=_CHEAP,
                why="A start whose gradient does not grow with d has nothing that a short step could use.",
            ),
        ),
        reading="For every W at once: at the point opposite to the start's gradient the supremum of the "
        "margin over the ball is exact, and where it is not positive no net of the ball is robust. C0 = 1, "
        "one constant c = 4 for all d, digits 0 and 1; a start counts if 90 % of the images are broken so.",
        headline=True,
    ),
    Check(
        claim_id="lazy.cor3.2.figures",
        experiment=BRACKET,
        evaluate=_trained,
        satisfied=examples(trained_cell(_FIGURE, accuracy=0.02)),
        violated=examples(trained_cell(_FIGURE, accuracy=0.6)),
        controls=(
            Control(
                name="no ball",
                removes="ball",
                settings={"C0": math.inf},
                cheap={"side": 28, "c": 7.1, "epochs": 24, "certified": 0},
                why="Without the projection the same training finds robust nets at this radius.",
            ),
        ),
        reading="Radius C0/sqrt(2 d) = 7.1/sqrt d, the sharp constant at C0 = 10. The nets are those of "
        "projected adversarial training at this radius; what PGD breaks is a lower bound on the error.",
    ),
)
