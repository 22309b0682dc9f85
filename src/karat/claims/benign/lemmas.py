"""The lemmas of the proof, followed along training."""

from collections.abc import Sequence
from typing import Any

from karat.bounds.benign import loss_ratio_bound
from karat.claims.benign.settings import config_of, unmet, with_hidden_constant
from karat.claims.claim import Check, Finding
from karat.claims.evaluate import lower_bound_finding, upper_bound_finding
from karat.experiments.record import Record

# Margins are sums of m rounded terms in float64; a drop below this is not one.
_ROUNDING = 1e-12


def _distance(records: Sequence[Record]) -> Finding:
    """Largest distance of an attacked point from the span of the data, over its bound."""
    ratios = [r.values["distance"] / r.values["distance_bound"] for r in records]
    return upper_bound_finding(ratios, 1.0, deterministic=True)


def _margin_bound(records: Sequence[Record]) -> Finding:
    """Largest excess of the measured robust error over the bound from the margins, over all steps."""
    excess = [
        error - bound
        for r in records
        for error, bound in zip(r.values["robust_error"], r.values["margin_bound"], strict=True)
    ]
    return upper_bound_finding(excess, 0.0, deterministic=True)


def _increment(records: Sequence[Record]) -> Finding:
    """Smallest slack of the one-step inequality over test points, and the range of the correlations."""
    smooth = [r for r in records if "increment_slack" in r.values]
    if not smooth:
        raise ValueError("no run uses the smooth activation that the lemma speaks of.")
    outside = [r for r in smooth if r.values["correlation_low"] < config_of(r).slope ** 2 - _ROUNDING]
    finding = lower_bound_finding([r.values["increment_slack"] for r in smooth], 0.0, deterministic=True)
    if outside:
        return Finding(
            **(vars(finding) | {"verdict": "fails", "caveat": "A correlation leaves [slope^2, 1]."})
        )
    return finding


def _loss_ratio(records: Sequence[Record]) -> Finding:
    """Largest ratio of loss derivatives over its bound."""
    shares = []
    for r in records:
        config = config_of(r)
        bound = loss_ratio_bound(
            config.d, config.tau, kappa=config.law.variance, slope=config.setting().slope
        )
        shares.append(r.values["loss_ratio"] / bound)
    finding = upper_bound_finding(shares, 1.0, deterministic=True)
    largest = max(r.values["loss_ratio"] for r in records)
    return Finding(
        **(vars(finding) | {"caveat": f"Shown over the bound; the largest ratio itself is {largest:.2f}."})
    )


def _activity(records: Sequence[Record]) -> Finding:
    """Smallest share of robustly active samples per neuron and of robustly active neurons per sample."""
    relu = [r for r in records if r.config["activation"] == "relu"]
    shares = [min(r.values["active_samples"], r.values["active_neurons"]) for r in relu]
    positive = min(shares) > 0
    return Finding(
        measured=min(shares),
        interval=None,
        predicted=0.0,
        verdict="holds" if positive else "fails",
        caveat="Theta(1) is read as: above 0 for every neuron and every sample.",
    )


def _one_step(records: Sequence[Record]) -> Finding:
    """Robust training error after the first step."""
    return upper_bound_finding([r.values["first_step_error"] for r in records], 0.0, deterministic=True)


def _monotone(records: Sequence[Record]) -> Finding:
    """Largest drop of an attacked point's margin over one step."""
    return upper_bound_finding([r.values["margin_drop"] for r in records], _ROUNDING, deterministic=True)


def _margin_law(records: Sequence[Record]) -> Finding:
    """Smallest normalised margin over sqrt(n/d) |mu|^2, over all steps and settings: bounded below.

    The constant is hidden; that it is positive and alike over settings is what can be seen.
    """
    lows = [min(r.values["normalised_margin"]) for r in records]
    spread = max(lows) / min(lows) if min(lows) > 0 else float("inf")
    return Finding(
        measured=min(lows),
        interval=None,
        predicted=0.0,
        verdict="holds" if min(lows) > 0 else "fails",
        caveat=f"Between the settings the constant varies by a factor {spread:.2f}.",
    )


def _movement(records: Sequence[Record]) -> Finding:
    """Smallest one-step movement over slope |mu| / 10."""
    ratios = []
    for r in records:
        config = config_of(r)
        ratios.append(r.values["first_step_movement"] / (config.setting().slope * config.mu / 10))
    return lower_bound_finding(ratios, 1.0, deterministic=True)


_LEMMAS: tuple[tuple[str, Any, str], ...] = (
    ("lem4.1", _distance, "Distance over min(init_scale sqrt(m d)/lr, tau)."),
    ("lem4.2", _margin_bound, "c = 1/2, spectral norm of W; robust error by PGD."),
    ("lem4.3", _increment, "With the spectral norm of the step in place of its bound: no hidden constant."),
    ("lem4.4", _loss_ratio, "C_r from its printed form, C1 = 10/kappa."),
    ("lem4.5", _activity, ""),
    ("sec3.onestep", _one_step, "Attacked by PGD."),
    ("lemB.9", _monotone, "Followed at the points that the attack finds, every step."),
    ("lemB.14", _margin_law, ""),
    ("propB.34", _movement, "gamma = 1 for the ReLU."),
)

CHECKS = tuple(
    Check(
        claim_id=f"benign.{name}",
        experiment="benign.lemmas",
        evaluate=with_hidden_constant(evaluate),
        hypotheses=unmet,
        reading=reading,
    )
    for name, evaluate, reading in _LEMMAS
)
