"""Checks of the lemmas on the gradient: how small it gets over the ball, how much it changes near x."""

import math
from collections.abc import Sequence

from karat.papers.lazy import bounds
from karat.papers.lazy.checks.lemmas import LemmasRun
from karat.papers.lazy.experiments.lemmas import LEMMAS
from karat.study.claim import Check, Finding
from karat.study.curves import curves, power, vacuous, with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding
from karat.study.run import grouped


def _gradient_bound(runs: Sequence[LemmasRun]) -> Finding:
    """The explicit lower bound against the smallest gradient an adversary reaches."""
    by_size = dict(sorted(grouped(runs, lambda run: (run.config.m, run.config.d)).items()))
    limits = {
        (m, d): bounds.gradient_bound(d, m, cells[-1].config.C0, cells[-1].config.p_fail)
        for (m, d), cells in by_size.items()
    }
    # A gradient is never below a negative number, and the bound is NaN where it takes a root of one.
    usable = {size: limit for size, limit in limits.items() if limit > 0}
    if usable:
        size = max(usable, key=usable.__getitem__)
        reached = [run.result.gradient_infimum for run in by_size[size]]
        return lower_bound_finding(reached, usable[size], deterministic=True)
    listed = ", ".join(
        f"d = {d}, m = {m}: " + ("undefined" if math.isnan(limit) else f"{limit:.1f}")
        for (m, d), limit in limits.items()
    )
    return vacuous(
        min(run.result.gradient_infimum for run in runs),
        max((limit for limit in limits.values() if not math.isnan(limit)), default=math.nan),
        f"the lower bound is negative or undefined ({listed}); {_biting_width(runs)}",
    )


def _biting_width(runs: Sequence[LemmasRun]) -> str:
    """Say from which width on the lower bound on the gradient is positive, and what it tends to."""
    d, C0, p_fail = max(run.config.d for run in runs), runs[-1].config.C0, runs[-1].config.p_fail
    widths = [round(10 ** (k / 4)) for k in range(8, 60)]
    wide = next((m for m in widths if bounds.gradient_bound(d, m, C0, p_fail) > 0), None)
    reach = "no m up to 1e15" if wide is None else f"m >= {wide:.1g}"
    limit = bounds.gradient_bound(d, 10**40, C0, p_fail)  # far beyond every term that falls with m
    return (
        f"at d = {d} it turns positive for {reach} and tends to {limit:.1f} as m grows, against sqrt(d)/4 = "
        f"{math.sqrt(d) / 4:.1f}."
    )


def _change(run: LemmasRun) -> float:
    return run.result.gradient_change


def _fixed_change(runs: Sequence[LemmasRun]) -> Finding:
    """The bound on the change of the gradient for one delta against the largest change found."""
    tightest = max(runs, key=lambda run: _change(run) / run.result.gradient_change_bound)
    return _gradient_change(tightest, tightest.result.gradient_change_bound)


def _uniform_change(runs: Sequence[LemmasRun]) -> Finding:
    """The bound on the change of the gradient for all delta, and the dimension from which on it bites."""
    tightest = max(runs, key=lambda run: _change(run) / run.result.gradient_change_all_bound)
    first = bounds.biting_dimension(tightest.config.C0)
    note = f"; with m = d^2.4 it falls below sqrt(d)/4 first at d = {first:.0e}"
    return _gradient_change(tightest, tightest.result.gradient_change_all_bound, note)


def _gradient_change(tightest: LemmasRun, bound: float, note: str = "") -> Finding:
    """Broken by a change above the bound, else vacuous: it allows more than the gradient's own length."""
    if _change(tightest) > bound:
        return upper_bound_finding([_change(tightest)], bound, deterministic=True)
    size = math.sqrt(tightest.config.d / 2)
    return vacuous(
        _change(tightest),
        bound,
        f"it allows {bound:.3g} where {_change(tightest):.2f} was found and |grad f| is about {size:.1f}"
        f"{note}.",
    )


def _small_change(runs: Sequence[LemmasRun]) -> Finding:
    """The change of the gradient within C1/sqrt d grows slower than sqrt d."""
    # Every dimension is run at the smallest width; exponents mix no widths.
    m = min(run.config.m for run in runs)
    narrow = [run for run in runs if run.config.m == m]
    d, table = curves(narrow, lambda run: run.config.d, _change)
    finding = power(d, table, 0.5, side="at most")
    first, last = (sum(row[at] for row in table) / len(table) / math.sqrt(d[at]) for at in (0, -1))
    return with_caveat(
        finding,
        f"Exponent of the largest change found, in d; its mean is {first:.2f} sqrt d at the smallest and "
        f"{last:.2f} sqrt d at the largest dimension.",
    )


CHECKS = (
    Check(
        claim_id="lazy.lemB.7",
        experiment=LEMMAS,
        evaluate=_gradient_bound,
        reading="Evaluated with the lemma's own constants.",
    ),
    Check(
        claim_id="lazy.lem4.4",
        experiment=LEMMAS,
        evaluate=_small_change,
        reading="The supremum over delta by ascent, on trained nets at the smallest width.",
    ),
    Check(
        claim_id="lazy.lemB.8",
        experiment=LEMMAS,
        evaluate=_fixed_change,
        reading="With the '+ 3' that the proof ends with; the change is the largest over directions "
        "and delta.",
    ),
    Check(
        claim_id="lazy.lemB.9",
        experiment=LEMMAS,
        evaluate=_uniform_change,
        reading="Evaluated with the lemma's own constants.",
    ),
)
