"""Statements that hold with a probability, judged on the share of draws."""

from scipy import stats

from karat.core.statistics import clopper_pearson
from karat.study.finding import SHARE, Finding, Outcome
from karat.study.judging.common import LEVEL, Side, undecided


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
    interval, seen = clopper_pearson(successes, trials, LEVEL), successes / trials
    # Strictly: a share of one is not refuted by draws that all succeed, and never shown by them either.
    above, below = interval.low > predicted, interval.high < predicted
    right, wrong = (below, above) if side == "at most" else (above, below)
    outcome: Outcome = "holds" if right else "fails" if wrong else "inconclusive"
    towards = seen <= predicted if side == "at most" else seen >= predicted
    tail = (
        stats.binom.cdf(successes, trials, predicted)
        if below
        else stats.binom.sf(successes - 1, trials, predicted)
    )
    half = (interval.high - interval.low) / 2
    return Finding(
        outcome=outcome,
        measured=seen,
        interval=interval,
        predicted=predicted,
        unit=SHARE,
        leaning="holds" if towards else "fails",
        p_value=float(tail) if outcome != "inconclusive" else None,
        resolution=half,
        trace=(rule,),
    )
