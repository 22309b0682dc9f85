"""Checks of what the figures show: filters, perturbations, activity, tickets, feature pictures."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.papers.purification.checks.codes import PRINTED_SHARE, span, sparse_codes, sparse_inputs
from karat.papers.purification.checks.image_examples import (
    ALEXNET_CONFIG,
    ALEXNET_RESULT,
    RESNET_CONFIG,
    RESNET_RESULT,
    curves,
    features,
    participation,
)
from karat.papers.purification.checks.image_records import (
    ALEXNET_WHOLE,
    LESS,
    RESNET34,
    all_images,
    every_setting,
    paper_runs,
    paper_settings,
    smoothed_attacker,
    without_attack,
    without_training,
)
from karat.papers.purification.experiments.alexnet import ALEXNET, AlexnetConfig, AlexnetResult
from karat.papers.purification.experiments.image_measures import FeatureMeasures, Lottery, Participation
from karat.papers.purification.experiments.resnet_pictures import (
    RESNET_PICTURES,
    ResnetPicturesConfig,
    ResnetPicturesResult,
)
from karat.study.check import Check
from karat.study.finding import RATIO, Finding, Unit
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import all_of, bound, noted, vacuous_if
from karat.study.run import Run, Runs, examples

AlexnetRuns = Sequence[Run[AlexnetConfig, AlexnetResult]]
ResnetRuns = Sequence[Run[ResnetPicturesConfig, ResnetPicturesResult]]

WIDE = "wrn:28:10"
"""The net of Figure 5."""

REMEMBERED = 0.2**2
"""Share of a filter's energy along its start above which theta(w0, w) exceeds the 0.2 of the principle."""

RANK = Unit("rank among all starts", 0.0, 1.0)


def filters(runs: AlexnetRuns) -> Finding:
    r"""Judge the mean roughness of robust filters over that of clean ones, and of those trained on clean.

    .. math:: \operatorname{rough}(w) = \sum |\nabla w|^2 / \|w\|^2.

    More clean training smooths filters as well, so robust ones must be smoother than these, too.
    """
    return every_setting(paper_runs(runs, ALEXNET_WHOLE), _smoother)


def _smoother(runs: AlexnetRuns) -> Finding:
    rough = [
        {name: float(np.mean(values)) for name, values in run.result.filter_roughness.items()} for run in runs
    ]
    findings = [
        bound([nets["robust"] / nets[other] for nets in rough], "at most", LESS, RATIO)
        for other in ("clean", "continued")
    ]
    clean, robust, continued = (
        np.mean([nets[name] for nets in rough]) for name in ("clean", "robust", "continued")
    )
    config = runs[0].config
    note = (
        f"Weight decay {config.weight_decay:g}, rate {config.lr:g}: roughness {clean:.2f} to {robust:.2f}, "
        f"without attacker {continued:.2f}; {_forgotten_start(runs)}."
    )
    return noted(all_of(*findings), note)


def _forgotten_start(runs: AlexnetRuns) -> str:
    """How much of the smoothing is a forgotten start, which the theory's mixtures do not depend on."""
    left = [run.result.leftover_robust for run in runs]
    before, after = np.mean([(each.energy_before, each.energy_after) for each in left], axis=0)
    cosine, share = np.mean([each.cosine for each in left]), np.mean([each.forgotten for each in left])
    fall = "there is no fall" if np.isnan(share) else f"{share:.0%} of the fall is the start being forgotten"
    return (
        f"along the own start {before:.0%} then {after:.0%} of the energy, cos(w'-w, w0) {cosine:.2f}; {fall}"
    )


def tickets(runs: AlexnetRuns) -> Finding:
    """Judge the rank of a filter's start among all starts in correlation with the feature it ends at.

    A filter that still contains its start is correlated with it whatever it has learned: no ticket to see.
    """
    return every_setting(paper_runs(runs, ALEXNET_WHOLE), _leading)


def _leading(runs: AlexnetRuns) -> Finding:
    ranks = [float(np.mean(run.result.lottery.first_ranks)) for run in runs]
    kept = float(np.mean([run.result.leftover_robust.energy_before for run in runs]))
    start, other = (
        np.mean([cosines[0] for cosines in per_run])
        for per_run in (
            [run.result.lottery.own for run in runs],
            [run.result.lottery.others for run in runs],
        )
    )
    note = (
        "Rank: share of the other filters whose start is less correlated with a feature than the start of "
        f"the filter that ends there, 1/2 by chance. Cosine at the start {start:.3f}, others {other:.3f}; "
        f"{kept:.1%} of the energy of clean filters lies along their start."
    )
    trivial = "the filters still hold their start, so that the lead may be nothing but that memory."
    finding = bound(ranks, "at least", LUCKY, RANK)
    return noted(vacuous_if(kept > REMEMBERED, trivial, finding), note)


LUCKY = 0.75
"""A lead at the start is read as a rank half-way between chance and the best of all."""


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
    return every_setting(_grey(runs), _sparser_deltas)


def _sparser_deltas(runs: ResnetRuns) -> Finding:
    waves = [_of_deltas(run.result, lambda each: each.dct) for run in runs]
    leading = [_of_deltas(run.result, lambda each: each.pca_leading) for run in runs]
    finding = all_of(
        bound([robust / clean for clean, robust in waves], "at most", LESS, RATIO),
        bound([robust - clean for clean, robust in leading], "at least", 0.0, GAINED_SHARE),
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


GAINED_SHARE = Unit("gain in the share of leading components", -1.0, 1.0)


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
    return noted(bound(ratios, "at most", LESS, RATIO), note, _accuracies(runs))


def smooth_features(runs: ResnetRuns) -> Finding:
    """Judge the mean roughness of the last layer's feature pictures, robust over clean."""
    return every_setting(_grey(runs), _smoother_features)


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
    return noted(bound(ratios, "at most", LESS, RATIO), note, _accuracies(runs))


def _grey(runs: ResnetRuns) -> ResnetRuns:
    """The paper's runs without those whose pictures are drawn towards black, as Figure 6 alone has them."""
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


def _accuracies(runs: ResnetRuns) -> str:
    nets = {"clean": [run.result.clean for run in runs], "robust": [run.result.robust for run in runs]}
    texts = []
    for net, scores in nets.items():
        plain, strong = np.mean([(score.accuracy, score.strong) for score in scores], axis=0)
        texts.append(f"{net} net {plain:.2f} ({strong:.2f} under attack)")
    return f"Accuracies: {', '.join(texts)}."


def _whole_alexnet(config: AlexnetConfig) -> list[Condition]:
    return [*paper_settings(config, ALEXNET_WHOLE), smoothed_attacker(config.attacker)]


def _clean_alexnet(config: AlexnetConfig) -> list[Condition]:
    return paper_settings(config, ALEXNET_WHOLE)


def _resnet34(config: ResnetPicturesConfig) -> list[Condition]:
    return [*paper_settings(config, RESNET34), smoothed_attacker(config.attacker)]


def _towards(background: str) -> Callable[[ResnetPicturesConfig], list[Condition]]:
    def conditions(config: ResnetPicturesConfig) -> list[Condition]:
        drawn = config.paper_ascent and config.background == background
        how = f"here {'2000' if config.paper_ascent else config.ascent_steps} towards {config.background}"
        return [*_resnet34(config), is_so(f"fn 16: 2000 raw steps towards {background}", drawn, how)]

    return conditions


def _wide_net(config: ResnetPicturesConfig) -> list[Condition]:
    return paper_settings(config, WIDE)


Evaluate = Callable[[Runs[Any, Any]], Finding]

_ALEXNET_CONTROLS = {
    "training": without_training(ALEXNET, "Filters that stay as they were drawn have learned nothing."),
    "attack": without_attack(ALEXNET, "More clean training removes no mixtures.", attacker="l2:0"),
}
_RESNET_CONTROLS = {
    "training": without_training(
        RESNET_PICTURES, "A net that stays as it was drawn learns no sparse features."
    ),
    "attack": without_attack(
        RESNET_PICTURES, "More clean training removes no mixtures.", attacker="linf:0@1"
    ),
}


def _alexnet(
    item: str, evaluate: Evaluate, removed: str, violated: dict[str, Any], reading: str, **more: Any
) -> Check[AlexnetConfig, AlexnetResult]:
    """A check on AlexNet's runs whose violating example differs in some values from the wanted one."""
    return Check(
        claim_id=f"purification.{item}",
        experiment=ALEXNET,
        evaluate=evaluate,
        conditions=more.pop("conditions", _whole_alexnet),
        observed=all_images,
        satisfied=examples((_PAPER_RATES, ALEXNET_RESULT)),
        violated=examples((_PAPER_RATES, replace(ALEXNET_RESULT, **violated))),
        controls=(_ALEXNET_CONTROLS[removed],),
        reading=reading,
        **more,
    )


def _resnet(
    item: str,
    evaluate: Evaluate,
    removed: str,
    violated: dict[str, Any],
    reading: str,
    conditions: Callable[[ResnetPicturesConfig], list[Condition]],
) -> Check[ResnetPicturesConfig, ResnetPicturesResult]:
    """The same on the runs of residual nets."""
    return Check(
        claim_id=f"purification.{item}",
        experiment=RESNET_PICTURES,
        evaluate=evaluate,
        conditions=conditions,
        observed=all_images,
        satisfied=examples((RESNET_CONFIG, RESNET_RESULT)),
        violated=examples((RESNET_CONFIG, replace(RESNET_RESULT, **violated))),
        controls=(_RESNET_CONTROLS[removed],),
        reading=reading,
    )


_PAPER_RATES = replace(ALEXNET_CONFIG, lr=0.02, weight_decay=5e-4)
_ROUGH = {"filter_roughness": ALEXNET_RESULT.filter_roughness | {"robust": [2.5, 2.5]}}
_CHANCE = {"lottery": Lottery(own=[0.0, 1.0], others=[0.0, 0.0], rank=[0.5, 1.0], first_ranks=[0.5, 0.5])}
_UNSPANNED = {"span": ALEXNET_RESULT.span | {"clean_delta|robust": 1e-3}}
_BUSIER = {"activity": {"clean": [[0.3, 0.3], [0.5, 0.5]], "robust": [[0.5, 0.5]]}}
_DENSER = {"participation": RESNET_RESULT.participation | {"robust_delta": participation(300.0, 0.2)}}
_ROUGHER = {
    "ascent": RESNET_RESULT.ascent | {f"robust|{layer}": features(4.0, 400.0) for layer in ("middle", "last")}
}

CHECKS = (
    _alexnet(
        "fig1",
        filters,
        "attack",
        _ROUGH,
        "Purer is read as smoother by a tenth: sum |grad u|^2 of unit filters, against clean filters and "
        "against the same epochs without attacker. Forgotten: the share of the fall that vanishes when each "
        "filter's own start is projected out; the theory's mixtures do not depend on it.",
        headline=True,
    ),
    _alexnet(
        "fig4",
        sparse_inputs,
        "training",
        {"curves": curves(image_robust=900)},
        "Convolutional Lasso with unit atoms, 4/3 per pixel value as in the paper, at relative squared error "
        "0.1: a sparsity says nothing without an error, and the paper states none.",
        reported=PRINTED_SHARE,
    ),
    _alexnet(
        "fig8",
        tickets,
        "training",
        _CHANCE,
        "A feature is the direction a filter ends at. An initial lead: the start of the filter that ends there "
        "has a mean rank of 3/4 among all starts. Vacuous where more than 4% of the filters' energy, theta = "
        "0.2, lies along their start.",
        conditions=_clean_alexnet,
    ),
    _alexnet(
        "fig12",
        sparse_codes,
        "training",
        {"curves": curves(robust_delta_robust=250)},
        "A tenth fewer non-zero coefficients at relative squared error 0.1; images with mean zero per channel, "
        "perturbations rescaled to their images.",
    ),
    _alexnet(
        "rem8.2",
        span,
        "training",
        _UNSPANNED,
        "Relative squared error; the paper does not say of what its regression error is a share. Vacuous where "
        "the untrained filters span as well. AlexNet only.",
        reported="< 5e-5 (AlexNet), < 1e-9 (ResNet)",
    ),
    _resnet(
        "fig5",
        activity,
        "training",
        _BUSIER,
        "Active: positive pre-activation, over images, places and channels; falls is read as by a tenth, mean "
        "over rectifiers. AlexNet's activity is drawn with its own pictures.",
        _wide_net,
    ),
    _resnet(
        "fig6",
        waves_of_features,
        "attack",
        _ROUGHER,
        "Dense is read as many waves, the participation ratio of the cosine coefficients; lost: a tenth fewer. "
        "It measures smoothness, not meaning.",
        _towards("black"),
    ),
    _resnet(
        "fig7",
        deltas,
        "attack",
        _DENSER,
        "Dense is read in waves, a tenth fewer, and in the data's principal components, no smaller share in the "
        "leading ones; not in pixels, as density is a statement about a basis of the data. l2 radius 1.",
        _resnet34,
    ),
    _resnet(
        "fig10",
        smooth_features,
        "attack",
        _ROUGHER,
        "Smoother by a tenth; footnote 16 prints no step size. Whether a picture shows a thing is for the eye.",
        _towards("grey"),
    ),
)
