"""A check on the codes alone: how many are on."""

from collections.abc import Sequence

from karat.papers.purification.bounds_hypotheses import of_the_data
from karat.papers.purification.checks.readings import FACTOR, SMALL, halfway
from karat.papers.purification.experiments.small_ball import SMALL_BALL, SmallBallConfig, SmallBallResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import SHARE, Finding
from karat.study.hypothesis import Condition
from karat.study.judging import Undecided, all_of, bound, limit, noted, rate
from karat.study.run import Run, examples

CodeRuns = Sequence[Run[SmallBallConfig, SmallBallResult]]


def support(runs: CodeRuns) -> Finding:
    """Share of codes whose |z|_0 leaves one window [c k, C k], which must vanish; its mean must grow like k.

    Args:
        runs: of at least three sparsities.
    """
    top = max(runs, key=_sparsity)
    middle = top.result.expected_support / top.config.k
    low, high = middle / FACTOR, middle * FACTOR
    k, outside = curves(runs, _sparsity, lambda run: _share_outside(run, low, high))
    _, sizes = curves(runs, _sparsity, _mean_size)
    if not outside:
        raise Undecided("no seed has all sparsities")
    return noted(
        all_of(
            limit(k, outside),
            bound([row[-1] for row in outside], "at most", SMALL, SHARE),
            rate(k, sizes, 1.0, halfway(0.5, "a support of order sqrt(k)")),
        ),
        f"Share with |z|_0 outside [{low:.3f} k, {high:.3f} k]: {_means(outside, 3)} at k = "
        f"{', '.join(f'{value:g}' for value in k)}; mean of |z|_0: {_means(sizes)}.",
    )


def _sparsity(run: Run[SmallBallConfig, SmallBallResult]) -> float:
    return float(run.config.k)


def _share_outside(run: Run[SmallBallConfig, SmallBallResult], low: float, high: float) -> float:
    counts, k = run.result.support_counts, run.config.k
    return sum(count for on, count in enumerate(counts) if not low * k <= on <= high * k) / sum(counts)


def _mean_size(run: Run[SmallBallConfig, SmallBallResult]) -> float:
    """Mean of |z|_0 over the drawn codes."""
    counts = run.result.support_counts
    return sum(on * count for on, count in enumerate(counts)) / sum(counts)


def _means(table: Sequence[Sequence[float]], digits: int = 2) -> str:
    """Means over seeds, as a list for the caveat."""
    return ", ".join(f"{sum(column) / len(column):.{digits}f}" for column in zip(*table, strict=True))


def _conditions(config: SmallBallConfig) -> list[Condition]:
    return of_the_data(config.d, config.k)


def _codes(
    k: int, *, on: int = 1, outside: int = 0, mass: float = 0.1
) -> tuple[SmallBallConfig, SmallBallResult]:
    counts = [0] * (10 * k)
    counts[on], counts[0] = 100 - outside, outside
    result = SmallBallResult(
        d=k**2, expected_support=on, support_counts=counts, t=[0.1], boundary_mass=[mass]
    )
    return SmallBallConfig(k=k), result


_NO_SMALL_CODES = Control(
    name="no small codes",
    removes="structure",
    settings={"small_rate": 1e-6},
    cheap={"n": 1000},
    why="With large codes alone the number that are on does not grow with k, and most scores are zero.",
)

CHECKS = (
    Check(
        claim_id="purification.fact2.2",
        experiment=SMALL_BALL,
        evaluate=support,
        conditions=_conditions,
        satisfied=examples(
            _codes(8, on=2, outside=20), _codes(16, on=4, outside=8), _codes(32, on=8, outside=2)
        ),
        violated=examples(
            _codes(8, on=8, outside=5), _codes(16, on=8, outside=5), _codes(32, on=8, outside=5)
        ),
        controls=(_NO_SMALL_CODES,),
        reading="One window of constants around E|z|_0/k of the largest k, a factor 2 to either side, for "
        "every k; with high probability is read as: the share outside falls with k.",
    ),
)
