"""Checks of the corollary: every net of the ball at once, and trained nets in the ball of the figures."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import mean
from typing import NamedTuple

from karat.papers.lazy.checks.made_up import trained_cell
from karat.papers.lazy.checks.powers import QUARTER
from karat.papers.lazy.checks.trained import NO_TRAINING, TrainedRun
from karat.papers.lazy.checks.window import one_C4, width_conditions
from karat.papers.lazy.experiments.adversarial import BRACKET
from karat.papers.lazy.experiments.adversarial_training import (
    AdversarialTrainingConfig,
    Enclosure,
)
from karat.papers.lazy.experiments.every_net import (
    EVERY_NET,
    NARROW,
    EveryNetConfig,
    EveryNetResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import ACCURACY, ERROR, Finding
from karat.study.hypothesis import Condition, at_least, at_most, is_so
from karat.study.judging import Undecided, all_of, bound, noted, rate, share
from karat.study.run import Run, examples, grouped

EveryNetRun = Run[EveryNetConfig, EveryNetResult]

LEAST_ERROR = 0.9
"""Robust error that the corollary grants to every net of the ball."""

RIGHT = 0.9
"""Clean accuracy of a trained net: less is no learning, and robust errors of such nets say nothing."""

P_FAIL = 0.05
"""Of Theorem 3.1 at a fixed x; the corollary then holds with probability 1 - 10 p_fail = 1/2."""


class Ball(NamedTuple):
    """A ball, and the one constant that is asked of it at all dimensions.

    Args:
        C0: radius times sqrt m.
        c: attack radius times sqrt d; large d need C0/sqrt 2 + 1.64 at this p_fail.
    """

    C0: float
    c: float


SMALL = Ball(1.0, 4.0)
FIGURES = Ball(10.0, 13.0)

LARGE_D = 300
"""3 C0^2 in the ball of the figures."""


def _every_net(runs: Sequence[EveryNetRun]) -> Finding:
    """Share of starts whose smallest ball one point defeats as a whole, at every dimension.

    Reading: one constant c must do for all dimensions.
    """
    return _defeated(runs, min(C0 for run in runs for C0 in run.config.C0), SMALL.c)


def _every_net_of_figures(runs: Sequence[EveryNetRun]) -> Finding:
    """The same for the largest ball, at the dimensions that are large against it."""
    large = [run for run in runs if run.config.d >= LARGE_D]
    if not large:
        raise Undecided(f"no dimension is as large as 3 C0^2 = {LARGE_D:g}.")
    finding = _defeated(large, max(C0 for run in large for C0 in run.config.C0), FIGURES.c)
    small = sorted({run.config.d for run in runs} - {run.config.d for run in large})
    left_out = f"Below {LARGE_D} and left out: d = {', '.join(map(str, small))}." if small else ""
    return noted(finding, left_out) if left_out else finding


def _defeated(runs: Sequence[EveryNetRun], C0: float, c: float) -> Finding:
    """Share of starts whose ball one point within c/sqrt d defeats, dimension by dimension.

    Reading: only a robust net of the ball refutes the statement. A start whose ball this one point does not
        defeat shows no such net, for another point may defeat it.
    """
    cells_of = grouped([run for run in runs if C0 in run.config.C0], lambda run: run.config.d)
    defeated, without_robust = [], []
    for d, cells in sorted(cells_of.items()):
        radii = [radius for run in cells for radius in radii_of(run, C0)]
        robust = [flag for run in cells for flag in run.result.robust[run.config.C0.index(C0)]]
        within = sum(radius <= c / math.sqrt(d) for radius in radii)
        shown = (
            f"d = {d}, tau = {c / math.sqrt(d):.2f}: of {len(radii)} starts {within} defeated by one point, "
            f"{sum(robust)} with a robust net."
        )
        defeated.append(noted(share(within, len(radii), "at least", 1 - P_FAIL), shown))
        without = len(robust) - sum(robust)
        without_robust.append(noted(share(without, len(robust), "at least", 1 - P_FAIL), shown))
    refuted, shown_for_all = all_of(*without_robust), all_of(*defeated)
    if refuted.outcome != "fails" and shown_for_all.outcome == "fails":
        raise Undecided(
            f"one point defeats too few balls, and no robust net is known: {shown_for_all.caveat}"
        )
    widths = one_C4((run.config.d, run.config.m) for cells in cells_of.values() for run in cells)
    return noted(
        refuted if refuted.outcome == "fails" else shown_for_all,
        f"C0 = {C0:g}, radius {c:g}/sqrt d. {widths}",
    )


def radii_of(run: EveryNetRun, C0: float) -> list[float]:
    """Return the radius at which each start's ball is defeated.

    Args:
        run: that knows this ball.
        C0: radius of the ball times sqrt m.
    """
    return run.result.radius[run.config.C0.index(C0)]


def quantile(run: EveryNetRun, C0: float) -> float:
    """Return the radius at which nine of ten starts have lost their whole ball.

    Args:
        run: that knows this ball.
        C0: radius of the ball times sqrt m.
    """
    return sorted(radii_of(run, C0))[math.ceil(LEAST_ERROR * run.config.draws) - 1]


def _rate(runs: Sequence[EveryNetRun]) -> Finding:
    """Exponent of the radius at which nine of ten starts have lost their whole ball."""
    C0 = min(C0 for run in runs for C0 in run.config.C0)
    d, table = curves(runs, lambda run: run.config.d, lambda run: quantile(run, C0))
    last = math.sqrt(d[-1]) * mean(row[-1] for row in table)
    finding = rate(d, table, -0.5, QUARTER)
    return noted(finding, f"m = {runs[0].config.m}; at d = {d[-1]:g} the radius is {last:.3g}/sqrt d.")


def _every_net_conditions(config: EveryNetConfig) -> Sequence[Condition]:
    ball = at_most("C0 <= 1, for a larger ball needs a larger c than 4", min(config.C0), SMALL.C0)
    return [*width_conditions(config.d, config.m, P_FAIL), ball]


def _conditions_of_figures(config: EveryNetConfig) -> Sequence[Condition]:
    C0 = max(config.C0)
    return [
        *width_conditions(config.d, config.m, P_FAIL),
        is_so("C0 = 10, the ball of the figures", C0 == FIGURES.C0),
        at_least("d >= 3 C0^2", config.d, 3 * C0**2),
    ]


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
        clean = bound([run.result.clean_accuracy for run in cells], "at least", RIGHT, ACCURACY)
        if clean.leaning != "holds":
            raise Undecided(f"d = {d}: trained nets are wrong without any attack, clean accuracy {clean}.")
        error = noted(
            bound(attacked, "at least", LEAST_ERROR, ERROR),
            f"d = {d}, radius {c:g}/sqrt d = {c / math.sqrt(d):.2f}: clean accuracy {clean}.",
        )
        findings += [error, clean]
    return all_of(*findings)


def _example(*, c: float, robust: bool = False) -> list[tuple[EveryNetConfig, EveryNetResult]]:
    """Starts that lose both balls at c/sqrt d, or balls with a robust net."""
    cells = []
    for d in (324, 400, 784):
        config = EveryNetConfig(d=d, m=math.ceil(d**2.4), draws=100)
        result = EveryNetResult(radius=[[c / math.sqrt(d)] * 100] * 2, robust=[[robust] * 100] * 2)
        cells.append((config, result))
    return cells


def _narrow(power: float) -> list[tuple[EveryNetConfig, EveryNetResult]]:
    """Radii that follow a power of d."""
    sizes = [EveryNetConfig(d=d, m=4000, C0=(1.0,), draws=10) for d in (100, 10_000, 10**6)]
    return [
        (config, EveryNetResult(radius=[[2 * config.d**power] * 10], robust=[[False] * 10]))
        for config in sizes
    ]


_LARGE = {"d": 324, "m": 1_060_006, "draws": 10}
_CHEAP = {"d": 64, "m": 21_619, "draws": 40}
_FIGURE = AdversarialTrainingConfig(side=28, c=7.1)
_NO_BALL = Control(
    name="no ball",
    removes="ball",
    settings={"C0": (1e9,)},
    cheap=_CHEAP,
    why="Rows that may move so far reach a net that is robust: all of them short and along x.",
)
_SHORT_ROWS = Control(
    name="short rows",
    removes="structure",
    settings={"rows": "unit"},
    cheap=_CHEAP,
    why="A start whose gradient does not grow with d has nothing that a short step could use.",
    unanswered=True,
)
_CERTIFICATE = (
    "At the point opposite to the start's gradient the supremum of the margin over the ball is exact, and "
    "where it is not positive no net of the ball is robust. Gaussian starts in law: (W0, x) seen in the "
    "plane of x and its gradient. A start that this point does not defeat leaves the statement open, for "
    "another point may defeat it. What refutes it is a robust net of the ball; one is known where the ball "
    "reaches the net whose rows are all short and along x. "
)

CHECKS = (
    Check(
        claim_id="lazy.cor3.2",
        experiment=EVERY_NET,
        evaluate=_every_net,
        conditions=_every_net_conditions,
        satisfied=examples(*_example(c=2.0)),
        violated=examples(*_example(c=math.inf, robust=True)),
        controls=(
            _NO_BALL,
            Control(
                name="a ball ten times larger",
                removes="ball",
                settings={"C0": (10.0,)},
                cheap=_CHEAP,
                why="At d = 64 rows of this ball can cancel the gradient sqrt(d/2) of the start.",
                unanswered=True,
            ),
            _SHORT_ROWS,
        ),
        reading=_CERTIFICATE
        + "What is judged is the probability over W0 at one fixed x, against 1 - p_fail with "
        "p_fail = 0.05. All x of the sphere are alike and so are both labels; so the expected robust error "
        "of the best net of the ball is at least 1 - p_fail on any distribution, and by Markov's inequality "
        "it is at least 0.9 with probability 1 - 10 p_fail. C0 = 1, one constant c = 4 for all d.",
        headline=True,
    ),
    Check(
        claim_id="lazy.cor3.2.figures.every",
        experiment=EVERY_NET,
        evaluate=_every_net_of_figures,
        conditions=_conditions_of_figures,
        satisfied=examples(*_example(c=9.0)),
        violated=examples(*_example(c=math.inf, robust=True)),
        controls=(
            replace(_NO_BALL, cheap=_LARGE),
            Control(
                name="a ball three times larger",
                removes="ball",
                settings={"C0": (30.0,)},
                cheap=_LARGE,
                why="At d = 324 rows of this ball can cancel the gradient sqrt(d/2) of the start.",
                unanswered=True,
            ),
            replace(_SHORT_ROWS, cheap=_LARGE),
        ),
        reading=_CERTIFICATE
        + "C0 = 10, c = 13 for all d >= 3 C0^2, p_fail = 0.05. In wide nets of large d this point needs c = "
        "C0/sqrt 2 + 1.64, and below about d = 2 C0^2 it defeats the ball at no radius; of other points that "
        "says nothing.",
    ),
    Check(
        claim_id="lazy.cor3.2.rate",
        experiment=NARROW,
        evaluate=_rate,
        satisfied=examples(*_narrow(-0.5)),
        violated=examples(*_narrow(-0.25)),
        controls=(
            Control(
                name="short rows",
                removes="structure",
                settings={"rows": "unit", "C0": (0.3,)},
                cheap={"m": 500},
                why="A start whose gradient does not grow with d needs one step at all d to outdo C0/2.",
                seeds=3,
            ),
        ),
        reading=_CERTIFICATE
        + "One width for all d, far below d^2.4, on purpose: this asks what the width is needed "
        "for.",
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
            replace(
                NO_TRAINING,
                cheap={"side": 28, "c": 7.1, "n_test": 60, "certified": 0},
                why="Untrained nets are wrong without any attack, and no attack is needed.",
                seeds=3,
                unanswered=True,
            ),
        ),
        reading="Radius C0/sqrt(2 d) = 7.1/sqrt d, the sharp constant at C0 = 10. The nets are those of "
        "projected adversarial training at this radius; what PGD breaks is a lower bound on the error. Their "
        "clean accuracy must be at least 0.9.",
    ),
)
