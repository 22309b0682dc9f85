"""Checks on how training gets there: the mixture law, pure starts and the drift of <w_i, M w*>."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from karat.papers.purification.checks.readings import (
    FACTOR,
    at_least,
    at_most,
    both_must_hold,
    clean_hypotheses,
    each,
    largest_standard,
    mean,
    up_to_a_constant,
)
from karat.papers.purification.experiments.drift import DRIFT, DriftResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.pureinit import PUREINIT, PureInitResult
from karat.papers.purification.experiments.scaling import SCALING, ScalingResult
from karat.study.claim import Check, Finding
from karat.study.curves import combine, curves, vacuous, with_caveat
from karat.study.evaluate import rate_finding
from karat.study.run import Run, grouped

ScalingRun = Run[OddNetConfig, ScalingResult]
DriftRuns = Sequence[Run[OddNetConfig, DriftResult]]


def _law(every: Sequence[ScalingRun]) -> Finding:
    """Exponent of beta/alpha in E|z|_0/d, and its constant in every cell, where no neuron wakes itself."""
    # The law assumes that a neuron wakes by its own feature alone.
    woken = {_size(run) for run in every if run.result.rate > 1.1 * run.result.start_rate}
    calm = [run for run in every if _size(run) not in woken] or list(every)
    x, table = curves(calm, lambda run: run.result.predicted, lambda run: run.result.ratio)
    findings = [
        rate_finding(x, table, 0.5, side="at least"),
        rate_finding(x, table, 1.5, side="at most"),
    ]
    for _, runs in sorted(grouped(calm, _size).items()):
        constants = each(runs, _constant)
        findings += [at_least(constants, 1 / FACTOR), at_most(constants, FACTOR)]
    constants = each(calm, _constant)
    note = (
        f"Exponent in E|z|_0/d over a factor {max(x) / min(x):.1f} of it, judged to be nearer to 1 than to 0 "
        f"or 2; the constant must lie within a factor {FACTOR:g} of one in every cell and ranges from "
        f"{min(constants):.2f} to {max(constants):.2f} (equilibrium is slower at small d). A share "
        f"{mean(calm, lambda r: r.aligned):.3f} of the coefficients has the sign of w*."
    )
    left_out = (
        f"Left out, since mixtures wake neurons: {len(woken)} settings." if len(calm) < len(every) else ""
    )
    # The exponent is shown against 1, though it is judged against the ends of an interval around it.
    exponent = replace(findings[0], predicted=1.0)
    return with_caveat(exponent, note, left_out, verdict=combine(findings).verdict)


def _size(run: ScalingRun) -> tuple[int, int]:
    return run.config.d, run.config.k


def _constant(result: ScalingResult) -> float:
    return result.ratio / result.predicted


def _pure_start(every: Sequence[Run[OddNetConfig, PureInitResult]]) -> Finding:
    """From beta = 0: the mixture reached by clean training, in units of E|z|_0/d, and what it does."""
    runs = largest_standard(every)
    before, after, again, aligned = (
        np.mean(values)
        for values in (
            each(runs, lambda r: r.clean.pgd[0]),
            each(runs, lambda r: r.clean.pgd[-1]),
            each(runs, lambda r: r.robust.pgd[-1]),
            each(runs, lambda r: r.clean.aligned[-1]),
        )
    )
    note = (
        f"In units of E|z|_0/d, after training from exactly 0, {aligned:.3f} of it with the sign of w*; "
        f"judged against a quarter. Accuracy under attack: {before:.3f} -> {after:.3f}, and {again:.3f} "
        "after adversarial training."
    )
    mixture = at_least(each(runs, lambda r: r.clean.ratio[-1] / r.predicted), 0.25)
    return both_must_hold(mixture, at_most(each(runs, lambda r: r.clean.pgd[-1] - r.clean.pgd[0]), 0.0), note)


def _drift(every: DriftRuns) -> Finding:
    """The worst neuron's step below decay and one-sided growth, against the noise the claim allows."""
    runs = largest_standard(every)
    allowed = mean(runs, lambda r: r.noise_allowed)
    growth = float(np.mean(each(runs, lambda r: max(r.largest_growth))))
    noise = float(np.mean(each(runs, lambda r: max(r.largest_noise))))
    shortfall = each(runs, lambda r: max(r.shortfall))
    # The first stop is left out: drifts are still small there, and sampling noise counts more.
    identity = np.mean([np.mean(run.result.total_ratio[1:]) for run in runs])
    note = (
        "How far a step of the worst neuron falls short of decay plus growth, over all stops and per unit of "
        f"h, against k^2 sigma_x^2/sqrt(d); the growth reaches {growth:.2f} and the noise term {noise:.3f}. "
        f"With both indicators and the noise term the step is {identity:.3f} of the sum of its parts, "
        "on another sample."
    )
    largest = float(np.mean(shortfall))
    if allowed >= growth:
        return vacuous(largest, allowed, f"it allows more noise than there is growth. {note}")
    return up_to_a_constant(at_most(shortfall, allowed), largest / allowed, note)


def _lowest(every: DriftRuns) -> Finding:
    """The sum over sure winners in units of k d, and the smallest <w_i, M w*> if its bound says anything."""
    runs = largest_standard(every)
    config = runs[0].config
    xi2, unit = config.ticket_rule().xi2, config.k * config.d
    sums = each(runs, lambda r: r.sure_total[-1] / unit)
    lowest = each(runs, lambda r: r.lowest[-1])
    bound = xi2**-7
    floor = -(config.k**3) * xi2**4 * config.sigma_x**2 / (mean(runs, lambda r: r.lambda_) * config.d**2)
    end = np.mean(each(runs, lambda r: r.time[-1]))
    begin = 1 / (config.scaled_decay * xi2**2)
    all_neurons = np.mean(each(runs, lambda r: r.total[-1])) / unit
    note = (
        f"Sum of <w_i, M w*> over {mean(runs, lambda r: r.sure):.0f} sure winners in units of k d, against "
        f"1/Xi2^7; over all neurons {all_neurons:.2f}. Training ends at time {end:.3g}, the lemma begins at "
        f"{begin:.3g}."
    )
    finding = up_to_a_constant(at_least(sums, bound), float(np.mean(sums)) / bound, note)
    pointwise = f"The smallest <w_i, M w*> is {np.mean(lowest):.3f}, its bound {floor:.3g}"
    reach = mean(runs, lambda r: r.reach)
    # By Cauchy-Schwarz no inner product can be below -|w_i| |M w*|: a floor under that says nothing.
    if floor <= -reach:
        return with_caveat(finding, f"{pointwise} is vacuous: |w_i| |M w*| is at most {reach:.3g}.")
    return both_must_hold(finding, at_least(lowest, floor), f"{pointwise}.")


CHECKS = (
    Check(
        claim_id="purification.eq5.1",
        experiment=SCALING,
        evaluate=_law,
        headline=True,
        reading="From w = M; k/d is read as E|z|_0/d, the probability that a neuron of one feature wakes, "
        "and Theta(1) as within a factor 2.",
    ),
    Check(claim_id="purification.sec6.pureinit", experiment=PUREINIT, evaluate=_pure_start, headline=True),
    Check(
        claim_id="purification.claimE.3",
        experiment=DRIFT,
        evaluate=_drift,
        hypotheses=clean_hypotheses,
        reading="One indicator is half of the pair's gate, by the symmetry x -> -x; O(.) is taken as 1.",
    ),
    Check(
        claim_id="purification.lemE.2",
        experiment=DRIFT,
        evaluate=_lowest,
        hypotheses=clean_hypotheses,
        reading="Xi2 = d^(2 gamma c0) with gamma = 0.05.",
    ),
)
