"""Checks of the flip experiments: powers of d, and growth with C0."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from karat.papers.lazy.checks.made_up import flip_runs
from karat.papers.lazy.checks.powers import LARGE_D, QUARTER
from karat.papers.lazy.experiments.flip_length import (
    FIG2,
    FIG5,
    PADDING,
    FlipLengthResult,
    Quantity,
)
from karat.papers.lazy.experiments.lazy_training import LazyTrainingConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import Finding, Unit
from karat.study.judging import Undecided, all_of, bound, noted, rate
from karat.study.run import Run, grouped

FlipRun = Run[LazyTrainingConfig, FlipLengthResult]

POWERS: dict[Quantity, float] = {"perturbation": -0.5, "gradient": 0.5, "step": -1.0}

FIGURE_BALL = 10.0
"""C0 of the figures that vary the width."""

GROWTH = Unit("octaves")


def at_ball(quantity: Quantity, C0: float) -> Callable[[FlipRun], float]:
    """Return how a run is asked for a quantity of the last net inside the ball C0.

    Args:
        quantity: flip length, gradient or step.
        C0: one of the balls that the run measured.
    """
    return lambda run: run.result.means(quantity)[run.result.C0.index(C0)]


def _left(runs: Sequence[FlipRun], C0: float) -> list[FlipRun]:
    """The runs of dimensions at which every net left the ball: a net that did not shows a budget, no ball."""
    measured = [run for run in runs if C0 in run.config.C0]
    inside = {run.config.d for run in measured if not run.result.left[run.result.C0.index(C0)]}
    return [run for run in measured if run.config.d not in inside]


def _exponent(runs: Sequence[FlipRun], quantity: Quantity, C0: float) -> Finding:
    """One power of d, over all d at which the ball was left; from d = 100 on it is told beside it."""
    exits = _left(runs, C0)
    if not exits:
        raise Undecided(f"at no dimension did every net leave the ball C0 = {C0:g}.")
    d, table = curves(exits, lambda run: run.config.d, at_ball(quantity, C0))
    finding = rate(d, table, POWERS[quantity], QUARTER)
    dimensions = len({run.config.d for run in runs if C0 in run.config.C0})
    large = _from_large(d, table, POWERS[quantity])
    return noted(
        finding,
        f"{quantity} at C0 = {C0:g}, m = {runs[0].config.m}: exponent {finding} over {len(d)} of "
        f"{dimensions} dimensions, those whose nets all left the ball{large}.",
    )


def _from_large(d: Sequence[float], table: Sequence[Sequence[float]], power: float) -> str:
    """The exponent of the larger dimensions alone, if they are enough for one."""
    large = [index for index, size in enumerate(d) if size >= LARGE_D]
    if len(large) < 3:
        return ""
    rows = [[row[index] for index in large] for row in table]
    return f", {rate([d[index] for index in large], rows, power, QUARTER)} for d >= {LARGE_D}"


def _powers(runs: Sequence[FlipRun], balls: Sequence[float]) -> Finding:
    """All three powers in every ball."""
    return all_of(*(_exponent(runs, quantity, C0) for C0 in balls for quantity in POWERS))


def balls_of(runs: Sequence[FlipRun]) -> list[float]:
    """Return the balls that were measured, increasing."""
    return sorted({C0 for run in runs for C0 in run.config.C0})


def figure_ball(balls: Sequence[float]) -> float:
    """Return the ball of the figures, or the smallest of a run that lacks it."""
    return FIGURE_BALL if FIGURE_BALL in balls else balls[0]


def _by_width(runs: Sequence[FlipRun]) -> Finding:
    """The ball of the figures, at every width that was run."""
    ball = figure_ball(balls_of(runs))
    by_width = sorted(grouped(runs, lambda run: run.config.m).items())
    return all_of(*(_powers(of_width, [ball]) for _, of_width in by_width))


def _narrowest(runs: Sequence[FlipRun]) -> list[FlipRun]:
    """Wider nets are run in the ball of the figures alone: only the narrowest show how C0 matters."""
    m = min(run.config.m for run in runs)
    return [run for run in runs if run.config.m == m]


def _by_ball(runs: Sequence[FlipRun]) -> Finding:
    """The larger balls at the smallest width."""
    narrow = _narrowest(runs)
    balls = balls_of(narrow)
    return _powers(narrow, [C0 for C0 in balls if C0 > FIGURE_BALL] or balls[-1:])


def _by_ball_and_growth(runs: Sequence[FlipRun]) -> Finding:
    """The larger balls, and whether a larger ball means a longer flip."""
    return all_of(_by_ball(runs), _grows(_narrowest(runs), "perturbation"))


def _grows(runs: Sequence[FlipRun], quantity: Quantity) -> Finding:
    """Octaves from the smallest to the largest ball that a net left, mean over the nets of a seed."""
    by_seed, spans = [], set()
    for _, of_seed in sorted(grouped(runs, lambda run: run.seed).items()):
        growth = []
        for run in of_seed:
            left = [at for at, gone in enumerate(run.result.left) if gone]
            if len(left) > 1:
                values, balls = run.result.means(quantity), run.result.C0
                growth.append(math.log2(values[left[-1]] / values[left[0]]))
                spans.add((balls[left[0]], balls[left[-1]]))
        if growth:
            by_seed.append(sum(growth) / len(growth))
    if not by_seed:
        raise Undecided("no net left two balls, so that no growth with C0 was seen.")
    between = ", ".join(f"{low:g} to {high:g}" for low, high in sorted(spans))
    finding = bound(by_seed, "at least", 0.0, GROWTH)
    return noted(finding, f"{quantity} grows by {finding} octaves (C0 = {between}).")


def _growth(runs: Sequence[FlipRun]) -> Finding:
    """Gradient AND step grow with the ball."""
    several = [run for run in runs if len(run.config.C0) > 1]
    return all_of(_grows(several, "gradient"), _grows(several, "step"))


def _padding(runs: Sequence[FlipRun]) -> Finding:
    """The flip's power of d when only the network's d grows; gradient and step are told beside it."""
    C0 = balls_of(runs)[0]
    flip, *others = [_exponent(runs, quantity, C0) for quantity in POWERS]
    return noted(flip, *(other.notes[-1] for other in others))


_READING = (
    "Exact smallest flip along the gradient, averaged over test images; the last net inside the ball, at "
    "dimensions where every net left it. Exponents over all d of the figure."
)
_REPORTED = "flip ~ d^(-1/2), gradient ~ d^(1/2), step ~ d^(-1)"

# Small nets that leave their ball soon.
CHEAP: Mapping[str, Any] = {"m": 200, "n_test": 60, "max_steps": 400, "C0": (10.0,)}


def _short_rows(**cheap: Any) -> Control:
    return Control(
        name="short rows",
        removes="structure",
        settings={"rows": "unit"},
        cheap={**CHEAP, **cheap},
        why="A start whose rows have length 1 at every d has a gradient of order 1.",
        seeds=3,
    )


NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"lr": 1e-9, "max_steps": 1},
    cheap=CHEAP,
    why="An untrained net errs on half of the images and never leaves its ball.",
)
_NEVER_LEFT = replace(
    NO_TRAINING,
    cheap={**CHEAP, "C0": (2.0, 4.0)},
    why="An untrained net leaves no ball: there are no two balls between which anything could grow.",
    unanswered=True,
)

CHECKS = (
    Check(
        claim_id="lazy.fig5",
        experiment=FIG5,
        evaluate=_by_width,
        satisfied=flip_runs(),
        violated=flip_runs((0.0, 0.5, -1.0)),
        controls=(_short_rows(m=2000, C0=(5.0,)),),
        reported=_REPORTED,
        reading=_READING,
        headline=True,
    ),
    Check(
        claim_id="lazy.fig6",
        experiment=FIG5,
        evaluate=_by_ball,
        satisfied=flip_runs(),
        violated=flip_runs((-0.5, 0.5, 0.0)),
        controls=(_short_rows(m=2000, C0=(5.0,)),),
        reported=_REPORTED,
        reading=_READING
        + " C0 above 10 at the smallest width (the paper: m = 1e5; the widths of fig5 are at C0 = 10).",
    ),
    Check(
        claim_id="lazy.fig2",
        experiment=FIG2,
        evaluate=_by_width,
        satisfied=flip_runs(),
        violated=flip_runs((-0.5, 0.0, -1.0)),
        controls=(_short_rows(C0=(1.0, 2.0)),),
        reported="flip/|x| ~ d^(-1/2), gradient ~ d^(1/2), step ~ d^(-1)",
        reading=_READING + " Raw pixels with a first-layer bias, drawn and trained like a weight.",
    ),
    Check(
        claim_id="lazy.fig3",
        experiment=FIG2,
        evaluate=_by_ball_and_growth,
        satisfied=flip_runs(),
        violated=flip_runs(growth=0.9),
        controls=(_short_rows(C0=(1.0, 2.0)),),
        reported="flip/|x| ~ d^(-1/2), gradient ~ d^(1/2), step ~ d^(-1)",
        reading=_READING,
    ),
    Check(
        claim_id="lazy.sec5.1.growth",
        experiment=FIG2,
        evaluate=_growth,
        satisfied=flip_runs(growth=1.2),
        violated=flip_runs(growth=0.9),
        controls=(_NEVER_LEFT,),
        reported="both increase",
        reading="From the smallest to the largest ball that a net left, in the logarithm, averaged over the "
        "nets of a seed.",
    ),
    Check(
        claim_id="lazy.sec3.data",
        experiment=PADDING,
        evaluate=_padding,
        satisfied=flip_runs(),
        violated=flip_runs((0.0, 0.5, -1.0)),
        controls=(_short_rows(),),
        reading="Digits averaged to a small side and padded with zeros, so that the data stay the same; the "
        "flip in the smallest ball. If the power were the data's the exponent would be 0.",
    ),
)
