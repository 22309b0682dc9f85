"""Theorem 4, as printed and repaired: what statistical queries cannot do."""

import math
from collections.abc import Callable, Sequence

from karat.papers.features import bounds
from karat.papers.features.experiments.queries import QUERIES, QueriesConfig, QueriesResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding
from karat.study.judging import Undecided, exact_bound, noted
from karat.study.run import Run, examples

QueriesRun = Run[QueriesConfig, QueriesResult]


def advantage(largest: Callable[[QueriesRun], float]) -> Callable[[Sequence[QueriesRun]], Finding]:
    """Return the comparison of a cheap learner's advantage over chance with the largest that is allowed.

    Args:
        largest: run -> what a learner with less effort than the theorem's may reach at most.
    """

    def evaluate(runs: Sequence[QueriesRun]) -> Finding:
        cheap = [run for run in runs if _effort(run.result) < run.result.floor]
        if not cheap:
            raise Undecided("no learner spends less than the theorem asks for.")
        ratios = [run.result.advantage / largest(run) for run in cheap]
        notes = [
            f"D = {run.config.D}: {run.result.queries} queries, 1/tolerance {run.result.inverse_tolerance:g} "
            f"(asked for: {run.result.floor:.1f}), error at most 1/2 - {run.result.advantage:.2g} for all A "
            f"and P; allowed {largest(run):.2g}."
            for run in cheap
        ]
        if above := sum(ratio > 1 for ratio in ratios):
            notes.append(
                f"At {above} of {len(cheap)} sizes a learner that spends less than the theorem asks for does "
                "better than it allows, on every member of the family."
            )
        return noted(exact_bound(ratios, "at most", 1.0, RATIO, "rational arithmetic"), *notes)

    return evaluate


def _effort(result: QueriesResult) -> float:
    return max(result.queries, result.inverse_tolerance)


def _printed_advantage(run: QueriesRun) -> float:
    return math.comb(run.config.D, run.config.k) ** -3.0


def _repaired_advantage(run: QueriesRun) -> float:
    return bounds.largest_advantage(run.config.D, run.config.k)


TOLD = Control(
    name="learner told the answer",
    removes="learner",
    settings={"learner": "told"},
    cheap={"D": 60},
    why="Who knows A and P needs no query: the bound must not hold for such a learner.",
)


def _queried(advantage: float, inverse_tolerance: float = 200.0) -> list[QueriesRun]:
    result = QueriesResult(
        parities=math.comb(100, 5),
        floor=bounds.query_floor(100, 5),
        queries=5,
        inverse_tolerance=inverse_tolerance,
        advantage=advantage,
        hardest=[1, 3, 5],
    )
    return examples((QueriesConfig(D=100, k=5), result))


CHECKS = (
    Check(
        claim_id="features.thm4",
        experiment=QUERIES,
        evaluate=advantage(_printed_advantage),
        satisfied=_queried(1e-25),
        violated=_queried(1e-5),
        controls=(TOLD,),
        reading="The error is that of a learner with fewer and coarser queries than the theorem asks for, "
        "over all A and P and with adversarial answers, in rational arithmetic. The dictionary is known, as "
        "in the paper's own proof.",
        headline=True,
    ),
    Check(
        claim_id="features.thm4.repaired",
        experiment=QUERIES,
        evaluate=advantage(_repaired_advantage),
        satisfied=_queried(1e-5),
        violated=_queried(1e-2),
        controls=(TOLD,),
        reading="Threshold 1/2 - binom(D, k)^(-1/2), which Parseval proves; the strongest cheap learner that "
        "we know is compared with it.",
    ),
)
