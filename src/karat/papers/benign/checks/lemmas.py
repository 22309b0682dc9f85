"""The lemmas of the proof, followed along training."""

import math
from collections.abc import Sequence

from karat.papers.benign.bounds_lemmas import gradient_constant, loss_ratio_reach
from karat.papers.benign.checks.lemma_values import (
    ROUNDING,
    LemmaRun,
    active_share,
    distance_share,
    excess_error,
    lowest_margin,
    movement_share,
)
from karat.papers.benign.checks.predictions import loss_ratio_limit
from karat.papers.benign.checks.settings import Evaluate, unmet, with_hidden_constant
from karat.papers.benign.experiments.lemma_trace import LemmaResult
from karat.papers.benign.experiments.traces import LEMMAS, LemmaConfig
from karat.study.claim import Check, Finding, Outcome
from karat.study.curves import vacuous, with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding


def _distance(runs: Sequence[LemmaRun]) -> Finding:
    """Largest distance of an attacked point from the span of the data, over its bound."""
    return upper_bound_finding([distance_share(run) for run in runs], 1.0, deterministic=True)


def _margin_bound(runs: Sequence[LemmaRun]) -> Finding:
    """Largest excess of the measured robust error over the bound from the margins, over all steps."""
    return upper_bound_finding([excess_error(run) for run in runs], 0.0, deterministic=True)


def _smooth(runs: Sequence[LemmaRun]) -> list[LemmaRun]:
    """Runs with the smooth activation, which some lemmas are confined to."""
    smooth = [run for run in runs if run.config.setting().smooth]
    if not smooth:
        raise ValueError("no run uses the smooth activation that the lemma speaks of.")
    return smooth


def _relu(runs: Sequence[LemmaRun]) -> list[LemmaRun]:
    """Runs with the ReLU, which other lemmas are confined to."""
    return [run for run in runs if run.config.activation == "relu"]


def _known(values: Sequence[float | None]) -> list[float]:
    """Numbers of smooth runs, all of which must have one."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        raise ValueError("in some runs no margin moved, so that there is no gain to compare with.")
    return known


def _printed_constant(config: LemmaConfig) -> float:
    """C2 of a smooth run."""
    return gradient_constant(kappa=config.law.variance, slope=config.slope)


def _increment(runs: Sequence[LemmaRun]) -> Finding:
    """Smallest slack of the one-step inequality over the largest gain, the correlations, and C2."""
    smooth = _smooth(runs)
    slacks = _known([run.result.increment_slack for run in smooth])
    correlations = _known([run.result.correlation_low for run in smooth])
    finding = lower_bound_finding(slacks, 0.0, deterministic=True)
    # Correlations are products of two derivatives, each at least the slope.
    lowest = [run.config.slope**2 - ROUNDING for run in smooth]
    if any(low < allowed for low, allowed in zip(correlations, lowest, strict=True)):
        finding = with_caveat(finding, "A correlation leaves [slope^2, 1].", verdict="fails")
    worst = max(smooth, key=lambda run: run.result.gradient_constant / _printed_constant(run.config))
    needed, printed = worst.result.gradient_constant, _printed_constant(worst.config)
    text = f"The gradients need C2 = {needed:.3g}; printed is {printed:.3g}."
    return with_caveat(finding, text, verdict="fails" if needed > printed else None)


def _loss_ratio(runs: Sequence[LemmaRun]) -> Finding:
    """Largest ratio of loss derivatives over its bound, unless no run could have reached that bound."""
    limits = [loss_ratio_limit(run.config) for run in runs]
    shares = [run.result.loss_ratio / limit for run, limit in zip(runs, limits, strict=True)]
    largest = max(run.result.loss_ratio for run in runs)
    reach = max(_reach(run.config) for run in runs)
    # A bound that no run could have broken has not been tested.
    if reach < min(limits):
        note = (
            f"steps so small and few cannot bring the ratio above {reach:.3g} whatever happens, the bound is "
            f"{min(limits):.3g} at least."
        )
        return vacuous(largest, min(limits), note)
    finding = upper_bound_finding(shares, 1.0, deterministic=True)
    return with_caveat(finding, f"Shown over the bound; the largest ratio itself is {largest:.2f}.")


def _reach(config: LemmaConfig) -> float:
    return loss_ratio_reach(config.d, config.tau, config.elapsed, kappa=config.law.variance)


def _activity(runs: Sequence[LemmaRun]) -> Finding:
    """Smallest share of robustly active samples per neuron and of robustly active neurons per sample."""
    lowest = min(active_share(run) for run in _relu(runs))
    caveat = "Theta(1) is read as: above 0 for every neuron and every sample."
    return _positive(lowest, caveat)


def _positive(measured: float, caveat: str) -> Finding:
    """A constant that the paper only calls positive."""
    verdict: Outcome = "holds" if measured > 0 else "fails"
    return Finding(measured=measured, interval=None, predicted=0.0, verdict=verdict, caveat=caveat)


def _one_step(runs: Sequence[LemmaRun]) -> Finding:
    """Robust training error after the first step."""
    return upper_bound_finding([run.result.first_step.error for run in runs], 0.0, deterministic=True)


def _monotone(runs: Sequence[LemmaRun]) -> Finding:
    """Smallest gain of a margin over one step, over the largest, from below over every point of every ball.

    The net starts at 0, so gains that are never negative also keep every margin >= 0. A drop at a point that
    the attack finds refutes the lemma; a negative lower bound without one decides nothing.
    """
    smooth = _smooth(runs)
    drop = max(run.result.margin_drop for run in smooth)
    gains = _known([run.result.certified_gain for run in smooth])
    finding = lower_bound_finding(gains, 0.0, deterministic=True)
    verdict: Outcome = finding.verdict
    if drop > ROUNDING:
        verdict = "fails"
    # The gain is bounded from below, and a lower bound may be too weak.
    elif verdict == "fails":
        verdict = "inconclusive"
    return with_caveat(finding, f"Largest drop at a point the attack finds: {drop:.2g}.", verdict=verdict)


def _relu_monotone(runs: Sequence[LemmaRun]) -> Finding:
    """Largest drop of an attacked point's margin over one step of a ReLU run."""
    drops = [run.result.margin_drop for run in _relu(runs)]
    return upper_bound_finding(drops, ROUNDING, deterministic=True)


def _margin_law(runs: Sequence[LemmaRun]) -> Finding:
    """Smallest normalised margin over sqrt(n/d) |mu|^2, over all steps, against slope^2/(32 C2)."""
    smooth = _smooth(runs)
    lowest = min(map(lowest_margin, smooth))
    # Settings differ in their constants: the smallest margin of all must exceed the largest of the bounds.
    floor = max(run.config.slope**2 / (32 * _printed_constant(run.config)) for run in smooth)
    return lower_bound_finding([lowest], floor, deterministic=True)


def _relu_margin_law(runs: Sequence[LemmaRun]) -> Finding:
    """Smallest normalised margin over sqrt(n/d) |mu|^2 of the ReLU runs: bounded below.

    The constant is hidden; that it is positive and alike over settings is what can be seen.
    """
    lows = [lowest_margin(run) for run in _relu(runs)]
    spread = max(lows) / min(lows) if min(lows) > 0 else math.inf
    return _positive(min(lows), f"Between the settings the constant varies by a factor {spread:.2f}.")


def _movement(runs: Sequence[LemmaRun]) -> Finding:
    """Smallest one-step movement over slope |mu| / 10."""
    return lower_bound_finding([movement_share(run) for run in runs], 1.0, deterministic=True)


def _hidden(
    item: str, evaluate: Evaluate[LemmaConfig, LemmaResult], reading: str = ""
) -> Check[LemmaConfig, LemmaResult]:
    """A lemma under the theorem's hypotheses, with a constant that the paper does not name."""
    return Check(
        claim_id=f"benign.{item}",
        experiment=LEMMAS,
        evaluate=with_hidden_constant(evaluate),
        hypotheses=unmet,
        reading=reading,
    )


def _explicit(
    item: str, evaluate: Evaluate[LemmaConfig, LemmaResult], reading: str
) -> Check[LemmaConfig, LemmaResult]:
    """An inequality that needs none of the hypotheses: a violation would be an error, and must show."""
    return Check(claim_id=f"benign.{item}", experiment=LEMMAS, evaluate=evaluate, reading=reading)


CHECKS = (
    _hidden("lem4.1", _distance, "Distance over min(init_scale sqrt(m d)/lr, tau)."),
    _hidden("lem4.4", _loss_ratio, "C_r from its printed forms, C1 = 10/kappa, c0 = 1."),
    _hidden("lem4.5", _activity),
    _hidden("sec3.onestep", _one_step, "ErrorKind by PGD."),
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
