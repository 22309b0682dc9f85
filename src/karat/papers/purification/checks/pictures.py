"""Checks of pictures of residual nets: activity, perturbations, features of deep layers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.papers.purification.checks.image_examples import (
    RESNET_CONFIG,
    RESNET_RESULT,
    features,
    participation,
)
from karat.papers.purification.checks.image_records import (
    GAIN,
    HALF_GAIN,
    LESS,
    all_images,
    paper_runs,
    paper_settings,
    smoothed_attacker,
    without_attack,
    without_training,
)
from karat.papers.purification.checks.paper_nets import RESNET34, WIDE
from karat.papers.purification.experiments.feature_pictures import FeatureMeasures
from karat.papers.purification.experiments.image_measures import Participation
from karat.papers.purification.experiments.resnet_pictures import (
    RESNET_PICTURES,
    ResnetPicturesConfig,
    ResnetPicturesResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding, Unit
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import all_of, bound, every_setting, noted
from karat.study.run import Run, Runs, examples

ResnetRuns = Sequence[Run[ResnetPicturesConfig, ResnetPicturesResult]]

GAINED_SHARE = Unit("gain in the share of leading components", -1.0, 1.0)


def activity(runs: ResnetRuns) -> Finding:
    """Judge the share of active neurons after clean training over the share before, mean over rectifiers."""
    return every_setting(paper_runs(runs, WIDE), _quieter)


def _quieter(runs: ResnetRuns) -> Finding:
    stages = [run.result.activity for run in runs]
    ratios = [float(np.mean(np.divide(each["clean"][-1], each["clean"][0]))) for each in stages]
    means = [
        np.mean([each[stage][epoch] for each in stages])
        for stage, epoch in (("clean", 0), ("clean", -1), ("robust", -1))
    ]
    note = (
        "Mean share at the start, after clean and after adversarial training: "
        f"{', '.join(f'{mean:.2f}' for mean in means)}."
    )
    return noted(bound(ratios, "at most", LESS, RATIO), note)


def deltas(runs: ResnetRuns) -> Finding:
    """Judge the effective number of waves in perturbations, robust over clean, and their leading share."""
    return every_setting(grey_runs(runs), _sparser_deltas)


def _sparser_deltas(runs: ResnetRuns) -> Finding:
    waves = [_of_deltas(run.result, lambda each: each.dct) for run in runs]
    leading = [_of_deltas(run.result, lambda each: each.pca_leading) for run in runs]
    finding = all_of(
        bound([robust / clean for clean, robust in waves], "at most", LESS, RATIO),
        bound([robust - clean for clean, robust in leading], "at least", 0.0, GAINED_SHARE),
        _gain(runs),
    )
    density = runs[0].result.density
    names = {"clean_delta": "clean delta", "robust_delta": "robust delta", "image": "image"}
    in_waves, in_pixels = (
        ", ".join(f"{text} {density[name][basis].participation:.0f}" for name, text in names.items())
        for basis in ("dct", "pixels")
    )
    in_components = ", ".join(f"{text} {density[name]['pca'].leading:.2f}" for name, text in names.items())
    note = (
        f"Waves: {in_waves} (noise {density['noise']['dct'].participation:.0f}). Share in the 50 leading "
        f"principal components: {in_components}. In pixels: {in_pixels}."
    )
    return noted(finding, note, _accuracies(runs))


def _of_deltas(
    result: ResnetPicturesResult, measure: Callable[[Participation], list[float]]
) -> tuple[float, float]:
    """Mean over images of a measure of the perturbations of the clean and of the robust net."""
    clean, robust = (
        float(np.mean(measure(result.participation[f"{net}_delta"]))) for net in ("clean", "robust")
    )
    return clean, robust


def waves_of_features(runs: ResnetRuns) -> Finding:
    """Judge the effective number of waves in deep feature pictures, robust over clean, over channels."""
    own = paper_runs(runs, RESNET34)
    return every_setting([run for run in own if run.config.background == "black"] or own, _fewer_waves)


def _fewer_waves(runs: ResnetRuns) -> Finding:
    pairs = [_of_features(run.result, lambda layer: layer.waves) for run in runs]
    clean, robust = np.mean(pairs, axis=0)
    note = f"The longest filters of two deep layers, drawn from one image: {clean:.0f} waves to {robust:.0f}."
    ratios = [after / before for before, after in pairs]
    return noted(all_of(bound(ratios, "at most", LESS, RATIO), _gain(runs)), note, _accuracies(runs))


def smooth_features(runs: ResnetRuns) -> Finding:
    """Judge the mean roughness of the last layer's feature pictures, robust over clean."""
    return every_setting(grey_runs(runs), _smoother_features)


def _smoother_features(runs: ResnetRuns) -> Finding:
    rough = [_of_features(run.result, lambda layer: layer.roughness, last=True) for run in runs]
    low = [_of_features(run.result, lambda layer: layer.low, last=True) for run in runs]
    of_images = np.mean([(run.result.image_roughness, run.result.image_low) for run in runs], axis=0)
    roughness, low_share = (
        f"{clean:.2f} to {robust:.2f} (images {image:.2f})"
        for (clean, robust), image in zip(np.mean([rough, low], axis=1), of_images, strict=True)
    )
    note = f"Last layer: roughness {roughness}, low-frequency share {low_share}."
    ratios = [after / before for before, after in rough]
    return noted(all_of(bound(ratios, "at most", LESS, RATIO), _gain(runs)), note, _accuracies(runs))


def grey_runs(runs: ResnetRuns) -> ResnetRuns:
    """Return the paper's runs without those whose pictures are drawn towards black, as Figure 6 has them.

    Args:
        runs: of the experiment.
    """
    own = paper_runs(runs, RESNET34)
    return [run for run in own if run.config.background == "grey"] or own


def _of_features(
    result: ResnetPicturesResult, measure: Callable[[FeatureMeasures], list[float]], *, last: bool = False
) -> tuple[float, float]:
    """Mean over channels of a measure of the feature pictures of both nets, of the last layer or of all."""
    means = []
    for net in ("clean", "robust"):
        layers = [layer for name, layer in result.ascent.items() if name.startswith(f"{net}|")]
        means.append(float(np.mean([measure(layer) for layer in (layers[-1:] if last else layers)])))
    return means[0], means[1]


def _gain(runs: ResnetRuns) -> Finding:
    """Robust accuracy after above that before: pictures of a net that learned nothing change as well."""
    gains = [run.result.robust.attacker - run.result.clean.attacker for run in runs]
    return bound(gains, "at least", HALF_GAIN, GAIN)


def _accuracies(runs: ResnetRuns) -> str:
    nets = {"clean": [run.result.clean for run in runs], "robust": [run.result.robust for run in runs]}
    texts = []
    for net, scores in nets.items():
        plain, strong = np.mean([(score.accuracy, score.strong) for score in scores], axis=0)
        texts.append(f"{net} net {plain:.2f} ({strong:.2f} under attack)")
    return f"Accuracies: {', '.join(texts)}."


def _wide_net(config: ResnetPicturesConfig) -> list[Condition]:
    return paper_settings(config, WIDE)


def smoothed_resnet34(config: ResnetPicturesConfig) -> list[Condition]:
    """Ask for the paper's ResNet-34 and for the attacker that it mostly uses.

    Args:
        config: of a run.
    """
    return [*paper_settings(config, RESNET34), smoothed_attacker(config.attacker)]


def _towards(background: str) -> Callable[[ResnetPicturesConfig], list[Condition]]:
    def conditions(config: ResnetPicturesConfig) -> list[Condition]:
        steps = "2000 raw" if config.paper_ascent else config.ascent_steps
        drawn = config.paper_ascent and config.background == background
        name = f"fn 16: 2000 raw steps towards {background}"
        return [*smoothed_resnet34(config), is_so(name, drawn, f"here {steps} towards {config.background}")]

    return conditions


_UNTRAINED = without_training(RESNET_PICTURES, "A net that stays as it was drawn has learned no features.")
_NO_ATTACK = without_attack(RESNET_PICTURES, "More clean training removes no mixtures.", attacker="linf:0@1")


def _check(
    item: str,
    evaluate: Callable[[Runs[ResnetPicturesConfig, ResnetPicturesResult]], Finding],
    control: Control,
    violated: dict[str, Any],
    reading: str,
    conditions: Callable[[ResnetPicturesConfig], list[Condition]],
) -> Check[ResnetPicturesConfig, ResnetPicturesResult]:
    """A check whose violating example differs in some values from the satisfying one."""
    return Check(
        claim_id=f"purification.{item}",
        experiment=RESNET_PICTURES,
        evaluate=evaluate,
        conditions=conditions,
        observed=all_images,
        satisfied=examples((RESNET_CONFIG, RESNET_RESULT)),
        violated=examples((RESNET_CONFIG, replace(RESNET_RESULT, **violated))),
        controls=(control,),
        reading=reading,
    )


_ROBUST = f"Robust accuracy under the training attacker must rise by {HALF_GAIN:.3g} meanwhile."
_BUSIER = {"activity": {"clean": [[0.3, 0.3], [0.5, 0.5]], "robust": [[0.5, 0.5]]}}
_DENSER = {"participation": RESNET_RESULT.participation | {"robust_delta": participation(300.0, 0.2)}}
_ROUGHER = {
    "ascent": RESNET_RESULT.ascent | {f"robust|{layer}": features(4.0, 400.0) for layer in ("middle", "last")}
}

CHECKS = (
    _check(
        "fig5",
        activity,
        _UNTRAINED,
        _BUSIER,
        "Active: positive pre-activation, over images, places and channels; falls is read as by a tenth, "
        "mean over rectifiers. AlexNet's activity is drawn with its own pictures.",
        _wide_net,
    ),
    _check(
        "fig6",
        waves_of_features,
        _NO_ATTACK,
        _ROUGHER,
        "Dense is read as many waves, the participation ratio of the cosine coefficients; lost: a tenth "
        f"fewer. It measures smoothness, not meaning. {_ROBUST}",
        _towards("black"),
    ),
    _check(
        "fig7",
        deltas,
        _NO_ATTACK,
        _DENSER,
        "Dense is read in waves, a tenth fewer, and in the data's principal components, no smaller share in "
        "the leading ones; not in pixels, as density is a statement about a basis of the data. l2 radius 1. "
        + _ROBUST,
        smoothed_resnet34,
    ),
    _check(
        "fig10",
        smooth_features,
        _NO_ATTACK,
        _ROUGHER,
        "Smoother by a tenth; footnote 16 prints no step size. Whether a picture shows a thing is for the "
        f"eye. {_ROBUST}",
        _towards("grey"),
    ),
)
