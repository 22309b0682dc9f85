"""Checks of the ball of Theorem 5.1: runs that leave it, and what a larger one holds."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from karat.papers.convergence.bounds import curvature_constant, two_layer_steps, two_layer_width
from karat.papers.convergence.checks.regret import STILL, UPHILL
from karat.papers.convergence.checks.two_layer_runs import (
    EXAMPLE,
    GAP,
    MEASURED,
    START_LOSS,
    TwoLayerRun,
    assumptions,
    certified_optimum,
)
from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.descent import EXIT
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding
from karat.study.hypothesis import Condition, at_least, at_most, is_so
from karat.study.judging import Undecided, all_of, exact_bound, noted, vacuous_if
from karat.study.run import by_setting, examples, grouped


def _hypotheses(config: TwoLayerConfig) -> list[Condition]:
    """Those of Theorem 5.1, with the proof's own c in the time; other hidden constants read as 1."""
    c = _constant(config)
    return [
        at_least("m >= R^4/tol^2", config.m, two_layer_width(config.R, config.tol)),
        at_most("lr <= tol", config.lr, config.tol),
        at_least("steps >= sqrt(m)/(c lr)", config.steps, two_layer_steps(config.m, config.lr) / c),
        at_most("S_T <= 4, so that R^2 - 4 R^2/S_T <= 0", _growth(config), 4.0),
        *assumptions(config),
        is_so("Asm 5.3: |phi'| <= 1", config.activation != "quadratic_relu"),
    ]


def _constant(config: TwoLayerConfig) -> float:
    return curvature_constant(SLOPE_LIPSCHITZ.get(config.activation, math.inf))


def _growth(config: TwoLayerConfig) -> float:
    r""":math:`S_T = (1 + c \alpha/\sqrt{m})^T`, infinite beyond the range of numbers."""
    exponent = config.steps * math.log1p(_constant(config) * config.lr / math.sqrt(config.m))
    return math.exp(exponent) if exponent < 700 else math.inf


def _exit(runs: Sequence[TwoLayerRun]) -> Finding:
    """The loss met inside B(3R) against the target, for runs that leave and for runs that stay."""
    settings = by_setting(_smooth(runs))
    if not settings:
        raise Undecided("no unprojected run has a smooth activation")
    finding = all_of(*map(_met_inside, settings))
    left = sum(run.result.left_triple is not None for cells in settings for run in cells)
    total = sum(map(len, settings))
    if finding.outcome == "holds" and left in (0, total):
        raise Undecided("only one of the two cases was seen")
    worst = max(_gap(run) for cells in settings for run in cells)
    return noted(
        finding, f"{left} of {total} runs leave B(3R), {total - left} stay; the largest gap is {worst:.3f}."
    )


def _smooth(runs: Sequence[TwoLayerRun]) -> list[TwoLayerRun]:
    return [run for run in runs if not run.config.projected and run.config.activation in SLOPE_LIPSCHITZ]


def _met_inside(cells: Sequence[TwoLayerRun]) -> Finding:
    tol = cells[0].config.tol
    start_gap = min(START_LOSS - run.result.target_loss for run in cells)
    why = "losses of one run and a certified reference"
    finding = exact_bound([_gap(run) for run in cells], "at most", tol, GAP, why)
    return vacuous_if(start_gap <= tol, f"a start is itself within {start_gap:.3f} of the target.", finding)


def _gap(run: TwoLayerRun) -> float:
    return run.result.loss_before_exit - certified_optimum(run)


def _larger(runs: Sequence[TwoLayerRun]) -> Finding:
    """Best robust losses of balls, next to each other: a net of the larger one below all of the smaller."""
    differences = []
    for same in grouped(_smooth(runs), lambda run: (run.seed, run.config.attack)).values():
        by_radius = sorted(same, key=lambda run: run.config.R)
        differences += [
            larger.result.target_loss - certified_optimum(smaller) for smaller, larger in pairwise(by_radius)
        ]
    if not differences:
        raise Undecided("no two runs of a seed have different radii")
    return noted(
        exact_bound(
            differences, "at most", 0.0, GAP, "a net of the larger ball, a certificate for the smaller"
        ),
        "Robust loss of a net of the larger ball less a lower bound for all nets of the smaller one.",
    )


_STAYED = (replace(EXAMPLE, lr=0.05, steps=1005), MEASURED)
_LEFT = (_STAYED[0], replace(MEASURED, left_triple=50))
_SMALL, _LARGE = replace(EXAMPLE, R=0.5), replace(EXAMPLE, R=1.0)

CHECKS = (
    Check(
        claim_id="convergence.thm5.1.exit",
        experiment=EXIT,
        evaluate=_exit,
        conditions=_hypotheses,
        satisfied=examples(_LEFT, _STAYED),
        violated=examples((_STAYED[0], replace(_LEFT[1], loss_before_exit=0.4)), _STAYED),
        controls=(UPHILL, STILL),
        reading="Run by run. Both cases of the proof demand the target: before a run leaves B(3R), and until "
        "the last step of one that stays. L_*(W_*) from below: the certified minimum of the linearised "
        "problem less C R^2/(2 sqrt m).",
    ),
    Check(
        claim_id="convergence.thm4.1.radius",
        experiment=EXIT,
        evaluate=_larger,
        satisfied=examples((_SMALL, MEASURED), (_LARGE, replace(MEASURED, target_loss=0.1))),
        violated=examples((_SMALL, MEASURED), (_LARGE, MEASURED)),
        controls=(
            Control(
                name="narrow net",
                removes="certificate",
                settings={"m": 4},
                cheap={"attack": "worst", "steps": 1},
                why="at width 4 a net may differ from its linearisation by more than any radius gains",
            ),
        ),
        reading="Two-layer nets in Frobenius balls, where every net of the smaller ball has a certified "
        "loss.",
    ),
)
