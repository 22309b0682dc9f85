"""Checks on the codes alone: how many are on, and the mass of their score near the decision boundary."""

from collections.abc import Callable, Sequence

from karat.papers.purification.checks.readings import SMALL, at_least, at_most, both_must_hold
from karat.papers.purification.experiments.small_ball import SMALL_BALL, SmallBallConfig, SmallBallResult
from karat.study.claim import Check, Finding
from karat.study.curves import curves
from karat.study.run import Run

STABLE = 2.0
"""By which factor a hidden constant may change over the sparsities tried and still be called one constant."""

Codes = Run[SmallBallConfig, SmallBallResult]


def support(runs: Sequence[Codes]) -> Finding:
    """Share of codes whose |z|_0 leaves one window [c k, C k] at the largest k; its mean must grow like k."""
    top = max(runs, key=_sparsity)
    middle = top.result.expected_support / top.config.k
    low, high = middle / STABLE, middle * STABLE
    k, outside = curves(runs, _sparsity, lambda run: _share_outside(run, low, high))
    if len(k) < 2:
        raise ValueError("|z|_0 of order k needs two sparsities.")
    _, sizes = curves(runs, _sparsity, _mean_size)
    change = [row[-1] / row[0] for row in sizes]
    order = both_must_hold(at_least(change, 1 / STABLE), at_most(change, STABLE))
    last, fall = [row[-1] for row in outside], [row[-1] - row[0] for row in outside]
    rare = both_must_hold(at_most(last, SMALL), at_most(fall, 0.0))
    note = (
        f"Share with |z|_0 outside [{low:.3f} k, {high:.3f} k]: {_means(outside, 3)} at k = "
        f"{', '.join(f'{value:g}' for value in k)}; o(1) is read as at most {SMALL:g} and falling. The mean "
        f"of |z|_0/k, {_means(sizes)}, must stay within a factor {STABLE:g}."
    )
    return both_must_hold(rare, order, note)


def _sparsity(run: Codes) -> float:
    return float(run.config.k)


def _share_outside(run: Codes, low: float, high: float) -> float:
    counts, k = run.result.support_counts, run.config.k
    return sum(count for on, count in enumerate(counts) if not low * k <= on <= high * k) / sum(counts)


def _mean_size(run: Codes) -> float:
    """Mean of |z|_0/k over the drawn codes."""
    counts = run.result.support_counts
    return sum(on * count for on, count in enumerate(counts)) / sum(counts) / float(run.config.k)


def small_ball(runs: Sequence[Codes]) -> Finding:
    """How much the two hidden constants change from the smallest to the largest k."""
    above, below = _constants(runs, _upper_constant), _constants(runs, _lower_constant)
    growth = [row[-1] / row[0] for row in above]
    fall = [row[-1] / row[0] for row in below]
    note = (
        f"P(|<w*, z>| <= t) <= C (t + 1/sqrt(k)) with C {_means(above)} and >= c t with c {_means(below)} "
        f"from the smallest to the largest k. Judged: over this range C does not grow {STABLE:g}-fold and "
        f"c does not fall {STABLE:g}-fold."
    )
    return both_must_hold(at_most(growth, STABLE), at_least(fall, 1 / STABLE), note)


def _constants(runs: Sequence[Codes], value: Callable[[Codes], float]) -> list[list[float]]:
    k, table = curves(runs, _sparsity, value)
    if len(k) < 2 or not all(all(row) for row in table):
        raise ValueError("constants that do not depend on k need two sparsities and some mass at every t.")
    return table


def _upper_constant(run: Codes) -> float:
    """The smallest C of the upper bound."""
    pairs = zip(run.result.t, run.result.boundary_mass, strict=True)
    return max(mass / (t + run.config.k**-0.5) for t, mass in pairs)


def _lower_constant(run: Codes) -> float:
    """The largest c of the lower bound, without its correction O(log(k)/sqrt(k))."""
    return min(mass / t for t, mass in zip(run.result.t, run.result.boundary_mass, strict=True))


def _means(table: Sequence[Sequence[float]], digits: int = 2) -> str:
    """Means over seeds, as a list for the caveat."""
    return ", ".join(f"{sum(column) / len(column):.{digits}f}" for column in zip(*table, strict=True))


CHECKS = (
    Check(
        claim_id="purification.fact2.2",
        experiment=SMALL_BALL,
        evaluate=support,
        reading="One window of constants around E|z|_0/k of the largest k, a factor 2 to either side, for "
        "every k.",
    ),
    Check(
        claim_id="purification.lemH.1",
        experiment=SMALL_BALL,
        evaluate=small_ball,
        reading="All coordinates and r = 0; t from 0.05 to 0.4. The lower bound is asked without its "
        "correction O(log(k)/sqrt(k)), which would make it empty at these k.",
    ),
)
