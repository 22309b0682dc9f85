"""A sentence about a net that shows the numbers and the thresholds it rests on."""

import math
from dataclasses import dataclass
from typing import Literal

Answer = Literal["yes", "no", "unclear", "unknown"]
Relation = Literal[">=", "<=", ""]


@dataclass(frozen=True)
class Evidence:
    """One measured number, and the threshold it was held against (none for numbers shown for comparison).

    Args:
        name: what was measured.
        value: the number.
        relation: the side of the threshold that is asked for, empty for numbers shown for comparison.
        threshold: NaN where there is none.
    """

    name: str
    value: float
    relation: Relation = ""
    threshold: float = math.nan

    @property
    def holds(self) -> bool:
        """Whether the number is on the asked side of its threshold; NaN never is."""
        if self.relation == ">=":
            return self.value >= self.threshold
        return self.value <= self.threshold if self.relation == "<=" else False


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """What the numbers say to one question.

    Args:
        topic: a short name.
        answer: to the question behind the topic.
        text: in words.
        evidence: its numbers.
        caveat: what the numbers cannot tell.
    """

    topic: str
    answer: Answer
    text: str
    evidence: tuple[Evidence, ...]
    caveat: str = ""


def decided(*evidence: Evidence) -> Answer:
    """yes if all numbers pass their thresholds, no if none does, unclear between; unknown if one is NaN."""
    tested = [item for item in evidence if item.relation]
    if not tested or any(math.isnan(item.value) for item in tested):
        return "unknown"
    passed = [item.holds for item in tested]
    return "yes" if all(passed) else "unclear" if any(passed) else "no"
