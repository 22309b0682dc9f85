"""Lemmas of features: the explicit net, both feature-learning steps, and classifiers on their features."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from karat.papers.features import bounds
from karat.papers.features import bounds_regimes as regimes
from karat.papers.features.checks.reported import MethodRun
from karat.papers.features.experiments.explicit_net import LEM5, ExplicitNetResult
from karat.papers.features.experiments.quality import LEM23, QualityConfig, QualityResult
from karat.papers.features.experiments.settings import LearningConfig
from karat.papers.features.experiments.signal import LEM6, SignalResult
from karat.papers.features.experiments.tables import TAB1
from karat.study.claim import Check, Finding, Outcome
from karat.study.evaluate import lower_bound_finding, tight_finding, upper_bound_finding
from karat.study.run import Run, grouped

ExplicitNetRun = Run[LearningConfig, ExplicitNetResult]
SignalRun = Run[LearningConfig, SignalResult]
QualityRun = Run[QualityConfig, QualityResult]
L = TypeVar("L", bound=LearningConfig)


def explicit(runs: Sequence[ExplicitNetRun]) -> Finding:
    """Largest |g*(x) - y| over all samples; weights, biases and pre-activations within the lemma's bounds."""
    errors = [run.result.largest_error for run in runs]
    finding = tight_finding(errors, 0.0, deterministic=True)
    inside = all(_within_bounds(run.result) for run in runs)
    verdict = finding.verdict if inside else "fails"
    note = f"{len(runs)} laws and samples; sizes of the weights {'as' if inside else 'NOT as'} stated."
    return replace(finding, verdict=verdict, caveat=note)


def _within_bounds(result: ExplicitNetResult) -> bool:
    return (
        result.neurons == result.neurons_bound
        and result.largest_top <= 1 + 1e-9
        and result.smallest_bias >= 1 - 1e-9
        and result.largest_bias <= 1
        and result.largest_preactivation <= 1
    )


def first_step(runs: Sequence[SignalRun]) -> Finding:
    """Largest error of any component of any neuron after step one over the lemma's bound, constants 1."""
    ratios = []
    for run in runs:
        error = _activation_error(run.config)
        variance = run.config.p_o * (1 - run.config.p_o)
        ratios += [run.result.signal_worst / error, run.result.background_worst / (variance * error)]
    finding = upper_bound_finding(ratios, 1.0, deterministic=True)
    half = [run for run in runs if run.config.p_o == 0.5] or runs
    most = max(run.config.n for run in half)
    largest = [run for run in half if run.config.n == most]
    mean = np.mean([run.result.signal_ratio for run in largest])
    noise = np.mean([run.result.background / run.result.background_sampling for run in largest])
    note = (
        f"eps_e = {_activation_error(largest[0].config):.3g} is not small beside beta gamma < 1/2: the bound "
        f"says little. At n = {most} relevant components are {mean:.3f} times beta gamma/sigma~ on "
        f"average and background ones {noise:.2f} times what the finite sample alone causes."
    )
    return replace(finding, caveat=note)


def _activation_error(config: LearningConfig) -> float:
    return bounds.activation_error(k=config.k, D=config.D, pairs=config.pairs, p_o=config.p_o)


def _lemma15(run: SignalRun) -> list[str]:
    config = run.config
    return regimes.lemma15_unmet(
        k=config.k, D=config.D, pairs=config.pairs, p_o=config.p_o, noise=config.noise
    )


def improvement(runs: Sequence[SignalRun]) -> Finding:
    """Growth of the ratio relevant / background in step two, at p_o = 1/2, against none."""
    half = [run for run in runs if run.config.p_o == 0.5]
    finding = lower_bound_finding([run.result.gain for run in half], 1.0)
    explained = float(np.mean([run.result.gain_predicted for run in half]))
    by_n = grouped(half, lambda run: run.config.n)
    few, many = min(by_n), max(by_n)
    growth = _mean_ratio(by_n[many]) / _mean_ratio(by_n[few])
    note = (
        f"Using all samples instead of the active ones predicts {explained:.2f}; "
        f"{math.sqrt(many / few):.0f}^2 times more samples raise the ratio itself by {growth:.1f} in either "
        "step."
    )
    return replace(finding, caveat=note)


def _mean_ratio(runs: Sequence[SignalRun]) -> float:
    return float(np.mean([run.result.ratio_one for run in runs]))


def class_means(runs: Sequence[SignalRun]) -> Finding:
    """Relative difference between the real second step and the one along mean(y x)."""
    differences = [run.result.closed_form_difference for run in runs]
    finding = upper_bound_finding(differences, 1e-3, deterministic=True)
    return replace(finding, caveat="At first rates below 0.01 every neuron sees its bias only.")


def best_classifier(runs: Sequence[QualityRun]) -> Finding:
    """Held-out hinge loss of the best classifier of a sample on two-step features, at the largest n.

    The lemma says that some classifier has loss zero; one with a positive loss cannot refute it.
    """
    half = [run for run in runs if run.config.p_o == 0.5] or runs
    by_n = dict(sorted(grouped(half, lambda run: run.config.n).items()))
    finding = upper_bound_finding([run.result.step2.test_loss for run in by_n[max(by_n)]], 0.0)
    verdict: Outcome = "inconclusive" if finding.verdict == "fails" else finding.verdict
    config = half[-1].config
    # The lemma's k^5/m, where m counts the neurons of both halves.
    unit = config.k**5 / (2 * config.pairs)
    weight = float(np.median([run.result.step2.largest_weight for run in half]))
    errors = "; ".join(f"n = {n}: {_held_out(group)}" for n, group in by_n.items())
    note = (
        f"{finding.caveat} Held-out errors at p_o = {config.p_o:g}, {errors}. |a|_inf = {weight:.0f}, "
        f"{weight / unit:.2g} times k^5/m."
    )
    return replace(finding, verdict=verdict, caveat=note.strip())


def _held_out(runs: Sequence[QualityRun]) -> str:
    names = {"start": "start", "step1": "step 1", "step1_rescaled": "step 1 rescaled", "step2": "step 2"}
    return ", ".join(
        f"{label} {np.mean([run.result.stages[stage].test_error for run in runs]):.2g}"
        for stage, label in names.items()
    )


def _lemma23(run: Run[L, Any]) -> list[str]:
    config = run.config
    return regimes.lemma23_unmet(
        k=config.k,
        D=config.D,
        pairs=config.pairs,
        p_o=config.p_o,
        label_corr=bounds.parity_label_corr(config.p_o),
    )


def stays_near(runs: Sequence[MethodRun]) -> Finding:
    """Largest over neurons of the movement in classifier learning over the bound of the proof, per seed."""
    networks = [run.result.methods["network"] for run in runs]
    finding = upper_bound_finding([network.known("moved_over_bound") for network in networks], 1.0)
    moved = np.mean([network.known("moved") for network in networks])
    note = f"All hidden weights together move by {moved:.3f} of their length."
    return replace(finding, caveat=" ".join(filter(None, [finding.caveat, note])))


def _lemma24(run: MethodRun) -> list[str]:
    config = run.config
    unmet = _lemma23(run)
    if max(config.lr_a) >= 1:
        unmet.append("Lem 24: rates below 1 (that of the output weights is larger)")
    if set(config.lr_a) != {config.lr_hidden}:
        unmet.append("Lem 24: one rate for all weights")
    if config.momentum:
        unmet.append("Lem 24: no momentum")
    return unmet


CHECKS = (
    Check(
        claim_id="features.lem5",
        experiment=LEM5,
        evaluate=explicit,
        reading="Hats at p or p + 1/4, whichever keeps the biases away from zero.",
    ),
    Check(
        claim_id="features.lem6",
        experiment=LEM6,
        evaluate=first_step,
        hypotheses=_lemma15,
        reading="Error terms of Lemma 15, its full version, with constants 1 and p_fail = 1/2; beta is the "
        "share of active samples.",
    ),
    Check(
        claim_id="features.sec5.1.improve",
        experiment=LEM6,
        evaluate=improvement,
        reading="Ratio of lengths of the relevant and the background part, mean over neurons.",
    ),
    Check(
        claim_id="features.sec5.2.mean",
        experiment=LEM6,
        evaluate=class_means,
        reading="Second step; the rank-one closed form is exact as the first rate goes to 0.",
    ),
    Check(
        claim_id="features.lem23.lp",
        experiment=LEM23,
        evaluate=best_classifier,
        hypotheses=_lemma23,
        reading="Linear program on part of the sample, judged on new points; unlike the lemma it has an "
        "intercept, and |a|_0 is not looked at.",
        headline=True,
    ),
    Check(
        claim_id="features.lem24",
        experiment=TAB1,
        evaluate=stays_near,
        hypotheses=_lemma24,
        reading="Eq 265 for every neuron, with the rate of the hidden weights and without decay.",
    ),
)
