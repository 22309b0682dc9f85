"""Sentences about the training: regime, what became of the features and of the start, activity."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from karat.probes.activity import Gate
from karat.probes.kernel_drift import KernelDrift
from karat.probes.layer_change import LayerChange
from karat.probes.leftover import Leftover
from karat.yours.probe.pictures import PictureNumbers
from karat.yours.probe.sentences.sentence import Answer, Evidence, Sentence, decided
from karat.yours.probe.sentences.thresholds import LARGE, LAZY, LEFT, MOST_LAYERS, SMALL, SMOOTHER, SPARSER


def regime(
    linear: Mapping[str, float], drifts: Mapping[str, KernelDrift], layers: Sequence[LayerChange]
) -> Sentence:
    """Did the training leave the lazy regime?

    Args:
        linear: "start -> before", ... -> error of the net linearised around the first.
        drifts: the same pairs -> change of the tangent kernel.
        layers: how far the weights moved.
    """
    first = "start -> before" if "start -> before" in linear else "before -> after"
    error, whole = linear[first], first.startswith("start")
    moved = [layer.start_relative if whole else layer.relative for layer in hidden_layers(layers)]
    tested = Evidence(f"error of the linearised net, {first}", error, ">=", LEFT)
    beside = (
        *(Evidence(f"error of the linearised net, {pair}", e) for pair, e in linear.items() if pair != first),
        *(Evidence(f"centred kernel alignment, {pair}", drift.centred) for pair, drift in drifts.items()),
        Evidence("largest relative movement of a hidden layer", max(moved)),
    )
    answer: Answer = "unclear" if LAZY < error < LEFT else decided(tested)
    which = "Training" if whole else "The training from before to after"
    text = {
        "yes": f"{which} left the lazy regime: the net linearised around its start misses {_times(error)} of "
        "what training changed.",
        "no": f"{which} stayed lazy: the net linearised around its start misses only {error:.0%} of what "
        "training changed.",
        "unclear": f"{which} was neither lazy nor far from it: the net linearised around its start misses "
        f"{error:.0%} of what training changed (lazy: at most {LAZY:.0%}).",
        "unknown": f"{which} cannot be placed: the two nets give equal answers.",
    }[answer]
    caveat = (
        "" if whole else "Only the second training is placed; pass the initial weights to place all of it."
    )
    return Sentence(
        topic="left the lazy regime", answer=answer, text=text, evidence=(tested, *beside), caveat=caveat
    )


def identity(layers: Sequence[LayerChange]) -> Sentence:
    """Did the features keep their identity from before to after?"""
    hidden = hidden_layers(layers)
    similar = [layer for layer in hidden if layer.theta >= LARGE]
    share = len(similar) / len(hidden)
    low = min(hidden, key=lambda layer: layer.theta)
    tested = Evidence(f"share of hidden layers with mean theta(w, w') >= {LARGE}", share, ">=", MOST_LAYERS)
    beside = (
        Evidence(f"smallest mean theta(w, w'), layer {low.name}", low.theta),
        Evidence("its chance level", low.chance),
        Evidence("largest relative movement of a hidden layer", max(layer.relative for layer in hidden)),
    )
    answer = decided(tested)
    count = f"{len(similar)} of {len(hidden)} hidden layers have a mean theta(w, w') of at least {LARGE}"
    text = (
        f"Features kept their identity: {count}." if answer == "yes" else f"Features changed: only {count}."
    )
    caveat = (
        "Little training keeps features just as well: compare with as many epochs of clean training before "
        "calling it the doing of robust training."
    )
    return Sentence(
        topic="features kept", answer=answer, text=text, evidence=(tested, *beside), caveat=caveat
    )


def forgotten_start(layers: Sequence[LayerChange]) -> Sentence:
    """Are trained features far from their start?"""
    hidden = hidden_layers(layers)
    if any(math.isnan(layer.start_before) for layer in hidden):
        return Sentence(
            topic="start forgotten",
            answer="unknown",
            text="Whether features forgot their start is unknown: the initial weights were not given.",
            evidence=(),
            caveat="A fresh draw from the model's factory is another start and would not do.",
        )
    far = [layer for layer in hidden if layer.start_before <= SMALL]
    near = max(hidden, key=lambda layer: layer.start_before)
    share = len(far) / len(hidden)
    tested = Evidence(f"share of hidden layers with mean theta(w0, w) <= {SMALL}", share, ">=", MOST_LAYERS)
    beside = (
        Evidence(f"largest mean theta(w0, w), layer {near.name}", near.start_before),
        Evidence("its chance level", near.chance),
    )
    answer = decided(tested)
    count = f"{len(far)} of {len(hidden)} hidden layers have a mean theta(w0, w) of at most {SMALL}"
    text = (
        f"Features forgot their start: {count}."
        if answer == "yes"
        else f"Much of the start is still in the features: only {count}."
    )
    caveat = "How fast a start fades is set by weight decay and the length of training, not by robustness."
    return Sentence(
        topic="start forgotten", answer=answer, text=text, evidence=(tested, *beside), caveat=caveat
    )


def smoothness(entries: Sequence[PictureNumbers], left: Leftover | None) -> Sentence | None:
    """Did the first-layer filters get smoother, and how much of that is the start fading?"""
    filters = next((entry for entry in entries if entry.what == "filters"), None)
    if filters is None:
        return None
    old, new = filters.roughness["before"], filters.roughness["after"]
    tested = Evidence("roughness of first-layer filters, after over before", new / old, "<=", SMOOTHER)
    evidence = [tested, *(Evidence(f"roughness, {net}", value) for net, value in filters.roughness.items())]
    answer = decided(tested)
    change = "got smoother" if answer == "yes" else "did not get clearly smoother"
    text = f"First-layer filters {change}: roughness {old:.2f} to {new:.2f}."
    caveat = "Without the initial weights it is unknown how much of this is only the start fading."
    if left is not None:
        evidence.append(Evidence("energy of before's filters along their start", left.energy_before))
        evidence.append(Evidence("energy of after's filters along their start", left.energy_after))
        caveat = "Smoothness says nothing about what a filter shows."
        if answer == "yes" and not math.isnan(left.forgotten):
            evidence.append(Evidence("share of the smoothing that is the start fading", left.forgotten))
            share = min(max(left.forgotten, 0.0), 1.0)
            caveat = f"{share:.0%} of the fall in roughness is the start fading, which is not purification."
    return Sentence(
        topic="smoother filters", answer=answer, text=text, evidence=tuple(evidence), caveat=caveat
    )


def activity(gates: Sequence[Gate]) -> Sentence | None:
    """Did hidden units get sparser?"""
    if not gates:
        return None
    old, new = fmean(gate.active_before for gate in gates), fmean(gate.active_after for gate in gates)
    tested = Evidence("fall of the mean share of active units", old - new, ">=", SPARSER)
    change = (
        "got sparser" if tested.holds else "got denser" if new - old >= SPARSER else "are about as active"
    )
    text = f"Hidden units {change}: {old:.0%} of them active before, {new:.0%} after."
    beside = (
        Evidence("mean share of active units, before", old),
        Evidence("mean share of active units, after", new),
        Evidence("mean share of changed activation signs", fmean(gate.changed for gate in gates)),
        Evidence("the same if signs were unrelated", fmean(gate.chance for gate in gates)),
    )
    caveat = "Means over layers; layers can move in opposite ways."
    caveat += " The theory speaks of a few per cent of active units." if new > 0.1 else ""
    answer: Answer = "yes" if tested.holds else "no"
    return Sentence(
        topic="sparser activity", answer=answer, text=text, evidence=(tested, *beside), caveat=caveat
    )


def hidden_layers(layers: Sequence[LayerChange]) -> list[LayerChange]:
    """All layers but the last, which gives the scores; the only one of a net with one layer.

    Reading: 1 x 1 convolutions mix channels of one pixel and are no features; they are shown, not counted.
    """
    features = [layer for layer in layers if layer.kind != "pointwise"]
    known = [layer for layer in features if not math.isnan(layer.theta)]
    hidden = [layer for layer in known if layer.name != layers[-1].name]
    return hidden or known or list(layers)


def _times(error: float) -> str:
    return f"{error:.0%}" if error < 2 else f"{error:.3g} times the size"
