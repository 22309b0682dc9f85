"""Checks on the lottery: tickets at the start, the phases of training and how fast coordinates grow."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.papers.purification.checks.settings import (
    FACTOR,
    at_least,
    at_most,
    check,
    hidden,
    mean,
    plain,
    regime_of,
)
from karat.study.claim import Finding
from karat.study.curves import curves, vacuous, with_caveat
from karat.study.evaluate import tight_finding, values_of
from karat.study.record import Record, number

TIMES = (
    "Times are counted in units of h = lr/d with constants 1: T_a = sigma_0 log(d)^2.5, T_b = d sigma_0/k."
)
FLAT = "The hidden constant must agree over d and k up to a factor 2."


def _lottery(records: Sequence[Record]) -> Finding:
    own = plain(records)
    note = (
        f"Share of live neurons that end on the feature their start leaned on most (chance "
        f"{mean(own, 'chance'):.3f}); among its two favourites {mean(own, 'within_two'):.2f}. Clear tickets "
        f"(one coefficient above b0, the next below 0.85 b0) live with {mean(own, 'clear_live'):.2f} and "
        f"keep their feature with {mean(own, 'clear_kept'):.2f}. Judged against one half."
    )
    return at_least(values_of(own, "favourite_won"), 0.5, note)


def _tickets(records: Sequence[Record]) -> Finding:
    """Counts at initialisation against Gaussian tails, and how large d must be for the lemma to bite."""
    own = plain(records)
    predicted = mean(own, "predicted_sure")
    finding = tight_finding(values_of(own, "start_sure"), predicted, resolution=predicted)
    note = (
        "Sure winners per feature against exact tails; the lemma's 'at least d^(gamma c0/4)' fails here, "
        "some "
        f"features have {min(values_of(own, 'start_sure_least')):.0f}, and the mean grows only as d^(gamma "
        f"c0/2). Potential winners: {mean(own, 'start_potential'):.2f} (tails "
        f"{mean(own, 'predicted_potential'):.2f})."
    )
    verdict = "inconclusive" if finding.verdict == "holds" else finding.verdict
    return with_caveat(replace(finding, verdict=verdict), note)


def _fractions(records: Sequence[Record]) -> Finding:
    own = plain(records)
    note = (
        f"Share with no coefficient above sqrt(2 log d) sigma_0; {mean(own, 'lucky_share'):.2f} have one "
        "above "
        f"sqrt(2.01 log d), {mean(own, 'surely_lucky_share'):.2f} exactly one. 'Most' is read as more than "
        "half; the powers d^-c3, d^-c4 are not judged."
    )
    return at_least(values_of(own, "ordinary_share"), 0.5, note)


Clause = tuple[str, str, str]
"""An inclusion and the phase over which it is claimed, by the paper's times; "at" is the end of the phase."""


def _phase(clauses: Sequence[Clause]) -> Any:
    """Smallest inclusion over the phases of its clauses; those without a step at this size are named."""

    def evaluate(records: Sequence[Record]) -> Finding:
        own = plain(records)
        shares = {clause: [_smallest(r, *clause) for r in own] for clause in clauses}
        met = {clause: values for clause, values in shares.items() if not np.isnan(values).any()}
        last = {name: np.mean([r.values[name][-1] for r in own]) for name, _, _ in clauses}
        told = ", ".join(f"{c[0]} {np.mean(values):.2f} ({last[c[0]]:.2f})" for c, values in met.items())
        empty = ", ".join(f"{name} ({a} to {b})" for name, a, b in shares if (name, a, b) not in met)
        worst = [min(values) for values in zip(*met.values(), strict=True)]
        phases = regime_of(own[0].config).phases()
        ends = ", ".join(f"{name} = {phases[name]:.3g}" for name in ("T_a", "T_b", "T_e"))
        return at_least(
            worst,
            1.0,
            f"Smallest share over its phase (at the end of training), per inclusion: {told}. Times: {ends}.",
            f"No step in the phase of: {empty}." if empty else "",
        )

    return evaluate


def _smallest(record: Record, name: str, since: str, until: str) -> float:
    """Smallest value over the stops of a phase, NaN if it has none."""
    phases = regime_of(record.config).phases() | {"0": 0.0, "end": math.inf}
    kept = [(t, v) for t, v in zip(record.values["time"], record.values[name], strict=True)]
    kept = [(t, float(v)) for t, v in kept if t <= phases[until]]
    if since == "at":
        return kept[-1][1]
    return min((v for t, v in kept if t >= phases[since]), default=math.nan)


def _early(record: Record, name: str) -> list[float]:
    """A curve over the first phase, t <= T_b."""
    last = regime_of(record.config).phases()["T_b"]
    curve = zip(record.values["time"], record.values[name], strict=True)
    return [number(value) for time, value in curve if time <= last]


def _in_lottery(records: Sequence[Record], name: str) -> list[float]:
    """Mean of a curve over the first phase, per record."""
    return [float(np.mean(_early(record, name))) for record in records]


def _kinetics(records: Sequence[Record]) -> Finding:
    own = plain(records)
    winner, loser = _in_lottery(own, "sure_growth"), _in_lottery(own, "loser_growth")
    rate, log_d = mean(own, "wake_rate"), math.log(regime_of(own[0].config).d)
    ratio = [b / a for a, b in zip(winner, loser, strict=True)]
    note = (
        "Growth of the other coordinates (root mean square) over that of sure winners (mean) up to T_b, "
        f"against log d times the probability {rate:.3f} that a code is on; sure winners grow by "
        f"{np.mean(winner):.3f}/d per unit of lr."
    )
    return at_most(ratio, rate * log_d, note)


def _chance(records: Sequence[Record]) -> Finding:
    """Largest distance of the accuracy from one half while t <= T_b."""
    own = plain(records)
    first, last = (np.mean([_early(r, "accuracy")[i] for r in own]) for i in (0, -1))
    final = np.mean([r.values["accuracy"][-1] for r in own])
    note = (
        f"Largest distance of the accuracy from 1/2 up to T_b, {len(_early(own[0], 'accuracy')) - 1} steps; "
        f"'around 50%' is read as within 10%. It goes from {first:.3f} to {last:.3f} there and ends at "
        f"{final:.3f}. The outputs are tiny, but their signs begin to follow the label."
    )
    return at_most([max(abs(v - 0.5) for v in _early(r, "accuracy")) for r in own], 0.1, note)


def _winner_growth(records: Sequence[Record]) -> Finding:
    """d times the growth of sure winners in the first phase: the same constant at every size."""
    table = _constants(records, "sure_growth")
    every = [value for row in table for value in row]
    note = (
        f"d times the expectation, a mean over sure winners up to T_b: {min(every):.3f} to {max(every):.3f}."
    )
    if len(table[0]) < 2:
        return vacuous(float(np.mean(every)), FACTOR, f"one setting shows no rate. {note}")
    spread = [max(row) / min(row) for row in table]
    return at_most(
        spread, FACTOR, f"Largest over smallest constant of {len(table[0])} settings, per seed. {note}"
    )


def _constants(records: Sequence[Record], name: str) -> list[list[float]]:
    """One row per seed: mean over the first phase in every setting, from the sparsest to the densest."""
    return curves(records, lambda r: float(r.config["k"]), lambda r: float(np.mean(_early(r, name))))[1]


def _largest_growth(records: Sequence[Record]) -> Finding:
    """d times the largest growth: it must not grow with k as its trivial limit does."""
    table, limit = (_constants(records, name) for name in ("largest_growth", "most_possible"))
    rise = float(np.mean([row[-1] / row[0] for row in limit]))
    note = (
        f"d times the largest expectation up to T_b, {np.mean(table):.2f} in the mean; its trivial limit "
        f"d E|z_j|/2 is {np.mean(limit):.2f} and grows by a factor {rise:.2f} from the sparsest setting to "
        "the densest."
    )
    growth = [row[-1] / row[0] for row in table]
    if rise <= FACTOR:
        return vacuous(float(np.mean(growth)), FACTOR, note)
    return at_most(growth, FACTOR, "Densest setting over sparsest, per seed.", note)


def _other_growth(records: Sequence[Record]) -> Finding:
    own = plain(records)
    bound = float(np.mean(_in_lottery(own, "gate"))) * math.log(regime_of(own[0].config).d)
    values = _in_lottery(own, "loser_growth")
    note = "d times the expectation, root mean square over all coordinates outside S_pot up to T_b."
    return hidden(at_most(values, bound), float(np.mean(values)) / bound, note)


def _coupling(records: Sequence[Record]) -> Finding:
    own = plain(records)
    regime = regime_of(own[0].config)
    last = [number(r.values["coupling_spread"][-1]) for r in own]
    bound = regime.k**1.5 / regime.d
    grown = float(np.mean([r.values["grown"][-1] for r in own]))
    note = (
        "Spread of the winners' growth around E[y l' z_j], relative; allowed k^1.5/d over a growth of "
        f"order one. {grown:.0f} winners exceed 2 sqrt(k) b."
    )
    return at_most(last, bound, note)


def _awake(records: Sequence[Record]) -> Finding:
    own = plain(records)
    k = regime_of(own[0].config).k
    last = [float(r.values["awake_count"][-1]) / k for r in own]
    return hidden(at_most(last, 1.0), float(np.mean(last)), "Neurons with |<w_i, x>| >= b/10, in units of k.")


CHECKS = (
    check("sec6.lottery", "lottery", _lottery, headline=True),
    check("sec6.tickets", "lottery", _fractions),
    check(
        "lemB.2",
        "lottery",
        _tickets,
        reading="|S_sure| >= d^(gamma c0/4), not the printed d^(7 c0/4); c0 from m = d^(1 + c0), gamma = "
        "0.05.",
    ),
    check(
        "thmC.1",
        "lottery",
        _phase(
            (
                ("sure_kept", "0", "T_b"),
                ("no_new_potential", "0", "T_b"),
                ("ept", "0", "T_b"),
                ("ept_plus", "T_a", "T_b"),
                ("ept_plus_plus", "at", "T_b"),
                ("potential_plus_old", "at", "T_b"),
            )
        ),
        asymptotic=True,
        reading=f"{TIMES} Levels b(t) sqrt(1 +- c2/c1) move with the bias; S_pot has no sign condition; O(1) "
        "is 3.",
    ),
    check(
        "thmC.2",
        "lottery",
        _phase(
            (
                ("sure_kept", "T_b", "end"),
                ("potential_plus_old", "T_b", "end"),
                ("potential_in_plus", "T_b", "end"),
                ("ept_plus", "T_b", "end"),
                ("ept_plus_plus", "T_b", "end"),
                ("sure_grown", "T_e", "end"),
            )
        ),
        asymptotic=True,
        reading=f"{TIMES} beta = 1/(sqrt(k) Xi2^10), where the text prints one root over both.",
    ),
    check(
        "sec6.kinetics",
        "kinetics",
        _kinetics,
        asymptotic=True,
        reading=f"{TIMES} k/d is read as E|z|_0/d; winners are S_sure, the others lie outside S_pot.",
    ),
    check(
        "sec6.chance",
        "kinetics",
        _chance,
        asymptotic=True,
        reading=f"{TIMES} sign(0) = +1, so that a net asleep predicts +1.",
    ),
    check("lemC.8", "kinetics", _winner_growth, asymptotic=True, reading=f"{TIMES} {FLAT}"),
    check("lemC.9", "kinetics", _largest_growth, asymptotic=True, reading=f"{TIMES} {FLAT}"),
    check(
        "lemC.10",
        "kinetics",
        _other_growth,
        asymptotic=True,
        reading=f"{TIMES} Gamma_t is read as the mean activation probability, which is below it.",
    ),
    check("lemC.18", "kinetics", _coupling, asymptotic=True),
    check("lemC.19", "kinetics", _awake, asymptotic=True, reading="Xi2 is taken as 1."),
)
