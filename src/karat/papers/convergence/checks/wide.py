"""Checks of Theorem 4.1 inside its hypotheses, at one hidden layer: the gap, and the proof's recursion."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.bounds import deep_steps, deep_width
from karat.papers.convergence.bounds_lemmas import proved_gap, proved_width, worst_non_convexity
from karat.papers.convergence.checks.two_layer_runs import GAP
from karat.papers.convergence.experiments.wide import WIDE, WideConfig, WideResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding
from karat.study.hypothesis import Condition, at_least, at_most, is_so
from karat.study.judging import Undecided, all_of, exact_bound, identity, noted, share, vacuous_if
from karat.study.run import Run, by_setting, examples

WideRun = Run[WideConfig, WideResult]

HIGH = 0.5
"""A probability that is called high is at least this large."""


def _theorem(config: WideConfig) -> list[Condition]:
    """Hypotheses of Theorem 4.1 at H = 1, hidden constants read as 1."""
    width = deep_width(config.R, 1, config.tol, config.d)
    steps = deep_steps(config.R, config.m, config.tol, config.lr)
    return [
        at_least("m >= max(R^9/tol^7, d^2)", config.m, width),
        at_most("lr <= tol/m", config.lr, config.tol / config.m),
        at_least(
            "steps >= R^2/(m tol lr)",
            config.steps,
            steps,
            "as printed; the factor H that the proof loses is 1 here",
        ),
        at_least("R >= 1", config.R, 1.0),
        is_so("Asm 3.1: the loss is convex, smooth and 1-Lipschitz", True),
    ]


def _gap(run: WideRun) -> float:
    """Smallest loss on the way less a certified bound on the robust loss of every net of the ball."""
    result = run.result
    if result.certified > result.smallest_robust + 1e-9:
        raise Undecided(
            "a net of the ball has a smaller robust loss than the bound that should lie below all"
        )
    return min(result.losses) - result.certified


def _start_gap(run: WideRun) -> float:
    """At least so far the start is from the best robust loss of the ball."""
    return run.result.start_loss - run.result.smallest_robust


def _reached(runs: Sequence[WideRun]) -> Finding:
    """Run by run: the strongest perturbation function at targets that all starts miss, and the others."""
    strongest = by_setting(run for run in runs if run.config.attack == "worst")
    if not strongest:
        raise Undecided("no run has the strongest perturbation function")
    missed = [cells for cells in strongest if all(_start_gap(run) > run.config.tol for run in cells)]
    telling = missed or strongest
    weaker = by_setting(run for run in runs if run.config.attack != "worst")
    exact = identity([run.result.attack_shortfall for cells in strongest for run in cells], 0.0, GAP)
    left_out = ", ".join(f"{cells[0].config.tol:g}" for cells in strongest if cells not in telling)
    return noted(
        vacuous_if(
            not missed,
            "some starts are within tol of the best robust loss.",
            all_of(*map(_within, [*telling, *weaker]), exact),
        ),
        *map(_told, telling),
        _proved(max((cells[0].config for cells in strongest), key=lambda config: config.m)),
        left_out and f"Targets that some starts meet are left out: tol = {left_out}.",
    )


def _within(cells: Sequence[WideRun]) -> Finding:
    """The share of runs of one setting whose gap is at most the target."""
    return share(sum(_gap(run) <= run.config.tol for run in cells), len(cells), "at least", HIGH)


def _told(cells: Sequence[WideRun]) -> str:
    """Gaps and times of one setting in a sentence."""
    config, gaps, starts = cells[0].config, [_gap(run) for run in cells], [_start_gap(run) for run in cells]
    met = [step for run in cells if (step := _first_step(run)) is not None]
    return (
        f"m = {config.m}, tol = {config.tol:g}: certified gap {min(gaps):.3f} to {max(gaps):.3f} after "
        f"{config.steps} steps, met by {len(met)} of {len(cells)} runs"
        + (f" at step {min(met)} to {max(met)}" if met else "")
        + f"; gap of the start {min(starts):.3f} to {max(starts):.3f}."
    )


def _proved(config: WideConfig) -> str:
    """What the proof promises with its own constants in a sentence."""
    kinks = worst_non_convexity(config.R, config.m)
    total = proved_gap(config.R, config.m, config.step, config.steps)
    return (
        f"With its own constants the proof promises a gap of {total:.2f} at m = {config.m} against tol = "
        f"{config.tol:g}: {kinks:.2f} from the kinks, {total - kinks:.2f} from steps and rate; tol itself, a "
        f"third for each of the three, from m = {proved_width(config.R, config.tol):.2g} on."
    )


def _first_step(run: WideRun) -> int | None:
    losses = enumerate(run.result.losses, start=1)
    return next((t for t, loss in losses if loss - run.result.certified <= run.config.tol), None)


def _recursion(runs: Sequence[WideRun]) -> Finding:
    """By how much any step exceeds what the recursion allows it, the non-convexity that it met included."""
    if not runs:
        raise Undecided("no run was found")
    widest = max(runs, key=lambda run: run.config.m)
    return noted(
        exact_bound(
            [run.result.regret_excess for run in runs],
            "at most",
            0.0,
            GAP,
            "an inequality between numbers of one run",
        ),
        f"At m = {widest.config.m} start and end of training meet a non-convexity of "
        f"{widest.result.non_convexity:.2g} towards W_* at the worst allowed point; the ball's worst case is "
        f"{widest.result.ball_non_convexity:.3g}.",
    )


_EXAMPLE = WideConfig(m=78_126)
_MEASURED = WideResult(
    certified=0.5,
    reference=0.57,
    target_loss=0.571,
    start_loss=0.9,
    losses=[0.8, 0.6],
    smallest_robust=0.57,
    attack_shortfall=0.0,
    moved=1.0,
    pattern_change=1e-3,
    gradient_change=10.0,
    non_convexity=1e-3,
    ball_pattern_change=0.02,
    ball_gradient_change=80.0,
    ball_non_convexity=0.4,
    regret_excess=-1e-3,
)

_SMALL = {"m": 16_384, "tol": 0.25, "step": 0.25, "steps": 16, "attack": "worst"}
_NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"direction": "none"},
    cheap=_SMALL,
    why="the loss stays that of the start, far above that of W_*, and no step comes nearer to W_*",
)
_UPHILL = Control(
    name="wrong sign",
    removes="sign",
    settings={"direction": "up"},
    cheap=_SMALL,
    why="steps up the loss lead away from W_* and never come below the loss of the start",
)
_NO_ATTACK = Control(
    name="no attack",
    removes="attack",
    settings={"strongest": "sample"},
    cheap=_SMALL,
    why="the loss at the samples themselves is smaller than the robust loss that it should be",
)
_NO_BALL = Control(
    name="no ball",
    removes="ball",
    settings={"R": 1e-6},
    cheap=_SMALL,
    why="in a ball that holds one net alone nothing is left to be trained",
    unanswered=True,
)

READING = (
    "H = 1, in m d numbers. L_*(W_*) is a minimum over nets; below it lies the certified minimum of the "
    "linearised problem, the kinks' slack at every allowed point taken off. Finite perturbation sets make "
    "the strongest attack exact. Hypotheses are read with hidden constants of 1; a note says what the "
    "constants of the proof promise there. High probability is read as at least one half."
)

CHECKS = (
    Check(
        claim_id="convergence.thm4.1",
        experiment=WIDE,
        evaluate=_reached,
        conditions=_theorem,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, losses=[0.8, 0.75]))),
        controls=(_NO_TRAINING, _UPHILL, _NO_ATTACK, _NO_BALL),
        reading=READING,
        headline=True,
    ),
    Check(
        claim_id="convergence.thm4.1.regret",
        experiment=WIDE,
        evaluate=_recursion,
        conditions=_theorem,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, regret_excess=0.2))),
        controls=(_NO_TRAINING, _UPHILL),
        reading="H = 1. N_t is the mean over samples of |f(W_*) - f(W_t) - <grad f(W_t), W_* - W_t>|, "
        "measured at every step, no hidden constant; Lemma A.6 bounds it. W_* is the linearised optimum, "
        "whose own robust loss stands for L_*(W_*). Judged is the largest (|W_{t+1} - W_*|^2 - |W_t - W_*|^2 "
        "- lr^2 |grad L_A|^2)/(2 lr) - L_*(W_*) + L_A(W_t) - N_t.",
    ),
)
