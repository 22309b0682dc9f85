"""Checks of the critical lemma on gradients, as printed and for odd functions."""

from collections.abc import Sequence

from karat.core.statistics import fit_power_law
from karat.papers.purification.experiments.critical import CRITICAL, CriticalConfig, CriticalResult, Symmetry
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import EXPONENT, RATIO, Finding
from karat.study.judging import Undecided, all_of, exact_bound, noted
from karat.study.run import Run, examples

CriticalRun = Run[CriticalConfig, CriticalResult]
FINITE = "finite sums"


def _with(every: Sequence[CriticalRun], symmetry: Symmetry) -> list[CriticalRun]:
    """The runs of one symmetry; a control that has none is judged on what it has."""
    return [run for run in every if run.config.symmetry == symmetry] or list(every)


def _printed(every: Sequence[CriticalRun]) -> Finding:
    """The constants that (a) and (b) need at L = 0, as the spread of S_2 vanishes."""
    runs = sorted(_with(every, "even"), key=lambda run: run.config.spread)
    spread = [run.config.spread for run in runs]
    if len(set(spread)) < 3:
        raise Undecided("fewer than three spreads have finished")
    parts = []
    for needed in ([run.result.needed for run in runs], [run.result.needed_below for run in runs]):
        slope = fit_power_law(spread, [max(value, 1e-12) for value in needed], 0.95).exponent
        parts.append(exact_bound([slope], "at least", -0.5, EXPONENT, FINITE))
    return noted(
        all_of(*parts),
        f"|Delta| over sqrt(V)/sigma_rho at L = 0: {', '.join(f'{r.result.needed:.3g}' for r in runs)} where "
        f"sqrt(V)/sigma_rho is {', '.join(f'{value:g}' for value in spread)}.",
    )


def _odd(every: Sequence[CriticalRun]) -> Finding:
    """Delta over each of the three bounds, the largest of all laws."""
    runs = _with(every, "odd")
    laws = [run.result for run in runs]
    bounds = ([law.plain for law in laws], [law.below for law in laws], [law.fine for law in laws])
    plain, below, fine = (max(ratios) for ratios in bounds)
    return noted(
        all_of(*(exact_bound(ratios, "at most", 1.0, RATIO, FINITE) for ratios in bounds)),
        f"Largest Delta over the bound: (a) {plain:.3f}, (b) {below:.3f}, (c) {fine:.3f}, over "
        f"{sum(run.config.cases for run in runs)} laws.",
    )


def _cells(symmetry: Symmetry, power: float, ratio: float) -> list[tuple[CriticalConfig, CriticalResult]]:
    return [
        (
            CriticalConfig(spread=spread, symmetry=symmetry),
            CriticalResult(
                needed=0.4 * spread**power,
                needed_below=0.4 * spread**power,
                plain=ratio,
                below=ratio,
                fine=ratio,
            ),
        )
        for spread in (1e-3, 1e-2, 0.1)
    ]


_EVEN = Control(
    name="even functions",
    removes="sign",
    settings={"symmetry": "even"},
    why="A constant Y leans on the threshold alone, whatever V and L.",
)
_NONE = Control(
    name="no symmetry",
    removes="structure",
    settings={"symmetry": "none"},
    why="Without any symmetry nothing cancels.",
)

CHECKS = (
    Check(
        claim_id="purification.lemC.5",
        experiment=CRITICAL,
        evaluate=_printed,
        satisfied=examples(*_cells("even", 0.0, 0.5)),
        violated=examples(*_cells("even", -1.0, 0.5)),
        controls=(_NONE,),
        reading="As printed, Y(z, S1) = Y(-z, -S1), on S2 = +-v with Y constant, which has L = 0 and does "
        "not fall in z; -Omega(.) in (b) is read as -O(.). One constant for all v, an exponent nearer to 0 "
        "than to -1. Parts (a) and (b).",
    ),
    Check(
        claim_id="purification.lemC.5.repaired",
        experiment=CRITICAL,
        evaluate=_odd,
        satisfied=examples(*_cells("odd", 0.0, 0.9)),
        violated=examples(*_cells("odd", 0.0, 1.1)),
        controls=(_EVEN, _NONE),
        reading="With the constants that the proof gives when Y is odd, on laws with up to 25 values; Y "
        "random, at corners of its cube, or independent of z. The printed L_y <= 1 is not used.",
    ),
)
