"""All claims of a report as one family: which verdicts survive Holm's correction, how many may be wrong."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from karat.study.claim import Claim
from karat.study.judging.common import LEVEL


@dataclass(frozen=True, kw_only=True)
class Family:
    """What the claims of a report say together.

    Args:
        tested: how many were judged at all, left open or not.
        decided: how many say `holds` or `fails`.
        exact: how many of them compare exact numbers, which chance cannot turn.
        every_draw: how many compare exact numbers of random draws, of which exceptions may be rare.
        survivors: ids of the claims whose verdict stands when all are taken together, at 95 %.
        wrong_at_most: expected number of wrong verdicts among the decided ones, at most.
    """

    tested: int
    decided: int
    exact: int
    every_draw: int
    survivors: frozenset[str]
    wrong_at_most: float

    @property
    def sentence(self) -> str:
        """The error rate of the whole report in one sentence."""
        random = self.tested - self.exact - self.every_draw
        return (
            f"Of {self.tested} claims that were tested {self.decided} are decided: {self.exact} by exact "
            f"numbers, {self.every_draw} by exact numbers of every draw, which rare exceptions might escape, "
            f"the others by intervals. Of these at most {self.wrong_at_most:.1f} verdicts (5 % of {random}, "
            f"those tested on random numbers) are expected to be wrong by chance, as far as values over "
            f"seeds are about Gaussian; {len(self.survivors)} stand at 95 % all together (Holm)."
        )


def judge_family(claims: Iterable[Claim], level: float = LEVEL) -> Family:
    """Look at all verdicts together.

    Reading: every claim that was tested counts, also those left open: deciding was a matter of chance, and
    Holm's procedure over the decided ones alone would let wrong verdicts through in most reports of 200
    claims at the edge. A claim can err in two directions, so p-values count twice. Neither Holm's procedure
    nor an expectation needs independence, so claims may share their records. A wrong verdict has
    probability 5 % at most: 2.5 % at the end of a bound, twice that where an equality has two.

    Args:
        claims: judged ones.
        level: at which all surviving verdicts are right at once.
    """
    tested = [claim for claim in claims if claim.verdict in ("holds", "fails", "inconclusive", "vacuous")]
    decided = [claim for claim in tested if claim.p_value is not None and claim.verdict in ("holds", "fails")]
    exact = sum(claim.grounds == "exact" for claim in decided)
    every_draw = sum(claim.grounds == "every draw" for claim in decided)
    known = {claim.id: _p_value(claim) for claim in decided}
    return Family(
        tested=len(tested),
        decided=len(decided),
        exact=exact,
        every_draw=every_draw,
        survivors=holm({claim.id: known.get(claim.id, 1.0) for claim in tested}, level),
        wrong_at_most=(len(tested) - exact - every_draw) * (1 - LEVEL),
    )


def _p_value(claim: Claim) -> float:
    """Twice the p-value, for a claim can err in two directions."""
    return 1.0 if claim.p_value is None else 2 * claim.p_value


def holm(p_values: Mapping[str, float], level: float = LEVEL) -> frozenset[str]:
    r"""Return the names whose p-values survive Holm's step-down procedure.

    The :math:`i`-th smallest of :math:`n` survives if it and all smaller ones satisfy
    :math:`p_{(i)} \le (1 - \text{level})/(n - i + 1)`.

    Args:
        p_values: name -> p-value.
        level: probability that no survivor is wrong, at least.

    >>> sorted(holm({"a": 0.001, "b": 0.02, "c": 0.04}))
    ['a', 'b', 'c']
    >>> sorted(holm({"a": 0.001, "b": 0.03, "c": 0.04}))
    ['a']
    """
    survivors: set[str] = set()
    for left, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        if not p_values[name] <= (1 - level) / (len(p_values) - left):
            break
        survivors.add(name)
    return frozenset(survivors)
