"""Checks of the concentration lemmas, as printed and repaired, on sums whose tails are known exactly."""

import math
from collections.abc import Callable, Sequence

from karat.core.statistics import fit_power_law
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.experiments.tails import TAILS, TailsConfig, TailsResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import EXPONENT, Finding, Unit
from karat.study.judging import Undecided, all_of, exact_bound, noted
from karat.study.run import Run, examples

TailRuns = Sequence[Run[TailsConfig, TailsResult]]

GAP = Unit("log probability over the bound")
CONSTANT = Unit("constant of the exponent")
EXACT = "binomial tails"
QUARTER = 0.25
"""The constant that the proof of Lemma H.4 gives; also half-way to the exponent 1/2."""


def _fair(every: TailRuns) -> list[Run[TailsConfig, TailsResult]]:
    runs = sorted((run for run in every if run.config.walk == "fair"), key=lambda run: run.config.N)
    if not runs:
        raise Undecided("no run with fair steps has finished")
    return runs


def _printed_mcdiarmid(every: TailRuns) -> Finding:
    """Both printed lines: tails that are at least exp(-+ 2 t^2/sum c^2)."""
    first, second = [], []
    for run in every:
        r = run.result
        first += [p - math.exp(-e) for p, e in zip(r.upper, r.exponent, strict=True)]
        second += [p - math.exp(e) for p, e in zip(r.lower, r.exponent, strict=True)]
    return noted(
        all_of(
            exact_bound(first, "at least", 0.0, GAP, EXACT), exact_bound(second, "at least", 0.0, GAP, EXACT)
        ),
        "Beyond t = N the first line asks a sum of N signs to be larger than N; the second line asks for "
        "probabilities above 1.",
    )


def _mcdiarmid(every: TailRuns) -> Finding:
    """Both tails in logarithms against -2 t^2/sum c^2."""
    gaps = [
        math.log(p) + e
        for run in every
        for tail in (run.result.upper, run.result.lower)
        for p, e in zip(tail, run.result.exponent, strict=True)
    ]
    return exact_bound(gaps, "at most", 0.0, GAP, EXACT)


def _printed_extension(every: TailRuns) -> Finding:
    """The constant that the printed exponent needs, over N."""
    runs = _fair(every)
    if len(runs) < 3:
        raise Undecided("fewer than three numbers of terms have finished")
    needed = [min(run.result.extension_printed) for run in runs]
    if min(needed) <= 0:
        raise Undecided("a constant of 0 has no exponent")
    N = [float(run.config.N) for run in runs]
    slope = fit_power_law(N, needed, 0.95).exponent
    return noted(
        exact_bound([slope], "at least", -QUARTER, EXPONENT, EXACT),
        f"The largest constant that Omega(.) could hide is {', '.join(f'{c:.2g}' for c in needed)} at N = "
        f"{', '.join(f'{n:g}' for n in N)}.",
    )


def _constants(value: Callable[[TailsResult], list[float]]) -> Callable[[TailRuns], Finding]:
    """The smallest constant over all sums must be 1/4 at least."""

    def evaluate(every: TailRuns) -> Finding:
        constants = [constant for run in _used(every) for constant in value(run.result)]
        return exact_bound(constants, "at least", QUARTER, CONSTANT, EXACT)

    return evaluate


def _used(every: TailRuns) -> TailRuns:
    """The fair walks; a control that has none is judged on what it has."""
    fair = [run for run in every if run.config.walk == "fair"]
    return fair or every


def _printed_walk(every: TailRuns) -> Finding:
    """Any positive constant, over fair and rising walks alike."""
    return noted(
        exact_bound(
            [constant for run in every for constant in run.result.walk], "at least", 1e-9, CONSTANT, EXACT
        ),
        "A walk that always steps up by c is a submartingale and meets E[X_t | X_(t-1)] <= X_t as "
        "printed; it passes every t below c N.",
    )


def _cells(**values: object) -> list[tuple[TailsConfig, TailsResult]]:
    usual: dict[str, object] = {
        "upper": [0.1],
        "lower": [0.1],
        "exponent": [2.0],
        "extension_printed": [0.5],
        "extension": [1.0],
        "walk": [0.5],
    }
    return [(TailsConfig(N=N), made_up(TailsResult, **(usual | values))) for N in (100, 1000, 10_000)]


def _falling(power: float) -> list[tuple[TailsConfig, TailsResult]]:
    return [_cells(extension_printed=[100 ** (power * at)])[at] for at in range(3)]


_HALF = Control(
    name="differences halved",
    removes="formula",
    settings={"difference": 0.5},
    why="A sum that moves twice as far as the bound is told has heavier tails.",
)
_NO_VARIANCE = Control(
    name="a hundredth of the variance",
    removes="formula",
    settings={"variance": 0.01},
    why="Tails of the true variance are heavier than those of a hundredth of it.",
)
_RISING = Control(
    name="rising steps",
    removes="structure",
    settings={"walk": "rising"},
    why="A walk that only rises has no tail.",
)

CHECKS = (
    Check(
        claim_id="purification.lemH.2",
        experiment=TAILS,
        evaluate=_printed_mcdiarmid,
        satisfied=examples(*_cells(upper=[0.9], lower=[9.0])),
        violated=examples(*_cells()),
        controls=(_HALF,),
        reading="As printed, with >= in both lines and a positive exponent in the second.",
    ),
    Check(
        claim_id="purification.lemH.2.repaired",
        experiment=TAILS,
        evaluate=_mcdiarmid,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(upper=[0.2])),
        controls=(_HALF,),
        reading="Sums of N signs, c_i = 2, to four standard deviations.",
    ),
    Check(
        claim_id="purification.lemH.3",
        experiment=TAILS,
        evaluate=_printed_extension,
        satisfied=examples(*_falling(0.0)),
        violated=examples(*_falling(-0.25)),
        controls=(_NO_VARIANCE,),
        reading="The mean of N signs, for which p = 0, c = 2/N and V_k^2 = 2/N^2: one constant for all N, an "
        "exponent nearer to 0 than to -1/2.",
    ),
    Check(
        claim_id="purification.lemH.3.repaired",
        experiment=TAILS,
        evaluate=_constants(lambda r: r.extension),
        satisfied=examples(*_cells()),
        violated=examples(*_cells(extension=[0.1])),
        controls=(_NO_VARIANCE,),
        reading="At p = 0 with the constant 1/4 of the proof of Lemma H.4, and a factor 2 for two sides.",
    ),
    Check(
        claim_id="purification.lemH.4",
        experiment=TAILS,
        evaluate=_printed_walk,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(walk=[0.0])),
        controls=(_RISING,),
        reading="Every positive constant is allowed.",
    ),
    Check(
        claim_id="purification.lemH.4.repaired",
        experiment=TAILS,
        evaluate=_constants(lambda r: r.walk),
        satisfied=examples(*_cells()),
        violated=examples(*_cells(walk=[0.1])),
        controls=(_RISING, _NO_VARIANCE),
        reading="Walks with steps up of probability 1/2, 1/10 and 1/100, to four standard deviations, with "
        "the constant 1/4 that the proof gives.",
    ),
)
