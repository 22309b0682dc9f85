"""Checks of what interpolation costs: nets on a line, nets for pairs of balls, and their parameters."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from karat.papers.convergence.bounds_capacity import robust_width_floor
from karat.papers.convergence.experiments.capacity import CAPACITY, CapacityConfig, CapacityResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import SHARE, Finding, Margin
from karat.study.hypothesis import Condition, at_least
from karat.study.judging import Undecided, all_of, exact_bound, noted, rate
from karat.study.run import Run, examples

CapacityRun = Run[CapacityConfig, CapacityResult]

LIKE_D = Margin(0.25, "half-way between growth like d and growth like sqrt d")


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
    sizes = sorted({(run.config.d, run.config.n) for run in runs})
    floors = ", ".join(str(robust_width_floor(n, d)) for d, n in sizes)
    return noted(
        finding,
        f"Width {listed}, at d = {', '.join(str(d) for d, _ in sizes)}; for a robust interpolation class of "
        f"two-layer ReLU nets Theorem 6.1 asks for widths of at least {floors}.",
    )


def _every_one(runs: Sequence[CapacityRun], value: Callable[[CapacityRun], float], why: str) -> Finding:
    if not runs:
        raise Undecided("no run was found")
    return exact_bound([value(run) for run in runs], "at least", 1.0, SHARE, why)


def _labellings(runs: Sequence[CapacityRun]) -> int:
    return sum(run.config.labellings for run in runs)


def _sizes(runs: Sequence[CapacityRun]) -> str:
    return ", ".join(map(str, sorted({run.config.n for run in runs})))


def _price(runs: Sequence[CapacityRun]) -> Finding:
    """Exponents in d of robust over plain parameters, of the net that was built and of the lower bound."""
    if any(run.result.robust < 1 or run.result.interpolated < 1 for run in runs):
        raise Undecided("some net does not do what it was built for")
    built = _exponent(runs, lambda run: run.result.parameters / run.result.line_parameters)
    least = _exponent(runs, lambda run: run.result.floor / run.result.line_parameters)
    sizes = _sizes(runs)
    return noted(
        all_of(built, least),
        f"Parameters of robust nets over those of nets on a line, exponent in d: {built} for the nets "
        f"built, {least} for the fewest that Theorem 6.1 leaves to two-layer ReLU nets; n = {sizes}.",
    )


def _exponent(runs: Sequence[CapacityRun], ratio: Callable[[CapacityRun], float]) -> Finding:
    d, table = curves(runs, lambda run: run.config.d, ratio)
    return rate(d, table, 1.0, LIKE_D)


def _many_points(config: CapacityConfig) -> list[Condition]:
    return [at_least("n >= 10 d", config.n, 10 * config.d, "where d exceeds n the ratio settles at n - 1")]


_EXAMPLE = CapacityConfig(d=4, n=1024)
_MEASURED = CapacityResult(
    interpolated=1.0,
    line_robust=0.0,
    line_parameters=2000,
    robust=1.0,
    margin=1.0,
    width=1023,
    parameters=4000,
    floor=1000,
)


def _growing(power: float) -> list[CapacityRun]:
    """Nets at three dimensions whose robust parameters follow a power of d."""
    return examples(
        *(
            (
                replace(_EXAMPLE, d=d),
                replace(_MEASURED, parameters=round(4000 * d**power), floor=round(1000 * d**power)),
            )
            for d in (2, 4, 8)
        )
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
        claim_id="convergence.eq7",
        experiment=CAPACITY,
        evaluate=_interpolates,
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
        reading="Pairs stand 3.1 sqrt(d) (2 + gap) tau apart on a line, farther than the 6 tau of the proof.",
    ),
    Check(
        claim_id="convergence.thm6.1.capacity",
        experiment=CAPACITY,
        evaluate=_price,
        conditions=_many_points,
        satisfied=_growing(1.0),
        violated=_growing(0.0),
        controls=(
            Control(
                name="few points",
                removes="scale",
                settings={"n": 4},
                cheap={"labellings": 2},
                why="with fewer points than dimensions the one direction of a net on a line costs as much",
            ),
        ),
        reading="Plain interpolation is read as the net on a line. From above: the nets built for the "
        "pairs of balls. From below: Theorem 6.1 with a bound on the labellings that two-layer ReLU nets "
        "reach, for the whole class.",
    ),
)
