"""Clusters on Gaussians and images, and filters of residual nets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.study.claim import Check, Finding, Outcome
from karat.study.evaluate import lower_bound_finding, upper_bound_finding, values_of
from karat.study.record import Record

MISSING = "set KARAT_DATA to a folder that holds the images, then run again."


def covered(records: Sequence[Record]) -> Finding:
    """Smallest share of centres with a neuron within cosine 0.9, over all runs."""
    shares = [r.values["end_covered"] / r.values["centres"] for r in records]
    finding = lower_bound_finding(shares, 1.0, deterministic=True)
    worst = min(values_of(records, "end_worst_cos"))
    accuracy = min(values_of(records, "test"))
    return replace(
        finding, caveat=f"Worst centre has best cosine {worst:.2f}; test accuracy at least {accuracy:.3f}."
    )


def two_clusters(*sources: str) -> Callable[[Sequence[Record]], Finding]:
    """Cosine between the two centres of the neurons, from a small start: opposite clusters below -0.5."""

    def evaluate(records: Sequence[Record]) -> Finding:
        own = _of(records, sources)
        small = min(r.config["init_scale"] for r in own)
        chosen = [r for r in own if r.config["init_scale"] == small]
        finding = upper_bound_finding(values_of(chosen, "final_between"), -0.5, deterministic=True)
        notes = [f"Mean cosine to the own centre {np.mean(values_of(chosen, 'final_inside')):.2f}."]
        large = [r for r in own if r.config["init_scale"] > small]
        if large:
            between, inside = (np.mean(values_of(large, f"final_{name}")) for name in ("between", "inside"))
            scale = large[0].config["init_scale"]
            notes.append(f"With init_scale {scale:g}: centres {between:.2f}, inside {inside:.2f}.")
        return replace(finding, caveat=" ".join(notes))

    return evaluate


def four_clusters(records: Sequence[Record]) -> Finding:
    """Number of clusters of largest silhouette on SVHN, printed as four."""
    own = _of(records, ("svhn_pair",))
    counts = values_of(own, "best_count")
    verdict: Outcome = "holds" if set(counts) == {4.0} else "inconclusive"
    listed = ", ".join(f"{count:g}" for count in counts)
    note = f"Best number of clusters per seed, among 2 to 6: {listed}; the paper counts by eye."
    return Finding(
        measured=float(np.mean(counts)), interval=None, predicted=4.0, verdict=verdict, caveat=note
    )


def _of(records: Sequence[Record], sources: tuple[str, ...]) -> list[Record]:
    own = [r for r in records if r.config["source"] in sources]
    if not own:
        raise ValueError(f"no run on {' or '.join(sources)}: {MISSING}")
    return own


def filter_clusters(records: Sequence[Record]) -> Finding:
    """Largest cosine between the two clusters over the blocks of the narrowest net; printed -.51 to -.91."""
    records = _of_width(records, min(r.config["m"] for r in records))
    blocks = [r.values[f"block{b}"] for r in records for b in range(1, 5)]
    finding = upper_bound_finding([block[2] for block in blocks], -0.5, deterministic=True)
    inside = float(np.mean([value for block in blocks for value in block[:2]]))
    start = max(r.values[f"block{b}_start"][2] for r in records for b in range(1, 5))
    early = np.mean([r.values[f"block{b}_early_move"] for r in records for b in range(1, 5)])
    late = np.mean([r.values[f"block{b}_late_move"] for r in records for b in range(1, 5)])
    note = (
        f"Inside {inside:.2f}; the same filters at the start up to {start:.2f}. Filters turn by {early:.3f} "
        f"early and {late:.4f} later (1 - cos). Accuracy {np.mean(values_of(records, 'test')):.3f}."
    )
    return replace(finding, caveat=note)


def width_clusters(records: Sequence[Record]) -> Finding:
    """How much further apart the cluster centres of the widest net are than those of the narrowest."""
    narrow, wide = (choose(r.config["m"] for r in records) for choose in (min, max))
    if narrow == wide:
        raise ValueError(f"only ResNet({wide}) was run: there is no narrower net to compare with.")
    (inside, between), (more_inside, less_between) = (
        [np.mean([_cosines(r)[place] for r in _of_width(records, m)]) for place in (0, 1)]
        for m in (narrow, wide)
    )
    finding = lower_bound_finding([float(between - less_between)], 0.0, deterministic=True)
    note = (
        f"ResNet({narrow}): inside {inside:.2f}, centres {between:.2f}; ResNet({wide}): inside "
        f"{more_inside:.2f}, centres {less_between:.2f}."
    )
    return replace(finding, verdict="fails" if more_inside <= inside else finding.verdict, caveat=note)


def _cosines(record: Record) -> tuple[float, float]:
    """Mean cosine inside the clusters, and between their centres, over the four blocks."""
    blocks = np.array([record.values[f"block{b}"] for b in range(1, 5)])
    return float(blocks[:, :2].mean()), float(blocks[:, 2].mean())


def _of_width(records: Sequence[Record], m: int) -> list[Record]:
    return [r for r in records if r.config["m"] == m]


def early_gradients(records: Sequence[Record]) -> Finding:
    """Smallest pairwise cosine of the mean gradients of steps 1-10, 11-20, 21-30 for the selected filter."""
    pairs = [min(r.values["gradient_cosines"][3:]) for r in records]
    mean = np.mean([r.values["gradient_cosines_mean"][3:] for r in records])
    finding = lower_bound_finding(pairs, 0.5, deterministic=True)
    return replace(finding, caveat=f"Mean over all filters of the last block: {mean:.2f}.")


def _paper_filters(config: Mapping[str, Any]) -> list[str]:
    unmet = [] if config["m"] >= 128 else ["Sec E.4.1: ResNet(128) and ResNet(256)"]
    if config["n"] < 10_000 or config["epochs"] < 20:
        unmet.append("Sec E.4.1: 10,000 images, 20 epochs")
    return unmet


def _images(item: str, evaluate: Callable[[Sequence[Record]], Finding], **more: Any) -> Check:
    reading = "Spherical means of the neurons' weights; truncated ReLU, hinge loss, momentum 0.95."
    settings = {"reading": reading} | more
    return Check(claim_id=f"features.{item}", experiment="features.images", evaluate=evaluate, **settings)


def _filters(item: str, evaluate: Callable[[Sequence[Record]], Finding], reported: str) -> Check:
    return Check(
        claim_id=f"features.{item}",
        experiment="features.fig20",
        evaluate=evaluate,
        reported=reported,
        hypotheses=_paper_filters,
        reading="Clusters are the filters at both ends of the leading principal direction, not hand-picked.",
    )


CHECKS = (
    Check(
        claim_id="features.secE.3.2",
        experiment="features.tab6",
        evaluate=covered,
        reading="Covered means a neuron within cosine 0.9; noise covariance sigma_r^2 (k/d) I; small start.",
    ),
    _images("fig17", two_clusters("mnist", "digits")),
    _images("fig18", two_clusters("cifar10_pair")),
    _images("fig19", four_clusters),
    _filters("fig20", filter_clusters, "(.6152, .6973, -.7245) to (.5584, .5697, -.9074), accuracy 95.75%"),
    _filters("fig21", width_clusters, "(.7065, .6551, -.7875) to (.7386, .6839, -.9740), accuracy 93.8%"),
    _filters("tab7", early_gradients, "pairwise .7454, .5083, .6533; .7087, .6919, .9135"),
)
