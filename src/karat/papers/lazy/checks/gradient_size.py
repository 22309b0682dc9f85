"""Checks of the lemmas on how small the gradient gets over the ball: as printed, explicit, and repaired."""

import math
from collections.abc import Callable, Sequence

from karat.papers.lazy import bounds
from karat.papers.lazy.checks.made_up import worst_cell
from karat.papers.lazy.checks.window import enough_neurons
from karat.papers.lazy.checks.worst import P_FAIL, WorstRun
from karat.papers.lazy.experiments.worst import WIDE, WORST, WorstConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding
from karat.study.hypothesis import Condition, at_least, not_checkable
from karat.study.judging import Undecided, all_of, certified, noted, share, vacuous_if
from karat.study.run import examples, grouped

LARGE_BALL = 100.0
"""From d = 100 C0^2 on the gradient of the start, sqrt(d/2) = 7 C0, is far more than the ball can move."""


def _needed(runs: Sequence[WorstRun], least: float) -> Finding:
    """A lower bound on all gradients of the ball: an adversary may refute it, a certificate show it.

    Reading: refuted by the share of draws on which the adversary goes below the bound; shown by the ratio of
        the bound to the certificate, seed by seed, at the worst input.
    """
    draws = [length for run in runs for length in _independent(run)]
    withstood = share(sum(length >= least for length in draws), len(draws), "at least", 1 - P_FAIL)
    if withstood.outcome == "fails":
        return withstood
    found = [least / max(1e-30, min(run.result.smallest_gradient)) for run in runs]
    floors = [min(run.result.gradient_floor) for run in runs]
    proven = [least / floor if floor > 0 else math.inf for floor in floors]
    return certified(found, proven, 1.0, RATIO)


def _independent(run: WorstRun) -> list[float]:
    """The smallest gradients found; of inputs that share a start only the first, which is independent."""
    return run.result.smallest_gradient if run.config.fresh_starts else run.result.smallest_gradient[:1]


def _printed(runs: Sequence[WorstRun]) -> Finding:
    """The informal lemma at the largest width, where its hypotheses are as good as met."""
    d = min(run.config.d for run in runs)
    by_width = dict(
        sorted(grouped([run for run in runs if run.config.d == d], lambda run: run.config.m).items())
    )
    listed = ", ".join(f"{_smallest(cells):.2f} at m = {m:.0e}" for m, cells in by_width.items())
    finding = _needed(by_width[max(by_width)], math.sqrt(d) / 4)
    C0 = runs[0].config.C0
    return noted(
        finding,
        f"Smallest |grad f|/(sqrt(d)/4) that an adversary over the ball reaches at d = {d}, C0 = {C0:g}: "
        f"{listed}.",
    )


def _smallest(cells: Sequence[WorstRun]) -> float:
    """Mean over seeds of the smallest gradient over its printed bound."""
    ratios = [min(run.result.smallest_gradient) / (math.sqrt(run.config.d) / 4) for run in cells]
    return sum(ratios) / len(ratios)


def _printed_conditions(config: WorstConfig) -> Sequence[Condition]:
    log = math.log(8 * config.m / P_FAIL)
    return [
        enough_neurons(config.m, P_FAIL),
        not_checkable(
            "d >= C log(m/p_fail)/m",
            f"the constant C is not given; at d = {config.d}, m = {config.m} it may be up to "
            f"{config.d * config.m / log:.3g}, and the more the wider the net",
        ),
    ]


def _by_dimension(
    runs: Sequence[WorstRun], least: Callable[[WorstConfig], float]
) -> dict[int, tuple[Finding, float]]:
    """Dimension -> the comparison in the smallest ball, and the lower bound there."""
    C0 = min(run.config.C0 for run in runs)
    cells = grouped([run for run in runs if run.config.C0 == C0], lambda run: run.config.d)
    return {
        d: (_needed(of_d, least(of_d[0].config)), least(of_d[0].config)) for d, of_d in sorted(cells.items())
    }


def _explicit(runs: Sequence[WorstRun]) -> Finding:
    """The explicit lower bound at every dimension where it is positive."""

    def least(config: WorstConfig) -> float:
        limit = bounds.gradient_bound(config.d, config.m, config.C0, P_FAIL)
        return 0.0 if math.isnan(limit) else max(0.0, limit)

    C0 = min(run.config.C0 for run in runs)
    smallest_ball = [run for run in runs if run.config.C0 == C0]
    # A gradient is never below a negative number, and the bound is NaN where it takes a root of one.
    says_something = [run for run in smallest_ball if least(run.config) > 0]
    found = _by_dimension(says_something or smallest_ball, least)
    limits = ", ".join(
        f"{limit:.2f} at d = {d}" if limit > 0 else f"nothing at d = {d}" for d, (_, limit) in found.items()
    )
    finding = noted(all_of(*(one for one, _ in found.values())), f"The bound, C0 = {C0:g}: {limits}.")
    return vacuous_if(not says_something, _biting_width(smallest_ball), finding)


def _biting_width(runs: Sequence[WorstRun]) -> str:
    """Say from which width on the lower bound on the gradient is positive, and what it tends to."""
    d, C0 = max(run.config.d for run in runs), runs[-1].config.C0
    widths = [round(10 ** (k / 4)) for k in range(8, 60)]
    wide = next((m for m in widths if bounds.gradient_bound(d, m, C0, P_FAIL) > 0), None)
    reach = "no m up to 1e15" if wide is None else f"m >= {wide:.1g}"
    limit = bounds.gradient_bound(d, 10**40, C0, P_FAIL)  # far beyond every term that falls with m
    return (
        f"the lower bound is negative or undefined; at d = {d} it turns positive for {reach} and tends to "
        f"{limit:.1f} as m grows, against sqrt(d)/4 = {math.sqrt(d) / 4:.1f}."
    )


def _repaired(runs: Sequence[WorstRun]) -> Finding:
    """The informal lemma wherever the dimension is large against the ball."""
    large = [run for run in runs if run.config.d >= LARGE_BALL * run.config.C0**2]
    if not large:
        raise Undecided(f"no run has d >= {LARGE_BALL:g} C0^2.")
    found = _by_dimension(large, lambda config: math.sqrt(config.d) / 4)
    return all_of(*(one for one, _ in found.values()))


def _repaired_conditions(config: WorstConfig) -> Sequence[Condition]:
    return [
        at_least("d >= 100 C0^2", config.d, LARGE_BALL * config.C0**2),
        enough_neurons(config.m, P_FAIL),
    ]


def _explicit_conditions(config: WorstConfig) -> Sequence[Condition]:
    return [enough_neurons(config.m, P_FAIL)]


_WIDE = WorstConfig(d=25, m=100_000, C0=10.0, fresh_starts=True)
_LARGE = WorstConfig(d=784, m=1600, C0=1.0)
_CHEAP = {"steps": 1, "gradients": 2, "points": 2}

SHORT_ROWS = Control(
    name="short rows",
    removes="structure",
    settings={"rows": "unit"},
    cheap={**_CHEAP, "d": 784, "m": 1600, "C0": 1.0},
    why="A start with rows N(0, I/d) has a gradient of order 1.",
)

CHECKS = (
    Check(
        claim_id="lazy.lem4.2",
        experiment=WIDE,
        evaluate=_printed,
        conditions=_printed_conditions,
        satisfied=examples(worst_cell(_WIDE, worst=0.1, smallest=3.0)),
        violated=examples(worst_cell(_WIDE, worst=0.1, smallest=0.6, floor=0.1)),
        controls=(SHORT_ROWS,),
        reading="The adversary's gradient is an upper bound on the infimum, so that a value below sqrt(d)/4 "
        "would refute the lemma. Its hypotheses ask for less of d the wider the net, and nothing of d "
        "against C0^2.",
    ),
    Check(
        claim_id="lazy.lem4.2.repaired",
        experiment=WORST,
        evaluate=_repaired,
        conditions=_repaired_conditions,
        satisfied=examples(worst_cell(_LARGE, worst=0.1, smallest=15.0)),
        violated=examples(worst_cell(_LARGE, worst=0.1, smallest=5.0, floor=4.0)),
        controls=(SHORT_ROWS,),
        reading="Certified for every W: what neurons can add by switching is bounded by the spectral norm. "
        "100 is not sharp; to first order d >= 3.2 C0^2 would do for wide nets.",
    ),
    Check(
        claim_id="lazy.lemB.7",
        experiment=WORST,
        evaluate=_explicit,
        conditions=_explicit_conditions,
        satisfied=examples(worst_cell(_LARGE, worst=0.1, smallest=15.0)),
        violated=examples(worst_cell(_LARGE, worst=0.1, smallest=3.0, floor=1.0)),
        controls=(SHORT_ROWS,),
        reading="The lemma's own constants, in the smallest ball of the run, at the dimensions where the "
        "bound is positive; an adversary could refute it, a certificate over the whole ball shows it.",
    ),
)
