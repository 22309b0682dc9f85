"""Seeds where they are needed: a config gets more of them until its side of a level is known."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from karat.core.checks import require_number
from karat.core.ranges import Count, checked
from karat.core.sequential import (
    anytime_bounded_interval,
    anytime_proportion_interval,
    anytime_t_interval,
)
from karat.core.statistics import Interval
from karat.errors import TargetError
from karat.study.experiment import Cell
from karat.study.record import Record

Assumption = Literal["gaussian", "bounded"]
Side = Literal["above", "below", "open"]

METHODS: dict[str, str] = {
    "gaussian": (
        "anytime-valid t interval (Gaussian values over seeds; Wang and Ramdas 2025), exact binomial mixture "
        "for flags"
    ),
    "bounded": (
        "anytime-valid betting interval (any values in [0, 1]; Waudby-Smith and Ramdas 2024), exact binomial "
        "mixture for flags"
    ),
}


@dataclass(frozen=True, kw_only=True)
@checked
class Target:
    """The question a sweep asks of every config: is the mean of a value above or below a level?

    Args:
        value: name of the measured value.
        level: the number it is compared with.
        confidence: of each config's interval, whenever its seeds stop; they are not corrected for the number
            of configs.
        assume: `gaussian`, as every interval over seeds in karat, or `bounded`: nothing but values in [0, 1].
        least: seeds of every config before its first verdict.
    """

    value: str
    level: float
    confidence: float = 0.95
    assume: Assumption = "gaussian"
    least: Count = 3

    def __post_init__(self) -> None:
        require_number(self.level, "level", "Target")
        Interval(0.0, 1.0, self.confidence)

    @property
    def method(self) -> str:
        """How the intervals are made, for people."""
        return METHODS[self.assume]

    def decide(self, records: Sequence[Record]) -> "Decision":
        """Say on which side of the level a config lies, from its records in any order."""
        done = [record.values for record in records if record.status == "done"]
        missing = [values for values in done if not isinstance(values.get(self.value), int | float)]
        if missing:
            known = ", ".join(name for name, value in missing[0].items() if isinstance(value, int | float))
            raise TargetError(f"the records have no number `{self.value}`; they have {known}.")
        numbers = [values[self.value] for values in done]
        if self.assume == "bounded" and any(not 0 <= number <= 1 for number in numbers):
            raise TargetError(f"`{self.value}` leaves [0, 1]; it cannot be taken as bounded.")
        if len(records) < self.least or not numbers or not all(map(math.isfinite, numbers)):
            return Decision(side="open", interval=None, seeds=len(records))
        interval = self._interval(numbers)
        side: Side = "open"
        if interval.low > self.level:
            side = "above"
        elif interval.high < self.level:
            side = "below"
        return Decision(side=side, interval=interval, seeds=len(records))

    def _interval(self, numbers: Sequence[Any]) -> Interval:
        if all(isinstance(number, bool) for number in numbers):
            return anytime_proportion_interval(sum(numbers), len(numbers), self.confidence)
        if self.assume == "bounded":
            return anytime_bounded_interval(numbers, self.confidence)
        return anytime_t_interval(numbers, self.confidence)


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What is known of a config; the interval is None before there is one.

    Args:
        side: of the level, `open` while it is not known.
        interval: of the mean, None before there is one.
        seeds: it rests on.
    """

    side: Side
    interval: Interval | None
    seeds: int


class Adaptive:
    """A feed that gives the next seed to the open config with the fewest, up to a number of seeds.

    Args:
        firsts: one cell per config.
        target: when a config is decided.
        seeds: the most a config may get.
        known: records there are already.
    """

    def __init__(
        self, firsts: Sequence[Cell], target: Target, seeds: int, known: Sequence[Record] = ()
    ) -> None:
        self._firsts = {cell.config_hash: cell for cell in firsts}
        self._target, self._seeds = target, seeds
        self._records: dict[str, dict[int, Record]] = {key: {} for key in self._firsts}
        self._asked: dict[str, set[int]] = {key: set() for key in self._firsts}
        self.decisions: dict[str, Decision] = {}
        for record in known:
            self._keep(record)
        for key in self._firsts:
            self._decide(key)
        self._line = [(len(self._asked[key]), position, key) for position, key in enumerate(self._firsts)]
        heapq.heapify(self._line)

    def __call__(self) -> Cell | None:
        """Return the next cell worth computing; None when every config is decided, full or on its way."""
        while self._line:
            _, position, key = heapq.heappop(self._line)
            asked = self._asked[key]
            if self.decisions[key].side != "open" or len(asked) >= self._seeds:
                continue
            seed = next(seed for seed in range(self._seeds) if seed not in asked)
            asked.add(seed)
            heapq.heappush(self._line, (len(asked), position, key))
            return self._firsts[key].with_seed(seed)
        return None

    def add(self, record: Record) -> None:
        """Take in a record and decide its config anew."""
        if record.config_hash in self._firsts:
            self._keep(record)
            self._decide(record.config_hash)

    @property
    def left(self) -> int:
        """The most cells that may still follow."""
        return sum(
            self._seeds - len(self._asked[key])
            for key, decision in self.decisions.items()
            if decision.side == "open"
        )

    def _keep(self, record: Record) -> None:
        if record.config_hash in self._firsts and record.seed < self._seeds:
            self._records[record.config_hash][record.seed] = record
            self._asked[record.config_hash].add(record.seed)

    def _decide(self, key: str) -> None:
        finished = [record for record in self._records[key].values() if record.finished]
        self.decisions[key] = self._target.decide(finished)
