"""Checks on gradients: the printed formulas, and sampling errors over the number of points."""

from collections.abc import Callable, Sequence
from functools import partial

from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import halfway
from karat.papers.purification.experiments.gradients import GRADIENTS, GradientsConfig, GradientsResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import ERROR, Finding, Unit
from karat.study.judging import Undecided, all_of, identity, rate
from karat.study.run import Run, examples

GradientRuns = Sequence[Run[GradientsConfig, GradientsResult]]

ENTRY = Unit("largest difference of an entry")
ROUNDING = 1e-9
"""Sums of some hundred terms of order one in double precision."""


def _sampling(every: GradientRuns) -> Finding:
    """Exponents in N of the three errors."""
    return all_of(
        _falls(every, lambda r: r.data_error),
        _falls(every, lambda r: r.fitted_error),
        _falls(every, lambda r: r.noise_error),
    )


def _falls(every: GradientRuns, error: Callable[[GradientsResult], float]) -> Finding:
    N, table = curves(every, lambda run: float(run.config.N), lambda run: error(run.result))
    return rate(N, table, -0.5, halfway(0.5, "errors that do not fall, or fall like 1/N"))


def _zero(value: Callable[[GradientsResult], float]) -> Callable[[GradientRuns], Finding]:
    """A difference that must vanish up to rounding."""

    def evaluate(every: GradientRuns) -> Finding:
        if not every:
            raise Undecided("no run has finished")
        return identity([value(run.result) for run in every], 0.0, ENTRY, rounding=ROUNDING)

    return evaluate


def _even(every: GradientRuns) -> Finding:
    """Predictors on the printed features: even, with error one half on points and their negatives."""
    if not every:
        raise Undecided("no run has finished")
    return all_of(
        identity([run.result.asymmetry for run in every], 0.0, ENTRY, rounding=ROUNDING),
        identity([run.result.predictor_error for run in every], 0.5, ERROR),
    )


def _cells(power: float = -0.5, **values: float) -> list[tuple[GradientsConfig, GradientsResult]]:
    return [
        (
            GradientsConfig(N=N),
            made_up(
                GradientsResult,
                **({"data_error": N**power, "fitted_error": N**-0.5, "noise_error": N**-0.5} | values),
            ),
        )
        for N in (100, 1000, 10_000)
    ]


_SHARED = Control(
    name="one draw of rho for all",
    removes="structure",
    settings={"rho": "shared"},
    cheap={"reference": 50_000},
    why="Noise that all points share does not average out.",
)
_REPEATED = Control(
    name="one point for all",
    removes="structure",
    settings={"points": "repeated"},
    cheap={"reference": 50_000},
    why="A point that is repeated says no more than once.",
)
_SWAPPED = Control(
    name="signs swapped",
    removes="sign",
    settings={"indicators": "swapped"},
    cheap={"reference": 1000},
    why="Minus in the gradient and plus in the kernel are other functions.",
)
_ONE_POINT = Control(
    name="one point only",
    removes="structure",
    settings={"points": "repeated"},
    cheap={"reference": 1000},
    why="One point shows the difference as well.",
)

_gradients_check = partial(Check, experiment=GRADIENTS, satisfied=examples(*_cells()), controls=(_SWAPPED,))

CHECKS = (
    _gradients_check(
        claim_id="purification.lemA.2",
        evaluate=_sampling,
        violated=examples(*_cells(-0.1)),
        controls=(_SHARED, _REPEATED),
        reading="1/poly(d) for N >= poly(d) is read as N^-1/2 at fixed d = 8, for fixed weights, for weights "
        "fitted to the points, and for rho; a large sample stands for the population.",
    ),
    _gradients_check(
        claim_id="purification.factA.1",
        evaluate=_zero(lambda r: r.fact),
        violated=examples(*_cells(fact=0.1)),
        reading="Against automatic differentiation, every entry.",
    ),
    _gradients_check(
        claim_id="purification.def5.5",
        evaluate=_zero(lambda r: r.kernel),
        violated=examples(*_cells(kernel=0.1)),
        controls=(_ONE_POINT,),
        reading="The tangent kernel's features are the gradient of E_rho f in the weights.",
    ),
    _gradients_check(
        claim_id="purification.def5.5.repaired",
        evaluate=_zero(lambda r: r.kernel_other),
        violated=examples(*_cells(kernel_other=0.1)),
        reading="The tangent kernel's features are the gradient of E_rho f in the weights.",
    ),
    _gradients_check(
        claim_id="purification.def5.5.even",
        evaluate=_even,
        satisfied=examples(*_cells(predictor_error=0.5)),
        violated=examples(*_cells(asymmetry=1.0, predictor_error=0.4)),
        reading="Both factors change their sign with x, so that p does not; x and -x have different labels.",
    ),
)
