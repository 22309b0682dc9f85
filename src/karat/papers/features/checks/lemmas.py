"""Lemmas of features: the explicit net, both feature-learning steps, and classifiers on their features."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.papers.features import bounds
from karat.papers.features import bounds_regimes as regimes
from karat.study.claim import Check, Finding, Outcome
from karat.study.evaluate import lower_bound_finding, tight_finding, upper_bound_finding, values_of
from karat.study.record import Record


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
    """Largest error of any component of any neuron after step one over the lemma's bound, constants 1."""
    ratios = []
    for r in records:
        error = _activation_error(r.config)
        variance = r.config["p_o"] * (1 - r.config["p_o"])
        ratios += [r.values["signal_worst"] / error, r.values["background_worst"] / (variance * error)]
    finding = upper_bound_finding(ratios, 1.0, deterministic=True)
    own = [r for r in records if r.config["p_o"] == 0.5] or records
    at = [r for r in own if r.config["n"] == max(r.config["n"] for r in own)]
    mean = np.mean(values_of(at, "signal_ratio"))
    noise = np.mean([r.values["background"] / r.values["background_sampling"] for r in at])
    note = (
        f"eps_e = {_activation_error(at[0].config):.3g} is not small beside beta gamma < 1/2: the bound says "
        f"little. At n = {at[0].config['n']} relevant components are {mean:.3f} times beta gamma/sigma~ on "
        f"average and background ones {noise:.2f} times what the finite sample alone causes."
    )
    return replace(finding, caveat=note)


def _activation_error(config: Mapping[str, Any]) -> float:
    return bounds.activation_error(**_sizes(config))


def _sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: config[name] for name in ("k", "D", "pairs", "p_o")}


def _lemma15(config: Mapping[str, Any]) -> list[str]:
    noise = config["k"] ** -1.5 if config["sigma_xi"] is None else config["sigma_xi"]
    return regimes.lemma15_unmet(**_sizes(config), noise=noise)


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
    """Held-out hinge loss of the best classifier of a sample on two-step features, at the largest n.

    The lemma says that some classifier has loss zero; one with a positive loss cannot refute it.
    """
    own = [r for r in records if r.config["p_o"] == 0.5] or records
    sizes = sorted({r.config["n"] for r in own})
    groups = {n: [r for r in own if r.config["n"] == n] for n in sizes}
    finding = upper_bound_finding(values_of(groups[sizes[-1]], "step2_test_loss"), 0.0)
    verdict: Outcome = "inconclusive" if finding.verdict == "fails" else finding.verdict
    config = own[-1].config
    unit = config["k"] ** 5 / (2 * config["pairs"])
    weight = float(np.median(values_of(own, "step2_largest_weight")))
    errors = "; ".join(f"n = {n}: {_held_out(group)}" for n, group in groups.items())
    note = (
        f"{finding.caveat} Held-out errors at p_o = {config['p_o']:g}, {errors}. |a|_inf = {weight:.0f}, "
        f"{weight / unit:.2g} times k^5/m."
    )
    return replace(finding, verdict=verdict, caveat=note.strip())


def _held_out(records: Sequence[Record]) -> str:
    names = {"start": "start", "step1": "step 1", "step1_rescaled": "step 1 rescaled", "step2": "step 2"}
    return ", ".join(
        f"{label} {np.mean(values_of(records, f'{name}_test_error')):.2g}" for name, label in names.items()
    )


def _lemma23(config: Mapping[str, Any]) -> list[str]:
    return regimes.lemma23_unmet(**_sizes(config), label_corr=bounds.parity_label_corr(config["p_o"]))


def stays_near(records: Sequence[Record]) -> Finding:
    """Largest over neurons of the movement in classifier learning over the bound of the proof, per seed."""
    finding = upper_bound_finding(values_of(records, "network_moved_over_bound"), 1.0)
    moved = np.mean(values_of(records, "network_moved"))
    note = f"All hidden weights together move by {moved:.3f} of their length."
    return replace(finding, caveat=" ".join(filter(None, [finding.caveat, note])))


def _lemma24(config: Mapping[str, Any]) -> list[str]:
    unmet = _lemma23(config)
    if max(config["lr_a"]) >= 1:
        unmet.append("Lem 24: rates below 1 (that of the output weights is larger)")
    if set(config["lr_a"]) != {config["lr_hidden"]}:
        unmet.append("Lem 24: one rate for all weights")
    if config["momentum"]:
        unmet.append("Lem 24: no momentum")
    return unmet


CHECKS = (
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
        hypotheses=_lemma15,
        reading="Error terms of Lemma 15, its full version, with constants 1 and p_fail = 1/2; beta is the "
        "share of active samples.",
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
        hypotheses=_lemma23,
        reading="Linear program on part of the sample, judged on new points; unlike the lemma it has an "
        "intercept, and |a|_0 is not looked at.",
        headline=True,
    ),
    Check(
        claim_id="features.lem24",
        experiment="features.tab1",
        evaluate=stays_near,
        hypotheses=_lemma24,
        reading="Eq 265 for every neuron, with the rate of the hidden weights and without decay.",
    ),
)
