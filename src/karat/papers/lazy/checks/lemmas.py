"""Checks of the lemmas on the value and on switched neurons at one point."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from karat.papers.lazy import bounds
from karat.papers.lazy.checks.made_up import one_point_cell
from karat.papers.lazy.checks.window import enough_neurons
from karat.papers.lazy.experiments.one_point import ONE_POINT, OnePointConfig, OnePointResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding, Margin
from karat.study.hypothesis import Condition, at_most
from karat.study.judging import all_of, equal, noted, share
from karat.study.run import Run, examples, grouped

OnePointRun = Run[OnePointConfig, OnePointResult]
Limit = Callable[[OnePointConfig], float]

HALF = Margin(0.5, "rows that do not move would give 0, the lemma's triangle inequality 2: half-way to both")

CHEAP: Mapping[str, Any] = {"d": 100, "m": 10_000, "draws": 50}
"""Settings that make a cell of a control cheap."""


def by_size(runs: Sequence[OnePointRun]) -> list[list[OnePointRun]]:
    """Return the runs of equal sizes together, sizes increasing.

    Args:
        runs: of several sizes.
    """
    groups = grouped(runs, lambda run: (run.config.d, run.config.m, run.config.C0))
    return [cells for _, cells in sorted(groups.items())]


def where(config: OnePointConfig) -> str:
    """Say at which size.

    Args:
        config: its settings.
    """
    return f"d = {config.d:,}, m = {config.m:,}, C0 = {config.C0:g}"


def draws_below(
    runs: Sequence[OnePointRun], draws: Callable[[OnePointResult], Sequence[float]], limit: Limit
) -> Finding:
    """Judge the share of independent starts on which a quantity stays below its bound, size by size.

    Args:
        runs: of several sizes.
        draws: the quantity, one number per start.
        limit: its bound.
    """
    findings = []
    for cells in by_size(runs):
        config = cells[0].config
        numbers = [number for run in cells for number in draws(run.result)]
        below = sum(number <= limit(config) for number in numbers)
        mean = sum(numbers) / len(numbers)
        findings.append(
            noted(
                share(below, len(numbers), "at least", 1 - config.p_fail),
                f"{where(config)}: mean {mean:.3g}, bound {limit(config):.3g}.",
            )
        )
    return all_of(*findings)


def _supremum_moves(runs: Sequence[OnePointRun]) -> Finding:
    r"""What the ball adds to |f| over :math:`C_0/2`, its expectation: the supremum is one."""
    ratios = []
    for run in runs:
        pairs = zip(run.result.supremum, run.result.value, strict=True)
        added = [supremum - start for supremum, start in pairs]
        ratios.append(sum(added) / len(added) / (run.config.C0 / 2))
    finding = equal(ratios, 1.0, HALF, RATIO)
    return noted(finding, f"The ball adds {finding} times C0/2 to |f| of the start.")


def _value(limit: Limit) -> Callable[[Sequence[OnePointRun]], Finding]:
    def evaluate(runs: Sequence[OnePointRun]) -> Finding:
        return all_of(draws_below(runs, lambda result: result.supremum, limit), _supremum_moves(runs))

    return evaluate


def _switches(runs: Sequence[OnePointRun], tau: Limit = lambda config: 0.0) -> Finding:
    """Neurons that can change sign at a fixed point: below the bound, and as many as chance puts there."""

    def limit(config: OnePointConfig) -> float:
        return bounds.sign_change_bound(config.m, config.weight_radius, config.p_fail, tau(config))

    ratios = []
    for run in runs:
        counts, config = run.result.can_switch, run.config
        expected = config.m * math.erf(config.weight_radius / math.sqrt(2))
        ratios.append(sum(counts) / len(counts) / expected)
    as_many = equal(ratios, 1.0, HALF, RATIO)
    return all_of(
        draws_below(runs, lambda result: result.can_switch, limit),
        noted(as_many, f"Neurons that can switch over their expectation m erf(V/sqrt 2): {as_many}."),
    )


def _nearby(runs: Sequence[OnePointRun]) -> Finding:
    """Share of starts in which the neurons that can change sign stay within both bounds of Lemma B.4."""
    findings = []
    for cells in by_size(runs):
        config = cells[0].config
        limit = bounds.sign_change_bound(config.m, config.weight_radius, config.p_fail, config.tau)
        # The count is one of certain changes of sign, so a start beyond the bound is one.
        below = sum(run.result.nearby <= limit for run in cells)
        findings.append(
            noted(
                share(below, len(cells), "at least", 1 - config.p_fail),
                f"{where(config)}: {sum(run.result.nearby for run in cells) / len(cells):.4g} neurons have "
                f"some delta near x, bound {limit:.4g}.",
            )
        )
    return all_of(*findings, _switches(runs))


def _chance(
    count: Callable[[OnePointResult], int], limit: Limit, exact: Callable[[OnePointResult], float], what: str
) -> Callable[[Sequence[OnePointRun]], Finding]:
    """Share of neurons to which something happens, against the bound on its chance and the chance itself."""

    def evaluate(runs: Sequence[OnePointRun]) -> Finding:
        findings = []
        for cells in by_size(runs):
            config = cells[0].config
            happened, neurons = (
                sum(count(run.result) for run in cells),
                sum(run.result.neurons for run in cells),
            )
            told = f"{happened / neurons:.3g} of the neurons {what} {exact(cells[0].result):.3g}"
            finding = share(happened, neurons, "at most", limit(config))
            findings.append(noted(finding, f"{where(config)}: {told}."))
        ratios = [count(run.result) / run.result.neurons / exact(run.result) for run in runs]
        as_many = equal(ratios, 1.0, HALF, RATIO)
        return all_of(*findings, noted(as_many, f"Share of neurons over that chance: {as_many}."))

    return evaluate


def _wide(config: OnePointConfig) -> Sequence[Condition]:
    return [enough_neurons(config.m, config.p_fail)]


def near_conditions(config: OnePointConfig) -> Sequence[Condition]:
    """Return the lemmas' hypothesis on the length of delta.

    Args:
        config: the size.
    """
    return [at_most("|delta| <= R <= 1/2", config.tau, 0.5)]


ONE_POINT_HOLDS = examples(one_point_cell(), seeds=12)

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

_lemma_check = partial(Check, experiment=ONE_POINT, satisfied=ONE_POINT_HOLDS, controls=(FAR, STILL))

CHECKS = (
    _lemma_check(
        claim_id="lazy.lem4.1",
        evaluate=_value(lambda config: bounds.value_bound_informal(config.C0, config.p_fail)),
        conditions=_wide,
        violated=examples(one_point_cell(supremum=15.0)),
        reading="The supremum separates over neurons and is computed exactly, for independent starts at a "
        "fixed x. Beside the bound it must be what theory predicts, |f| + C0/2, or it were no supremum.",
    ),
    _lemma_check(
        claim_id="lazy.lemB.5",
        evaluate=_value(lambda config: bounds.value_bound(config.m, config.C0, config.p_fail)),
        violated=examples(one_point_cell(supremum=15.0)),
        reading="As for the informal lemma.",
    ),
    _lemma_check(
        claim_id="lazy.lem4.3",
        evaluate=_switches,
        violated=examples(one_point_cell(can_switch=500)),
        reading="Counted exactly, for independent starts at a fixed x; beside the bound the count must be "
        "the expected one, m erf(V/sqrt 2).",
    ),
    _lemma_check(
        claim_id="lazy.lemB.4",
        evaluate=_nearby,
        conditions=near_conditions,
        satisfied=examples(one_point_cell(), seeds=40),
        violated=examples(one_point_cell(nearby=900), seeds=12),
        reading="Second half as printed: a neuron counts if any delta of length C1/sqrt d lets it change "
        "sign.",
    ),
    _lemma_check(
        claim_id="lazy.lemB.4.fixed",
        evaluate=lambda runs: _switches(runs, lambda config: config.tau),
        conditions=near_conditions,
        violated=examples(one_point_cell(can_switch=500)),
        reading="A neuron can switch at p = x + delta if |<w, p>| <= V |p|, which is as likely as at x: the "
        "counts at a fixed point serve both. Lemma B.8 needs no more; (10) in Lemma B.9 needs all delta at "
        "once, of which this says nothing.",
    ),
    _lemma_check(
        claim_id="lazy.lemB.6",
        evaluate=_chance(
            lambda result: result.sign_changes,
            lambda config: bounds.sign_flip_bound(config.d, config.tau),
            lambda result: result.angle_probability,
            "change sign, exactly arcsin(tau)/pi =",
        ),
        conditions=near_conditions,
        violated=examples(one_point_cell(sign_changes=500)),
        controls=(
            Control(
                name="a longer delta",
                removes="scale",
                settings={"reach": 20.0},
                cheap={**CHEAP, "d": 784},
                why="A delta twenty times as long opens an angle that the bound does not allow.",
            ),
        ),
        reading="Neurons are independent draws. The worst delta is orthogonal to x + delta. Beside the bound "
        "their share must be its exact chance.",
    ),
    _lemma_check(
        claim_id="lazy.lemB.6.switch",
        evaluate=_chance(
            lambda result: result.switches,
            lambda config: bounds.sign_switch_bound(
                config.d, config.tau, config.weight_radius, config.spacing
            ),
            lambda result: result.switch_probability,
            "have two signs nearby, to first order in s",
        ),
        conditions=near_conditions,
        violated=examples(one_point_cell(switches=600)),
        controls=(FAR,),
        reading="At delta = 0, with the spacing s = (m d)^(-4/7) that the proof of Lemma B.9 chooses. A row "
        "w counts if |<w, x>| <= V + s (|w| + V), which no fewer do than can have two signs; neurons are "
        "independent draws. Beside the bound their share must be its chance, to first order in s.",
    ),
)
