"""Checks on the tensors, series and polynomials of the kernel's lower bound."""

import math
from collections.abc import Sequence

from karat.core.statistics import fit_power_law
from karat.papers.purification.checks.readings import halfway
from karat.papers.purification.experiments.series import SERIES, SeriesConfig, SeriesResult
from karat.papers.purification.experiments.tensors import RADII, TENSORS, TensorsConfig, TensorsResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import EXPONENT, RATIO, Finding
from karat.study.judging import Undecided, exact_bound, identity, noted, one_constant
from karat.study.run import Run, examples

TensorRuns = Sequence[Run[TensorsConfig, TensorsResult]]
SeriesRuns = Sequence[Run[SeriesConfig, SeriesResult]]

QUARTER = 0.25
"""Half-way to the exponent 1/2."""
NODES = 0.01
"""What a grid of 101 Chebyshev nodes can miss of a polynomial of degree 6: (6 pi/200)^2 is 0.009."""


def _norm(every: TensorRuns) -> Finding:
    """The smallest norm over all v in units of 1/sqrt(d), as one constant over d."""
    d, ratios = curves(
        every, lambda run: float(run.config.d), lambda run: run.result.smallest * math.sqrt(run.config.d)
    )
    return one_constant(d, ratios, "at least", halfway(0.5, "a norm of order 1/d"))


def _box(every: TensorRuns) -> Finding:
    """lambda tau^r/|T|_F of one tensor over 1/tau, which the lemma bounds below."""
    if not every:
        raise Undecided("no run has finished")
    slopes = []
    for run in every:
        ratios = [value * tau**run.config.power for value, tau in zip(run.result.axis, RADII, strict=True)]
        slopes.append(fit_power_law([1 / tau for tau in RADII], ratios, 0.95).exponent)
    return noted(
        exact_bound(slopes, "at least", -QUARTER, EXPONENT, "a tensor of one coordinate"),
        "With T = e_1^r and w_i = sqrt(d) e_i the maximum is (tau sqrt(q/d))^r: tau^r stands above, not "
        "below, and it carries a factor (q/d)^(r/2).",
    )


def _polarised(every: TensorRuns) -> Finding:
    """The largest value at three points over that at one."""
    ratios = [run.result.several / max(run.result.one, 1e-12) for run in every]
    return exact_bound(ratios, "at most", 27 / 6, RATIO, "corners of the cube")


def _by_degree(every: SeriesRuns) -> list[Run[SeriesConfig, SeriesResult]]:
    runs = sorted({run.config.degree: run for run in every}.values(), key=lambda run: run.config.degree)
    if len(runs) < 3:
        raise Undecided("fewer than three degrees have finished")
    return runs


def _factorials(every: SeriesRuns) -> Finding:
    """Coefficients over the printed rates, which must be one constant over i."""
    runs = _by_degree(every)
    i = [float(run.config.degree) for run in runs]
    even, odd = ([value(run.result) for run in runs] for value in (_even, _odd))
    return noted(
        exact_bound(
            [fit_power_law(i, ratios, 0.95).exponent for ratios in (even, odd)],
            "at least",
            -QUARTER,
            EXPONENT,
            "closed form",
        ),
        f"|c_2i| i! falls from {even[0]:.3g} to {even[-1]:.3g}, |c'_(2i+1)| (i + 1)! from {odd[0]:.3g} to "
        f"{odd[-1]:.3g}, from i = {i[0]:g} to {i[-1]:g}.",
    )


def _even(result: SeriesResult) -> float:
    return result.even_ratio


def _odd(result: SeriesResult) -> float:
    return result.odd_ratio


def _closed(every: SeriesRuns) -> Finding:
    """Coefficients read off the function over the closed form."""
    return identity([run.result.even_repaired for run in _by_degree(every)], 1.0, RATIO, rounding=1e-9)


def _small_polynomials(every: SeriesRuns) -> Finding:
    """The smallest polynomial over Chebyshev's bound, degree by degree."""
    runs = _by_degree(every)
    listed = ", ".join(f"{run.result.least:.2g}" for run in runs)
    return noted(
        exact_bound(
            [run.result.least / run.result.chebyshev for run in runs],
            "at least",
            1 - NODES,
            RATIO,
            "linear programming",
        ),
        f"The constant is {listed} at degree {', '.join(str(run.config.degree) for run in runs)}.",
    )


def _tensors(
    power: float = 0.0, tau_power: float = -3.0, ratio: float = 2.0
) -> list[tuple[TensorsConfig, TensorsResult]]:
    return [
        (
            TensorsConfig(d=d),
            TensorsResult(
                smallest=0.3 * d ** (power - 0.5),
                axis=[tau**tau_power for tau in RADII],
                several=ratio,
                one=1.0,
            ),
        )
        for d in (5, 8, 12)
    ]


def _series(
    base: float = 1.0, closed: float = 1.0, least: float = 1.0
) -> list[tuple[SeriesConfig, SeriesResult]]:
    return [
        (
            SeriesConfig(degree=i),
            SeriesResult(
                even_ratio=base**-i,
                odd_ratio=base**-i,
                even_repaired=closed,
                least=0.1 * least,
                chebyshev=0.1,
            ),
        )
        for i in (1, 2, 3)
    ]


_SMALL_DEGREE = Control(
    name="r = 1",
    removes="structure",
    settings={"power": 1},
    why="Below r = 3 C there are more v than tensors, and some of them cancel.",
    unanswered=True,
)
_SKEW = Control(
    name="a skew tensor",
    removes="structure",
    settings={"shape": "skew"},
    why="A tensor that changes its sign with two places has T(x, x, x) = 0.",
)
_ONE_NODE = Control(
    name="one point",
    removes="structure",
    settings={"nodes": 1},
    why="At a single point every polynomial of degree 1 or more can vanish.",
)
_BASE = Control(
    name="base 1",
    removes="formula",
    settings={"base": 1.0},
    why="Without 2^i the closed form is another number.",
)

CHECKS = (
    Check(
        claim_id="purification.lemG.4",
        experiment=TENSORS,
        evaluate=_norm,
        satisfied=examples(*_tensors()),
        violated=examples(*_tensors(-0.6)),
        controls=(_SMALL_DEGREE,),
        reading="C = 1, m = d and r = 3; the minimum over all v is exact for the drawn w.",
    ),
    Check(
        claim_id="purification.lemG.5",
        experiment=TENSORS,
        evaluate=_box,
        satisfied=examples(*_tensors()),
        violated=examples(*_tensors(tau_power=3.0)),
        controls=(_SKEW,),
        reading="The first item as printed, for one tensor and one set W that it allows, with q = sqrt(d) as "
        "in the proof of Theorem G.1; one constant for all tau.",
    ),
    Check(
        claim_id="purification.claimG.6",
        experiment=SERIES,
        evaluate=_factorials,
        satisfied=examples(*_series()),
        violated=examples(*_series(base=2.0)),
        controls=(_BASE,),
        reading="Of Theta the lower bound, with one constant over i: an exponent nearer to 0 than to -1/2.",
    ),
    Check(
        claim_id="purification.claimG.6.repaired",
        experiment=SERIES,
        evaluate=_closed,
        satisfied=examples(*_series()),
        violated=examples(*_series(closed=1.1)),
        controls=(_BASE,),
        reading="Coefficients from values of the function on a circle of the complex plane.",
    ),
    Check(
        claim_id="purification.claimG.7",
        experiment=SERIES,
        evaluate=_small_polynomials,
        satisfied=examples(*_series()),
        violated=examples(*_series(least=0.5)),
        controls=(_ONE_NODE,),
        reading="The constant that the claim hides, from the polynomial with the largest coefficients; the "
        "minimum is over all polynomials of the degree.",
    ),
    Check(
        claim_id="purification.claimG.8",
        experiment=TENSORS,
        evaluate=_polarised,
        satisfied=examples(*_tensors()),
        violated=examples(*_tensors(ratio=5.0)),
        controls=(_SKEW,),
        reading="Random tensors of degree 3 on the cube in 4 dimensions, without the bound on M_W; the "
        "constant of polarisation is 27/6. The value at one point is what the polarising points and the "
        "corners reach.",
    ),
)
