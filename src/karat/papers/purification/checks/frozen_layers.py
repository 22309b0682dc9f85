"""Checks of Section 8.2: what is trained above frozen robust layers, clean and then adversarially."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from karat.papers.purification.checks.angles import FILTERS, MOST, clauses, row
from karat.papers.purification.checks.image_examples import FREEZING_CONFIG, FREEZING_RESULT, score_lists
from karat.papers.purification.checks.image_records import (
    GAIN,
    HALF_GAIN,
    LESS,
    ONE_NET,
    SMOOTHED,
    ZERO,
    all_images,
    paper_runs,
    paper_settings,
    smoothed_attacker,
    without_attack,
    without_training,
)
from karat.papers.purification.checks.paper_nets import RESNET34
from karat.papers.purification.experiments.freezing import FREEZING, MOMENTS, FreezingResult
from karat.papers.purification.experiments.frozen_stages import FreezingConfig
from karat.papers.purification.experiments.image_setting import Scores
from karat.study.check import Check
from karat.study.finding import ACCURACY, RATIO, Finding
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import Undecided, all_of, bound, every_setting, noted, share
from karat.study.judging.common import Side
from karat.study.run import Run, examples

FreezingRun = Run[FreezingConfig, FreezingResult]


def layer_angles(runs: Sequence[FreezingRun]) -> Finding:
    """Judge the same shares at the layers drawn anew above frozen ones, and the caption's four accuracies."""
    return every_setting(several_layers(runs), _layer_principle)


def _layer_principle(runs: Sequence[FreezingRun]) -> Finding:
    shares = zip(*([min(_above(run, clause)) for clause in clauses(run.result)] for run in runs), strict=True)
    findings = [bound(each, "at least", MOST, FILTERS) for each in shares]
    stages = [(run, run.result.stage2, run.result.stage3) for run in runs]
    accuracies: tuple[tuple[list[float], Side, float], ...] = (
        ([min(_above(run, clean.accuracy)) for run, clean, _ in stages], "at least", 0.80),
        ([min(_above(run, robust.accuracy)) for run, _, robust in stages], "at least", 0.65),
        ([min(_above(run, robust.attacker)) for run, _, robust in stages], "at least", 0.42),
    )
    findings += [bound(values, side, printed, ACCURACY) for values, side, printed in accuracies]
    findings += [_none(run, max(_above(run, clean.attacker))) for run, clean, _ in stages]
    return noted(all_of(*findings), *map(_stages, runs))


def _stages(run: FreezingRun) -> str:
    result = run.result
    start, turn, pairs, *accuracies = (
        row(_above(run, values))
        for values in (
            result.start_clean,
            result.clean_robust,
            result.pairs,
            result.stage2.accuracy,
            result.stage3.accuracy,
            result.stage2.attacker,
            result.stage3.attacker,
            result.stage3_epochs,
        )
    )
    clean2, clean3, robust2, robust3, epochs = accuracies
    return (
        f"At {', '.join(_frozen_layers(run))}: theta(w0, w) {start}, theta(w, w') {turn}, pairs {pairs}; "
        f"clean accuracy {clean2} then {clean3}, robust {robust2} then {robust3}, stage 1 "
        f"{result.stage1.attacker:.2f}; epochs of stage 3: {epochs}."
    )


def frozen(runs: Sequence[FreezingRun]) -> Finding:
    """Judge clean upper layers on frozen robust ones: right on clean images, wrong on attacked ones."""
    return all_of(*(_fragile(run) for run in several_layers(runs)))


def _fragile(run: FreezingRun) -> Finding:
    """The shares of images of each net; one that is wrong without an attack has no robustness to lose."""
    result = run.result
    scores = zip(_above(run, result.stage2.strong), _above(run, result.stage2.accuracy), strict=True)
    findings = []
    for strong, accuracy in scores:
        findings.append(_none(run, strong))
        right = round(accuracy * result.tested_on)
        findings.append(share(right, result.tested_on, "at least", 0.80))
    layers = zip(run.config.layers, result.stage2.strong, result.stage3.strong, strict=True)
    stages = ", ".join(f"from {layer} on {two:.2f} then {three:.2f}" for layer, two, three in layers)
    note = (
        f"Strong noise-free attack, seed {run.seed}: stage 1 {result.stage1.strong:.2f}; after stages 2 "
        f"and 3, drawn anew {stages}."
    )
    return noted(replace(all_of(*findings), unit=ONE_NET), note)


def _none(run: FreezingRun, robust: float) -> Finding:
    """A robust accuracy of 0%, as a share of the images of one net: equal zeros of seeds show no spread."""
    attacked = run.result.images_attacked(run.config)
    return replace(share(round(robust * attacked), attacked, "at most", ZERO), unit=ONE_NET)


def layer_by_layer(runs: Sequence[FreezingRun]) -> Finding:
    """Judge gain, angles and feature pictures of stage 3 against stage 2, at the layer that is worst."""
    return every_setting(several_layers(runs), _purified)


def several_layers(runs: Sequence[FreezingRun]) -> list[FreezingRun]:
    """Return the paper's runs against the attacker that it mostly uses, or else those with most layers.

    Args:
        runs: of the experiment.
    """
    own = paper_runs(runs, RESNET34)
    most = max(len(run.config.layers) for run in own)
    smoothed = [run for run in own if run.config.attacker == SMOOTHED]
    return smoothed or [run for run in own if len(run.config.layers) == most]


def _purified(runs: Sequence[FreezingRun]) -> Finding:
    layers = [[purification(run, layer) for layer in _frozen_layers(run)] for run in runs]
    if not all(layers):
        raise Undecided("no layer of the run has frozen ones below it.")
    finding = all_of(
        bound([min(each.gain for each in run) for run in layers], "at least", HALF_GAIN, GAIN),
        # Robustness from other filters would be no purification of these.
        bound([min(each.kept for each in run) for run in layers], "at least", MOST, FILTERS),
        bound([max(each.waves for each in run) for run in layers], "at most", LESS, RATIO),
    )
    return noted(finding, *map(_stages, runs), *map(_waves, runs))


class Purification(NamedTuple):
    """What stage 3 changed at one layer.

    Args:
        gain: of robust accuracy.
        kept: share of filters that turned little.
        waves: effective number of waves in its feature pictures over that before; undefined where these have
            no contrast.
    """

    gain: float
    kept: float
    waves: float


def purification(run: FreezingRun, layer: str) -> Purification:
    """Compare stages 2 and 3 at one layer.

    Args:
        run: of the experiment.
        layer: one of its layers.
    """
    result, index = run.result, run.config.layers.index(layer)
    before, after = (float(np.mean(result.features[f"{net}|{layer}"].waves)) for net in ("clean", "robust"))
    return Purification(
        gain=result.stage3.attacker[index] - result.stage2.attacker[index],
        kept=result.clean_robust_large[index],
        waves=after / before if before else math.nan,
    )


def _waves(run: FreezingRun) -> str:
    texts = []
    for layer in _frozen_layers(run):
        means = (np.mean(run.result.features[f"{moment}|{layer}"].waves) for moment in MOMENTS)
        texts.append(f"{layer} {', '.join(f'{mean:.0f}' for mean in means)}")
    return f"Waves in feature pictures at the start, after stages 2 and 3: {'; '.join(texts)}."


def _frozen_layers(run: FreezingRun) -> list[str]:
    counts = run.result.frozen_tensors
    return [layer for layer, count in zip(run.config.layers, counts, strict=True) if count]


def _above(run: FreezingRun, values: Sequence[float]) -> list[float]:
    """Of values per layer, those of the layers below which something is frozen."""
    above = [value for value, count in zip(values, run.result.frozen_tensors, strict=True) if count]
    if not above:
        raise Undecided("no layer of the run has frozen ones below it.")
    return above


def three_stages(config: FreezingConfig) -> list[Condition]:
    """Ask for the protocol of Section 8.2.

    Args:
        config: of a run.
    """
    lengths = config.robust_epochs, config.clean_epochs, config.last_epochs
    falls = config.schedule == "steps" and config.milestones == (40,)
    return [
        *paper_settings(config, RESNET34),
        at_least("fn 17: T = 50 epochs in every stage", min(lengths), 50),
        is_so("fn 17: the rate falls to 0.01 after 40 epochs of every stage", falls),
        is_so("fn 17: stage 3 stops once the accuracies of stage 1 are back", config.stop),
    ]


def _protocol(config: FreezingConfig) -> list[Condition]:
    return [*three_stages(config), smoothed_attacker(config.attacker)]


def _pictured(config: FreezingConfig) -> list[Condition]:
    return [*_protocol(config), raw_pictures(config)]


def raw_pictures(config: FreezingConfig) -> Condition:
    """Ask for the feature pictures of footnote 16.

    Args:
        config: of a run.
    """
    drawn = config.paper_ascent and config.background == "grey"
    return is_so("fn 16: 2000 raw steps towards grey", drawn, f"here {config.ascent_steps} normalised ones")


def frozen_bits(run: FreezingRun) -> list[Condition]:
    """Ask for all images, and for layers below that stayed as they were.

    Args:
        run: whose result says so.
    """
    unchanged = all(run.result.frozen_unchanged)
    return [*all_images(run), is_so("Sec 8.2: frozen layers stay as they are, bit for bit", unchanged)]


def _robust_below(run: FreezingRun) -> list[Condition]:
    robust = run.result.stage1.attacker
    return [*frozen_bits(run), at_least("Fig 2: the net of stage 1 has robust accuracy > 42%", robust, 0.42)]


_LAYERS = len(FREEZING_CONFIG.layers)
_ROBUST_ABOVE = replace(
    FREEZING_RESULT, stage2=score_lists(Scores(accuracy=0.85, attacker=0.2, strong=0.2), _LAYERS)
)
_NO_GAIN = replace(FREEZING_RESULT, stage3=FREEZING_RESULT.stage2)
_TURNED = replace(FREEZING_RESULT, clean_robust_large=[0.1] * _LAYERS)

_UNTRAINED = (
    without_training(FREEZING, "An untrained net is right on a tenth of the images, attacked or not."),
)

_NO_ATTACK = without_attack(FREEZING, "More clean training brings no robustness back.", attacker="l2:0@1")

CHECKS = (
    Check(
        claim_id="purification.fig2.resnet",
        experiment=FREEZING,
        evaluate=layer_angles,
        conditions=_protocol,
        observed=_robust_below,
        satisfied=examples((FREEZING_CONFIG, FREEZING_RESULT)),
        violated=examples((FREEZING_CONFIG, _TURNED)),
        controls=_UNTRAINED,
        reported="the same angles; clean > 80%, robust 0% before; clean > 65%, robust > 42% after",
        reading="The layer drawn anew, at every layer tried; the four accuracies at the worst of them, under "
        "the training attacker. 0% is read as at most 0.5%.",
    ),
    Check(
        claim_id="purification.sec8.2.frozen",
        experiment=FREEZING,
        evaluate=frozen,
        conditions=_protocol,
        observed=_robust_below,
        satisfied=examples((FREEZING_CONFIG, FREEZING_RESULT)),
        violated=examples((FREEZING_CONFIG, _ROBUST_ABOVE)),
        controls=_UNTRAINED,
        reported="0%",
        reading="0% is read as at most 0.5% under strong noise-free attacks, at every layer tried, of nets "
        "with the clean accuracy > 80% of Figure 2. Shares are of the images of each net, not over nets.",
    ),
    Check(
        claim_id="purification.fig11",
        experiment=FREEZING,
        evaluate=layer_by_layer,
        conditions=_pictured,
        observed=_robust_below,
        satisfied=examples((FREEZING_CONFIG, FREEZING_RESULT)),
        violated=examples((FREEZING_CONFIG, _NO_GAIN)),
        controls=(*_UNTRAINED, _NO_ATTACK),
        reading=f"Purified is read as: robust accuracy comes back, by {HALF_GAIN:.3g} at least, although "
        "most of the layer's filters keep theta(w, w') >= 0.8, and its feature pictures need a tenth fewer "
        "waves, at every layer tried. Waves measure smoothness, not meaning.",
    ),
)
