"""Theorems and lemmas of features: upper bounds, lower bounds, existence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.bounds import features as bounds
from karat.claims.claim import Check, Finding
from karat.claims.evaluate import (
    lower_bound_finding,
    tight_finding,
    upper_bound_finding,
    values_of,
)
from karat.experiments.record import Record


def _theorem1(config: Mapping[str, Any]) -> list[str]:
    corr = 0.25 if config["task"] == "parity" and config["p_o"] == 0.5 else 0.01
    return bounds.unmet_hypotheses(
        k=config["k"], D=config["D"], pairs=config["pairs"], p_o=config["p_o"], label_corr=corr
    )


def convergence(records: Sequence[Record]) -> Finding:
    """Hinge loss of the trained network against the rate with every constant 1."""
    config = records[0].config
    predicted = bounds.convergence_bound(config["k"], config["pairs"], config["steps"])
    finding = upper_bound_finding(values_of(records, "network_hinge"), predicted)
    note = f"With constants 1 the rate is {predicted:.3g}; the zero function has loss 1: it says nothing."
    return replace(finding, caveat=note if predicted >= 1 else finding.caveat)


def _theorem34(config: Mapping[str, Any]) -> list[str]:
    unmet = _theorem1(config)
    if config["dictionary"] == "incoherent":
        unmet.append("Thm 34: coherence <= O(1/D); random patterns have it of order sqrt(log D/d)")
    if config["sampling"] != "plain":
        unmet.append("Sec F.1.1: unweighted loss after the first two steps")
    return unmet


def fixed_features(records: Sequence[Record]) -> Finding:
    """Test hinge loss of random features against the floor for their number and weight norm.

    The floor holds on average over a random A, and A is drawn anew with every seed.
    """
    config = records[0].config
    norm = float(np.mean(values_of(records, "rf_weight_norm")))
    floor = bounds.parseval_floor(config["p_o"], config["D"], config["k"], config["pairs"], norm)
    finding = lower_bound_finding(values_of(records, "rf_hinge"), floor)
    own = bounds.fixed_feature_floor(config["p_o"], config["k"], config["pairs"], norm)
    ntk = float(np.mean(values_of(records, "ntk_hinge")))
    net = float(np.mean(values_of(records, "network_hinge")))
    note = (
        f"N = {config['pairs']}, B = {norm:.3g}; the theorem's own constant sqrt(2N) B/2^k gives {own:.3g}. "
        f"NTK stops at {ntk:.3f}, the network at {net:.3f}; the limit is p_o = {config['p_o']:g}."
    )
    return replace(finding, caveat=note)


def _theorem2(config: Mapping[str, Any]) -> list[str]:
    return bounds.fixed_feature_unmet(k=config["k"], D=config["D"], p_o=config["p_o"])


def cube_floor(records: Sequence[Record]) -> Finding:
    """Mean over all parities of |E[y Psi]|, relative to the bound of Parseval: at most 1 in every run.

    hinge >= 1 - B |E[y Psi]| for every linear model of norm B, so this is the floor without any training.
    """
    ratios = [r.values["strength_mean"] / r.values["strength_bound"] for r in records]
    explained = [r.values["explained_mean"] / r.values["explained_bound"] for r in records]
    finding = upper_bound_finding([*ratios, *explained], 1.0, deterministic=True)
    best = max(records, key=lambda r: r.values["fit_accuracy"])
    sizes = f"N = {best.values['features']}, k = {best.config['k']}, D = {best.config['D']}"
    note = (
        "Exact over the whole cube, for every set A; D >= 16 k is out of reach, the bound needs it not. "
        f"Best fit in the span: accuracy {best.values['fit_accuracy']:.2f} ({sizes})."
    )
    return replace(finding, caveat=note)


def kernels(records: Sequence[Record]) -> Finding:
    """Smallest distance of the hinge loss from its exact floor, over bandwidths and seeds."""
    slack = [r.values["hinge"] - r.values["floor"] for r in records]
    finding = lower_bound_finding(slack, 0.0, deterministic=True)
    floor = min(values_of(records, "floor"))
    note = f"Floor p_o (1 - L sqrt(lambda_k)) with the kernel's own eigenvalue, at least {floor:.4f} here."
    return replace(finding, caveat=note)


def queries(records: Sequence[Record]) -> Finding:
    """Parities that one query tells from noise, over 1/tau^2; correlations of q queries over their bound."""
    seen = [r.values["seen_by_one"] / r.values["seen_bound"] for r in records]
    best = [
        value / limit
        for r in records
        for value, limit in zip(r.values["best_correlation"], r.values["best_correlation_bound"], strict=True)
    ]
    finding = upper_bound_finding([max(max(seen), max(best))], 1.0, deterministic=True)
    config = records[0].config
    need = bounds.query_floor(config["D"], config["k"])
    note = (
        f"Neurons as queries, exact over the cube; the theorem's own number of queries is {need:.2g} at this "
        f"size and {bounds.query_floor(100, 5):.0f} at D = 100, k = 5."
    )
    return replace(finding, caveat=note)


def explicit(records: Sequence[Record]) -> Finding:
    """Largest |g*(x) - y| over all samples; weights, biases and pre-activations within the lemma's bounds."""
    finding = tight_finding([1 + v for v in values_of(records, "largest_error")], 1.0, deterministic=True)
    largest = max(values_of(records, "largest_error"))
    inside = all(
        r.values["neurons"] == r.values["neurons_bound"]
        and r.values["largest_top"] <= 1 + 1e-9
        and r.values["smallest_bias"] >= 1 - 1e-9
        and r.values["largest_bias"] <= 1
        and r.values["largest_preactivation"] <= 1
        for r in records
    )
    verdict = finding.verdict if inside else "fails"
    note = f"{len(records)} laws and samples; sizes of the weights {'as' if inside else 'NOT as'} stated."
    return replace(finding, measured=largest, predicted=0.0, verdict=verdict, caveat=note)


def first_step(records: Sequence[Record]) -> Finding:
    """Relevant components after step one over beta gamma / sigma~, at the largest n with p_o = 1/2."""
    own = [r for r in records if r.config["p_o"] == 0.5]
    largest = max(r.config["n"] for r in own)
    at = [r for r in own if r.config["n"] == largest]
    finding = tight_finding(values_of(at, "signal_ratio"), 1.0, resolution=0.05)
    noise = float(np.mean([r.values["background"] / r.values["background_sampling"] for r in at]))
    note = (
        f"beta is the measured share of active samples. Background components are {noise:.2f} times what the "
        "finite sample alone causes: the bias that the lemma bounds is not visible."
    )
    return replace(finding, caveat=" ".join(filter(None, [finding.caveat, note])))


def improvement(records: Sequence[Record]) -> Finding:
    """Growth of the ratio relevant / background in step two, at p_o = 1/2, against none."""
    own = [r for r in records if r.config["p_o"] == 0.5]
    finding = lower_bound_finding(values_of(own, "gain"), 1.0)
    explained = float(np.mean(values_of(own, "gain_predicted")))
    ratio = math.sqrt(max(r.config["n"] for r in own) / min(r.config["n"] for r in own))
    note = (
        f"Using all samples instead of the active ones predicts {explained:.2f}; {ratio:.0f}^2 times more "
        f"samples raise the ratio itself by {_growth(own):.1f} in either step."
    )
    return replace(finding, caveat=note)


def _growth(records: Sequence[Record]) -> float:
    sizes = sorted({r.config["n"] for r in records})
    few, many = ([r for r in records if r.config["n"] == n] for n in (sizes[0], sizes[-1]))
    return float(np.mean(values_of(many, "ratio_one")) / np.mean(values_of(few, "ratio_one")))


def class_means(records: Sequence[Record]) -> Finding:
    """Relative difference between the real second step and the one along mean(y x)."""
    finding = upper_bound_finding(values_of(records, "closed_form_difference"), 1e-3, deterministic=True)
    return replace(finding, caveat="At first rates below 0.01 every neuron sees its bias only.")


def best_classifier(records: Sequence[Record]) -> Finding:
    """Smallest hinge loss of any linear classifier on two-step features, over all runs; zero is claimed."""
    finding = upper_bound_finding(values_of(records, "step2_loss"), 0.0, deterministic=True)
    own = [r for r in records if r.config["p_o"] == 0.5]
    if not own:
        return replace(finding, caveat="No run has p_o = 1/2 yet.")
    stages = ("start", "step1", "step1_rescaled", "step2")
    losses = ", ".join(f"{s} {np.mean(values_of(own, f'{s}_loss')):.3f}" for s in stages)
    config = own[-1].config
    unit = config["k"] ** 5 / (2 * config["pairs"])
    weight = float(np.median(values_of(own, "step2_largest_weight")))
    note = (
        f"At p_o = 1/2: {losses}. Step one fails only through its scale (unkinked neurons are linear): with "
        f"the lengths of step two it separates too. |a|_inf = {weight:.0f}, {weight / unit:.2g} times k^5/m."
    )
    return replace(finding, caveat=note)


CHECKS = (
    Check(
        claim_id="features.thm1",
        experiment="features.tab1",
        evaluate=convergence,
        hypotheses=_theorem1,
        reading="Rate of Theorem 26 with constants 1; tol = p_fail = 1/2 in the hypotheses.",
    ),
    Check(
        claim_id="features.appF",
        experiment="features.appF",
        evaluate=convergence,
        hypotheses=_theorem34,
        reading="Class weights in the first two steps only; noise zeta/sigma~ (printed zeta/sigma_zeta).",
    ),
    Check(
        claim_id="features.thm2",
        experiment="features.tab1",
        evaluate=fixed_features,
        hypotheses=_theorem2,
        reading="Parseval over all parities instead of 2^k, rigorous for the measured N and B; RF features.",
        headline=True,
    ),
    Check(
        claim_id="features.thm29",
        experiment="features.cube",
        evaluate=cube_floor,
        reading="sqrt(2N) B/2^k is replaced by B sqrt(E|Psi|^2/binom(D, k)), which it is made from.",
    ),
    Check(
        claim_id="features.cor3",
        experiment="features.cor3",
        evaluate=kernels,
        hypotheses=_theorem2,
        reading="Radial kernel; poly(d, L)/2^k is replaced by the exact eigenvalue at the parities.",
    ),
    Check(
        claim_id="features.thm4",
        experiment="features.cube",
        evaluate=queries,
        reading="The counting step of the proof: a query correlates with at most 1/tau^2 parities.",
    ),
    Check(
        claim_id="features.lem5",
        experiment="features.lem5",
        evaluate=explicit,
        reading="Hats at p or p + 1/4, whichever keeps the biases away from zero.",
    ),
    Check(
        claim_id="features.lem6",
        experiment="features.lem6",
        evaluate=first_step,
        reading="The error terms have hidden constants; the leading term is compared.",
    ),
    Check(
        claim_id="features.sec5.1.improve",
        experiment="features.lem6",
        evaluate=improvement,
        reading="Ratio of lengths of the relevant and the background part, mean over neurons.",
    ),
    Check(
        claim_id="features.sec5.2.mean",
        experiment="features.lem6",
        evaluate=class_means,
        reading="Second step; the rank-one closed form is exact as the first rate goes to 0.",
    ),
    Check(
        claim_id="features.lem23.lp",
        experiment="features.lem23",
        evaluate=best_classifier,
        reading="Linear program over all classifiers with an intercept: free of learning rates and scales.",
        headline=True,
    ),
)
