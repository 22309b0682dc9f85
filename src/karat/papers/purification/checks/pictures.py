"""Checks of what the figures show: filters, perturbations, activity, tickets, feature pictures."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from karat.papers.purification.checks.codes import PRINTED_SHARE, span, sparse_codes, sparse_inputs
from karat.papers.purification.checks.image_records import (
    by_decay,
    photographs,
    resnet34,
    smoothed_attacker,
    washed,
    whole_alexnet,
)
from karat.papers.purification.checks.readings import at_least, at_most
from karat.papers.purification.checks.readings import both_must_hold as both
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
from karat.study.record import Record, number

Evaluate = Callable[[Sequence[Record]], Finding]


def filters(records: Sequence[Record]) -> Finding:
    """Roughness of robust over clean filters, one ratio per filter, at every weight decay."""
    findings, notes = [], []
    for decay, own in by_decay(records):
        ratios = [
            after / before
            for record in own
            for before, after in zip(*_roughness(record, "clean", "robust"), strict=True)
        ]
        findings.append(at_most(ratios, 1.0))
        clean, robust, more = (
            np.mean([value for r in own for value in r.values["filter_roughness"][name]])
            for name in ("clean", "robust", "continued")
        )
        left = [record.values["leftover_robust"] for record in own]
        before, after, cosine = (
            np.mean([part[name] for part in left]) for name in ("energy_before", "energy_after", "cosine")
        )
        forgotten = np.mean([number(part["forgotten"]) for part in left])
        told = f"{forgotten:.0%} of the fall is the start being forgotten" if forgotten == forgotten else ""
        notes.append(
            f"Weight decay {decay:g}, rate {own[0].config['lr']:g}: roughness {clean:.2f} to {robust:.2f}, "
            f"without attacker {more:.2f}; "
            f"along the own start {before:.0%} then {after:.0%} of the energy, cos(w'-w, w0) {cosine:.2f}; "
            f"{told or 'there is no fall'}."
        )
    first = findings[0] if len(findings) == 1 else both(findings[0], findings[1])
    return with_caveat(first, *notes, "The interval is over filters.")


def activity(records: Sequence[Record]) -> Finding:
    """Share of active neurons after clean training over the share before, per rectifier."""
    ratios, told = [], []
    for decay, own in by_decay(records):
        start, end = (np.mean([r.values["activity"]["clean"][i] for r in own], axis=0) for i in (0, -1))
        last = np.mean([r.values["activity"]["robust"][-1] for r in own], axis=0)
        ratios += (end / start).tolist()
        means = (np.mean(start), np.mean(end), np.mean(last))
        told.append(f"Weight decay {decay:g}: {', '.join(f'{mean:.2f}' for mean in means)}.")
    note = "Mean share at the start, after clean and after adversarial training. " + " ".join(told)
    return with_caveat(at_most(ratios, 1.0), note, "The interval is over rectifiers.")


def tickets(records: Sequence[Record]) -> Finding:
    """Rank of a filter's start among all starts in correlation with the feature it ends at; chance 1/2."""
    own = washed(records)
    ranks = [rank for record in own for rank in record.values["lottery"]["first_ranks"]]
    start, other = (np.mean([r.values["lottery"][name][0] for r in own]) for name in ("own", "others"))
    note = (
        f"Share of the other filters whose start is less correlated with a feature than the start of the "
        f"filter that ends there. Cosine at the start {start:.3f}, others {other:.3f}."
    )
    for decay, group in by_decay([record for record in records if record not in own]):
        rank = np.mean([value for r in group for value in r.values["lottery"]["first_ranks"]])
        left = np.mean([r.values["leftover_robust"]["energy_before"] for r in group])
        note += (
            f" At weight decay {decay:g} the rank is {rank:.2f}, but there the start still holds {left:.0%} "
            "of the final filter's energy: the lead may be nothing but the remembered start."
        )
    return with_caveat(at_least(ranks, 0.5), note, "The interval is over filters.")


def deltas(records: Sequence[Record]) -> Finding:
    """Effective number of waves in perturbations, robust over clean, per image."""
    ratios = [
        after / before
        for record in records
        for before, after in zip(
            *(record.values["participation"][f"{net}_delta"]["dct"] for net in ("clean", "robust")),
            strict=True,
        )
    ]
    gains = [
        after - before
        for record in records
        for before, after in zip(
            *(record.values["participation"][f"{net}_delta"]["pca_leading"] for net in ("clean", "robust")),
            strict=True,
        )
    ]
    table = records[0].values["density"]

    def told(basis: str, what: str, form: str) -> str:
        names = ("clean_delta", "robust_delta", "image")
        return ", ".join(f"{name.replace('_', ' ')} {table[name][basis][what]:{form}}" for name in names)

    note = (
        f"Waves: {told('dct', 'participation', '.0f')} (noise {table['noise']['dct']['participation']:.0f}). "
        f"Share in the 50 leading principal components: {told('pca', 'leading', '.2f')}. In pixels: "
        f"{told('pixels', 'participation', '.0f')}: density is a statement about a basis of the data. "
        "The interval is over images."
    )
    return with_caveat(both(at_most(ratios, 1.0), at_least(gains, 0.0)), note, _accuracies(records))


def waves_of_features(records: Sequence[Record]) -> Finding:
    """Effective number of waves in deep feature pictures, robust over clean, per channel."""
    ratios = _picture_ratios(records, "waves")
    clean, robust = (np.mean(_pictured(records, net, "waves")) for net in ("clean", "robust"))
    note = (
        f"Gradient ascent from one image, the longest filters of two deep layers: {clean:.0f} waves to "
        f"{robust:.0f}. The interval is over channels. It measures smoothness, not meaning."
    )
    return with_caveat(at_most(ratios, 1.0), note, _accuracies(records))


def smooth_features(records: Sequence[Record]) -> Finding:
    """Roughness of the last layer's feature pictures, robust over clean, per channel."""
    ratios = _picture_ratios(records, "roughness", last=True)
    told = []
    for what in ("roughness", "low"):
        clean, robust = (np.mean(_pictured(records, net, what, last=True)) for net in ("clean", "robust"))
        image = np.mean([r.values[f"image_{what}"] for r in records])
        told.append(f"{clean:.2f} to {robust:.2f} (images {image:.2f})")
    note = (
        f"Last layer: roughness {told[0]}, low-frequency share {told[1]}. The interval is over channels. "
        "Whether a picture shows a thing is for the eye: look at the figure."
    )
    return with_caveat(at_most(ratios, 1.0), note, _accuracies(records))


def _roughness(record: Record, *nets: str) -> list[list[float]]:
    return [record.values["filter_roughness"][net] for net in nets]


def _pictured(records: Sequence[Record], net: str, what: str, *, last: bool = False) -> list[float]:
    found = []
    for record in records:
        layers = [name for name in record.values["ascent"] if name.startswith(f"{net}|")]
        for layer in layers[-1:] if last else layers:
            found += record.values["ascent"][layer][what]
    return found


def _picture_ratios(records: Sequence[Record], what: str, *, last: bool = False) -> list[float]:
    clean, robust = (_pictured(records, net, what, last=last) for net in ("clean", "robust"))
    return [after / max(before, 1e-9) for before, after in zip(clean, robust, strict=True)]


def _accuracies(records: Sequence[Record]) -> str:
    told = []
    for net in ("clean", "robust"):
        plain, strong = (
            np.mean([r.values[f"{net}_{name}"] for r in records]) for name in ("accuracy", "strong")
        )
        told.append(f"{net} net {plain:.2f} ({strong:.2f} under attack)")
    return f"Accuracies: {', '.join(told)}."


def _wide_net(config: Mapping[str, Any]) -> list[str]:
    wide = [] if config["network"] == "wrn:28:10" else [f"Fig 5: WRN-28-10, here {config['network']}"]
    return [*photographs(config), *wide]


def _smoothed(config: Mapping[str, Any]) -> list[str]:
    return [*resnet34(config), *smoothed_attacker(config)]


def _alexnet(item: str, evaluate: Evaluate, reading: str, **more: Any) -> Check:
    return Check(
        claim_id=f"purification.{item}",
        experiment="purification.alexnet",
        evaluate=evaluate,
        hypotheses=whole_alexnet,
        reading=reading,
        **more,
    )


def _resnet(item: str, evaluate: Evaluate, reading: str, **more: Any) -> Check:
    settings = {"hypotheses": resnet34} | more
    return Check(
        claim_id=f"purification.{item}",
        experiment="purification.resnet_pictures",
        evaluate=evaluate,
        reading=reading,
        **settings,
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
