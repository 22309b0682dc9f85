"""Check of Figure 2's angles in a net that is trained as a whole, and what a layer's angles must fulfil."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.purification.checks.image_examples import THETA_CONFIG, THETA_RESULT
from karat.papers.purification.checks.image_records import (
    GAIN,
    HALF_GAIN,
    all_images,
    paper_runs,
    paper_settings,
    smoothed_attacker,
    without_attack,
    without_training,
)
from karat.papers.purification.checks.paper_nets import ALEXNET_WHOLE
from karat.papers.purification.experiments.layer_angles import LayerAngles
from karat.papers.purification.experiments.theta import THETA, ThetaConfig, ThetaResult
from karat.study.check import Check
from karat.study.finding import Finding, Unit
from karat.study.hypothesis import Condition
from karat.study.judging import all_of, bound, every_setting, noted
from karat.study.run import Run, examples

ThetaRun = Run[ThetaConfig, ThetaResult]

MOST = 0.5
"""'Most neurons' is read as more than half of them."""

PRINTED_EXPONENT = 1e-4 * 391 * (40 * 0.1 + 10 * 0.01) / (1 - 0.9)
"""Weight decay times summed rates of the paper's clean stage: T = 50 epochs, rate 0.1 and 0.01 after 40."""

FILTERS = Unit("share of live filters", 0.0, 1.0)


def clauses(result: LayerAngles) -> tuple[list[float], ...]:
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
    """Judge the shares of the four clauses at the worst layer, and that robustness was gained meanwhile.

    Filters that nothing has moved keep their angles too: the principle speaks of a net that became robust.
    """
    return every_setting(paper_runs(runs, ALEXNET_WHOLE), _principle)


def _principle(runs: Sequence[ThetaRun]) -> Finding:
    shares = zip(*([min(clause) for clause in clauses(run.result)] for run in runs), strict=True)
    findings = [bound(each, "at least", MOST, FILTERS) for each in shares]
    gains = [run.result.robust.attacker - run.result.clean.attacker for run in runs]
    note = (
        f"Shares at the worst layer: {', '.join(map(str, findings))}. Weight decay times summed rates, the "
        f"exponent by which the start fades, is {PRINTED_EXPONENT:.1f} in the paper's schedule of ResNet-34."
    )
    finding = all_of(*findings, bound(gains, "at least", HALF_GAIN, GAIN))
    return noted(finding, note, *map(_mean_angles, runs))


def _mean_angles(run: ThetaRun) -> str:
    result = run.result
    dead = sum(result.filters) - sum(result.live)
    return (
        f"Weight decay {run.config.weight_decay:g} (exponent {result.decay_exponent:.1f}): "
        f"theta(w0, w) {row(result.start_clean)}, theta(w, w') {row(result.clean_robust)} "
        f"(same epochs of clean training {row(result.clean_control)}), pairs {row(result.pairs)}; "
        f"chance {row(result.chance)}; {dead} dead filters left out; robust accuracy "
        f"{result.clean.strong:.2f} to {result.robust.strong:.2f}."
    )


def row(values: Sequence[float]) -> str:
    """Return numbers with three digits, one after the other."""
    return " ".join(f"{value:.3g}" for value in values)


def _alexnet(config: ThetaConfig) -> list[Condition]:
    return [*paper_settings(config, ALEXNET_WHOLE), smoothed_attacker(config.attacker)]


_STILL = replace(THETA_RESULT, start_clean_small=[0.1, 0.1])
CHECKS = (
    Check(
        claim_id="purification.fig2",
        experiment=THETA,
        evaluate=angles,
        conditions=_alexnet,
        observed=all_images,
        satisfied=examples((THETA_CONFIG, THETA_RESULT)),
        violated=examples((THETA_CONFIG, _STILL)),
        controls=(
            without_training(THETA, "Filters that stay where they were drawn are parallel to their start."),
            without_attack(THETA, "Without an attack no robustness is gained.", attacker="l2:0"),
        ),
        reported="theta(w0, w), theta(w0, w') <= 0.2, theta(w, w') >= 0.8, pairs <= 0.2 for most",
        reading="Most is more than half of the live filters, at every layer of a net trained as a whole: the "
        "caption's ResNet-34 is trained layer by layer, see purification.fig2.resnet. The caption's "
        "l2(1, 0.5) is read as the l2(1, 0.25) of Section 8.2. Robust accuracy under the training attacker "
        f"must rise by {HALF_GAIN:.3g} meanwhile.",
        headline=True,
    ),
)
