"""Checks on the codes alone: how many are on, and the mass of their score near the decision boundary."""

from collections.abc import Callable, Sequence

from karat.papers.purification.checks.settings import SMALL, at_least, at_most, both
from karat.study.claim import Check, Finding
from karat.study.curves import curves, setting
from karat.study.record import Record

STABLE = 2.0
"""By which factor a hidden constant may change over the sparsities tried and still be called one constant."""


def support(records: Sequence[Record]) -> Finding:
    """Share of codes whose |z|_0 leaves one window [c k, C k] at the largest k; its mean must grow like k."""
    top = max(records, key=setting("k"))
    middle = top.values["expected_support"] / top.config["k"]
    window = (middle / STABLE, middle * STABLE)
    k, table = curves(records, setting("k"), lambda record: _outside(record, *window))
    if len(k) < 2:
        raise ValueError("|z|_0 of order k needs two sparsities.")
    sizes = curves(records, setting("k"), _mean_share)[1]
    change = [row[-1] / row[0] for row in sizes]
    order = both(at_least(change, 1 / STABLE), at_most(change, STABLE))
    last, fall = [row[-1] for row in table], [row[-1] - row[0] for row in table]
    rare = both(at_most(last, SMALL), at_most(fall, 0.0))
    note = (
        f"Share with |z|_0 outside [{window[0]:.3f} k, {window[1]:.3f} k]: {_told(table, 3)} at k = "
        f"{', '.join(f'{value:g}' for value in k)}; o(1) is read as at most {SMALL:g} and falling. The mean "
        f"of |z|_0/k, {_told(sizes)}, must stay within a factor {STABLE:g}."
    )
    return both(rare, order, note)


def _outside(record: Record, low: float, high: float) -> float:
    counts, k = record.values["support_counts"], record.config["k"]
    return sum(count for on, count in enumerate(counts) if not low * k <= on <= high * k) / sum(counts)


def _mean_share(record: Record) -> float:
    counts = record.values["support_counts"]
    return sum(on * count for on, count in enumerate(counts)) / sum(counts) / float(record.config["k"])


def small_ball(records: Sequence[Record]) -> Finding:
    """How much the two hidden constants change from the smallest to the largest k."""
    above, below = _constants(records, _largest), _constants(records, _smallest)
    grown = [row[-1] / row[0] for row in above]
    kept = [row[-1] / row[0] for row in below]
    note = (
        f"P(|<w*, z>| <= t) <= C (t + 1/sqrt(k)) with C {_told(above)} and >= c t with c {_told(below)} from "
        f"the smallest to the largest k. Judged: over this range C does not grow {STABLE:g}-fold and c does "
        f"not fall {STABLE:g}-fold."
    )
    return both(at_most(grown, STABLE), at_least(kept, 1 / STABLE), note)


def _constants(records: Sequence[Record], value: Callable[[Record], float]) -> list[list[float]]:
    k, table = curves(records, setting("k"), value)
    if len(k) < 2 or not all(all(row) for row in table):
        raise ValueError("constants that do not depend on k need two sparsities and some mass at every t.")
    return table


def _largest(record: Record) -> float:
    """The smallest C of the upper bound."""
    pairs = zip(record.values["t"], record.values["boundary_mass"], strict=True)
    return max(mass / (t + record.config["k"] ** -0.5) for t, mass in pairs)


def _smallest(record: Record) -> float:
    """The largest c of the lower bound, without its correction O(log(k)/sqrt(k))."""
    return min(mass / t for t, mass in zip(record.values["t"], record.values["boundary_mass"], strict=True))


def _told(table: Sequence[Sequence[float]], digits: int = 2) -> str:
    """Means over seeds."""
    return ", ".join(f"{sum(column) / len(column):.{digits}f}" for column in zip(*table, strict=True))


CHECKS = (
    Check(
        claim_id="purification.fact2.2",
        experiment="purification.small_ball",
        evaluate=support,
        reading="One window of constants around E|z|_0/k of the largest k, a factor 2 to either side, for "
        "every k.",
    ),
    Check(
        claim_id="purification.lemH.1",
        experiment="purification.small_ball",
        evaluate=small_ball,
        reading="All coordinates and r = 0; t from 0.05 to 0.4. The lower bound is asked without its "
        "correction O(log(k)/sqrt(k)), which would make it empty at these k.",
    ),
)
