"""Checks of training two-layer nets: gaps to the best robust loss nearby, and small losses."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.bounds import corollary_steps, two_layer_steps, two_layer_width
from karat.papers.convergence.checks.two_layer_runs import (
    EXAMPLE,
    GAP,
    MEASURED,
    START_LOSS,
    TwoLayerRun,
    assumptions,
    certified_optimum,
)
from karat.papers.convergence.experiments.descent import COR51, THM51
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import LOSS, Finding
from karat.study.hypothesis import Condition, at_least, at_most
from karat.study.judging import Undecided, all_of, bound, noted, vacuous_if
from karat.study.run import examples, grouped


def _theorem(config: TwoLayerConfig) -> list[Condition]:
    """Hypotheses of Theorem 5.1, hidden constants read as 1."""
    return [
        at_least("m >= R^4/tol^2", config.m, two_layer_width(config.R, config.tol)),
        at_most("lr <= tol", config.lr, config.tol),
        at_least("steps >= sqrt(m)/lr", config.steps, two_layer_steps(config.m, config.lr)),
        *assumptions(config),
    ]


def _corollary(config: TwoLayerConfig) -> list[Condition]:
    """Hypotheses of Corollary 5.1, hidden constants read as 1."""
    return [
        at_least("m >= R^4/tol^2", config.m, two_layer_width(config.R, config.tol)),
        at_most("lr <= tol", config.lr, config.tol),
        at_least("steps >= R^2/(tol lr)", config.steps, corollary_steps(config.R, config.tol, config.lr)),
        *assumptions(config),
    ]


def _holds_a_robust_net(run: TwoLayerRun) -> list[Condition]:
    """The radius must be one whose ball holds a robust net, on this data set."""
    return [at_most("B(R) holds a net with L_* <= tol", run.result.target_loss, run.config.tol)]


def _reached(runs: Sequence[TwoLayerRun]) -> Finding:
    """Gap of the strongest attack against the target."""
    return _gap_of([run for run in runs if run.config.attack == "worst"])


def _any_attack(runs: Sequence[TwoLayerRun]) -> Finding:
    """The gap of every perturbation function, all of which must be small."""
    by_attack = sorted(grouped(runs, lambda run: run.config.attack).items())
    if not by_attack:
        raise Undecided("no run was found")
    findings = [_gap_of(cells) for _, cells in by_attack]
    listed = ", ".join(f"{attack} {gap}" for (attack, _), gap in zip(by_attack, findings, strict=True))
    return noted(all_of(*findings), f"Gap by perturbation function: {listed}.")


def _gap_of(runs: Sequence[TwoLayerRun]) -> Finding:
    """min_t L_A less a lower bound on the robust loss of every net of the ball."""
    if not runs:
        raise Undecided("no run has the strongest attack")
    tol = runs[0].config.tol
    finding = bound([run.result.best_loss - certified_optimum(run) for run in runs], "at most", tol, GAP)
    start_gap = sum(START_LOSS - run.result.target_loss for run in runs) / len(runs)
    outside = sum(run.result.frobenius > run.config.R for run in runs)
    return noted(
        vacuous_if(start_gap <= tol, f"the start itself is within {start_gap:.3f} of the target.", finding),
        f"{outside} of {len(runs)} runs end outside B(R), where nets may beat its best one; gap of the start "
        f"{start_gap:.3f}.",
    )


def _small_loss(runs: Sequence[TwoLayerRun]) -> Finding:
    """The smallest surrogate loss of the widest nets against the target itself."""
    if not runs:
        raise Undecided("no run was found")
    m = max(run.config.m for run in runs)
    widest = [run for run in runs if run.config.m == m]
    tol = widest[0].config.tol
    finding = bound([run.result.best_loss for run in widest], "at most", tol, LOSS)
    return vacuous_if(tol >= START_LOSS, f"the zero function has the loss {START_LOSS:.3f}.", finding)


NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"steps": 1},
    cheap={"attack": "worst"},
    why="the only loss on the way is that of the start, whose gap exceeds the target",
)

_WORST = replace(EXAMPLE, attack="worst")
_RANDOM = replace(EXAMPLE, attack="random")
_FAR = replace(MEASURED, best_loss=0.4)

READING = (
    "L_*(W_*) is a minimum over nets; below it lies the certified minimum of the linearised problem less C "
    "R^2/(2 sqrt m), by which a net of the ball can differ from its linearisation. Finite perturbation sets "
    "make the strongest attack exact. Hidden constants read as 1."
)

CHECKS = (
    Check(
        claim_id="convergence.thm5.1",
        experiment=THM51,
        evaluate=_reached,
        conditions=_theorem,
        satisfied=examples((_WORST, MEASURED)),
        violated=examples((_WORST, _FAR)),
        controls=(NO_TRAINING,),
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
        controls=(NO_TRAINING,),
        reading="Identity, one-step, random, discontinuous and worst perturbation functions. " + READING,
    ),
    Check(
        claim_id="convergence.cor5.1",
        experiment=COR51,
        evaluate=_small_loss,
        conditions=_corollary,
        observed=_holds_a_robust_net,
        satisfied=examples((_WORST, replace(MEASURED, best_loss=0.05))),
        violated=examples((_WORST, MEASURED)),
        controls=(NO_TRAINING,),
        reading="R is a radius whose ball holds a net of robust loss tol, seen on every data set; hidden "
        "constants read as 1.",
        headline=True,
    ),
)
