"""The lemmas of the proof, followed along training."""

from collections.abc import Sequence

from karat.papers.benign.bounds import gradient_constant, loss_ratio_reach
from karat.papers.benign.checks.predictions import loss_ratio_limit
from karat.papers.benign.checks.settings import Evaluate, config_of, unmet, with_hidden_constant
from karat.study.claim import Check, Finding, Outcome
from karat.study.curves import vacuous, with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding
from karat.study.record import Record

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


def _smooth(records: Sequence[Record]) -> list[Record]:
    """Runs with the smooth activation, which some lemmas are confined to."""
    smooth = [r for r in records if config_of(r).setting().smooth]
    if not smooth:
        raise ValueError("no run uses the smooth activation that the lemma speaks of.")
    return smooth


def _printed_constant(record: Record) -> float:
    """C2 of a smooth run."""
    config = config_of(record)
    return gradient_constant(kappa=config.law.variance, slope=config.slope)


def _increment(records: Sequence[Record]) -> Finding:
    """Smallest slack of the one-step inequality over the largest gain, the correlations, and C2."""
    smooth = _smooth(records)
    finding = lower_bound_finding([r.values["increment_slack"] for r in smooth], 0.0, deterministic=True)
    if any(r.values["correlation_low"] < config_of(r).slope ** 2 - _ROUNDING for r in smooth):
        finding = with_caveat(finding, "A correlation leaves [slope^2, 1].", verdict="fails")
    worst = max(smooth, key=lambda r: r.values["gradient_constant"] / _printed_constant(r))
    needed, printed = worst.values["gradient_constant"], _printed_constant(worst)
    text = f"The gradients need C2 = {needed:.3g}; printed is {printed:.3g}."
    return with_caveat(finding, text, verdict="fails" if needed > printed else None)


def _loss_ratio(records: Sequence[Record]) -> Finding:
    """Largest ratio of loss derivatives over its bound, unless no run could have reached that bound."""
    limits = [loss_ratio_limit(r) for r in records]
    finding = upper_bound_finding(
        [r.values["loss_ratio"] / limit for r, limit in zip(records, limits, strict=True)],
        1.0,
        deterministic=True,
    )
    largest = max(r.values["loss_ratio"] for r in records)
    reach = max(map(_reach, records))
    if reach < min(limits):
        note = (
            f"steps so small and few cannot bring the ratio above {reach:.3g} whatever happens, the bound is "
            f"{min(limits):.3g} at least."
        )
        return vacuous(largest, min(limits), note)
    return with_caveat(finding, f"Shown over the bound; the largest ratio itself is {largest:.2f}.")


def _reach(record: Record) -> float:
    config = config_of(record)
    return loss_ratio_reach(config.d, config.tau, config.elapsed, kappa=config.law.variance)


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
    """Smallest gain of a margin over one step, over the largest, from below over every point of every ball.

    The net starts at 0, so gains that are never negative also keep every margin >= 0. A drop at a point that
    the attack finds refutes the lemma; a negative lower bound without one decides nothing.
    """
    smooth = _smooth(records)
    drop = max(r.values["margin_drop"] for r in smooth)
    finding = lower_bound_finding([r.values["certified_gain"] for r in smooth], 0.0, deterministic=True)
    verdict: Outcome = "fails" if drop > _ROUNDING else finding.verdict
    if verdict == "fails" and drop <= _ROUNDING:
        verdict = "inconclusive"
    return with_caveat(finding, f"Largest drop at a point the attack finds: {drop:.2g}.", verdict=verdict)


def _relu_monotone(records: Sequence[Record]) -> Finding:
    """Largest drop of an attacked point's margin over one step of a ReLU run."""
    drops = [r.values["margin_drop"] for r in records if r.config["activation"] == "relu"]
    return upper_bound_finding(drops, _ROUNDING, deterministic=True)


def _margin_law(records: Sequence[Record]) -> Finding:
    """Smallest normalised margin over sqrt(n/d) |mu|^2, over all steps, against slope^2/(32 C2)."""
    smooth = _smooth(records)
    low = min(smooth, key=lambda r: min(r.values["normalised_margin"]))
    floor = max(config_of(r).slope ** 2 / (32 * _printed_constant(r)) for r in smooth)
    return lower_bound_finding([min(low.values["normalised_margin"])], floor, deterministic=True)


def _relu_margin_law(records: Sequence[Record]) -> Finding:
    """Smallest normalised margin over sqrt(n/d) |mu|^2 of the ReLU runs: bounded below.

    The constant is hidden; that it is positive and alike over settings is what can be seen.
    """
    lows = [min(r.values["normalised_margin"]) for r in records if r.config["activation"] == "relu"]
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


def _hidden(item: str, evaluate: Evaluate, reading: str = "") -> Check:
    """A lemma under the theorem's hypotheses, with a constant that the paper does not name."""
    return Check(
        claim_id=f"benign.{item}",
        experiment="benign.lemmas",
        evaluate=with_hidden_constant(evaluate),
        hypotheses=unmet,
        reading=reading,
    )


def _explicit(item: str, evaluate: Evaluate, reading: str) -> Check:
    """An inequality that needs none of the hypotheses: a violation would be an error, and must show."""
    return Check(claim_id=f"benign.{item}", experiment="benign.lemmas", evaluate=evaluate, reading=reading)


CHECKS = (
    _hidden("lem4.1", _distance, "Distance over min(init_scale sqrt(m d)/lr, tau)."),
    _hidden("lem4.4", _loss_ratio, "C_r from its printed forms, C1 = 10/kappa, c0 = 1."),
    _hidden("lem4.5", _activity),
    _hidden("sec3.onestep", _one_step, "Attacked by PGD."),
    _hidden(
        "lemB.9",
        _monotone,
        "Smooth runs; the gain over a ball is at least that at its centre less tau times a Lipschitz bound.",
    ),
    _hidden("lemB.14", _margin_law, "Smooth runs; C2 = sqrt(5 C1 C_r) as printed; means over test points."),
    _hidden("lemB.26", _relu_monotone, "c0 is hidden: read as no drop, at the points that the attack finds."),
    _hidden("lemB.33", _relu_margin_law, "The hidden c9 > 0 is read as: above 0 in every run."),
    _hidden("propB.34", _movement, "gamma = 1 for the ReLU."),
    _explicit("lem4.2", _margin_bound, "c = 1/2, spectral norm of W; margins by means, robust error by PGD."),
    _explicit(
        "lem4.3",
        _increment,
        "Taylor's inequality with the step's own spectral norm, sharper than printed; C2 is tested beside.",
    ),
)
