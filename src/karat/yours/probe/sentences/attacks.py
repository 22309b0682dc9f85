"""Sentences about perturbations and features: robustness, density, reconstruction, transfer, all together."""

import math
from collections.abc import Sequence

from karat.yours.probe.perturbations import Basis, TransferRates
from karat.yours.probe.rebuilding import BLURRED, LEVELS, Rebuilding
from karat.yours.probe.robustness import Paired, Robustness
from karat.yours.probe.sentences.sentence import Answer, Evidence, Sentence, decided
from karat.yours.probe.sentences.thresholds import FEWER, MOSTLY, RARELY, SIGNIFICANT, SMOOTHER

SIGNS = ("more robust", "features kept", "start forgotten", "perturbations in fewer directions")
"""Topics that together are what the theory calls feature purification."""


def robust_gain(before: Robustness, after: Robustness, versus: Paired) -> Sentence:
    """Is the second net more robust?

    Args:
        before: accuracies of the net before.
        after: accuracies of the net after.
        versus: both nets input by input.
    """
    tested = Evidence("p-value of the exact sign test on the same inputs", versus.p_value, "<=", SIGNIFICANT)
    beside = (
        Evidence("inputs only after keeps right under attack", versus.after_only),
        Evidence("inputs only before keeps right", versus.before_only),
        Evidence("accuracy of before under attack", before.attacked.value),
        Evidence("accuracy of after under attack", after.attacked.value),
        Evidence("clean accuracy of before", before.clean.value),
        Evidence("clean accuracy of after", after.clean.value),
    )
    better = versus.after_only > versus.before_only
    answer: Answer = "unclear" if not tested.holds else "yes" if better else "no"
    numbers = f"{before.attacked.value:.0%} to {after.attacked.value:.0%} right under the strongest attack"
    text = {
        "yes": f"After is more robust: {numbers}.",
        "no": f"After is less robust: {numbers}.",
        "unclear": f"{after.attacked.trials} inputs cannot tell which net is more robust: {numbers}.",
    }[answer]
    proven = [f"{net.net} {net.proven.value:.0%}" for net in (before, after) if net.proven is not None]
    caveat = "An attack gives an upper bound on robust accuracy; "
    caveat += f"proven are {', '.join(proven)}." if proven else "for these nets themselves nothing is proven."
    return Sentence(topic="more robust", answer=answer, text=text, evidence=(tested, *beside), caveat=caveat)


def perturbation_density(densities: Sequence[Basis]) -> Sentence:
    """Do perturbations live in fewer directions of the data?"""
    tested, beside, counts = [], [], []
    for basis in densities:
        old, new = (basis.rows[f"perturbation of {net}"].participation for net in ("before", "after"))
        ratio = old / new if new > 0 else math.nan
        name = f"effective number of {basis.name} components, before over after"
        if basis.name in ("dct", "pca"):
            tested.append(Evidence(name, ratio, ">=", FEWER))
            counts.append(f"{old:.0f} to {new:.0f} effective {basis.name.upper()} components")
        elif basis.neutral:
            beside.append(Evidence(name, ratio))
    answer = decided(*tested)
    factors = ", ".join(counts)
    text = {
        "yes": f"Perturbations live in fewer directions of the data: {factors}.",
        "no": f"Perturbations do not live in clearly fewer directions of the data: {factors}.",
        "unclear": f"Bases disagree on whether perturbations live in fewer directions: {factors}.",
        "unknown": "In how many directions of the data perturbations live is unknown: a net has none.",
    }[answer]
    return Sentence(
        topic="perturbations in fewer directions",
        answer=answer,
        text=text,
        evidence=(*tested, *beside),
        caveat="Counted in bases that know neither net; in single pixels the number need not move.",
    )


def sparse_rebuilding(rebuilding: Sequence[Rebuilding]) -> Sentence | None:
    """Do the first layer's features build inputs more sparsely, beyond what blurring does?"""
    known = {entry.dictionary: entry.needed[0] for entry in rebuilding}
    if not known:
        return None
    old, new, control = known["before"], known["after"], known.get(BLURRED, math.nan)
    tested = [Evidence("features needed, after over before", _ratio(new, old), "<=", 1 / FEWER)]
    if not math.isnan(control):
        tested.append(
            Evidence("features needed, after over before blurred", _ratio(new, control), "<=", SMOOTHER)
        )
    first, beyond = tested[0].holds, all(item.holds for item in tested)
    answer: Answer = "yes" if beyond else "unclear" if first else decided(tested[0])
    numbers = f"{_count(old)} features of before, {_count(new)} of after"
    numbers += "" if math.isnan(control) else f", {_count(control)} of before's blurred filters"
    text = {
        "yes": f"Inputs are built more sparsely from after's features: {numbers}, at error {LEVELS[0]}.",
        "no": f"Inputs are not built clearly more sparsely from after's features: {numbers}.",
        "unclear": f"Smoothness alone explains the sparser reconstruction: {numbers}.",
        "unknown": f"Neither net's first layer can build the inputs up to an error of {LEVELS[0]}.",
    }[answer]
    beside = [Evidence(f"features of {name} needed", value) for name, value in known.items()]
    caveat = "Medians over a few inputs."
    caveat += "" if math.isnan(control) else " Blurred filters are the control: smooth, and without training."
    return Sentence(
        topic="sparser reconstruction", answer=answer, text=text, evidence=(*tested, *beside), caveat=caveat
    )


def transferring(rates: TransferRates) -> Sentence:
    """Do perturbations of one net fool the other?"""
    forth, back = rates.before_to_after, rates.after_to_before
    tested = (
        Evidence(f"rate of before's on after, {rates.before_count} inputs", forth, ">=", MOSTLY),
        Evidence(f"rate of after's on before, {rates.after_count} inputs", back, ">=", MOSTLY),
    )
    answer = decided(*tested)
    text = (
        f"{_most(forth)} of before's perturbations fool after ({_percent(forth)}), "
        f"{_most(back).lower()} of after's fool before ({_percent(back)})."
    )
    if answer == "unknown":
        text = (
            "Transfer cannot be measured both ways: no perturbation of one net flips an input both get right."
        )
    return Sentence(
        topic="perturbations transfer both ways",
        answer=answer,
        text=text,
        evidence=tested,
        caveat="Among inputs that both nets get right and whose perturbation flips the net it was made for.",
    )


def purified(parts: Sequence[Sentence]) -> Sentence:
    """The signs of feature purification together."""
    signs = [part for part in parts if part.topic in SIGNS]
    known = [part for part in signs if part.answer != "unknown"]
    seen = [part for part in known if part.answer == "yes"]
    missing = [part.topic for part in known if part.answer != "yes"]
    unknown = [part.topic for part in signs if part.answer == "unknown"]
    tested = Evidence("signs seen", len(seen), ">=", len(SIGNS))
    gained = any(part.topic == SIGNS[0] for part in seen)
    partly = gained and len(seen) >= len(SIGNS) - 1
    answer: Answer = "yes" if tested.holds else "unclear" if partly else "no"
    counted = f"{len(seen)} of {len(SIGNS)} signs are seen"
    counted += f"; missing: {', '.join(missing)}" if missing else ""
    counted += f"; unknown: {', '.join(unknown)}" if unknown else ""
    text = {
        "yes": f"Features purified: {counted}.",
        "unclear": f"Features purified only in part: {counted}.",
        "no": f"No purification is shown: {counted}.",
    }[answer]
    caveat = (
        f"The signs are: {', '.join(SIGNS)}. They are what the theory predicts, not a proof that dense "
        "mixtures were removed; read the caveat of each."
    )
    return Sentence(topic="features purified", answer=answer, text=text, evidence=(tested,), caveat=caveat)


def _ratio(new: float, old: float) -> float:
    if math.isinf(old):
        return math.nan if math.isinf(new) else 0.0
    return new / old if old > 0 else math.nan


def _count(value: float) -> str:
    return "more than all" if math.isinf(value) else f"{value:.0f}"


def _percent(value: float) -> str:
    return "not measured" if math.isnan(value) else f"{value:.0%}"


def _most(rate: float) -> str:
    return "Most" if rate >= MOSTLY else "Few" if rate <= RARELY else "Some"
