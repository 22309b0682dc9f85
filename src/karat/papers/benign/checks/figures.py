"""The paper's figures: phase boundaries, orderings, and what happens on digits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from karat.core.statistics import crossing_point
from karat.papers.benign.bounds import implied_constant
from karat.papers.benign.checks.settings import (
    Evaluate,
    by_setting,
    config_of,
    grouped,
    per_setting,
    unmet_on_grid,
)
from karat.papers.benign.experiments.mixture import Config
from karat.study.claim import Check, Finding
from karat.study.curves import combine, say, with_caveat
from karat.study.evaluate import (
    lower_bound_finding,
    rate_finding,
    tight_finding,
    upper_bound_finding,
    values_of,
    worst_finding,
)
from karat.study.record import Record

Direction = Literal[1, -1]


def boundary_exponent(
    records: Sequence[Record], name: str, predicted: float | None, start: str | None = None
) -> Finding:
    """Exponent p of d ~ mu*^p, mu* the signal at which accuracy is halfway between 1/2 and 1 - flip_rate.

    One boundary per seed: mu* is interpolated on the probit scale in every dimension, then log d is fitted
    against log mu*. Dimensions without a crossing on the grid are named and left out.

    Args:
        predicted: the exponent, or None for that of the theorem's bound at the same mu*. An upper bound on
            the error is a lower bound on the dimension, so it is only required to be reached.
    """
    own = [r for r in records if start is None or r.config["start"] == start]
    crossings, lost = _crossings(own, "mu", name)
    curves = {seed: [(mu, d) for d, mu in points] for seed, points in crossings.items()}
    kept = [points for points in curves.values() if len(points) >= 3]
    if not kept:
        raise ValueError("fewer than three dimensions have a crossing on this grid.")
    slopes = [rate_finding(*_columns(points), 0.0).measured for points in kept]
    exponents = [slope for slope in slopes if slope is not None]
    if predicted is not None:
        finding = tight_finding(exponents, predicted, resolution=0.5)
    else:
        signals = [mu for points in kept for mu, _ in points]
        finding = lower_bound_finding(exponents, _bound_exponent(config_of(own[0]), name, signals))
    note = f"No crossing on the grid at d = {', '.join(map(str, sorted(lost)))}." if lost else ""
    return with_caveat(finding, note)


def _bound_exponent(config: Config, name: str, signals: Sequence[float]) -> float:
    """Exponent of d in |mu| at which the bound of Theorem 3.1 is halfway, fitted over these signals.

    The bound depends on C^2 d, so the dimension that solves it is d times the square of the implied constant,
    and the exponent is the same for every C.
    """
    error = 1 - _halfway(config.flip_rate)
    dimensions = []
    for mu in signals:
        setting = replace(config, mu=mu).setting()
        dimensions.append(setting.d * implied_constant(setting, error, robust=name == "robust_error") ** 2)
    return float(np.polyfit(np.log(signals), np.log(dimensions), 1)[0])


def _halfway(flip_rate: float) -> float:
    """Accuracy between chance and the best there is."""
    return (1 - flip_rate + 0.5) / 2


def _crossings(
    records: Sequence[Record], axis: str, name: str
) -> tuple[dict[int, list[tuple[float, float]]], set[int]]:
    """Per seed, (d, where accuracy along `axis` is halfway between 1/2 and 1 - flip_rate); d without one."""
    if not records:
        raise ValueError("no run of this start is there yet.")
    level = _halfway(records[0].config.get("flip_rate", 0.0))
    found: dict[int, list[tuple[float, float]]] = {}
    lost = set()
    for (seed, d), group in grouped(records, lambda r: (r.seed, _dimension(r))).items():
        line = sorted((r.config[axis], 1 - r.values[name]) for r in group)
        x, accuracy = [at for at, _ in line], [value for _, value in line]
        try:
            crossing = crossing_point(x, [accuracy], level, transform="probit")
        except ValueError:
            lost.add(d)
            continue
        found.setdefault(seed, []).append((d, crossing.value))
    return found, lost


def _dimension(record: Record) -> int:
    """Input dimension; images are squares."""
    return int(record.config["d"] if "d" in record.config else record.config["side"] ** 2)


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
    """Where every curve ends, and the order of neighbouring curves."""
    rows: list[tuple[str, Direction]] = [("mu", -1), ("d", 1), ("ratio", 1)]
    order = ordering(records, "final_robust_error", rows, _common(records, ("mu", "d", "ratio")))
    order = with_caveat(order, f"Its size: {say(order)}.")
    loss, error = per_setting(_loss_share)(records), per_setting(_settled)(records)
    ends = [_settled(group).verdict for group in by_setting(records)]
    text = (
        f"Robust error settles in {ends.count('holds')} of {len(ends)} settings, worst at {say(error)}; "
        f"largest loss: {say(loss)} of its start."
    )
    return combine([error, loss, order], text)


def _loss_share(records: Sequence[Record]) -> Finding:
    """Last training loss over the first."""
    return upper_bound_finding(
        [r.values["train_loss"][-1] / r.values["train_loss"][0] for r in records], 0.01
    )


def _settled(records: Sequence[Record]) -> Finding:
    """Last robust error against the flip rate plus two standard deviations of the test set."""
    flip_rate, n_test = records[0].config["flip_rate"], records[0].config["n_test"]
    spread = math.sqrt(flip_rate * (1 - flip_rate) / n_test)
    return upper_bound_finding(values_of(records, "final_robust_error"), flip_rate + 2 * spread)


def _fig3(records: Sequence[Record]) -> Finding:
    """Exponent of the tolerated ratio in d, at robust accuracy halfway: negative if it shrinks."""
    curves, _ = _crossings(records, "ratio", "robust_error")
    slopes = []
    for points in curves.values():
        if len(points) >= 2:
            slopes.append(_log_slope(points))
    if not slopes:
        raise ValueError("fewer than two dimensions cross the accuracy level on this grid.")
    return upper_bound_finding(slopes, 0.0)


def _fig4(records: Sequence[Record]) -> Finding:
    """Exponents of mu* in d, 1/4 for clean and 1/2 for robust accuracy, and whether the nets were trained.

    Fitted this way round because a boundary that does not move with d has no exponent the other way. An
    interval wider than 1/8 to each side cannot tell 1/4 from 1/2.
    """
    parts = []
    for name, predicted in (("clean_error", 0.25), ("robust_error", 0.5)):
        crossings, _ = _crossings(records, "mu", name)
        slopes = [_log_slope(points) for points in crossings.values() if len(points) >= 3]
        if not slopes:
            raise ValueError(f"fewer than three dimensions have a crossing of the {name.replace('_', ' ')}.")
        parts.append(tight_finding(slopes, predicted, resolution=0.125))
    low = [r for r in records if r.values["clean_error"] > 0.1]
    unfit = sum(r.values["train_error"] > 0 for r in low)
    text = (
        f"|mu| ~ d^p: clean p = {say(parts[0])}, robust p = {say(parts[1])}. {unfit} of the {len(low)} runs "
        "below 90 % clean accuracy are under-trained: their robust training error is above 0."
    )
    return combine(parts, text)


def _log_slope(points: Sequence[tuple[float, float]]) -> float:
    """Slope of log y in log x."""
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


def _fig5(records: Sequence[Record]) -> Finding:
    """Smallest step of the robust error along the ratio, at every resolution."""
    sides = grouped(records, _setting("side")).values()
    finding = combine([ordering(group, "robust_error", [("ratio", 1)], {}) for group in sides])
    broken = max(values_of(records, "train_error"))
    return with_caveat(finding, f"Largest robust training error: {broken:.2f}.")


def _fig6(records: Sequence[Record]) -> Finding:
    """Robust test error at the end; zero errors in n points are compatible with 3/n, so that reads as 0."""
    points = 2115 if records[0].config["source"] == "mnist" else 400
    finding = upper_bound_finding(values_of(records, "final_robust_error"), 3 / points)
    loss = max(values_of(records, "final_train_loss"))
    return replace(
        finding, caveat=f"Zero is read as 3 / {points} test points. Largest training loss: {loss:.2g}."
    )


def _mixture_remark(records: Sequence[Record]) -> Finding:
    """Robust error after clean training less that after adversarial training, per setting, seed by seed."""
    findings = []
    for group in grouped(records, lambda r: (r.config["n"], r.config["d"])).values():
        robust = {r.seed: r.values["robust_error"] for r in group if r.config["ratio"] > 0}
        clean = [r for r in group if r.config["ratio"] == 0 and r.seed in robust]
        extra = [r.values["robust_error"] - robust[r.seed] for r in clean]
        note = "Predicted: no more than one percentage point above adversarial training. "
        best = group[0].values["best_robust_error"]
        findings.append(
            with_caveat(upper_bound_finding(extra, 0.01), note + f"Best possible robust error: {best:.3f}.")
        )
    return worst_finding(findings)


def _exponent(name: str, predicted: float | None, start: str) -> Evaluate:
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
        evaluate=_exponent("clean_error", None, "symmetric"),
        hypotheses=unmet_on_grid,
        reading="Theorem 3.1(2) depends on n |mu|^4 / d only; an upper bound on the error, so one-sided.",
        headline=True,
    ),
    Check(
        claim_id="benign.thm3.1.boundary.robust",
        experiment="benign.boundary",
        evaluate=_exponent("robust_error", None, "symmetric"),
        hypotheses=unmet_on_grid,
        reading="One-sided, against the exponent at which the bound itself is halfway over the same |mu|.",
    ),
    Check(
        claim_id="benign.fig2",
        experiment="benign.fig2",
        evaluate=_fig2,
        reported="smaller |mu|, larger d, larger tau/|mu| lead to worse robust test error",
        reading="Loss 0 is read as 1 % of its start, 0.1 as 0.1 plus two standard deviations of the test "
        "set; neighbouring curves are compared seed by seed.",
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
        evaluate=_fig4,
        reported="transitions at d ~ |mu|^4 and d ~ |mu|^2",
        reading="The signal at half-way accuracy against d: exponents 1/4 (clean) and 1/2 (robust).",
    ),
    Check(
        claim_id="benign.fig5",
        experiment="benign.fig5",
        evaluate=_fig5,
        reported="robust accuracy falls with the ratio",
        reading="That it falls faster for larger d is not tested.",
    ),
    Check(
        claim_id="benign.fig6",
        experiment="benign.fig6",
        evaluate=per_setting(_fig6),
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
