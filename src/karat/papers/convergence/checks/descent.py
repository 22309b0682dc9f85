"""Checks of training two-layer nets: gaps to the best robust loss nearby, regret, exits, small losses."""

from collections.abc import Sequence

from karat.papers.convergence.bounds import (
    corollary_steps,
    curvature_constant,
    two_layer_steps,
    two_layer_width,
)
from karat.papers.convergence.checks.averages import mean
from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.descent import COR51, EXIT, QUADRATIC, THM51
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig, TwoLayerResult
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding
from karat.study.run import Run, grouped

TwoLayerRun = Run[TwoLayerConfig, TwoLayerResult]


def _unmet_theorem(run: TwoLayerRun) -> list[str]:
    """Hypotheses of Theorem 5.1, hidden constants read as 1."""
    config = run.config
    width = two_layer_width(config.R, config.tol)
    steps = two_layer_steps(config.m, config.lr)
    hypotheses = [
        (config.m >= width, f"Thm 5.1: m >= R^4/tol^2 = {width:.3g}, m = {config.m}"),
        (config.steps >= steps, f"Thm 5.1: steps >= sqrt(m)/lr = {steps:.0f}, steps = {config.steps}"),
    ]
    return [text for met, text in hypotheses if not met]


def _unmet_corollary(run: TwoLayerRun) -> list[str]:
    """Hypotheses of Corollary 5.1, hidden constants read as 1."""
    config = run.config
    width = two_layer_width(config.R, config.tol)
    steps = corollary_steps(config.R, config.tol, config.lr)
    hypotheses = [
        (config.m >= width, f"Cor 5.1: m >= R^4/tol^2 = {width:.3g}, m = {config.m}"),
        (config.steps >= steps, f"Cor 5.1: steps >= R^2/(tol lr) = {steps:.0f}, steps = {config.steps}"),
    ]
    return [text for met, text in hypotheses if not met]


def _reached(runs: Sequence[TwoLayerRun]) -> Finding:
    """Gap of the strongest attack against the target."""
    strongest = [run for run in runs if run.config.attack == "worst"]
    finding = upper_bound_finding([run.result.final_gap for run in strongest], strongest[0].config.tol)
    width = mean([run.result.certificate_width for run in strongest])
    return with_caveat(
        finding,
        "min_t L_A less the certified lower bound of the linearised problem in the same ball; negative gaps "
        f"mean that the unprojected run has gone beyond the ball. Width of the certificate {width:.1g}.",
    )


def _any_attack(runs: Sequence[TwoLayerRun]) -> Finding:
    """The largest gap over all perturbation functions, and what the robust loss does under weak ones."""
    by_attack = sorted(grouped(runs, lambda run: run.config.attack).items())
    gaps = {attack: [run.result.final_gap for run in cells] for attack, cells in by_attack}
    robust_loss = {attack: mean([run.result.robust_loss for run in cells]) for attack, cells in by_attack}
    # The theorem speaks of any perturbation function: the one that does worst decides.
    hardest = max(gaps, key=lambda attack: mean(gaps[attack]))
    finding = upper_bound_finding(gaps[hardest], runs[0].config.tol)
    listed = ", ".join(f"{attack} {mean(gaps[attack]):+.3f} ({robust_loss[attack]:.2f})" for attack in gaps)
    return with_caveat(
        finding,
        f"Gap of every perturbation function, in brackets the final robust loss: {listed}.",
        "The guarantee speaks of the loss under the attack used, not of the robust one.",
    )


def _regret(runs: Sequence[TwoLayerRun]) -> Finding:
    """The largest c that the recursion needed along any run, against C L."""
    pairs = [
        (run.result.regret_constant, curvature_constant(SLOPE_LIPSCHITZ[run.config.activation]))
        for run in runs
        if run.result.regret_constant is not None
    ]
    # Activations have different limits: the run nearest to its own one decides.
    needed, limit = max(pairs, key=lambda pair: pair[0] - pair[1])
    finding = upper_bound_finding([needed], limit, deterministic=True)
    return with_caveat(
        finding,
        "Largest c for which |W_t - W_*|^2 grows as the recursion allows, over all steps and runs, with lr^2 "
        "|grad|^2 as its last term; negative: the recursion held without its curvature term.",
    )


def _exit(runs: Sequence[TwoLayerRun]) -> Finding:
    """Share of runs that stay in B(3R) or were within tol of the target before they left."""
    outside = [run for run in runs if run.result.left_triple is not None]
    too_early = sum(run.result.loss_before_exit > run.result.target_loss + run.config.tol for run in outside)
    finding = lower_bound_finding([(len(runs) - too_early) / len(runs)], 1.0, deterministic=True)
    return with_caveat(
        finding,
        f"{len(runs) - len(outside)} of {len(runs)} runs stayed in B(3R), {len(outside)} left it, "
        f"{too_early or 'none'} of them before it had met the target.",
    )


def _small_loss(runs: Sequence[TwoLayerRun]) -> Finding:
    """The smallest surrogate loss of the widest nets against the target itself."""
    m = max(run.config.m for run in runs)
    widest = [run for run in runs if run.config.m == m]
    finding = upper_bound_finding([run.result.best_loss for run in widest], widest[0].config.tol)
    robust_loss = mean([run.result.robust_loss for run in widest])
    movement = mean([run.result.frobenius for run in widest])
    return with_caveat(
        finding,
        f"m = {m}; robust loss over the finite sets at the end {robust_loss:.3f}, |W - W0|_F {movement:.2f}.",
    )


READING = (
    "L_*(W_*) is a minimum over nets, replaced by the linearised problem over the same ball with a certified "
    "lower bound. Finite perturbation sets make the strongest attack exact. Hidden constants read as 1."
)

CHECKS = (
    Check(
        claim_id="convergence.thm5.1",
        experiment=THM51,
        evaluate=_reached,
        hypotheses=_unmet_theorem,
        reading=READING,
        headline=True,
    ),
    Check(
        claim_id="convergence.def3.2",
        experiment=THM51,
        evaluate=_any_attack,
        hypotheses=_unmet_theorem,
        reading="The theorem's bound for identity, one-step, random, discontinuous and worst "
        "perturbation functions.",
    ),
    Check(
        claim_id="convergence.thm5.1.regret",
        experiment=THM51,
        evaluate=_regret,
        reading="W_* is the linearised optimum; c = C L from the proof, C the Lipschitz constant of phi'.",
    ),
    Check(
        claim_id="convergence.thm5.1.exit",
        experiment=EXIT,
        evaluate=_exit,
        reading="Target: the robust loss of the linearised optimum plus tol.",
    ),
    Check(
        claim_id="convergence.cor5.1",
        experiment=COR51,
        evaluate=_small_loss,
        hypotheses=_unmet_corollary,
        reading="R = 8, whose ball holds a function of small robust loss; T = R^2/(tol lr).",
        headline=True,
    ),
    Check(
        claim_id="convergence.appC.2",
        experiment=QUADRATIC,
        evaluate=_small_loss,
        reading="w on the sphere of radius sqrt d; the width tol^-(d+1) of the statement has a "
        "hidden constant.",
    ),
)
