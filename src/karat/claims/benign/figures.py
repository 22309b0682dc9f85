"""The paper's figures: phase boundaries, orderings, and what happens on digits."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from karat.claims.benign.settings import grouped
from karat.claims.claim import Check, Finding
from karat.claims.evaluate import (
    lower_bound_finding,
    rate_finding,
    tight_finding,
    upper_bound_finding,
    values_of,
)
from karat.core.statistics import crossing_point
from karat.experiments.record import Record

Direction = Literal[1, -1]


def boundary_exponent(
    records: Sequence[Record], name: str, predicted: float, start: str | None = None
) -> Finding:
    """Exponent p of d ~ mu*^p, mu* the signal at which accuracy is halfway between 1/2 and 1 - flip_rate.

    One boundary per seed: mu* is interpolated on the probit scale in every dimension, then log d is fitted
    against log mu*. Dimensions without a crossing on the grid are named and left out.
    """
    own = [r for r in records if start is None or r.config["start"] == start]
    crossings, lost = _crossings(own, "mu", name)
    curves = {seed: [(mu, d) for d, mu in points] for seed, points in crossings.items()}
    kept = [points for points in curves.values() if len(points) >= 3]
    if not kept:
        raise ValueError("fewer than three dimensions have a crossing on this grid.")
    slopes = [rate_finding(*_columns(points), predicted, resolution=0.5) for points in kept]
    exponents = [slope.measured for slope in slopes if slope.measured is not None]
    finding = slopes[0] if len(slopes) == 1 else tight_finding(exponents, predicted, resolution=0.5)
    note = f"No crossing on the grid at d = {', '.join(map(str, sorted(lost)))}." if lost else ""
    return replace(finding, caveat=" ".join(filter(None, [finding.caveat, note])))


def _crossings(
    records: Sequence[Record], axis: str, name: str
) -> tuple[dict[int, list[tuple[float, float]]], set[int]]:
    """Per seed, (d, where accuracy along `axis` is halfway between 1/2 and 1 - flip_rate); d without one."""
    if not records:
        raise ValueError("no run of this start is there yet.")
    level = (1 - records[0].config["flip_rate"] + 0.5) / 2
    found: dict[int, list[tuple[float, float]]] = {}
    lost = set()
    for (seed, d), group in grouped(records, lambda r: (r.seed, r.config["d"])).items():
        line = sorted((r.config[axis], 1 - r.values[name]) for r in group)
        x, accuracy = [at for at, _ in line], [value for _, value in line]
        try:
            crossing = crossing_point(x, [accuracy], level, transform="probit")
        except ValueError:
            lost.add(d)
            continue
        found.setdefault(seed, []).append((d, crossing.value))
    return found, lost


def _columns(points: list[tuple[float, float]]) -> tuple[list[float], list[list[float]]]:
    return [mu for mu, _ in points], [[d for _, d in points]]


def _setting(field: str) -> Callable[[Record], Any]:
    return lambda record: record.config[field]


def ordering(
    records: Sequence[Record], name: str, rows: Sequence[tuple[str, Direction]], base: dict[str, Any]
) -> Finding:
    """Smallest step of a measured value along each row, in the direction the paper describes.

    A row varies one setting with the others at `base`. Equal seeds share their randomness, so neighbours are
    compared seed by seed.
    """
    worst: Finding | None = None
    for field, direction in rows:
        row = [
            r for r in records if all(r.config[key] == value for key, value in base.items() if key != field)
        ]
        groups = grouped(row, _setting(field))
        for (low, before), (high, after) in pairwise(groups.items()):
            earlier = {r.seed: r.values[name] for r in before}
            steps = [direction * (r.values[name] - earlier[r.seed]) for r in after if r.seed in earlier]
            finding = lower_bound_finding(steps, 0.0)
            if worst is None or (finding.measured or 0) < (worst.measured or 0):
                worst = replace(finding, caveat=f"Smallest step: {field} from {low:g} to {high:g}.")
    if worst is None:
        raise ValueError("no row of the figure has two settings.")
    return worst


def _common(records: Sequence[Record], fields: Sequence[str]) -> dict[str, Any]:
    """The most frequent value of each setting: the point all rows go through."""
    found = {}
    for field in fields:
        values = [r.config[field] for r in records]
        found[field] = max(set(values), key=values.count)
    return found


def _fig2(records: Sequence[Record]) -> Finding:
    fields = ("mu", "d", "ratio")
    rows: list[tuple[str, Direction]] = [("mu", -1), ("d", 1), ("ratio", 1)]
    return ordering(records, "final_robust_error", rows, _common(records, fields))


def _fig3(records: Sequence[Record]) -> Finding:
    """Exponent of the tolerated ratio in d, at robust accuracy halfway: negative if it shrinks."""
    curves, _ = _crossings(records, "ratio", "robust_error")
    slopes = []
    for points in curves.values():
        if len(points) >= 2:
            d, ratio = np.log(np.array(points)).T
            slopes.append(float(np.polyfit(d, ratio, 1)[0]))
    if not slopes:
        raise ValueError("fewer than two dimensions cross the accuracy level on this grid.")
    return upper_bound_finding(slopes, 0.0)


def _undertrained(records: Sequence[Record]) -> Finding:
    """Share of the cells below 90 % clean accuracy whose training set was not even fitted: 0 if benign."""
    low = [r for r in records if r.values["clean_error"] > 0.1]
    if not low:
        raise ValueError(
            "no cell of the grid is below 90 % clean accuracy: there is no transition to explain."
        )
    share = float(np.mean([r.values["train_error"] > 0 for r in low]))
    verdict: Literal["holds", "fails"] = "holds" if share == 0 else "fails"
    text = (
        f"{len(low)} of {len(records)} runs are below 90 % clean accuracy; {share:.0%} of them have robust "
    )
    return Finding(
        measured=share,
        interval=None,
        predicted=0.0,
        verdict=verdict,
        caveat=text + "training error above 0: there the transition is under-training, not overfitting.",
    )


def _fig5(records: Sequence[Record]) -> Finding:
    rows: list[tuple[str, Direction]] = [("ratio", 1)]
    finding = ordering(records, "robust_error", rows, _common(records, ("side", "ratio")))
    broken = max(values_of(records, "train_error"))
    return replace(finding, caveat=f"{finding.caveat} Largest robust training error: {broken:.2f}.")


def _fig6(records: Sequence[Record]) -> Finding:
    """Robust test error at the end; zero errors in n points are compatible with 3/n, so that reads as 0."""
    points = 2115 if records[0].config["source"] == "mnist" else 400
    finding = upper_bound_finding(values_of(records, "final_robust_error"), 3 / points)
    loss = max(values_of(records, "final_train_loss"))
    return replace(
        finding, caveat=f"Zero is read as 3 / {points} test points. Largest training loss: {loss:.2g}."
    )


def _mixture_remark(records: Sequence[Record]) -> Finding:
    """Robust error after clean training less that after adversarial training, seed by seed."""
    robust = {r.seed: r.values["robust_error"] for r in records if r.config["ratio"] > 0}
    extra = [
        r.values["robust_error"] - robust[r.seed]
        for r in records
        if r.config["ratio"] == 0 and r.seed in robust
    ]
    best = records[0].values["best_robust_error"]
    finding = upper_bound_finding(extra, 0.01)
    note = "Predicted: no more than one percentage point above adversarial training. "
    return replace(finding, caveat=note + f"Best possible robust error: {best:.3f}.")


def _exponent(name: str, predicted: float, start: str | None = None) -> Callable[[Sequence[Record]], Finding]:
    return lambda records: boundary_exponent(records, name, predicted, start)


CHECKS = (
    Check(
        claim_id="benign.fig1",
        experiment="benign.fig1",
        evaluate=_exponent("robust_error", 2.0, "pytorch"),
        reported="robust accuracy changes at d ~ |mu|^2",
        reading="The exponent of d in |mu| at half-way accuracy, measured from the paper's start.",
        headline=True,
    ),
    Check(
        claim_id="benign.fig1.clean",
        experiment="benign.fig1",
        evaluate=_exponent("clean_error", 4.0, "pytorch"),
        reported="clean accuracy changes at d ~ |mu|^4",
        reading="The exponent of d in |mu| at half-way accuracy, measured from the paper's start.",
        headline=True,
    ),
    Check(
        claim_id="benign.thm3.1.boundary.clean",
        experiment="benign.boundary",
        evaluate=_exponent("clean_error", 4.0, "symmetric"),
        reading="Theorem 3.1(2) depends on n |mu|^4 / d only.",
        headline=True,
    ),
    Check(
        claim_id="benign.thm3.1.boundary.robust",
        experiment="benign.boundary",
        evaluate=_exponent("robust_error", 2.0, "symmetric"),
        reading="Theorem 3.1(3) at fixed tau/|mu|; its |mu|^2 law is one for large |mu|.",
    ),
    Check(
        claim_id="benign.fig2",
        experiment="benign.fig2",
        evaluate=_fig2,
        reported="smaller |mu|, larger d, larger tau/|mu| lead to worse robust test error",
        reading="Smallest step between neighbouring curves in the described direction, seed by seed.",
    ),
    Check(
        claim_id="benign.fig3",
        experiment="benign.fig3",
        evaluate=_fig3,
        reported="the tolerated ratio shrinks as d grows",
    ),
    Check(
        claim_id="benign.fig4",
        experiment="benign.fig4",
        evaluate=_undertrained,
        reported="transitions at d ~ |mu|^4 and d ~ |mu|^2",
        reading="A transition of benign overfitting happens at robust training error 0.",
    ),
    Check(
        claim_id="benign.fig5",
        experiment="benign.fig5",
        evaluate=_fig5,
        reported="robust accuracy falls with the ratio",
    ),
    Check(
        claim_id="benign.fig6",
        experiment="benign.fig6",
        evaluate=_fig6,
        reported="robust training loss and robust test error go to 0",
        reading="d = 1024 is 28 x 28 padded with zeros.",
    ),
    Check(
        claim_id="purification.sec7.mixture",
        experiment="benign.clean_training",
        evaluate=_mixture_remark,
        reading="As robust as adversarial training up to one percentage point, seed by seed.",
    ),
)
