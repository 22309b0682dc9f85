"""Checks of training two-layer nets: gaps to the best robust loss nearby, and small losses."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.bounds import (
    corollary_steps,
    curvature_constant,
    regret_gap,
    two_layer_steps,
    two_layer_width,
)
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
from karat.papers.convergence.experiments.descent import COR51, THM51
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding
from karat.study.hypothesis import Condition, at_least, at_most
from karat.study.judging import (
    Undecided,
    all_of,
    every_setting,
    identity,
    noted,
    share,
    vacuous_if,
)
from karat.study.run import examples


def _theorem(config: TwoLayerConfig) -> list[Condition]:
    """Hypotheses of Theorem 5.1, hidden constants read as 1."""
    return [
        at_least("m >= R^4/tol^2", config.m, two_layer_width(config.R, config.tol)),
        at_most("lr <= tol", config.lr, config.tol),
        at_least("steps >= sqrt(m)/lr", config.steps, two_layer_steps(config.m, config.lr)),
        at_most("the proof's own bound with its constants <= tol", _proved_gap(config), config.tol),
        *assumptions(config),
    ]


def _proved_gap(config: TwoLayerConfig) -> float:
    """The summed recursion with c = C and gradients of at most 1; infinite where there is no such bound."""
    if config.activation not in SLOPE_LIPSCHITZ or config.activation == "quadratic_relu":
        return math.inf
    c = curvature_constant(SLOPE_LIPSCHITZ[config.activation])
    return regret_gap(config.R, config.m, config.lr, config.steps, c)


def _corollary(config: TwoLayerConfig) -> list[Condition]:
    """Hypotheses of Corollary 5.1, hidden constants read as 1."""
    return [
        at_least("m >= R^4/tol^2", config.m, two_layer_width(config.R, config.tol)),
        at_most("lr <= tol", config.lr, config.tol),
        at_least("steps >= R^2/(tol lr)", config.steps, corollary_steps(config.R, config.tol, config.lr)),
        *assumptions(config),
    ]


def _holds_a_robust_net(run: TwoLayerRun) -> list[Condition]:
    """The ball must hold a robust net on this data set: half of tol is left for training."""
    return [at_most("B(R) holds a net with L_* <= tol/2", run.result.target_loss, run.config.tol / 2)]


HIGH = 0.5
"""A probability that is called high is at least this large."""


def _reached(runs: Sequence[TwoLayerRun]) -> Finding:
    """Run by run: the gap of the strongest attack, whose loss is the robust loss."""
    strongest = [run for run in runs if run.config.attack == "worst"]
    if not strongest:
        raise Undecided("no run has the strongest attack")
    return all_of(every_setting(strongest, _within), _is_strongest(strongest))


def _any_attack(runs: Sequence[TwoLayerRun]) -> Finding:
    """The same for every perturbation function; those that pick weaker points begin with a smaller loss."""
    strongest = [run for run in runs if run.config.attack == "worst"]
    if len(strongest) == len(runs):
        raise Undecided("no run has another perturbation function than the strongest")
    return all_of(every_setting(runs, _within), *([_is_strongest(strongest)] if strongest else []))


def _is_strongest(runs: Sequence[TwoLayerRun]) -> Finding:
    """A worst case that is none would make every loss small."""
    return identity([run.result.attack_shortfall for run in runs], 0.0, GAP)


def _within(runs: Sequence[TwoLayerRun]) -> Finding:
    """The share of runs of one setting that come within tol; starts that are there already say nothing."""
    tol, attack = runs[0].config.tol, runs[0].config.attack
    telling = [run for run in runs if START_LOSS - run.result.target_loss > tol]
    gaps = [run.result.best_loss - certified_optimum(run) for run in telling or runs]
    finding = share(sum(gap <= tol for gap in gaps), len(gaps), "at least", HIGH)
    outside = sum(run.result.frobenius > run.config.R for run in telling or runs)
    first = [step for run in telling if (step := _noted_within(run)) is not None]
    when = (
        f", first noted after {min(first)} to {max(first)} of {runs[0].config.steps} steps" if first else ""
    )
    return noted(
        vacuous_if(not telling, "every start is within tol of the best robust loss.", finding),
        f"{attack.replace('_', ' ')}: certified gap {min(gaps):.3f} to {max(gaps):.3f}, tol {tol:g}{when}; "
        f"{outside} of {len(gaps)} runs end outside B(R), where nets may beat its best one.",
    )


def _noted_within(run: TwoLayerRun) -> int | None:
    """The first number of steps at which a gap was noted that is certified to be at most tol."""
    slack = run.result.reference_bound - certified_optimum(run)
    pairs = zip(run.result.steps, run.result.gap, strict=True)
    return next((steps for steps, gap in pairs if gap + slack <= run.config.tol), None)


def _target_met(runs: Sequence[TwoLayerRun]) -> Finding:
    """Run by run: the smallest surrogate loss, which is the robust loss, against the target itself."""
    if not runs:
        raise Undecided("no run was found")
    tol = runs[0].config.tol
    losses = [run.result.best_loss for run in runs]
    finding = all_of(
        every_setting(
            runs,
            lambda cells: share(
                sum(run.result.best_loss <= tol for run in cells), len(cells), "at least", HIGH
            ),
        ),
        _is_strongest(runs),
    )
    return noted(
        vacuous_if(tol >= START_LOSS, f"the zero function has the loss {START_LOSS:.3f}.", finding),
        f"Smallest losses {min(losses):.3f} to {max(losses):.3f}, tol {tol:g}; the nets W_* of the balls "
        f"have {min(run.result.target_loss for run in runs):.3f} to "
        f"{max(run.result.target_loss for run in runs):.3f}.",
    )


NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"steps": 1},
    cheap={"attack": "worst"},
    why="the only loss on the way is that of the start, whose gap exceeds the target",
)

WRONG_WAY = Control(
    name="wrong sign",
    removes="sign",
    settings={"direction": "up"},
    cheap={"attack": "worst"},
    why="steps up the loss never come below that of the start",
)
NO_ATTACK = Control(
    name="no attack",
    removes="attack",
    settings={"strongest": "sample"},
    cheap={"attack": "worst"},
    why="the loss at the samples themselves is smaller than the robust loss that it should be",
)

_WORST = replace(EXAMPLE, attack="worst", activation="softplus", steps=461)
_RANDOM = replace(_WORST, attack="random")
_SMALL_BALL = replace(EXAMPLE, attack="worst")
_FAR = replace(MEASURED, best_loss=0.4)

READING = (
    "L_*(W_*) is a minimum over nets; below it lies the certified minimum of the linearised problem less C "
    "R^2/(2 sqrt m), by which a net of the ball can differ from its linearisation. Finite perturbation sets "
    "make the strongest attack exact. Hidden constants read as 1, and the bound of the proof with its own "
    "constants must be at most tol, too; high probability is at least one half."
)

CHECKS = (
    Check(
        claim_id="convergence.thm5.1",
        experiment=THM51,
        evaluate=_reached,
        conditions=_theorem,
        satisfied=examples((_WORST, MEASURED)),
        violated=examples((_WORST, _FAR)),
        controls=(NO_TRAINING, WRONG_WAY, NO_ATTACK),
        reading=READING,
        headline=True,
    ),
    Check(
        claim_id="convergence.thm5.1.attacks",
        experiment=THM51,
        evaluate=_any_attack,
        conditions=_theorem,
        satisfied=examples((_WORST, MEASURED), (_RANDOM, MEASURED)),
        violated=examples((_WORST, MEASURED), (_RANDOM, _FAR)),
        controls=(replace(NO_TRAINING, cheap={}),),
        reading="Identity, one-step, random, discontinuous and worst perturbation functions. " + READING,
    ),
    Check(
        claim_id="convergence.cor5.1",
        experiment=COR51,
        evaluate=_target_met,
        conditions=_corollary,
        observed=_holds_a_robust_net,
        satisfied=examples((_SMALL_BALL, replace(MEASURED, target_loss=0.05, best_loss=0.05))),
        violated=examples((_SMALL_BALL, replace(MEASURED, target_loss=0.05))),
        controls=(NO_TRAINING, WRONG_WAY, NO_ATTACK),
        reading="R is a radius whose ball holds a net of robust loss tol/2, seen on every data set; hidden "
        "constants read as 1, high probability as at least one half.",
        headline=True,
    ),
)
