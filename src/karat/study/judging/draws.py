"""Statements that hold with a probability, judged on the share of draws."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from karat.core.sequential import anytime_proportion_interval, anytime_proportion_p_value
from karat.core.statistics import Interval, clopper_pearson
from karat.study.finding import SHARE, Finding, Outcome
from karat.study.judging.common import LEVEL, MOST_SEEDS, Side, looked, spread_of, undecided
from karat.study.judging.means import bound


def share(successes: int, trials: int, side: Side, predicted: float) -> Finding:
    """The share of independent draws on which something happens, against a probability.

    Args:
        successes: draws on which it happened.
        trials: all draws.
        side: on which the probability must lie.
        predicted: the probability that the statement names.

    >>> [share(s, 40, "at least", 0.9).outcome for s in (40, 36, 20)]
    ['holds', 'inconclusive', 'fails']
    """
    rule = f"share: of {trials} draws, probability {side} {predicted:g}"
    if trials < 1:
        return undecided(predicted, SHARE, rule, "Nothing was drawn.")
    if not 0 <= predicted <= 1:
        return undecided(predicted, SHARE, rule, "The prediction is no probability.")
    interval = (anytime_proportion_interval if looked() else clopper_pearson)(successes, trials, LEVEL)
    seen = successes / trials
    # Strictly: a share of one is not refuted by draws that all succeed, and never shown by them either.
    above, below = interval.low > predicted, interval.high < predicted
    right, wrong = (below, above) if side == "at most" else (above, below)
    outcome: Outcome = "holds" if right else "fails" if wrong else "inconclusive"
    towards = seen <= predicted if side == "at most" else seen >= predicted
    half = (interval.high - interval.low) / 2
    return Finding(
        outcome=outcome,
        measured=seen,
        interval=interval,
        predicted=predicted,
        unit=SHARE,
        leaning="holds" if towards else "fails",
        p_value=_tail(successes, trials, predicted, below) if outcome != "inconclusive" else None,
        resolution=half,
        draws_needed=None if right or wrong else _draws_needed(seen, trials, predicted),
        trace=(rule,),
    )


def share_between(proven: Sequence[bool], possible: Sequence[bool], predicted: float) -> Finding:
    """A worst case that must hold with a probability at least: certificates show it, attacks refute it.

    Args:
        proven: draw -> whether a certificate shows the statement on it.
        possible: draw -> whether no attack refutes it there; these may be other draws.
        predicted: the probability that the statement names.

    >>> good, bad = [True] * 40, [False] * 40
    >>> [share_between(*ends, 0.9).outcome for ends in ((good, good), (bad, good), (bad, bad))]
    ['holds', 'inconclusive', 'fails']
    """
    certain = share(sum(proven), len(proven), "at least", predicted)
    reached = share(sum(possible), len(possible), "at least", predicted)
    if reached.outcome == "fails":
        return reached
    if certain.outcome != "fails":
        return certain
    note = f"Certificates show it on a share {certain} of the draws; attacks leave open a share {reached}."
    return replace(certain, outcome="inconclusive", p_value=None, notes=(note,))


def share_of_points(shares: Sequence[float], points: int, side: Side, predicted: float) -> Finding:
    """The share of points at which something happens, seen on the points of one net per seed.

    Points of one net are no independent draws: nets may differ. So the interval of all points as draws and
    Student's interval over the nets must both lie on one side. Nets that agree to the last point still
    differ as much as so many points allow: then the spread is that of a binomial share.

    Args:
        shares: one per net.
        points: behind each of them.
        side: on which the probability must lie.
        predicted: the probability that the statement names.

    >>> share_of_points([0.97, 0.99, 0.98], 200, "at least", 0.9).outcome
    'holds'
    >>> share_of_points([0.85, 0.99, 0.98], 200, "at least", 0.9).outcome
    'inconclusive'
    """
    rule = f"share: of {points} points on each of {len(shares)} nets, probability {side} {predicted:g}"
    nets = bound(_apart(shares, points), side, predicted, SHARE)
    if nets.interval is None or points < 1:  # nothing to compare, or too few nets
        return replace(nets, outcome="inconclusive", p_value=None, trace=(rule,))
    pooled = share(round(sum(shares) * points), len(shares) * points, side, predicted)
    parts = [pooled, nets]
    decided = len({part.outcome for part in parts}) == 1 and pooled.outcome != "inconclusive"
    low = min(part.interval.low for part in parts if part.interval)
    high = max(part.interval.high for part in parts if part.interval)
    return replace(
        pooled,
        outcome=pooled.outcome if decided else "inconclusive",
        interval=SHARE.clip(Interval(low, high, LEVEL)),
        p_value=max(part.p_value or 0.0 for part in parts) if decided else None,
        resolution=(high - low) / 2,
        seeds_needed=nets.seeds_needed,
        trace=(rule,),
    )


def _apart(shares: Sequence[float], points: int) -> np.ndarray:
    """The shares; equal ones as far apart as binomial shares of so many points are, about the same mean."""
    nets = np.asarray(shares, dtype=float)
    if len(nets) < 2 or points < 1 or not np.isfinite(nets).all() or spread_of(nets):
        return nets
    all_points = len(nets) * points
    chance = (nets.sum() * points + 0.5) / (all_points + 1)
    ladder = np.arange(len(nets)) - (len(nets) - 1) / 2
    apart = nets + ladder * (math.sqrt(chance * (1 - chance) / points) / ladder.std(ddof=1))
    return np.asarray(apart - min(0.0, float(apart.min())) - max(0.0, float(apart.max()) - 1))


def _draws_needed(seen: float, trials: int, predicted: float) -> float | None:
    """How many times as many draws would decide it if the share stayed as it is."""
    for factor in np.geomspace(1, MOST_SEEDS, 41)[1:]:
        draws = math.ceil(trials * factor)
        # They are added after a look, so the p-value must hold whenever one stops.
        if anytime_proportion_p_value(round(seen * draws), draws, predicted) <= 1 - LEVEL:
            return draws / trials
    return None


def _tail(successes: int, trials: int, predicted: float, below: bool) -> float:
    """Probability of a share so far on its side of the prediction if the truth lay on the other."""
    if looked():
        return anytime_proportion_p_value(successes, trials, predicted)
    # bdtr is the distribution function of the binomial, bdtrc its complement.
    return float(
        special.bdtr(successes, trials, predicted)
        if below
        else special.bdtrc(successes - 1, trials, predicted)
    )
