"""Theorems of features: guarantees of training, floors for fixed features, kernels and queries."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from karat.papers.features import bounds
from karat.papers.features import bounds_regimes as regimes
from karat.papers.features.checks.reported import MethodRun
from karat.papers.features.experiments.cube import CUBE, CubeConfig, CubeResult
from karat.papers.features.experiments.kernels import COR3, KernelConfig, KernelResult
from karat.papers.features.experiments.settings import LearningConfig
from karat.papers.features.experiments.tables import GENERAL, TAB1
from karat.study.claim import Check, Finding
from karat.study.evaluate import lower_bound_finding, upper_bound_finding
from karat.study.run import Run

L = TypeVar("L", bound=LearningConfig)


def _theorem1(run: MethodRun) -> list[str]:
    config = run.config
    return regimes.theorem1_unmet(
        k=config.k,
        D=config.D,
        pairs=config.pairs,
        p_o=config.p_o,
        label_corr=bounds.parity_label_corr(config.p_o),
    )


def convergence(runs: Sequence[MethodRun]) -> Finding:
    """Hinge loss of the trained network against the rate with every constant 1."""
    config = runs[0].config
    predicted = bounds.convergence_bound(config.k, config.pairs, config.steps)
    finding = upper_bound_finding([run.result.methods["network"].hinge for run in runs], predicted)
    note = f"With constants 1 the rate is {predicted:.3g}; the zero function has loss 1: it says nothing."
    return replace(finding, caveat=note if predicted >= 1 else finding.caveat)


def _theorem34(run: MethodRun) -> list[str]:
    config = run.config
    negative = 0.5 if config.negative_rate is None else config.negative_rate
    unmet = regimes.theorem34_unmet(
        k=config.k,
        d=config.d,
        D=config.D,
        pairs=config.pairs,
        p_o=config.p_o,
        label_corr=bounds.parity_label_corr(config.p_o),
        p_min=min(negative, 1 - negative),
        sigma_zeta=config.sigma_zeta,
    )
    if config.dictionary == "incoherent":
        unmet.append("Thm 34: coherence <= O(1/D); random patterns have it of order sqrt(log D/d)")
    if config.sampling != "plain":
        unmet.append("Sec F.1.1: unweighted loss after the first two steps")
    return unmet


def fixed_features(runs: Sequence[MethodRun]) -> Finding:
    """Test hinge loss of random features against the floor for their number and weight norm.

    The floor holds on average over a random A, and A is drawn anew with every seed.
    """
    config = runs[0].config
    norm = float(np.mean([run.result.methods["rf"].known("weight_norm") for run in runs]))
    # Random features lie in [0, 1], one per pair of neurons: their mean square length is at most `pairs`.
    floor = bounds.parseval_floor(config.p_o, config.D, config.k, config.pairs, norm)
    finding = lower_bound_finding([run.result.methods["rf"].hinge for run in runs], floor)
    theorem_floor = bounds.fixed_feature_floor(config.p_o, config.k, config.pairs, norm)
    ntk = float(np.mean([run.result.methods["ntk"].hinge for run in runs]))
    network = float(np.mean([run.result.methods["network"].hinge for run in runs]))
    note = (
        f"N = {config.pairs}, B = {norm:.3g}; the theorem's own constant sqrt(2N) B/2^k gives "
        f"{theorem_floor:.3g}. NTK stops at {ntk:.3f}, the network at {network:.3f}; the limit is "
        f"p_o = {config.p_o:g}."
    )
    return replace(finding, caveat=note)


def _theorem2(run: Run[L, Any]) -> list[str]:
    return regimes.theorem2_unmet(k=run.config.k, D=run.config.D, p_o=run.config.p_o)


def coin_floor(runs: Sequence[MethodRun]) -> Finding:
    r"""Correlation of random features with the label on fair coins, against the slope of the floor in B.

    .. math:: |E[y \Psi]| \le \sqrt{2N} / 2^k

    The hinge loss of every linear model of norm B is at least :math:`1 - B |E[y \Psi]|`, so one set A below
    the slope proves the floor for these features; on average sampling noise raises the measured length.
    """
    config = runs[0].config
    slope = math.sqrt(2 * config.pairs) / 2**config.k
    features = [run.result.methods["rf_unstructured"] for run in runs]
    finding = upper_bound_finding([rf.known("strength") for rf in features], slope)
    exact = math.sqrt(config.pairs / math.comb(config.D, config.k))
    norm = np.mean([rf.known("weight_norm") for rf in features])
    note = (
        f"N = {config.pairs}; Parseval over all sets A gives at most {exact:.2g} on average. The floor is "
        f"positive for B below {1 / slope:.3g}; the trained weights have norm {norm:.3g}."
    )
    return replace(finding, caveat=" ".join(filter(None, [finding.caveat, note])))


def _theorem29(run: MethodRun) -> list[str]:
    return regimes.theorem29_unmet(k=run.config.k, D=run.config.D)


def kernels(runs: Sequence[Run[KernelConfig, KernelResult]]) -> Finding:
    """Smallest distance of the hinge loss from its exact floor, over bandwidths and seeds."""
    slack = [run.result.hinge - run.result.floor for run in runs]
    finding = lower_bound_finding(slack, 0.0, deterministic=True)
    floor = min(run.result.floor for run in runs)
    note = f"Floor p_o (1 - L sqrt(lambda_k)) with the kernel's own eigenvalue, at least {floor:.4f} here."
    return replace(finding, caveat=note)


def queries(runs: Sequence[Run[CubeConfig, CubeResult]]) -> Finding:
    """Effort, max(queries, 1/tolerance), with which neurons tell all parities apart, over Theorem 4's."""
    ratios = [run.result.effort / run.result.query_floor for run in runs]
    finding = lower_bound_finding(ratios, 1.0, deterministic=True)
    least = min(runs, key=lambda run: run.result.effort)
    note = (
        f"Smallest effort {least.result.effort:.3g} at D = {least.config.D}, k = {least.config.k}, "
        f"where the theorem asks for {least.result.query_floor:.2g}; at D = 100, k = 5 it asks for "
        f"{bounds.query_floor(100, 5):.0f}."
    )
    return replace(finding, caveat=note)


CHECKS = (
    Check(
        claim_id="features.thm1",
        experiment=TAB1,
        evaluate=convergence,
        hypotheses=_theorem1,
        reading="Rate of Theorem 26 with constants 1; tol = p_fail = 1/2 in the hypotheses.",
    ),
    Check(
        claim_id="features.appF",
        experiment=GENERAL,
        evaluate=convergence,
        hypotheses=_theorem34,
        reading="Class weights in the first two steps only; noise zeta/sigma~ (printed zeta/sigma_zeta).",
    ),
    Check(
        claim_id="features.thm2",
        experiment=TAB1,
        evaluate=fixed_features,
        hypotheses=_theorem2,
        reading="Parseval over all parities instead of 2^k, rigorous for the measured N and B; RF features.",
        headline=True,
    ),
    Check(
        claim_id="features.thm29",
        experiment=TAB1,
        evaluate=coin_floor,
        hypotheses=_theorem29,
        reading="Random features; 1 - B |E[y Psi]|, below every hinge loss, is compared with the floor.",
    ),
    Check(
        claim_id="features.cor3",
        experiment=COR3,
        evaluate=kernels,
        hypotheses=_theorem2,
        reading="Radial kernel; poly(d, L)/2^k is replaced by the exact eigenvalue at the parities.",
    ),
    Check(
        claim_id="features.thm4",
        experiment=CUBE,
        evaluate=queries,
        reading="One learner only: its queries are neurons of a random net, exact over the cube.",
    ),
)
