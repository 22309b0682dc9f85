"""Checks of the lemmas on switched neurons and on the value, and of the proof's single step."""

import math
from collections.abc import Callable, Sequence

from karat.papers.lazy import bounds
from karat.papers.lazy.experiments.lemmas import LEMMAS, LemmasConfig, LemmasResult
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
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
    # The half that is broken is shown, as the other cannot save the lemma.
    weaker, other = (second, first) if second.verdict == "fails" else (first, second)
    return with_caveat(weaker, other.caveat, "The proof fixes delta first.")


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


def _single_step(runs: Sequence[LemmasRun]) -> Finding:
    """All certified steps land beyond -|f|; how many samples are certified, at which length."""
    # Samples without a certified step say nothing about the certificate.
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
        claim_id="lazy.proof3.1",
        experiment=LEMMAS,
        evaluate=_single_step,
        reading="The printed denominator has a difference of norms where the norm of the difference is "
        "needed. kappa is taken on the step's own ray, where it is exact and all that the proof needs.",
    ),
)
