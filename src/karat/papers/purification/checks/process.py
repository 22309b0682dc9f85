"""Checks on how training gets there: the mixture law, pure starts and the drift of <w_i, M w*>."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from karat.papers.purification.checks.settings import (
    FACTOR,
    at_least,
    at_most,
    both,
    check,
    hidden,
    mean,
    plain,
    regime_of,
)
from karat.study.claim import Finding
from karat.study.curves import combine, curves, vacuous, with_caveat
from karat.study.evaluate import rate_finding
from karat.study.record import Record


def _law(records: Sequence[Record]) -> Finding:
    """Exponent of beta/alpha in E|z|_0/d, and its constant in every cell, where no neuron wakes itself."""
    woken = {_size(r) for r in records if r.values["rate"] > 1.1 * r.values["start_rate"]}
    calm = [r for r in records if _size(r) not in woken] or list(records)
    x, table = curves(calm, lambda r: float(r.values["predicted"]), lambda r: float(r.values["ratio"]))
    parts = [
        rate_finding(x, table, 0.5, side="at least"),
        rate_finding(x, table, 1.5, side="at most"),
    ]
    for size in sorted({_size(r) for r in calm}):
        constants = [_constant(r) for r in calm if _size(r) == size]
        parts += [at_least(constants, 1 / FACTOR), at_most(constants, FACTOR)]
    every = [_constant(r) for r in calm]
    note = (
        f"Exponent in E|z|_0/d over a factor {max(x) / min(x):.1f} of it, judged to be nearer to 1 than to 0 "
        f"or 2; the constant must lie within a factor {FACTOR:g} of one in every cell and ranges from "
        f"{min(every):.2f} to {max(every):.2f} (equilibrium is slower at small d). A share "
        f"{mean(calm, 'aligned'):.3f} of the coefficients has the sign of w*."
    )
    more = (
        f"Left out, since mixtures wake neurons: {len(woken)} settings." if len(calm) < len(records) else ""
    )
    return with_caveat(replace(parts[0], predicted=1.0), note, more, verdict=combine(parts).verdict)


def _size(record: Record) -> tuple[int, int]:
    return record.config["d"], record.config["k"]


def _constant(record: Record) -> float:
    return float(record.values["ratio"]) / float(record.values["predicted"])


def _pure_start(records: Sequence[Record]) -> Finding:
    """From beta = 0: the mixture reached by clean training, in units of E|z|_0/d, and what it does."""
    own = plain(records)
    values = [float(r.values["clean_ratio"][-1]) / float(r.values["predicted"]) for r in own]
    before, after, again = (
        np.mean([r.values[name][index] for r in own])
        for name, index in (("clean_pgd", 0), ("clean_pgd", -1), ("robust_pgd", -1))
    )
    aligned = np.mean([r.values["clean_aligned"][-1] for r in own])
    fall = at_most([r.values["clean_pgd"][-1] - r.values["clean_pgd"][0] for r in own], 0.0)
    note = (
        f"In units of E|z|_0/d, after training from exactly 0, {aligned:.3f} of it with the sign of w*; "
        "judged "
        f"against a quarter. Accuracy under attack: {before:.3f} -> {after:.3f}, and {again:.3f} after "
        "adversarial training."
    )
    return both(at_least(values, 0.25), fall, note)


def _drift(records: Sequence[Record]) -> Finding:
    """The worst neuron's step below decay and one-sided growth, against the noise the claim allows."""
    own = plain(records)
    allowed, growth, noise = (
        mean(own, "noise_allowed"),
        *(float(np.mean([max(r.values[name]) for r in own])) for name in ("largest_growth", "largest_noise")),
    )
    values = [max(map(float, r.values["shortfall"])) for r in own]
    identity = np.mean([np.mean(r.values["total_ratio"][1:]) for r in own])
    note = (
        "How far a step of the worst neuron falls short of decay plus growth, over all stops and per unit of "
        f"h, against k^2 sigma_x^2/sqrt(d); the growth reaches {growth:.2f} and the noise term {noise:.3f}. "
        f"With both indicators and the noise term the step is {identity:.3f} of the sum of its parts, "
        "on another sample."
    )
    if allowed >= growth:
        return vacuous(float(np.mean(values)), allowed, f"it allows more noise than there is growth. {note}")
    return hidden(at_most(values, allowed), float(np.mean(values)) / allowed, note)


def _lowest(records: Sequence[Record]) -> Finding:
    """The sum over sure winners in units of k d, and the smallest <w_i, M w*> if its bound says anything."""
    own = plain(records)
    regime = regime_of(own[0].config)
    total = [float(r.values["sure_total"][-1]) / (regime.k * regime.d) for r in own]
    bound = regime.rule().xi2 ** -7
    lowest = [float(r.values["lowest"][-1]) for r in own]
    floor = -(regime.k**3) * regime.rule().xi2 ** 4 * regime.sigma_x**2 / (mean(own, "lambda") * regime.d**2)
    reach, end = mean(own, "reach"), np.mean([r.values["time"][-1] for r in own])
    wait = 1 / (regime.lam * regime.rule().xi2 ** 2)
    every = np.mean([r.values["total"][-1] for r in own]) / (regime.k * regime.d)
    note = (
        f"Sum of <w_i, M w*> over {mean(own, 'sure'):.0f} sure winners in units of k d, against 1/Xi2^7; "
        f"over all neurons {every:.2f}. Training ends at time {end:.3g}, the lemma begins at {wait:.3g}."
    )
    finding = hidden(at_least(total, bound), float(np.mean(total)) / bound, note)
    pointwise = f"The smallest <w_i, M w*> is {np.mean(lowest):.3f}, its bound {floor:.3g}"
    if floor <= -reach:
        return with_caveat(finding, f"{pointwise} is vacuous: |w_i| |M w*| is at most {reach:.3g}.")
    return both(finding, at_least(lowest, floor), f"{pointwise}.")


CHECKS = (
    check(
        "eq5.1",
        "scaling",
        _law,
        headline=True,
        reading="From w = M; k/d is read as E|z|_0/d, the probability that a neuron of one feature wakes, "
        "and Theta(1) as within a factor 2.",
    ),
    check("sec6.pureinit", "pureinit", _pure_start, headline=True),
    check(
        "claimE.3",
        "drift",
        _drift,
        asymptotic=True,
        reading="One indicator is half of the pair's gate, by the symmetry x -> -x; O(.) is taken as 1.",
    ),
    check("lemE.2", "drift", _lowest, asymptotic=True, reading="Xi2 = d^(2 gamma c0) with gamma = 0.05."),
)
