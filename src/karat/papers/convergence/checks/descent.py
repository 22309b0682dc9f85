"""Checks of training two-layer nets: gaps to the best robust loss nearby, and small losses."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.core.extended import ratio
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
from karat.papers.convergence.experiments.descent import COR51, QUADRATIC, THM51
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import LOSS, Finding
from karat.study.hypothesis import Condition, at_least, at_most, is_so
from karat.study.judging import (
    Undecided,
    all_of,
    bound,
    every_setting,
    identity,
    noted,
    share,
    vacuous_if,
)
from karat.study.run import examples, grouped


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


def _quadratic(config: TwoLayerConfig) -> list[Condition]:
    """Hypotheses of Corollary C.1, hidden constants read as 1."""
    width = ratio(math.log(1 / config.tol), config.tol ** (config.d + 1))
    return [
        at_least("m >= tol^-(d+1) log(1/tol)", config.m, width),
        at_most("lr <= tol", config.lr, config.tol),
        at_least("steps >= sqrt(m)/lr", config.steps, two_layer_steps(config.m, config.lr)),
        is_so("phi = ReLU^2, rows on the sphere", (config.activation, config.rows) == _QUADRATIC_NET),
        is_so("Asm C.1: caps of different labels are apart up to sign", config.data != "caps"),
        *assumptions(config),
    ]


HIGH = 0.5
"""A probability that is called high is at least this large."""

_QUADRATIC_NET = ("quadratic_relu", "sphere")


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


def _small_loss(runs: Sequence[TwoLayerRun]) -> Finding:
    """The smallest surrogate loss of the widest nets against the target itself."""
    if not runs:
        raise Undecided("no run was found")
    m = max(run.config.m for run in runs)
    widest = [run for run in runs if run.config.m == m]
    tol = widest[0].config.tol
    finding = bound([run.result.best_loss for run in widest], "at most", tol, LOSS)
    return vacuous_if(tol >= START_LOSS, f"the zero function has the loss {START_LOSS:.3f}.", finding)


def _apart(runs: Sequence[TwoLayerRun]) -> Finding:
    """Corollary C.1 on data sets without antipodes."""
    return _small_loss([run for run in runs if run.config.data != "ring"])


def _every_data_set(runs: Sequence[TwoLayerRun]) -> Finding:
    """Corollary C.1 as printed: on every data set that its assumption allows."""
    by_data = grouped(runs, lambda run: run.config.data)
    findings = {data: _small_loss(cells) for data, cells in by_data.items()}
    if not findings:
        raise Undecided("no run was found")
    listed = ", ".join(f"{data} {finding}" for data, finding in findings.items())
    notes = [f"min_t L_A by data: {listed}."]
    if "ring" in by_data:
        smallest = min(run.result.best_loss for run in by_data["ring"])
        notes.append(
            "On the ring of antipodes relu(z)^2 + relu(-z)^2 = z^2 makes the even part of every such net a "
            "quadratic form, to which the labels are orthogonal: at no width is a loss below "
            f"{START_LOSS:.4f}, that of the zero function. The smallest of all runs there is {smallest:.4f}."
        )
    return noted(all_of(*findings.values()), *notes)


NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"steps": 1},
    cheap={"attack": "worst"},
    why="the only loss on the way is that of the start, whose gap exceeds the target",
)
UPHILL = Control(
    name="wrong sign",
    removes="sign",
    settings={"direction": "up"},
    cheap={"data": "apart", "n": 6, "m": 256, "steps": 1000},
    why="steps up the loss never come below that of the start",
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
_CAPS = replace(EXAMPLE, data="apart", activation="quadratic_relu", rows="sphere")
_RING = replace(_CAPS, data="ring", n=8)

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
    Check(
        claim_id="convergence.appC.2",
        experiment=QUADRATIC,
        evaluate=_every_data_set,
        conditions=_quadratic,
        satisfied=examples(
            (_CAPS, replace(MEASURED, best_loss=0.05)), (_RING, replace(MEASURED, best_loss=0.05))
        ),
        violated=examples((_CAPS, replace(MEASURED, best_loss=0.05)), (_RING, MEASURED)),
        controls=(UPHILL,),
        reading="As printed: the assumption forbids caps of different labels that meet up to sign, not "
        "antipodes with equal labels. Hidden constants read as 1.",
        headline=True,
    ),
    Check(
        claim_id="convergence.appC.2.apart",
        experiment=QUADRATIC,
        evaluate=_apart,
        conditions=_quadratic,
        satisfied=examples((_CAPS, replace(MEASURED, best_loss=0.05))),
        violated=examples((_CAPS, MEASURED)),
        controls=(UPHILL,),
        reading="Data sets without antipodes. Hidden constants read as 1.",
    ),
)
