"""Checks of what interpolation costs: nets on a line, nets for pairs of balls, and their parameters."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.capacity import CAPACITY, CapacityConfig, CapacityResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, SHARE, Finding
from karat.study.hypothesis import Condition, at_least, at_most
from karat.study.judging import Undecided, all_of, exact_bound, noted
from karat.study.run import Run, examples

CapacityRun = Run[CapacityConfig, CapacityResult]


def _interpolates(runs: Sequence[CapacityRun]) -> Finding:
    """Share of points to which the nets on a line give their label."""
    return noted(
        _every_one(runs, lambda run: run.result.interpolated, "values of the nets at their points"),
        f"{_labellings(runs)} labellings of {_sizes(runs)} points; the same nets keep their sign on a share "
        f"{min((run.result.line_robust for run in runs), default=0.0):.2f} to "
        f"{max((run.result.line_robust for run in runs), default=0.0):.2f} of the balls around them.",
    )


def _robust(runs: Sequence[CapacityRun]) -> Finding:
    """Share of balls on which the nets built for them are certified."""
    finding = _every_one(runs, lambda run: run.result.robust, "a certificate for every ball")
    widths = sorted({(run.config.n, run.result.width) for run in runs})
    listed = ", ".join(f"{width} at n = {n}" for n, width in widths)
    return noted(finding, f"Width {listed}. {_plain(runs)}")


def _plain(runs: Sequence[CapacityRun]) -> str:
    """How wide the nets of planes are that only interpolate, and at which dimensions they do."""
    right = {(run.config.d, run.result.planes_width) for run in runs if run.result.planes_interpolated == 1}
    wrong = {run.config.d for run in runs if run.result.planes_interpolated < 1}
    listed = ", ".join(f"{width} at d = {d}" for d, width in sorted(right))
    failing = ", ".join(map(str, sorted(wrong - {d for d, _ in right})))
    return (
        f"Nets of planes that give all points their label are {listed} neurons wide" if right else "No planes"
    ) + (f"; at d = {failing} a plane meets points of both labels." if failing else ".")


def _every_one(runs: Sequence[CapacityRun], value: Callable[[CapacityRun], float], why: str) -> Finding:
    if not runs:
        raise Undecided("no run was found")
    return exact_bound([value(run) for run in runs], "at least", 1.0, SHARE, why)


def _labellings(runs: Sequence[CapacityRun]) -> int:
    return sum(run.config.labellings for run in runs)


def _sizes(runs: Sequence[CapacityRun]) -> str:
    return ", ".join(map(str, sorted({run.config.n for run in runs})))


def _price(runs: Sequence[CapacityRun]) -> Finding:
    """Widths of robust nets, that of the lower bound and that of the net built, over plain ones."""
    high = [run for run in runs if run.config.d >= _high(run.config)]
    if not high:
        raise Undecided("no run has d >= 12 log_2 n")
    if any(run.result.robust < 1 or run.result.planes_interpolated < 1 for run in high):
        raise Undecided("some net does not do what it was built for")
    least = [(run.result.floor - 1) / run.result.planes_width for run in high]
    built = [run.result.width / (run.result.planes_width * run.config.d) for run in high]
    rows = sorted({(run.config.n, run.config.d, run.result.floor, run.result.planes_width) for run in high})
    listed = "; ".join(
        f"n = {n}, d = {d}: {floor}/{plain} = {floor / plain:.2f} to {(n - 1) / plain:.1f}"
        for n, d, floor, plain in rows
    )
    return noted(
        all_of(
            exact_bound(least, "at least", 1.0, RATIO, "widths that Theorem 6.1 rules out over plain ones"),
            exact_bound(built, "at most", 1.0, RATIO, "built widths over d times plain ones"),
        ),
        f"Least and built robust width over plain width, {listed}.",
    )


def _high(config: CapacityConfig) -> float:
    """Where n/(8 log_2 n), about the least width, is above that of planes, 3 n/(2 d)."""
    return 12 * math.log2(config.n)


def _sizes_of_claim(config: CapacityConfig) -> list[Condition]:
    share = (1 + config.gap / config.d) ** 2 * (1 - 1 / config.d)
    return [
        at_least("d >= 12 log_2 n", config.d, _high(config)),
        at_least("n >= 4 d", config.n, 4 * config.d),
        at_most("(1 + gap/d)^2 (1 - 1/d) <= 1, so that balls hold the points of their cluster", share, 1.0),
    ]


def _few_dimensions(config: CapacityConfig) -> list[Condition]:
    return [at_most("d <= n, so that 2 n + d is O(n)", config.d, config.n)]


_EXAMPLE = CapacityConfig(d=128, n=1024)
_MEASURED = CapacityResult(
    interpolated=1.0,
    line_robust=0.0,
    line_parameters=2175,
    planes_interpolated=1.0,
    planes_width=12,
    robust=1.0,
    margin=1.0,
    width=1023,
    floor=27,
)


_FEWER = Control(
    name="half the kinks",
    removes="structure",
    settings={"kept": 0.5},
    cheap={"n": 64, "d": 4, "labellings": 2},
    why="the pairs on the right lie where the net no longer turns",
)

CHECKS = (
    Check(
        claim_id="convergence.eq7.line",
        experiment=CAPACITY,
        evaluate=_interpolates,
        conditions=_few_dimensions,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, interpolated=0.99))),
        controls=(_FEWER,),
        reading="A random direction tells the points apart; the net on it has a kink at all of them but one.",
    ),
    Check(
        claim_id="convergence.thm6.1.pairs",
        experiment=CAPACITY,
        evaluate=_robust,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, robust=0.99))),
        controls=(_FEWER,),
        reading="Pairs stand 3.1 sqrt(d) (2 + gap/d) tau apart on a line, farther than the 6 tau of the "
        "proof.",
    ),
    Check(
        claim_id="convergence.thm6.1.capacity",
        experiment=CAPACITY,
        evaluate=_price,
        conditions=_sizes_of_claim,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, floor=9))),
        controls=(
            Control(
                name="few points",
                removes="scale",
                settings={"n": 16},
                cheap={"d": 128, "labellings": 1},
                why="clusters of so few points have labellings that a narrow net reaches",
            ),
        ),
        reading="Widths and not parameters are compared: a neuron with free weights has d + 2 of them, in "
        "robust and in plain nets alike. Plain interpolation of the same points is a net of planes, for "
        "points in general position, where the definition asks for all. From above: the nets built for "
        "the pairs of balls. From below: nets that cope with every turn of these pairs shatter the points of "
        "Theorem 6.1, and nets of one width reach only so many labellings.",
    ),
)
