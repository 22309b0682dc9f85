"""Checks of the angles of Figure 2 and of the frozen layers of Section 8.2."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.purification.checks.image_records import (
    ZERO,
    Lead,
    least_lead,
    resnet34,
    smoothed_attacker,
    whole_alexnet,
)
from karat.papers.purification.experiments.freezing import FREEZING, FreezingConfig, FreezingResult
from karat.papers.purification.experiments.layer_angles import LayerAngles
from karat.papers.purification.experiments.theta import THETA, ThetaConfig, ThetaResult
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding
from karat.study.run import Run

ThetaRun = Run[ThetaConfig, ThetaResult]
FreezingRun = Run[FreezingConfig, FreezingResult]

MOST = 0.5
"""'Most neurons' is read as more than half of them."""

PRINTED_EXPONENT = 1e-4 * 391 * (40 * 0.1 + 10 * 0.01) / (1 - 0.9)
"""Weight decay times summed rates of the paper's clean stage: T = 50 epochs, rate 0.1 and 0.01 after 40."""


def _either_net(run: ThetaRun) -> list[str]:
    net = whole_alexnet if run.config.network.startswith("alexnet") else resnet34
    return [*net(run.config), *smoothed_attacker(run.config.attacker)]


def _three_stages(run: FreezingRun) -> list[str]:
    return [*resnet34(run.config), *smoothed_attacker(run.config.attacker)]


def _clauses(result: LayerAngles) -> tuple[list[float], ...]:
    r"""Shares of the four clauses, one list over the layers each.

    :math:`\theta(w_0, w) \le 0.2`, :math:`\theta(w_0, w') \le 0.2`, :math:`\theta(w, w') \ge 0.8` and
    :math:`\theta(w_i, w_j) \le 0.2`.
    """
    return (
        result.start_clean_small,
        result.start_robust_small,
        result.clean_robust_large,
        result.pairs_small,
    )


def angles(runs: Sequence[ThetaRun]) -> Finding:
    """Judge the smallest share over clauses and layers, in every run; runs that disagree leave it open."""
    shares = [min(map(min, _clauses(run.result))) for run in runs]
    finding = lower_bound_finding(shares, MOST, deterministic=True)
    # Weight decay alone decides here: one value for which the principle holds does not establish it.
    if min(shares) < MOST <= max(shares):
        finding = replace(finding, verdict="inconclusive")
    note = (
        f"Shares of live filters at the worst layer: {_row(shares)}. Weight decay times summed rates, the "
        f"exponent by which the start fades, is {PRINTED_EXPONENT:.1f} in the paper's schedule."
    )
    return with_caveat(finding, note, *map(_mean_angles, runs))


def _mean_angles(run: ThetaRun) -> str:
    result = run.result
    dead = sum(result.filters) - sum(result.live)
    return (
        f"Weight decay {run.config.weight_decay:g} (exponent {result.decay_exponent:.1f}): "
        f"theta(w0, w) {_row(result.start_clean)}, theta(w, w') {_row(result.clean_robust)} "
        f"(same epochs of clean training {_row(result.clean_control)}), pairs {_row(result.pairs)}; "
        f"chance {_row(result.chance)}; {dead} dead filters left out; robust accuracy "
        f"{result.clean.strong:.2f} to {result.robust.strong:.2f}."
    )


def layer_angles(runs: Sequence[FreezingRun]) -> Finding:
    """Judge the same shares at the layers that were drawn anew above frozen ones, the smallest of all."""
    shares, notes = [], []
    for run in runs:
        result = run.result
        shares.append(min(min(_above_frozen(run, clause)) for clause in _clauses(result)))
        accuracy, strong = (
            f"{_row(_above_frozen(run, before))} then {_row(_above_frozen(run, after))}"
            for before, after in (
                (result.stage2.accuracy, result.stage3.accuracy),
                (result.stage2.strong, result.stage3.strong),
            )
        )
        start, turn, pairs = (
            _row(_above_frozen(run, theta))
            for theta in (result.start_clean, result.clean_robust, result.pairs)
        )
        notes.append(
            f"At {', '.join(_frozen_layers(run))}: theta(w0, w) {start}, theta(w, w') {turn}, pairs {pairs}; "
            f"clean accuracy {accuracy}, robust {strong}."
        )
    return with_caveat(lower_bound_finding(shares, MOST, deterministic=True), *notes)


def frozen(runs: Sequence[FreezingRun]) -> Finding:
    """Judge the largest robust accuracy of clean upper layers on frozen robust ones, printed as 0%."""
    shares, notes = [], []
    for run in runs:
        result = run.result
        shares.append(max(_above_frozen(run, result.stage2.strong)))
        # The claim is about frozen layers: a run in which they moved says nothing about it.
        if not all(result.frozen_unchanged):
            raise ValueError("frozen tensors changed during training.")
        rows = zip(run.config.layers, result.stage2.strong, result.stage3.strong, strict=True)
        stages = ", ".join(f"from {layer} on {two:.2f} then {three:.2f}" for layer, two, three in rows)
        notes.append(
            f"Stage 1 {result.stage1.strong:.2f}; after stages 2 and 3, drawn anew {stages}. Nothing "
            "is frozen below the first layer: clean training from scratch."
        )
    finding = upper_bound_finding(shares, ZERO, deterministic=True)
    return with_caveat(
        finding, "Strong noise-free attack, the largest over the layers with frozen ones.", *notes
    )


def layer_by_layer(runs: Sequence[FreezingRun]) -> Finding:
    """Judge the smallest gain of stage 3 over stage 2; the layer drawn anew must hardly turn meanwhile."""
    gains, shares, notes = [], [], []
    for run in runs:
        result, images = run.result, run.result.images_attacked(run.config)
        before, after = (_above_frozen(run, stage.strong) for stage in (result.stage2, result.stage3))
        gains += [Lead(last, first, images) for first, last in zip(before, after, strict=True)]
        shares += _above_frozen(run, result.clean_robust_large)
        notes.append(
            f"At {', '.join(_frozen_layers(run))}: robust accuracy {_row(before)} to {_row(after)}, "
            f"theta(w0, w) {_row(_above_frozen(run, result.start_clean))}, theta(w, w') "
            f"{_row(_above_frozen(run, result.clean_robust))}."
        )
    finding = least_lead(gains)
    # Robustness from other filters would be no purification of these.
    if min(shares) <= MOST:
        finding = replace(finding, verdict="fails")
    note = "Gain of stage 3 over stage 2; most filters of the layer must keep theta(w, w') >= 0.8. "
    return with_caveat(
        finding, note + " ".join(notes), "What the layer's features look like is not judged here."
    )


def _frozen_layers(run: FreezingRun) -> list[str]:
    counts = run.result.frozen_tensors
    return [layer for layer, count in zip(run.config.layers, counts, strict=True) if count]


def _above_frozen(run: FreezingRun, values: Sequence[float]) -> list[float]:
    """Of values per layer, those of the layers below which something is frozen."""
    above = [value for value, count in zip(values, run.result.frozen_tensors, strict=True) if count]
    if not above:
        raise ValueError("no layer of the run has frozen ones below it.")
    return above


def _row(values: Sequence[float]) -> str:
    return " ".join(f"{value:.2f}" for value in values)


_STOP = (
    "Stage 3 runs its whole length; footnote 17 stops it once the accuracies of stage 1 are back, so that "
    "filters turn less."
)

CHECKS = (
    Check(
        claim_id="purification.fig2",
        experiment=THETA,
        evaluate=angles,
        hypotheses=_either_net,
        reported="theta(w0, w), theta(w0, w') <= 0.2, theta(w, w') >= 0.8, pairs <= 0.2 for most",
        reading="Most is more than half of the live filters, at every layer of a net trained as a whole: the "
        "caption's ResNet-34 is trained layer by layer, see purification.fig2.resnet. The caption's "
        "l2(1, 0.5) is read as the l2(1, 0.25) of Section 8.2; at reduced scales it is the same ball without "
        "noise. Every weight decay is judged: it holds if all do, and stays open where only some do.",
        headline=True,
    ),
    Check(
        claim_id="purification.fig2.resnet",
        experiment=FREEZING,
        evaluate=layer_angles,
        hypotheses=_three_stages,
        reported="the same angles; clean > 80%, robust 0% before; clean > 65%, robust > 42% after",
        reading=f"The layer drawn anew, at every layer tried; the accuracies are told, not judged. {_STOP}",
    ),
    Check(
        claim_id="purification.sec8.2.frozen",
        experiment=FREEZING,
        evaluate=frozen,
        hypotheses=_three_stages,
        reported="0%",
        reading="0% is read as at most 0.05%, at every layer tried.",
    ),
    Check(
        claim_id="purification.fig11",
        experiment=FREEZING,
        evaluate=layer_by_layer,
        hypotheses=_three_stages,
        reading="Purified is read as: robustness comes back although the layer's filters hardly turn. "
        f"{_STOP}",
    ),
)
