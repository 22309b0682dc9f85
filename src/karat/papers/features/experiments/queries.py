"""Theorem 4 as printed: a learner with a handful of coarse queries beats its threshold, in exact numbers."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Literal

import torch

from karat.core.ranges import Count, settings
from karat.papers.features.bounds import query_floor
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class QueriesConfig:
    """Settings of one learner of all labels that depend on the number of relevant patterns.

    Args:
        D: patterns, fair coins.
        k: relevant patterns, an odd number.
        learner: "symmetric" asks about the number of patterns present and never about single ones; "told"
            knows the relevant patterns and the labels without any query.
    """

    D: Count
    k: Count
    learner: Literal["symmetric", "told"] = "symmetric"

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if self.k % 2 == 0 or self.k > self.D:
            raise ValueError(
                f"`k` of `{owner}` must be an odd number of at most `D` = {self.D}, got {self.k}."
            )


@dataclass(frozen=True, kw_only=True)
class QueriesResult:
    """What the learner spends and what it reaches on the hardest labels.

    Args:
        parities: number of sets of k among D patterns.
        floor: the number of queries, or the inverse tolerance, that Theorem 4 asks for.
        queries: how many it asks.
        inverse_tolerance: of its queries.
        advantage: 1/2 less its error, on the hardest labels and with the worst answers within the tolerance.
        hardest: the counts with label +1 there.
    """

    parities: int
    floor: float
    queries: int
    inverse_tolerance: float
    advantage: float
    hardest: list[int]


def run(config: QueriesConfig, generator: torch.Generator) -> QueriesResult:
    """Let the learner loose on every set A and every set P of counts with label +1.

    Args:
        config: settings of the learner.
        generator: not used: nothing is random.
    """
    floor = query_floor(config.D, config.k)
    told = config.learner == "told"
    inverse_tolerance = 0 if told else max(1, math.ceil(floor) - 1)
    advantage, hardest = (0.5, ()) if told else _symmetric_learner(config.D, config.k, inverse_tolerance)
    return QueriesResult(
        parities=math.comb(config.D, config.k),
        floor=floor,
        queries=0 if told else config.k,
        inverse_tolerance=inverse_tolerance,
        advantage=advantage,
        hardest=list(hardest),
    )


def krawtchouk(D: int, j: int, present: int) -> int:
    """Sum over all sets of j patterns of the parity of those present, when `present` of D patterns are.

    Args:
        D: patterns.
        j: size of the sets.
        present: number of patterns present.

    >>> [krawtchouk(3, 1, present) for present in range(4)]
    [3, 1, -1, -3]
    """
    return sum((-1) ** i * math.comb(present, i) * math.comb(D - present, j - i) for i in range(j + 1))


def _symmetric_learner(D: int, k: int, inverse_tolerance: int) -> tuple[float, tuple[int, ...]]:
    r"""Smallest advantage over all labels with adversarial answers, and the labels where it is so small.

    Query j = 0..k-1 asks for :math:`P(y = s_j)`, with :math:`s_j` the sign of the Krawtchouk polynomial of
    degree j of the number of patterns present. The first answer that is clearly further than the tolerance
    from 1/2 decides for :math:`\pm s_j`; if there is none the labels are close to a parity, and the answer is
    :math:`-s_k`.
    """
    weight = [Fraction(math.comb(D, w), 2**D) for w in range(D + 1)]
    signs = [[1 if krawtchouk(D, j, w) >= 0 else -1 for w in range(D + 1)] for j in range(k + 1)]
    gap = Fraction(1, math.isqrt(math.comb(D, k)))
    worst: tuple[Fraction, tuple[int, ...]] | None = None
    for size in range(k + 1):
        for positive in combinations(range(1, k + 1), size):
            label = mean_label(D, k, positive)
            rho = [
                sum((p * f * s for p, f, s in zip(weight, label, row, strict=True)), Fraction(0))
                for row in signs
            ]
            reached = _with_worst_answers(rho, Fraction(1, inverse_tolerance), gap)
            if worst is None or reached < worst[0]:
                worst = reached, positive
    assert worst is not None
    return float(worst[0]) / 2, worst[1]


def mean_label(D: int, k: int, positive: tuple[int, ...]) -> list[Fraction]:
    """Return the mean label given the number of patterns present, 0..D.

    Args:
        D: patterns.
        k: relevant patterns.
        positive: counts of relevant patterns with label +1.
    """
    label = [1 if count in positive else -1 for count in range(k + 1)]
    return [
        sum(
            (
                Fraction(math.comb(k, s) * math.comb(D - k, w - s), math.comb(D, w)) * label[s]
                for s in range(k + 1)
                if 0 <= w - s <= D - k
            ),
            Fraction(0),
        )
        for w in range(D + 1)
    ]


def _with_worst_answers(rho: list[Fraction], tolerance: Fraction, gap: Fraction) -> Fraction:
    """Smallest correlation with the labels that answers within the tolerance can force on the learner.

    Args:
        rho: correlation of the labels with every sign function; the queries are all but the last.
        tolerance: of the answers.
        gap: by how much more than the tolerance an answer must differ from 1/2 to decide.
    """
    # No answer about labels without correlation is further than the tolerance from 1/2, so that one which is
    # has the right sign. `gap` keeps the learner from deciding for correlations below its reach.
    threshold = tolerance + gap
    forced = []
    for correlation in rho[:-1]:
        deviation = abs(correlation) / 2
        if deviation + tolerance > threshold:  # the answers may make the learner decide here
            forced.append(abs(correlation))
        if deviation - tolerance > threshold:  # and here they cannot keep it from deciding
            return min(forced)
    return min([*forced, -rho[-1]])


_BASE = QueriesConfig(D=100, k=5)

QUERIES = Experiment(
    name="features.queries",
    title="How well do five coarse queries about the number of patterns learn labels without structure?",
    paper="features",
    presets={
        "tiny": Preset(config=replace(_BASE, D=60), seeds=1, cell_seconds=0.2),
        "quick": Preset(config=_BASE, grid={"D": (60, 100, 200)}, seeds=1, cell_seconds=0.15),
        "full": Preset(config=_BASE, grid={"D": (60, 100, 200, 400)}, seeds=1, cell_seconds=2),
    },
    run=run,
)
