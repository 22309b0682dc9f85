"""Checks on how fast coordinates grow, and how long accuracy waits."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from karat.papers.purification.checks.lottery import TIMES
from karat.papers.purification.checks.readings import (
    FACTOR,
    at_most,
    clean_hypotheses,
    each,
    largest_standard,
    mean,
    up_to_a_constant,
)
from karat.papers.purification.experiments.kinetics import KINETICS, KineticsResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.claim import Check, Finding
from karat.study.curves import curves, vacuous
from karat.study.run import Run

KineticsRun = Run[OddNetConfig, KineticsResult]
Curve = Callable[[KineticsResult], list[float]]

FLAT = "The hidden constant must agree over d and k up to a factor 2."


def _early(run: KineticsRun, curve: Curve) -> list[float]:
    """A curve over the first phase, t <= T_b."""
    last = run.config.phases().T_b
    return [value for time, value in zip(run.result.time, curve(run.result), strict=True) if time <= last]


def _early_mean(run: KineticsRun, curve: Curve) -> float:
    return float(np.mean(_early(run, curve)))


def _rates(every: Sequence[KineticsRun]) -> Finding:
    """Losers may grow slower than winners by log d times the probability that a code is on."""
    runs = largest_standard(every)
    winners = [_early_mean(run, lambda r: r.sure_growth) for run in runs]
    losers = [_early_mean(run, lambda r: r.loser_growth) for run in runs]
    rate, log_d = mean(runs, lambda r: r.wake_rate), math.log(runs[0].config.d)
    note = (
        "Growth of the other coordinates (root mean square) over that of sure winners (mean) up to T_b, "
        f"against log d times the probability {rate:.3f} that a code is on; sure winners grow by "
        f"{np.mean(winners):.3f}/d per unit of lr."
    )
    ratios = [loser / winner for winner, loser in zip(winners, losers, strict=True)]
    return at_most(ratios, rate * log_d, note)


def _chance(every: Sequence[KineticsRun]) -> Finding:
    """Largest distance of the accuracy from one half while t <= T_b."""
    runs = largest_standard(every)
    early = [_early(run, lambda r: r.accuracy) for run in runs]
    first, last = (np.mean([accuracy[i] for accuracy in early]) for i in (0, -1))
    final = np.mean(each(runs, lambda r: r.accuracy[-1]))
    note = (
        f"Largest distance of the accuracy from 1/2 up to T_b, {len(early[0]) - 1} steps; "
        f"'around 50%' is read as within 10%. It goes from {first:.3f} to {last:.3f} there and ends at "
        f"{final:.3f}. The outputs are tiny, but their signs begin to follow the label."
    )
    return at_most([max(abs(value - 0.5) for value in accuracy) for accuracy in early], 0.1, note)


def _constants(every: Sequence[KineticsRun], curve: Curve) -> list[list[float]]:
    """One row per seed: mean over the first phase in every setting, from the sparsest to the densest."""
    return curves(every, lambda run: float(run.config.k), lambda run: _early_mean(run, curve))[1]


def _winner_growth(every: Sequence[KineticsRun]) -> Finding:
    """d times the growth of sure winners in the first phase: the same constant at every size."""
    table = _constants(every, lambda r: r.sure_growth)
    constants = [value for row in table for value in row]
    note = (
        "d times the expectation, a mean over sure winners up to T_b: "
        f"{min(constants):.3f} to {max(constants):.3f}."
    )
    if len(table[0]) < 2:
        return vacuous(float(np.mean(constants)), FACTOR, f"one setting shows no rate. {note}")
    spread = [max(row) / min(row) for row in table]
    return at_most(
        spread, FACTOR, f"Largest over smallest constant of {len(table[0])} settings, per seed. {note}"
    )


def _largest_growth(every: Sequence[KineticsRun]) -> Finding:
    """d times the largest growth: it must not grow with k as its trivial limit does."""
    table = _constants(every, lambda r: r.largest_growth)
    limit = _constants(every, lambda r: r.most_possible)
    rise = float(np.mean([row[-1] / row[0] for row in limit]))
    note = (
        f"d times the largest expectation up to T_b, {np.mean(table):.2f} in the mean; its trivial limit "
        f"d E|z_j|/2 is {np.mean(limit):.2f} and grows by a factor {rise:.2f} from the sparsest setting to "
        "the densest."
    )
    growth = [row[-1] / row[0] for row in table]
    # Where the limit itself hardly grows, staying below it shows nothing.
    if rise <= FACTOR:
        return vacuous(float(np.mean(growth)), FACTOR, note)
    return at_most(growth, FACTOR, "Densest setting over sparsest, per seed.", note)


def _other_growth(every: Sequence[KineticsRun]) -> Finding:
    runs = largest_standard(every)
    gate = float(np.mean([_early_mean(run, lambda r: r.gate) for run in runs]))
    bound = gate * math.log(runs[0].config.d)
    losers = [_early_mean(run, lambda r: r.loser_growth) for run in runs]
    note = "d times the expectation, root mean square over all coordinates outside S_pot up to T_b."
    return up_to_a_constant(at_most(losers, bound), float(np.mean(losers)) / bound, note)


def _coupling(every: Sequence[KineticsRun]) -> Finding:
    runs = largest_standard(every)
    config = runs[0].config
    grown = float(np.mean(each(runs, lambda r: r.grown[-1])))
    note = (
        "Spread of the winners' growth around E[y l' z_j], relative; allowed k^1.5/d over a growth of "
        f"order one. {grown:.0f} winners exceed 2 sqrt(k) b."
    )
    return at_most(each(runs, lambda r: r.coupling_spread[-1]), config.k**1.5 / config.d, note)


def _awake(every: Sequence[KineticsRun]) -> Finding:
    runs = largest_standard(every)
    k = runs[0].config.k
    counts = each(runs, lambda r: r.awake_count[-1] / k)
    note = "Neurons with |<w_i, x>| >= b/10, in units of k."
    return up_to_a_constant(at_most(counts, 1.0), float(np.mean(counts)), note)


CHECKS = (
    Check(
        claim_id="purification.sec6.kinetics",
        experiment=KINETICS,
        evaluate=_rates,
        hypotheses=clean_hypotheses,
        reading=f"{TIMES} k/d is read as E|z|_0/d; winners are S_sure, the others lie outside S_pot.",
    ),
    Check(
        claim_id="purification.sec6.chance",
        experiment=KINETICS,
        evaluate=_chance,
        hypotheses=clean_hypotheses,
        reading=f"{TIMES} sign(0) = +1, so that a net asleep predicts +1.",
    ),
    Check(
        claim_id="purification.lemC.8",
        experiment=KINETICS,
        evaluate=_winner_growth,
        hypotheses=clean_hypotheses,
        reading=f"{TIMES} {FLAT}",
    ),
    Check(
        claim_id="purification.lemC.9",
        experiment=KINETICS,
        evaluate=_largest_growth,
        hypotheses=clean_hypotheses,
        reading=f"{TIMES} {FLAT}",
    ),
    Check(
        claim_id="purification.lemC.10",
        experiment=KINETICS,
        evaluate=_other_growth,
        hypotheses=clean_hypotheses,
        reading=f"{TIMES} Gamma_t is read as the mean activation probability, which is below it.",
    ),
    Check(
        claim_id="purification.lemC.18",
        experiment=KINETICS,
        evaluate=_coupling,
        hypotheses=clean_hypotheses,
    ),
    Check(
        claim_id="purification.lemC.19",
        experiment=KINETICS,
        evaluate=_awake,
        hypotheses=clean_hypotheses,
        reading="Xi2 is taken as 1.",
    ),
)
