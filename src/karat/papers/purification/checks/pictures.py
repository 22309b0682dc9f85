"""Checks of what the figures show: filters, perturbations, activity, tickets, feature pictures."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from karat.papers.purification.checks.codes import PRINTED_SHARE, span, sparse_codes, sparse_inputs
from karat.papers.purification.checks.image_records import (
    photographs,
    resnet34,
    runs_by_decay,
    smoothed_attacker,
    whole_alexnet,
)
from karat.papers.purification.checks.readings import at_least, at_most, both_must_hold
from karat.papers.purification.experiments.alexnet import ALEXNET, AlexnetConfig, AlexnetResult
from karat.papers.purification.experiments.image_measures import FeatureMeasures, Participation
from karat.papers.purification.experiments.resnet_pictures import (
    RESNET_PICTURES,
    ResnetPicturesConfig,
    ResnetPicturesResult,
)
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
from karat.study.run import Run, Runs

AlexnetRuns = Sequence[Run[AlexnetConfig, AlexnetResult]]
ResnetRun = Run[ResnetPicturesConfig, ResnetPicturesResult]


def filters(runs: AlexnetRuns) -> Finding:
    r"""Judge the roughness of robust over clean filters, one ratio per filter, at every weight decay.

    .. math:: \frac{\operatorname{rough}(w'_i)}{\operatorname{rough}(w_i)} \le 1, \qquad
        \operatorname{rough}(w) = \sum |\nabla w|^2 / \|w\|^2.
    """
    findings, notes = [], []
    for decay, group in runs_by_decay(runs):
        rough = [run.result.filter_roughness for run in group]
        ratios = [
            after / before
            for nets in rough
            for before, after in zip(nets["clean"], nets["robust"], strict=True)
        ]
        findings.append(at_most(ratios, 1.0))
        clean, robust, continued = (
            np.mean([value for nets in rough for value in nets[name]])
            for name in ("clean", "robust", "continued")
        )
        notes.append(
            f"Weight decay {decay:g}, rate {group[0].config.lr:g}: roughness {clean:.2f} to {robust:.2f}, "
            f"without attacker {continued:.2f}; {_forgotten_start(group)}."
        )
    first = findings[0] if len(findings) == 1 else both_must_hold(findings[0], findings[1])
    return with_caveat(first, *notes, "The interval is over filters.")


def _forgotten_start(group: AlexnetRuns) -> str:
    """How much of the smoothing is a forgotten start, which the theory's mixtures do not depend on."""
    left = [run.result.leftover_robust for run in group]
    before, after = np.mean([(each.energy_before, each.energy_after) for each in left], axis=0)
    cosine, share = np.mean([each.cosine for each in left]), np.mean([each.forgotten for each in left])
    fall = "there is no fall" if np.isnan(share) else f"{share:.0%} of the fall is the start being forgotten"
    return (
        f"along the own start {before:.0%} then {after:.0%} of the energy, cos(w'-w, w0) {cosine:.2f}; {fall}"
    )


def activity(runs: Sequence[ResnetRun]) -> Finding:
    """Judge the share of active neurons after clean training over the share before, per rectifier."""
    ratios, notes = [], []
    for decay, group in runs_by_decay(runs):
        curves = [run.result.activity for run in group]
        start, end = (np.mean([stages["clean"][epoch] for stages in curves], axis=0) for epoch in (0, -1))
        last = np.mean([stages["robust"][-1] for stages in curves], axis=0)
        ratios += (end / start).tolist()
        means = (np.mean(start), np.mean(end), np.mean(last))
        notes.append(f"Weight decay {decay:g}: {', '.join(f'{mean:.2f}' for mean in means)}.")
    note = "Mean share at the start, after clean and after adversarial training. " + " ".join(notes)
    return with_caveat(at_most(ratios, 1.0), note, "The interval is over rectifiers.")


def tickets(runs: AlexnetRuns) -> Finding:
    """Judge the rank of a filter's start among all starts in correlation with the feature it ends at."""
    *remembering, (_, forgetting) = runs_by_decay(runs)
    ranks = [rank for run in forgetting for rank in run.result.lottery.first_ranks]
    start, other = (
        np.mean([cosines[0] for cosines in curves])
        for curves in (
            [run.result.lottery.own for run in forgetting],
            [run.result.lottery.others for run in forgetting],
        )
    )
    note = (
        f"Share of the other filters whose start is less correlated with a feature than the start of the "
        f"filter that ends there. Cosine at the start {start:.3f}, others {other:.3f}."
    )
    # Where the start is not forgotten, a filter is correlated with it whatever it has learned.
    for decay, group in remembering:
        rank = np.mean([value for run in group for value in run.result.lottery.first_ranks])
        left = np.mean([run.result.leftover_robust.energy_before for run in group])
        note += (
            f" At weight decay {decay:g} the rank is {rank:.2f}, but there the start still holds {left:.0%} "
            "of the final filter's energy: the lead may be nothing but the remembered start."
        )
    return with_caveat(at_least(ranks, 0.5), note, "The interval is over filters.")


def deltas(runs: Sequence[ResnetRun]) -> Finding:
    """Judge the effective number of waves in perturbations, robust over clean, and their leading share."""
    ratios = [after / before for before, after in _clean_and_robust(runs, lambda each: each.dct)]
    gains = [after - before for before, after in _clean_and_robust(runs, lambda each: each.pca_leading)]
    density = runs[0].result.density
    names = {"clean_delta": "clean delta", "robust_delta": "robust delta", "image": "image"}
    waves, pixels = (
        ", ".join(f"{text} {density[name][basis].participation:.0f}" for name, text in names.items())
        for basis in ("dct", "pixels")
    )
    leading = ", ".join(f"{text} {density[name]['pca'].leading:.2f}" for name, text in names.items())
    note = (
        f"Waves: {waves} (noise {density['noise']['dct'].participation:.0f}). "
        f"Share in the 50 leading principal components: {leading}. In pixels: "
        f"{pixels}: density is a statement about a basis of the data. "
        "The interval is over images."
    )
    return with_caveat(both_must_hold(at_most(ratios, 1.0), at_least(gains, 0.0)), note, _accuracies(runs))


def _clean_and_robust(
    runs: Sequence[ResnetRun], measure: Callable[[Participation], list[float]]
) -> list[tuple[float, float]]:
    """A measure of the perturbations of both nets, one pair per image."""
    pairs: list[tuple[float, float]] = []
    for run in runs:
        clean, robust = (run.result.participation[f"{net}_delta"] for net in ("clean", "robust"))
        pairs += zip(measure(clean), measure(robust), strict=True)
    return pairs


def waves_of_features(runs: Sequence[ResnetRun]) -> Finding:
    """Judge the effective number of waves in deep feature pictures, robust over clean, per channel."""
    clean, robust = _features(runs, lambda layer: layer.waves)
    note = (
        f"Gradient ascent from one image, the longest filters of two deep layers: {np.mean(clean):.0f} waves "
        f"to {np.mean(robust):.0f}. The interval is over channels. It measures smoothness, not meaning."
    )
    return with_caveat(at_most(_ratios(clean, robust), 1.0), note, _accuracies(runs))


def smooth_features(runs: Sequence[ResnetRun]) -> Finding:
    """Judge the roughness of the last layer's feature pictures, robust over clean, per channel."""
    rough = _features(runs, lambda layer: layer.roughness, last=True)
    low = _features(runs, lambda layer: layer.low, last=True)
    of_images = [(run.result.image_roughness, run.result.image_low) for run in runs]
    roughness, low_share = (
        f"{np.mean(clean):.2f} to {np.mean(robust):.2f} (images {image:.2f})"
        for (clean, robust), image in zip((rough, low), np.mean(of_images, axis=0), strict=True)
    )
    note = (
        f"Last layer: roughness {roughness}, low-frequency share {low_share}. The interval is over channels. "
        "Whether a picture shows a thing is for the eye: look at the figure."
    )
    return with_caveat(at_most(_ratios(*rough), 1.0), note, _accuracies(runs))


def _features(
    runs: Sequence[ResnetRun], measure: Callable[[FeatureMeasures], list[float]], *, last: bool = False
) -> tuple[list[float], list[float]]:
    """A measure of the feature pictures of the clean and of the robust net, of the last layer or of both."""
    values: dict[str, list[float]] = {"clean": [], "robust": []}
    for run in runs:
        for net, measured in values.items():
            layers = [layer for name, layer in run.result.ascent.items() if name.startswith(f"{net}|")]
            for layer in layers[-1:] if last else layers:
                measured += measure(layer)
    return values["clean"], values["robust"]


def _ratios(clean: Sequence[float], robust: Sequence[float]) -> list[float]:
    return [after / max(before, 1e-9) for before, after in zip(clean, robust, strict=True)]


def _accuracies(runs: Sequence[ResnetRun]) -> str:
    nets = {"clean": [run.result.clean for run in runs], "robust": [run.result.robust for run in runs]}
    texts = []
    for net, scores in nets.items():
        plain, strong = np.mean([(score.accuracy, score.strong) for score in scores], axis=0)
        texts.append(f"{net} net {plain:.2f} ({strong:.2f} under attack)")
    return f"Accuracies: {', '.join(texts)}."


def _wide_net(run: ResnetRun) -> list[str]:
    network = run.config.network
    return [
        *photographs(run.config),
        *([] if network == "wrn:28:10" else [f"Fig 5: WRN-28-10, here {network}"]),
    ]


def _smoothed(run: ResnetRun) -> list[str]:
    return [*resnet34(run.config), *smoothed_attacker(run.config.attacker)]


def _alexnet(
    item: str, evaluate: Callable[[Runs[AlexnetConfig, AlexnetResult]], Finding], reading: str, **more: Any
) -> Check[AlexnetConfig, AlexnetResult]:
    return Check(
        claim_id=f"purification.{item}",
        experiment=ALEXNET,
        evaluate=evaluate,
        hypotheses=lambda run: whole_alexnet(run.config),
        reading=reading,
        **more,
    )


def _resnet(
    item: str,
    evaluate: Callable[[Runs[ResnetPicturesConfig, ResnetPicturesResult]], Finding],
    reading: str,
    hypotheses: Callable[[ResnetRun], list[str]] = lambda run: resnet34(run.config),
) -> Check[ResnetPicturesConfig, ResnetPicturesResult]:
    return Check(
        claim_id=f"purification.{item}",
        experiment=RESNET_PICTURES,
        evaluate=evaluate,
        hypotheses=hypotheses,
        reading=reading,
    )


CHECKS = (
    _alexnet(
        "fig1",
        filters,
        "Purer is read as smoother: sum |grad u|^2 of unit filters. Forgotten: the share of the fall that "
        "vanishes when each filter's own start is projected out; the theory's mixtures do not depend on it.",
        headline=True,
    ),
    _alexnet(
        "fig4",
        sparse_inputs,
        "Convolutional Lasso with unit atoms, 4/3 per pixel value as in the paper. Only codes at a stated "
        "error can be compared, and the paper states none.",
        reported=PRINTED_SHARE,
    ),
    _alexnet(
        "fig8",
        tickets,
        "A feature is the direction a filter ends at. Judged where the start is forgotten, since a filter "
        "that still contains its start is correlated with it whatever it has learned.",
    ),
    _alexnet(
        "fig12",
        sparse_codes,
        "Non-zero coefficients at the smallest of the errors 0.1 to 0.8 that all codes reach; images with "
        "mean zero per channel, perturbations rescaled to their images.",
    ),
    _alexnet(
        "rem8.2",
        span,
        "Relative squared error; the paper does not say of what its regression error is a share.",
        reported="< 5e-5 (AlexNet), < 1e-9 (ResNet)",
    ),
    _resnet(
        "fig5",
        activity,
        "Active: positive pre-activation, over images, places and channels. The caption's net is residual "
        "with batch norm, so the residual net is judged; AlexNet's activity is drawn with its own pictures.",
        hypotheses=_wide_net,
    ),
    _resnet(
        "fig6",
        waves_of_features,
        "Dense is read as many waves: the participation ratio of the cosine coefficients.",
        hypotheses=_smoothed,
    ),
    _resnet(
        "fig7",
        deltas,
        "Dense is read in waves and in the data's principal components, not in pixels; l2 radius 1.",
    ),
    _resnet("fig10", smooth_features, "Normalised gradient ascent towards grey; footnote 16 prints no step."),
)
