"""Checks of the lemmas' explicit bounds: loose, vacuous or violated at the sizes that can be run."""

import math
from collections.abc import Callable, Sequence

from karat.papers.lazy import bounds
from karat.papers.lazy.experiments.lemmas import LEMMAS, LemmasConfig, LemmasResult
from karat.study.claim import Check, Finding
from karat.study.curves import curves, power, vacuous, with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding
from karat.study.run import Run, grouped

LemmasRun = Run[LemmasConfig, LemmasResult]
Value = Callable[[LemmasRun], float]


def _slack(ratio: float) -> str:
    """How far the measured quantity stays from its bound, or how far it is beyond it.

    >>> _slack(0.5), _slack(2.0)
    ('holds, loose by a factor 2.00', 'violated by a factor 2.00')
    """
    if ratio > 1:
        return f"violated by a factor {ratio:.2f}"
    return f"holds, loose by a factor {1 / ratio if ratio else math.inf:.2f}"


def _below(value: Value, bound: Value, what: str) -> Callable[[Sequence[LemmasRun]], Finding]:
    """A measured quantity against its bound, cell by cell; the tightest cell is shown."""

    def evaluate(runs: Sequence[LemmasRun]) -> Finding:
        tightest = max(runs, key=lambda run: value(run) / bound(run))
        # No interval over seeds: the bound is one on every net, so the tightest cell decides.
        finding = upper_bound_finding([value(tightest)], bound(tightest), deterministic=True)
        slack = _slack(value(tightest) / bound(tightest))
        where = f"d = {tightest.config.d}, m = {tightest.config.m}"
        return with_caveat(finding, f"{what}; tightest cell {where}: {slack}.")

    return evaluate


def _nearby(runs: Sequence[LemmasRun]) -> Finding:
    """Both halves of the lemma; the second quantifies over delta inside the count."""
    first = _below(lambda run: run.result.can_switch, lambda run: run.result.can_switch_bound, "At x")(runs)
    second = _below(
        lambda run: run.result.can_switch_nearby,
        lambda run: run.result.can_switch_nearby_bound,
        "Near x, 'exists delta' taken neuron by neuron as printed",
    )(runs)
    shown, other = (second, first) if second.verdict == "fails" else (first, second)
    return with_caveat(shown, other.caveat, "The proof fixes delta first.")


def _flip_probability(runs: Sequence[LemmasRun]) -> Finding:
    """Exact probability at radius 1/sqrt d against the bound (3), and (4) at the proof's own spacing."""
    by_dimension = {
        run.config.d: (run.result.flip_probability, run.result.flip_probability_bound) for run in runs
    }
    ratio = {d: exact / bound for d, (exact, bound) in by_dimension.items()}
    tightest = max(ratio, key=ratio.__getitem__)
    exact, bound = by_dimension[tightest]
    finding = upper_bound_finding([exact], bound, deterministic=True)
    notes = ", ".join(
        f"{exact:.3f} of {bound:.2f} at d = {d}" for d, (exact, bound) in sorted(by_dimension.items())
    )
    looseness = [_switch_looseness(run.config) for run in runs]
    return with_caveat(
        finding,
        f"Exact probability, arcsin(tau)/pi, against the bound (3): {notes}; tightest at d = {tightest}: "
        f"{_slack(ratio[tightest])}.",
        f"(4), rows within C0/sqrt m and spacing (m d)^(-4/7), is {min(looseness):.1f} to "
        f"{max(looseness):.1f} times the probability it bounds (first order in the spacing).",
    )


def _switch_looseness(config: LemmasConfig) -> float:
    """The bound (4) over the probability that it bounds."""
    spacing = (config.m * config.d) ** (-4 / 7)  # which the proof of Lemma B.9 chooses
    bound = bounds.sign_switch_bound(config.d, config.tau, config.weight_radius, spacing)
    return bound / bounds.sign_switch_probability(config.d, config.weight_radius, spacing)


def _gradient_bound(runs: Sequence[LemmasRun]) -> Finding:
    """The explicit lower bound against the smallest gradient an adversary reaches."""
    by_size = dict(sorted(grouped(runs, lambda run: (run.config.m, run.config.d)).items()))
    limits = {
        (m, d): bounds.gradient_bound(d, m, cells[-1].config.C0, cells[-1].config.p_fail)
        for (m, d), cells in by_size.items()
    }
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
    limit = bounds.gradient_bound(d, 10**40, C0, p_fail)
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
    """A bound that no change exceeds says nothing: it allows more than the gradient's own length."""
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


def _single_step(runs: Sequence[LemmasRun]) -> Finding:
    """All certified steps land beyond -|f|; how many samples are certified, at which length."""
    landed = [run.result.landed for run in runs if not math.isnan(run.result.landed)]
    if not landed:
        raise ValueError("no sample had kappa below 1, so the certificate applied nowhere.")
    finding = lower_bound_finding(landed, 1.0, deterministic=True)
    by_size = grouped(runs, lambda run: (run.config.m, run.config.d))
    notes = [_certified_steps(cells) for _, cells in sorted(by_size.items())]
    certified = min(run.result.kappa_certified for run in runs)
    return with_caveat(
        finding,
        "; ".join(notes) + ".",
        f"Over the ball kappa comes from an ascent; its certified upper bound is >= {certified:.1f}, "
        "useless.",
    )


def _certified_steps(cells: Sequence[LemmasRun]) -> str:
    """What the certificate reaches at one size, averaged over seeds."""
    results = [run.result for run in cells]
    share = sum(result.usable for result in results) / len(results)
    on_ray = sum(result.kappa_on_ray for result in results) / len(results)
    in_ball = sum(result.kappa for result in results) / len(results)
    lengths = [result.step_length for result in results if not math.isnan(result.step_length)]
    at = f" at a median length {sum(lengths) / len(lengths):.2f}" if lengths else ""
    config = cells[0].config
    return (
        f"d = {config.d}, m = {config.m}: {share:.0%} of the samples certified{at}, kappa {on_ray:.2f} on "
        f"the ray and {in_ball:.2f} over the ball"
    )


CHECKS = (
    Check(
        claim_id="lazy.lem4.1",
        experiment=LEMMAS,
        evaluate=_below(
            lambda run: run.result.value_supremum,
            lambda run: bounds.value_bound_informal(run.config.C0, run.config.p_fail),
            "Exact supremum of |f| over the ball",
        ),
        reading="The supremum separates over neurons and is computed exactly.",
    ),
    Check(
        claim_id="lazy.lemB.5",
        experiment=LEMMAS,
        evaluate=_below(
            lambda run: run.result.value_supremum,
            lambda run: run.result.value_supremum_bound,
            "Exact supremum of |f| over the ball",
        ),
        reading="As for the informal lemma.",
    ),
    Check(
        claim_id="lazy.lem4.3",
        experiment=LEMMAS,
        evaluate=_below(
            lambda run: run.result.can_switch,
            lambda run: run.result.can_switch_bound,
            "Neurons within C0/sqrt m of their kink",
        ),
        reading="Counted exactly; the largest over test images.",
    ),
    Check(
        claim_id="lazy.lemB.4",
        experiment=LEMMAS,
        evaluate=_nearby,
        reading="Second half as printed: a neuron counts if any delta of length C1/sqrt d lets it "
        "change sign.",
    ),
    Check(
        claim_id="lazy.lemB.6",
        experiment=LEMMAS,
        evaluate=_flip_probability,
        reading="The worst delta is orthogonal to x + delta.",
    ),
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
    Check(
        claim_id="lazy.proof3.1",
        experiment=LEMMAS,
        evaluate=_single_step,
        reading="The printed denominator has a difference of norms where the norm of the difference is "
        "needed. kappa is taken on the step's own ray, where it is exact and all that the proof needs.",
    ),
)
