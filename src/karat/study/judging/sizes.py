"""Exponents over sizes: power laws, limits, and hidden constants."""

from dataclasses import replace

import numpy as np

from karat.core.statistics import fit_power_law
from karat.study.finding import EXPONENT, Finding, Margin
from karat.study.judging.common import LEVEL, Curves, Numbers, Side, undecided
from karat.study.judging.means import bound, equal


def rate(x: Numbers, curves: Curves, predicted: float, test: Margin | Side) -> Finding:
    """The exponent of a power law, fitted per seed in log-log coordinates.

    Args:
        x: (g,) positive sizes, three at least.
        curves: (seeds, g) positive, one curve per seed.
        predicted: the exponent.
        test: the margin of an equality, or the side of a bound.
    """
    slopes = _slopes(x, curves)
    if isinstance(slopes, str):
        return undecided(predicted, EXPONENT, "rate", slopes)
    finding = (
        equal(slopes, predicted, test, EXPONENT)
        if isinstance(test, Margin)
        else bound(slopes, test, predicted, EXPONENT)
    )
    span = f"rate: exponent over {len(x)} sizes from {min(x):g} to {max(x):g}"
    return replace(finding, trace=(span, *finding.trace))


def limit(x: Numbers, curves: Curves, *, least: float = 0.0) -> Finding:
    """A positive quantity vanishes as x grows: its exponent lies below zero.

    Args:
        x: (g,) positive sizes, three at least.
        curves: (seeds, g) the quantity.
        least: how fast it must fall, as a positive exponent.
    """
    finding = rate(x, curves, -least, "at most")
    return replace(finding, trace=(f"limit: falls at least like x^-{least:g}", *finding.trace))


def one_constant(x: Numbers, ratios: Curves, side: Side, margin: Margin) -> Finding:
    r"""One hidden constant serves all sizes: measured over formula does not grow (or fall) with x.

    A bound :math:`q(x) \le C\, g(x)` with unknown :math:`C` says nothing at one size; over several it says
    that :math:`q/g` stays bounded, so that its exponent is at most zero.

    Args:
        x: (g,) sizes, three at least.
        ratios: (seeds, g) measured over formula, positive.
        side: `at most` for upper bounds, `at least` for lower ones.
        margin: the exponent that would still be called constant over this range, and why.
    """
    slopes = _slopes(x, ratios)
    rule = f"one constant over {len(x)} sizes: measured over formula {side} a constant"
    if isinstance(slopes, str):
        return undecided(0.0, EXPONENT, rule, slopes)
    edge = margin.size if side == "at most" else -margin.size
    finding = bound(slopes, side, edge, EXPONENT)
    table = np.asarray(ratios, dtype=float)
    worst = float(table.mean(axis=0).max() if side == "at most" else table.mean(axis=0).min())
    note = f"The constant needed at these sizes is {worst:.3g}."
    traced = (f"{rule} ({margin.reason})", *finding.trace)
    return replace(finding, predicted=edge, notes=(*finding.notes, note), trace=traced)


def _slopes(x: Numbers, curves: Curves) -> list[float] | str:
    """One exponent per seed, or why there is none."""
    if len(x) < 3:
        return f"An exponent needs three sizes, got {len(x)}."
    table = np.asarray(curves, dtype=float).reshape(-1, len(x))
    if len(table) == 0:
        return "No seed has a value at every size."
    if not (np.isfinite(table).all() and (table > 0).all()):
        return "Some values are not positive finite numbers: no power law to fit."
    return [fit_power_law(x, row, LEVEL).exponent for row in table]
