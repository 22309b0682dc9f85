"""Checks of the lemmas on switched neurons and on the value, and of the proof's single step."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from karat.papers.lazy import bounds
from karat.papers.lazy.checks.made_up import lemmas_cell
from karat.papers.lazy.checks.window import enough_neurons
from karat.papers.lazy.experiments.lemmas import LEMMAS, LemmasConfig, LemmasResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, SHARE, Finding, Margin
from karat.study.hypothesis import Condition, at_most
from karat.study.judging import Undecided, all_of, equal, exact_bound, noted, share
from karat.study.run import Run, examples, grouped

LemmasRun = Run[LemmasConfig, LemmasResult]
Limit = Callable[[LemmasConfig], float]

HALF = Margin(0.5, "rows that do not move would give 0, the lemma's triangle inequality 2: half-way to both")

CHEAP: Mapping[str, Any] = {"side": 10, "m": 400, "n_test": 4, "adversaries": 1}
"""Settings that make a cell of a control cheap."""


def _by_size(runs: Sequence[LemmasRun]) -> list[list[LemmasRun]]:
    by_size = grouped(runs, lambda run: (run.config.m, run.config.d))
    return [cells for _, cells in sorted(by_size.items())]


def _where(config: LemmasConfig) -> str:
    return f"d = {config.d}, m = {config.m}"


def _draws_below(
    runs: Sequence[LemmasRun], draws: Callable[[LemmasRun], list[float]], limit: Limit
) -> Finding:
    """Share of independent starts on which a quantity stays below its bound, size by size."""
    findings = []
    for cells in _by_size(runs):
        config = cells[0].config
        numbers = [number for run in cells for number in draws(run)]
        below = sum(number <= limit(config) for number in numbers)
        mean = sum(numbers) / len(numbers)
        findings.append(
            noted(
                share(below, len(numbers), "at least", 1 - config.p_fail),
                f"{_where(config)}: mean {mean:.3g}, bound {limit(config):.3g}.",
            )
        )
    return all_of(*findings)


def _supremum_moves(runs: Sequence[LemmasRun]) -> Finding:
    r"""What the ball adds to |f| over :math:`C_0/2`, its expectation: the supremum is one."""
    ratios = []
    for run in runs:
        pairs = zip(run.result.value_draws, run.result.start_draws, strict=True)
        added = [supremum - start for supremum, start in pairs]
        ratios.append(sum(added) / len(added) / (run.config.C0 / 2))
    finding = equal(ratios, 1.0, HALF, RATIO)
    return noted(finding, f"The ball adds {finding} times C0/2 to |f| of the start.")


def _value(limit: Limit) -> Callable[[Sequence[LemmasRun]], Finding]:
    def evaluate(runs: Sequence[LemmasRun]) -> Finding:
        below = _draws_below(runs, lambda run: run.result.value_draws, limit)
        return all_of(below, _supremum_moves(runs))

    return evaluate


def _switches(runs: Sequence[LemmasRun], tau: Limit = lambda config: 0.0) -> Finding:
    """Neurons that can change sign at a fixed point: below the bound, and as many as chance puts there."""

    def limit(config: LemmasConfig) -> float:
        return bounds.sign_change_bound(config.m, config.weight_radius, config.p_fail, tau(config))

    ratios = []
    for run in runs:
        counts, config = run.result.switch_draws, run.config
        expected = config.m * math.erf(config.weight_radius / math.sqrt(2))
        ratios.append(sum(counts) / len(counts) / expected)
    as_many = equal(ratios, 1.0, HALF, RATIO)
    return all_of(
        _draws_below(runs, lambda run: run.result.switch_draws, limit),
        noted(as_many, f"Neurons that can switch over their expectation m erf(V/sqrt 2): {as_many}."),
    )


def _nearby(runs: Sequence[LemmasRun]) -> Finding:
    """Both halves of the lemma as printed; the second quantifies over delta inside the count."""
    findings = []
    for cells in _by_size(runs):
        below = sum(run.result.can_switch_nearby <= run.result.can_switch_nearby_bound for run in cells)
        count = sum(run.result.can_switch_nearby for run in cells) / len(cells)
        config = cells[0].config
        findings.append(
            noted(
                share(below, len(cells), "at least", 1 - config.p_fail),
                f"{_where(config)}: {count:.0f} neurons have some delta near x, bound "
                f"{cells[0].result.can_switch_nearby_bound:.0f}.",
            )
        )
    return all_of(*findings, _switches(runs))


def _flip_probability(runs: Sequence[LemmasRun]) -> Finding:
    """Share of the neurons of W0 that one delta makes change sign, against the bound (3)."""
    findings = []
    for cells in _by_size(runs):
        config = cells[0].config
        changed, neurons = sum(run.result.sign_changes for run in cells), len(cells) * config.m
        exact = bounds.sign_flip_probability(config.tau)
        findings.append(
            noted(
                share(changed, neurons, "at most", bounds.sign_flip_bound(config.d, config.tau)),
                f"{_where(config)}: {changed / neurons:.3f} of the neurons change sign, exactly "
                f"arcsin(tau)/pi = {exact:.3f}; the bound (4) is {_switch_looseness(config):.1f} times the "
                "probability it bounds (first order in the spacing (m d)^(-4/7)).",
            )
        )
    return all_of(*findings)


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
        raise Undecided("no sample had kappa below 1, so the certificate applied nowhere.")
    why = "every certified step is taken, and the net evaluated at its end"
    finding = exact_bound(landed, "at least", 1.0, SHARE, why)
    return noted(finding, *(_certified_steps(cells) for cells in _by_size(runs)))


def _certified_steps(cells: Sequence[LemmasRun]) -> str:
    """What the certificate reaches at one size, averaged over seeds."""
    results = [run.result for run in cells]
    certified = sum(result.usable for result in results) / len(results)
    lengths = _mean([result.step_length for result in results])
    on_ray = _mean([result.kappa_on_ray for result in results])
    in_ball = _mean([result.kappa for result in results])
    upper = min(result.kappa_certified for result in results)
    return (
        f"{_where(cells[0].config)}: {certified:.0%} of the samples certified at a median length {lengths}, "
        f"kappa {on_ray} on the ray; over the ball {in_ball} by ascent and at most {upper:.1f}."
    )


def _mean(values: Sequence[float]) -> str:
    """The mean of what is a number, as text."""
    numbers = [value for value in values if not math.isnan(value)]
    return f"{sum(numbers) / len(numbers):.2f}" if numbers else "unknown"


def _wide(config: LemmasConfig) -> Sequence[Condition]:
    return [enough_neurons(config.m, config.p_fail)]


def _near(config: LemmasConfig) -> Sequence[Condition]:
    return [at_most("|delta| <= R <= 1/2", config.tau, 0.5)]


_LEMMAS_HOLD = examples(lemmas_cell(), seeds=12)

STILL = Control(
    name="rows that do not move",
    removes="ball",
    settings={"reach": 0.0},
    cheap=CHEAP,
    why="A supremum over a single net is not one over the ball.",
)
FAR = Control(
    name="rows that move farther",
    removes="ball",
    settings={"reach": 4.0},
    cheap=CHEAP,
    why="Four times the radius is more than the bound is told.",
)

_lemma_check = partial(Check, experiment=LEMMAS, satisfied=_LEMMAS_HOLD, controls=(FAR, STILL))

CHECKS = (
    _lemma_check(
        claim_id="lazy.lem4.1",
        evaluate=_value(lambda config: bounds.value_bound_informal(config.C0, config.p_fail)),
        conditions=_wide,
        violated=examples(lemmas_cell(value=15.0)),
        reading="The supremum separates over neurons and is computed exactly, for independent starts at a "
        "fixed x. Beside the bound it must be what theory predicts, |f| + C0/2, or it were no supremum.",
    ),
    _lemma_check(
        claim_id="lazy.lemB.5",
        evaluate=_value(lambda config: bounds.value_bound(config.m, config.C0, config.p_fail)),
        violated=examples(lemmas_cell(value=15.0)),
        reading="As for the informal lemma.",
    ),
    _lemma_check(
        claim_id="lazy.lem4.3",
        evaluate=_switches,
        violated=examples(lemmas_cell(switch=500.0)),
        reading="Counted exactly, for independent starts at a fixed x; beside the bound the count must be "
        "the expected one, m erf(V/sqrt 2).",
    ),
    _lemma_check(
        claim_id="lazy.lemB.4",
        evaluate=_nearby,
        conditions=_near,
        satisfied=examples(lemmas_cell(), seeds=40),
        violated=examples(lemmas_cell(nearby=900.0), seeds=12),
        reading="Second half as printed: a neuron counts if any delta of length C1/sqrt d lets it "
        "change sign; the most over the test images.",
    ),
    _lemma_check(
        claim_id="lazy.lemB.4.fixed",
        evaluate=lambda runs: _switches(runs, lambda config: config.tau),
        conditions=_near,
        violated=examples(lemmas_cell(switch=500.0)),
        reading="A neuron can switch at p = x + delta if |<w, p>| <= V |p|, which is as likely as at x: the "
        "counts at a fixed point serve both.",
    ),
    _lemma_check(
        claim_id="lazy.lemB.6",
        evaluate=_flip_probability,
        conditions=_near,
        violated=examples(lemmas_cell(sign_changes=500)),
        controls=(
            Control(
                name="a longer delta",
                removes="scale",
                settings={"reach": 20.0},
                cheap={**CHEAP, "side": 28},
                why="A delta twenty times as long opens an angle that the bound does not allow.",
            ),
        ),
        reading="Neurons are independent draws. The worst delta is orthogonal to x + delta; a random one of "
        "these is drawn without looking at W0.",
    ),
    _lemma_check(
        claim_id="lazy.proof3.1",
        evaluate=_single_step,
        violated=examples(lemmas_cell(landed=0.9)),
        controls=(
            Control(
                name="a constant gradient",
                removes="certificate",
                settings={"kappa": "none"},
                cheap={**CHEAP, "side": 28},  # smaller images have no certified step
                why="The step 2 |f|/|grad f| does not reach -|f| where the gradient shrinks on the way.",
            ),
        ),
        reading="The printed denominator has a difference of norms where the norm of the difference is "
        "needed. kappa is taken on the step's own ray, where it is exact and all that the proof needs.",
    ),
)
