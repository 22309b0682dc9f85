"""Theorems of features: guarantees of training, floors for fixed features, kernels and queries."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.papers.features import bounds
from karat.papers.features import bounds_regimes as regimes
from karat.study.claim import Check, Finding
from karat.study.evaluate import lower_bound_finding, upper_bound_finding, values_of
from karat.study.record import Record


def _theorem1(config: Mapping[str, Any]) -> list[str]:
    sizes = {name: config[name] for name in ("k", "D", "pairs", "p_o")}
    return regimes.theorem1_unmet(**sizes, label_corr=bounds.parity_label_corr(config["p_o"]))


def convergence(records: Sequence[Record]) -> Finding:
    """Hinge loss of the trained network against the rate with every constant 1."""
    config = records[0].config
    predicted = bounds.convergence_bound(config["k"], config["pairs"], config["steps"])
    finding = upper_bound_finding(values_of(records, "network_hinge"), predicted)
    note = f"With constants 1 the rate is {predicted:.3g}; the zero function has loss 1: it says nothing."
    return replace(finding, caveat=note if predicted >= 1 else finding.caveat)


def _theorem34(config: Mapping[str, Any]) -> list[str]:
    sizes = {name: config[name] for name in ("k", "d", "D", "pairs", "p_o", "sigma_zeta")}
    negative = 0.5 if config["negative_rate"] is None else config["negative_rate"]
    corr = bounds.parity_label_corr(config["p_o"])
    unmet = regimes.theorem34_unmet(**sizes, label_corr=corr, p_min=min(negative, 1 - negative))
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
    return regimes.theorem2_unmet(k=config["k"], D=config["D"], p_o=config["p_o"])


def coin_floor(records: Sequence[Record]) -> Finding:
    """|E[y Psi]| of random features on fair coins against sqrt(2N)/2^k, the slope of the floor in B.

    hinge >= 1 - B |E[y Psi]| for every linear model of norm B, so one set A below the slope proves the floor
    for these features; on average sampling noise raises the measured length.
    """
    config = records[0].config
    slope = math.sqrt(2 * config["pairs"]) / 2 ** config["k"]
    finding = upper_bound_finding(values_of(records, "rf_unstructured_strength"), slope)
    exact = math.sqrt(config["pairs"] / math.comb(config["D"], config["k"]))
    norms = values_of(records, "rf_unstructured_weight_norm")
    note = (
        f"N = {config['pairs']}; Parseval over all sets A gives at most {exact:.2g} on average. The floor is "
        f"positive for B below {1 / slope:.3g}; the trained weights have norm {np.mean(norms):.3g}."
    )
    return replace(finding, caveat=" ".join(filter(None, [finding.caveat, note])))


def _theorem29(config: Mapping[str, Any]) -> list[str]:
    return regimes.theorem29_unmet(k=config["k"], D=config["D"])


def kernels(records: Sequence[Record]) -> Finding:
    """Smallest distance of the hinge loss from its exact floor, over bandwidths and seeds."""
    slack = [r.values["hinge"] - r.values["floor"] for r in records]
    finding = lower_bound_finding(slack, 0.0, deterministic=True)
    floor = min(values_of(records, "floor"))
    note = f"Floor p_o (1 - L sqrt(lambda_k)) with the kernel's own eigenvalue, at least {floor:.4f} here."
    return replace(finding, caveat=note)


def queries(records: Sequence[Record]) -> Finding:
    """max(queries, 1/tolerance) that neurons need to tell all parities apart, over binom(D, k)^(1/3)/2."""
    finding = lower_bound_finding(
        [r.values["effort"] / r.values["query_floor"] for r in records], 1.0, deterministic=True
    )
    least = min(records, key=lambda r: r.values["effort"])
    note = (
        f"Smallest effort {least.values['effort']:.3g} at D = {least.config['D']}, k = {least.config['k']}, "
        f"where the theorem asks for {least.values['query_floor']:.2g}; at D = 100, k = 5 it asks for "
        f"{bounds.query_floor(100, 5):.0f}."
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
        experiment="features.tab1",
        evaluate=coin_floor,
        hypotheses=_theorem29,
        reading="Random features; 1 - B |E[y Psi]|, below every hinge loss, is compared with the floor.",
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
        reading="One learner only: its queries are neurons of a random net, exact over the cube.",
    ),
)
