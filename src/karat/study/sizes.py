"""The size that an unmet hypothesis asks for, one setting changed at a time: `m >= 78126`."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from karat.study.axes import LARGEST, Axis, as_text, axes_of, changed
from karat.study.check import Check
from karat.study.hypothesis import Condition, HypothesesError, conditions_at

NAMED = 4
"""How many other settings a size names at most."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """What an unmet hypothesis asks of one setting when all others stay.

    Args:
        hypothesis: its name.
        setting: that is changed.
        side: whether it must be at least or at most the value.
        value: the nearest one at which this hypothesis is met.
        now: the present value.
        others: the settings on which the hypothesis depends beside, with their values.
    """

    hypothesis: str
    setting: str
    side: Literal[">=", "<="]
    value: float
    now: float
    others: Mapping[str, Any]

    def __str__(self) -> str:
        """As in `m >= 78,126 at R = 1.0, tol = 0.2`."""
        value = f"{self.value:,}" if isinstance(self.value, int) and self.value < 1e9 else f"{self.value:.4g}"
        listed = ", ".join(f"{name} = {as_text(value)}" for name, value in self.others.items())
        return f"{self.setting} {self.side} {value}" + (f" at {listed}" if listed else "")


def size_asked(check: Check, config: Any, unmet: Condition, fixed: Mapping[str, Any]) -> Size | None:
    """Return the smallest change of one number that meets a hypothesis, None if no single number can.

    Preferred is the setting on the hypothesis' own left side, else the one that changes by the least factor.

    Args:
        check: whose hypothesis.
        config: the settings at which it is unmet.
        unmet: the hypothesis there.
        fixed: settings that stay.
    """
    # Words matter, too: hypotheses may be about other settings.
    numbers = [
        axis for axis in axes_of(config, fixed) if axis.number and _is_number(getattr(config, axis.name))
    ]
    found: list[tuple[bool, float, str, float]] = []
    for axis in numbers:
        now = getattr(config, axis.name)
        for side in (">=", "<="):
            value = _edge(_meets(check, config, unmet.name, axis), now, whole=axis.whole, up=side == ">=")
            if value is not None:
                found.append((now != unmet.value, abs(math.log(value / now)), axis.name, value))
    if not found:
        return None
    _, _, name, value = min(found)
    now = getattr(config, name)
    others = {
        a.name: getattr(config, a.name) for a in numbers if a.name != name and _moves(check, config, unmet, a)
    }
    return Size(
        hypothesis=unmet.name,
        setting=name,
        side=">=" if value > now else "<=",
        value=value,
        now=now,
        others=dict(list(others.items())[:NAMED]),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < LARGEST


def _condition(check: Check, config: Any, name: str) -> Condition | None:
    try:
        conditions = conditions_at(check, config)
    except HypothesesError:  # far from the settings that anybody asked about
        return None
    return next((one for one in conditions if one.name == name), None)


def _meets(check: Check, config: Any, name: str, axis: Axis) -> Callable[[Any], bool]:
    """Value of a setting -> whether the hypothesis is met there."""

    def met(value: Any) -> bool:
        other = changed(config, {axis.name: value})
        condition = None if other is None else _condition(check, other, name)
        return condition is not None and condition.status != "unmet"

    return met


def _moves(check: Check, config: Any, unmet: Condition, axis: Axis) -> bool:
    """Whether the numbers of a hypothesis depend on a setting."""
    others = [changed(config, {axis.name: axis.times(getattr(config, axis.name), f)}) for f in (2.0, 0.5)]
    seen = [_condition(check, other, unmet.name) for other in others if other is not None]
    return any(one is not None and (one.value, one.bound) != (unmet.value, unmet.bound) for one in seen)


def _edge(met: Callable[[Any], bool], now: Any, *, whole: bool, up: bool) -> Any | None:
    """The value nearest to `now` on one side at which `met` begins to hold, for monotone hypotheses."""
    factor, outside, inside = 10.0, now, None
    while inside is None:
        reached = outside * factor if up else outside / factor
        reached = _whole(reached, up=up) if whole else reached
        if not 1 / LARGEST < reached < LARGEST or reached == outside:
            return None
        outside, inside = (outside, reached) if met(reached) else (reached, None)
    return _bisected(met, outside, inside, whole=whole)


def _whole(value: float, *, up: bool) -> int:
    return math.ceil(value) if up else math.floor(value)


def _bisected(met: Callable[[Any], bool], outside: Any, inside: Any, *, whole: bool) -> Any:
    """Between a value outside and one inside: neighbouring whole numbers, or four digits of a float."""
    while abs(inside - outside) > (1 if whole else 1e-4 * inside):
        middle = (outside + inside) // 2 if whole else math.sqrt(outside * inside)
        outside, inside = (outside, middle) if met(middle) else (middle, inside)
    return inside
