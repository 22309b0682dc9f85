"""Checks of Table 1, the angles of Figure 2, the frozen layers of Section 8.2, and the attackers compared."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.core.statistics import Interval, clopper_pearson
from karat.papers.purification.checks.image_records import resnet34, smoothed_attacker, whole_alexnet
from karat.papers.purification.printed_table1 import ATTACKERS, reported_text
from karat.study.claim import Check, Finding, Outcome
from karat.study.curves import with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding
from karat.study.record import Record, number

MOST = 0.5
"""'Most neurons' is read as more than half of them."""

PRINTED_EXPONENT = 1e-4 * 391 * (40 * 0.1 + 10 * 0.01) / (1 - 0.9)
"""Weight decay times summed rates of the paper's clean stage: T = 50 epochs, rate 0.1 and 0.01 after 40."""

ZERO = 0.0005
"""What is printed as 0.0%."""

LARGE = 0.8
"""The paper's example of a large theta."""

THETA = ("start_clean_small", "start_robust_small", "clean_robust_large", "pairs_small")
"""Shares of the four clauses: theta(w0, w), theta(w0, w') <= 0.2; theta(w, w') >= 0.8; pairs <= 0.2."""


def table(records: Sequence[Record]) -> Finding:
    """The least lead of an adversarially trained net over the clean one, and what else the table says."""
    leads, gaps, zeros, told = [], [], [], []
    for record in records:
        values, size = record.values, min(int(record.config["attacked"]), record.values["tested_on"])
        for index, attacker in enumerate(record.config["attackers"]):
            strong = {mode: number(values[f"{mode}_strong"][index]) for mode in _trained(record)}
            zeros.append(clopper_pearson(round(strong["clean"] * size), size).low <= ZERO)
            leads += [(strong[mode], strong["clean"], size) for mode in _ADVERSARIAL if mode in strong]
            if "from_random" in strong:
                gaps.append(strong["from_clean"] - strong["from_random"])
            row = ", ".join(
                f"{_MODE[mode]} {share:.3f} ({values[f'{mode}_accuracy'][index]:.3f})"
                for mode, share in strong.items()
                if share == share
            )
            told.append(f"{record.config['network']} under {attacker}: {row}.")
    finding = least_lead(leads)
    zero = "" if all(zeros) else "Clean nets are not at 0.0% here."
    start = f"From clean leads from random by {min(gaps):.3f} to {max(gaps):.3f}." if gaps else ""
    lengths = {
        (r.config["clean_epochs"], r.config["robust_epochs"], r.config.get("random_epochs"))
        for r in records
        if "from_random_strong" in r.values
    }
    epochs = ", ".join(
        f"{clean} clean and {robust} adversarial against {random or robust}"
        for clean, robust, random in sorted(lengths, key=str)
    )
    start = f"{start} Epochs: {epochs}." if start else ""
    return with_caveat(
        finding,
        "Accuracy under strong noise-free attacks (without attack).",
        *told,
        zero,
        start,
        _certificates(records),
    )


_ADVERSARIAL = ("from_clean", "from_random")
_MODE = {"clean": "clean", "from_clean": "from clean", "from_random": "from random", "noise": "noise only"}


def least_lead(pairs: Sequence[tuple[float, float, int]]) -> Finding:
    """The smallest lead of one share over another with its 95% interval; every lead must exceed zero.

    Args:
        pairs: (share that should lead, other share, images of each).

    Reading: the interval is the normal one for independent samples; on the same images it is too wide.
    """
    found = []
    for first, second, size in pairs:
        half = 1.96 * math.sqrt((first * (1 - first) + second * (1 - second)) / size)
        found.append(Interval(first - second - half, first - second + half, 0.95))
    worst = min(found, key=lambda interval: interval.low)
    verdict: Outcome = "inconclusive"
    if worst.low > 0:
        verdict = "holds"
    elif min(interval.high for interval in found) <= 0:
        verdict = "fails"
    lead = (worst.low + worst.high) / 2
    return Finding(measured=lead, interval=worst, predicted=0.0, verdict=verdict)


def _trained(record: Record) -> list[str]:
    return [mode for mode in _MODE if f"{mode}_strong" in record.values]


def _certificates(records: Sequence[Record]) -> str:
    """Certified accuracy of the smoothed nets, another classifier than the one attacked."""
    told = []
    for record in records:
        for index, attacker in enumerate(record.config["attackers"]):
            shares = {mode: record.values[f"{mode}_certified"][index] for mode in _trained(record)}
            row = ", ".join(f"{_MODE[m]} {found[1]:.2f}" for m, found in shares.items() if found)
            if row:
                told.append(f"Smoothed nets, certified at radius 0.25 for {attacker}: {row}.")
    return " ".join(told)


def _papers_net(config: Mapping[str, Any]) -> list[str]:
    unmet = resnet34(config)
    if config["source"] == "cifar10_pair":
        unmet.append("Tab 1: ten classes, here two")
    if config["clean_epochs"] < 100:
        unmet.append(f"Sec 8: training to the end, here {config['clean_epochs']} epochs")
    return unmet


def _either_net(config: Mapping[str, Any]) -> list[str]:
    net = whole_alexnet if str(config["network"]).startswith("alexnet") else resnet34
    return [*net(config), *smoothed_attacker(config)]


def _three_stages(config: Mapping[str, Any]) -> list[str]:
    return [*resnet34(config), *smoothed_attacker(config)]


def angles(records: Sequence[Record]) -> Finding:
    """The smallest share over clauses and layers, in every run; runs that disagree leave it open."""
    shares = [min(min(r.values[name]) for name in THETA) for r in records]
    finding = lower_bound_finding(shares, MOST, deterministic=True)
    if min(shares) < MOST <= max(shares):
        finding = replace(finding, verdict="inconclusive")
    told = [_angles_told(record) for record in records]
    note = (
        f"Shares of live filters at the worst layer: {_row(shares)}. Weight decay times summed rates, the "
        f"exponent by which the start fades, is {PRINTED_EXPONENT:.1f} in the paper's schedule."
    )
    return with_caveat(finding, note, *told)


def _angles_told(record: Record) -> str:
    values = record.values
    dead = sum(values["filters"]) - sum(values["live"])
    return (
        f"Weight decay {record.config['weight_decay']:g} (exponent {values['decay_exponent']:.1f}): "
        f"theta(w0, w) {_row(values['start_clean'])}, theta(w, w') {_row(values['clean_robust'])} "
        f"(same epochs of clean training {_row(values['clean_control'])}), pairs {_row(values['pairs'])}; "
        f"chance {_row(values['chance'])}; {dead} dead filters left out; robust accuracy "
        f"{values['clean_strong']:.2f} to {values['robust_strong']:.2f}."
    )


def layer_angles(records: Sequence[Record]) -> Finding:
    """The same shares at the layers that were drawn anew above frozen ones, the smallest over all runs."""
    shares = [min(min(_upper(r, name)) for name in THETA) for r in records]
    told = []
    for record in records:
        rows = {
            stage: [f"{_row(_upper(record, f'{stage}_{what}'))}" for what in ("accuracy", "strong")]
            for stage in ("stage2", "stage3")
        }
        told.append(
            f"At {', '.join(_frozen_layers(record))}: theta(w0, w) {_row(_upper(record, 'start_clean'))}, "
            f"theta(w, w') {_row(_upper(record, 'clean_robust'))}, pairs {_row(_upper(record, 'pairs'))}; "
            f"clean accuracy {rows['stage2'][0]} then {rows['stage3'][0]}, robust {rows['stage2'][1]} then "
            f"{rows['stage3'][1]}."
        )
    return with_caveat(lower_bound_finding(shares, MOST, deterministic=True), *told)


def frozen(records: Sequence[Record]) -> Finding:
    """Largest robust accuracy of clean upper layers on frozen robust ones, printed as 0%."""
    found = [max(_upper(record, "stage2_strong")) for record in records]
    notes = []
    for record in records:
        if not all(record.values["frozen_unchanged"]):
            raise ValueError("frozen tensors changed during training.")
        rows = zip(record.config["layers"], *_columns(record, "stage2", "stage3"), strict=True)
        told = ", ".join(f"from {layer} on {two:.2f} then {three:.2f}" for layer, two, three in rows)
        notes.append(
            f"Stage 1 {record.values['stage1_strong']:.2f}; after stages 2 and 3, drawn anew {told}. Nothing "
            "is frozen below the first layer: clean training from scratch."
        )
    finding = upper_bound_finding(found, ZERO, deterministic=True)
    return with_caveat(
        finding, "Strong noise-free attack, the largest over the layers with frozen ones.", *notes
    )


def layer_by_layer(records: Sequence[Record]) -> Finding:
    """Smallest gain of stage 3 over stage 2, with the angles of the layer that was drawn anew."""
    gains, shares, told = [], [], []
    for record in records:
        before, after = (_upper(record, f"{stage}_strong") for stage in ("stage2", "stage3"))
        size = min(int(record.config["attacked"]), record.values["tested_on"])
        gains += [(last, first, size) for first, last in zip(before, after, strict=True)]
        shares += _upper(record, "clean_robust_large")
        told.append(
            f"At {', '.join(_frozen_layers(record))}: robust accuracy {_row(before)} to {_row(after)}, "
            f"theta(w0, w) {_row(_upper(record, 'start_clean'))}, theta(w, w') "
            f"{_row(_upper(record, 'clean_robust'))}."
        )
    finding = least_lead(gains)
    if min(shares) <= MOST:
        finding = replace(finding, verdict="fails")
    note = "Gain of stage 3 over stage 2; most filters of the layer must keep theta(w, w') >= 0.8. "
    return with_caveat(
        finding, note + " ".join(told), "What the layer's features look like is not judged here."
    )


def attackers(records: Sequence[Record]) -> Finding:
    """Smallest gain in robust accuracy over the attackers; filters must hardly turn, at any layer."""
    lows, gains, told, seen = [], [], [], set()
    effects: dict[str, dict[str, float]] = {}
    for record in records:
        values, size = record.values, min(int(record.config["attacked"]), record.values["tested_on"])
        for index, attacker in enumerate(record.config["attackers"]):
            theta = values["from_clean_theta"][index]
            lows.append(min(theta))
            gains.append((values["from_clean_strong"][index], values["clean_strong"][index], size))
            seen.add(attacker)
            place = f"{record.config['network']}, {record.config['robust_epochs']} epochs"
            effects.setdefault(place, {})[attacker] = 1 - float(np.mean(theta))
            told.append(
                f"{place}, {attacker}: gain {gains[-1][0] - gains[-1][1]:.3f}, theta {np.mean(theta):.3f}"
            )
    finding = least_lead(gains)
    if min(lows) < LARGE:
        finding = replace(finding, verdict="fails")
    elif len(seen) < len(ATTACKERS) and finding.verdict == "holds":
        finding = replace(finding, verdict="inconclusive")
    known = [value for value in map(_stronger, effects.values()) if value is not None]
    order = "No two radii of one attacker were compared."
    if known:
        order = f"The larger of two radii {'turns' if all(known) else 'does not always turn'} filters more."
    return with_caveat(
        finding, "; ".join(told) + ".", order, "Angles and robustness are judged, not pictures."
    )


def _stronger(effects: Mapping[str, float]) -> bool | None:
    """Whether the larger radius of each norm turns filters more; None without two radii."""
    norms: dict[str, list[tuple[float, float]]] = {}
    for name, effect in effects.items():
        kind, radius = name.partition("@")[0].split(":")[:2]
        norms.setdefault(kind, []).append((float(radius), effect))
    pairs = [sorted(found) for found in norms.values() if len(found) > 1]
    return all(found[-1][1] > found[0][1] for found in pairs) if pairs else None


def _frozen_layers(record: Record) -> list[str]:
    counts = record.values["frozen_tensors"]
    return [layer for layer, count in zip(record.config["layers"], counts, strict=True) if count]


def _upper(record: Record, name: str) -> list[float]:
    """A value at the layers below which something is frozen."""
    counts, values = record.values["frozen_tensors"], record.values[name]
    found = [float(value) for value, count in zip(values, counts, strict=True) if count]
    if not found:
        raise ValueError("no layer of the run has frozen ones below it.")
    return found


def _columns(record: Record, *stages: str) -> list[list[float]]:
    return [record.values[f"{stage}_strong"] for stage in stages]


def _row(values: Sequence[float]) -> str:
    return " ".join(f"{value:.2f}" for value in values)


_STOP = (
    "Stage 3 runs its whole length; footnote 17 stops it once the accuracies of stage 1 are back, so that "
    "filters turn less."
)

CHECKS = (
    Check(
        claim_id="purification.tab1",
        experiment="purification.table1",
        evaluate=table,
        hypotheses=_papers_net,
        reported=reported_text(),
        reading="Judged is the order: either adversarial training beats clean training under every attacker. "
        "Robust accuracy is that under a noise-free attack with restarts in the attacker's ball; the paper's "
        "own number is the training attacker's, whose noise flatters clean nets.",
        headline=True,
    ),
    Check(
        claim_id="purification.fig2",
        experiment="purification.theta",
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
        experiment="purification.freezing",
        evaluate=layer_angles,
        hypotheses=_three_stages,
        reported="the same angles; clean > 80%, robust 0% before; clean > 65%, robust > 42% after",
        reading=f"The layer drawn anew, at every layer tried; the accuracies are told, not judged. {_STOP}",
    ),
    Check(
        claim_id="purification.sec8.2.frozen",
        experiment="purification.freezing",
        evaluate=frozen,
        hypotheses=_three_stages,
        reported="0%",
        reading="0% is read as at most 0.05%, at every layer tried.",
    ),
    Check(
        claim_id="purification.fig11",
        experiment="purification.freezing",
        evaluate=layer_by_layer,
        hypotheses=_three_stages,
        reading="Purified is read as: robustness comes back although the layer's filters hardly turn. "
        f"{_STOP}",
    ),
    Check(
        claim_id="purification.fig13",
        experiment="purification.table1",
        evaluate=attackers,
        hypotheses=resnet34,
        reading="Purified is read as: robustness is gained while theta(w, w') stays at least 0.8 on average "
        "at every layer, for four attackers. That the stronger turns filters more is noted, not judged.",
    ),
)
