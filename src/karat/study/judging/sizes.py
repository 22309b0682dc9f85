"""Exponents over sizes: power laws, limits, and hidden constants."""

from dataclasses import replace

import numpy as np

from karat.core.statistics import fit_power_law
from karat.study.finding import EXPONENT, SHARE, Finding, Margin
from karat.study.judging.common import LEVEL, Curves, Numbers, Side, room, undecided
from karat.study.judging.means import bound, equal

FLAT = 1e-6
"""An exponent nearer to zero is that of a flat curve."""

SETTLED = 0.5
"""A curve whose own fit ends above this share of its last value may have a limit above zero."""


def rate(x: Numbers, curves: Curves, predicted: float, test: Margin | Side) -> Finding:
    """The exponent of a power law, fitted per seed in log-log coordinates.

    Args:
        x: (g,) positive sizes, three at least.
        curves: (seeds, g) positive, one curve per seed.
        predicted: the exponent.
        test: the margin of an equality, or the side of a bound.
    """
    return _exponent(x, curves, predicted, test, "rate")


def limit(x: Numbers, curves: Curves, *, least: float = 0.0) -> Finding:
    r"""A positive quantity vanishes as x grows: it falls over all sizes, and over the larger half, too.

    A curve that settles above zero falls as well, more and more slowly. Where the seeds agree that

    .. math:: y = c + A x^{-p}

    through the first, the middle and the last size settles at more than half of its last value, nothing is
    decided: over these sizes a limit above zero describes the curve as well.

    Args:
        x: (g,) positive sizes, three at least.
        curves: (seeds, g) the quantity.
        least: how fast it must fall, as a positive exponent.
    """
    if len(set(np.asarray(x, dtype=float).tolist())) < len(x):
        return undecided(0.0 - least, EXPONENT, "limit", "A size stands twice.")
    order = np.argsort(np.asarray(x, dtype=float))
    table = np.asarray(curves, dtype=float)
    if table.ndim == 2 and table.shape[1] == len(x):
        x, curves = np.asarray(x, dtype=float)[order], table[:, order]
    # A flat curve has exponent zero up to rounding, and must not pass for one that falls.
    edge = -max(least, FLAT)
    how = f"at least like x^-{least:g}" if least else "with x"
    finding = _over_all_and_large(x, curves, "at most", edge, f"limit: falls {how}")
    finding = replace(finding, predicted=0.0 - least)
    if finding.outcome != "holds":
        return finding
    left = [settles_at(x, row) for row in curves]
    if bound(left, "at least", SETTLED, SHARE).outcome != "holds":
        return finding
    note = f"It slows down as if it settled at {np.mean(left):.2f} of its last value."
    return replace(finding, outcome="inconclusive", p_value=None, notes=(*finding.notes, note))


def settles_at(x: Numbers, values: Numbers) -> float:
    r"""Where a curve goes over its last value, if it is :math:`c + A x^{-p}`: :math:`c`, not below zero.

    Args:
        x: (g,) increasing, three sizes at least.
        values: (g,) positive; between two sizes a power law.

    >>> round(settles_at([1, 10, 100], [1.1, 0.2, 0.11]), 3), settles_at([1, 10, 100], [1.0, 0.1, 0.01])
    (0.909, 0.0)
    """
    log_x, log_y = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(values, dtype=float))
    first, middle, last = np.exp(np.interp(np.linspace(log_x[0], log_x[-1], 3), log_x, log_y))
    bend = first + last - 2 * middle
    if bend <= 0:  # falls ever faster
        return 0.0
    return float(min(1.0, max(0.0, (first * last - middle**2) / bend / last)))


def one_constant(x: Numbers, ratios: Curves, side: Side, margin: Margin) -> Finding:
    r"""One hidden constant serves all sizes: measured over formula does not grow (or fall) with x.

    A bound :math:`q(x) \le C\, g(x)` with unknown :math:`C` says nothing at one size; over several it says
    that :math:`q/g` stays bounded: its exponent is at most zero, also over the larger half of the sizes.

    Args:
        x: (g,) sizes, three at least.
        ratios: (seeds, g) measured over formula, positive.
        side: `at most` for upper bounds, `at least` for lower ones.
        margin: the exponent that would still be called constant over this range, and why.
    """
    rule = f"one constant: measured over formula {side} a constant ({margin.reason})"
    edge = margin.size if side == "at most" else -margin.size
    finding = _over_all_and_large(x, ratios, side, edge, rule)
    if finding.measured is None:
        return finding
    means = np.asarray(ratios, dtype=float).mean(axis=0)
    worst = float(means.max() if side == "at most" else means.min())
    return replace(finding, notes=(*finding.notes, f"The constant needed at these sizes is {worst:.3g}."))


def _over_all_and_large(x: Numbers, curves: Curves, side: Side, edge: float, rule: str) -> Finding:
    """The exponent over all sizes; one that the larger half contradicts is left open."""
    finding = _exponent(x, curves, edge, side, rule)
    if finding.outcome != "holds":
        return finding
    large = slice(len(x) // 2 if len(x) > 5 or len(x) < 4 else len(x) // 2 - 1, None)
    later = float(np.mean([_slope(x[large], row[large]) for row in curves]))
    if room(later, edge, side) >= 0:
        return finding
    note = f"Over the {len(x[large])} largest sizes the exponent is {later:.3g}."
    return replace(
        finding, outcome="inconclusive", leaning="fails", p_value=None, notes=(*finding.notes, note)
    )


def _exponent(x: Numbers, curves: Curves, predicted: float, test: Margin | Side, rule: str) -> Finding:
    slopes = _slopes(x, curves)
    if isinstance(slopes, str):
        return undecided(predicted, EXPONENT, rule, slopes)
    finding = (
        equal(slopes, predicted, test, EXPONENT)
        if isinstance(test, Margin)
        else bound(slopes, test, predicted, EXPONENT)
    )
    # One step of the trace: what decides is the exponent, and the mean only how it is compared.
    span = f"{rule}; exponent over {len(x)} sizes from {min(x):g} to {max(x):g}; {finding.trace[0]}"
    return replace(finding, trace=(span,))


def _slopes(x: Numbers, curves: Curves) -> list[float] | str:
    """One exponent per seed, or why there is none."""
    if len(set(np.asarray(x).tolist())) < 3:
        return f"An exponent needs three sizes, got {len(x)}."
    table = np.asarray(curves, dtype=float)
    if table.size == 0:
        return "No seed has a value at every size."
    if table.ndim != 2 or table.shape[1] != len(x):
        raise ValueError(f"`curves` must have shape (seeds, {len(x)}), got {table.shape}.")
    if not (np.isfinite(table).all() and (table > 0).all()):
        return "Some values are not positive finite numbers: no power law to fit."
    return [_slope(x, row) for row in table]


def _slope(x: Numbers, values: Numbers) -> float:
    """The least-squares exponent of a curve; of two points the one through both."""
    if len(x) > 2:
        return fit_power_law(x, values, LEVEL).exponent
    return float(np.log(values[1] / values[0]) / np.log(x[1] / x[0]))
