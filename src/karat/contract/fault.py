"""One rule of the contract that a package breaks."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["violation", "warning"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong, and with what.

    Args:
        subject: key, claim id or name of an experiment.
        rule: a word or two for the rule, such as `global randomness`.
        reason: what was seen, in one sentence.
        level: whether it breaks the contract or only deserves a look.
    """

    subject: str
    rule: str
    reason: str
    level: Level = "violation"
