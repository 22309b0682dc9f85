"""The settings of a config as axes along which a search can move: numbers by factors, the rest by choice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le

from karat.study.config import hints

LARGEST = 1e30
"""No setting is larger."""

DIGITS = 4
"""Significant digits of the numbers that a search proposes: what is printed is what was looked at."""

PROMISES = {"tol": 0.25, "p_fail": 0.5}
"""Settings that say how much a statement promises, and beyond which it promises next to nothing: the zero
function has the loss log 2, and a coin is right half of the time."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One setting.

    Args:
        name: of the setting.
        number: whether it can be a number, or a tuple of numbers, which are multiplied together.
        whole: whether that number is whole.
        choices: single values worth trying: words, switches, None, and zero for numbers.
        low: declared lower end of the range.
        high: declared upper end, or the one beyond which the statement promises nothing.
    """

    name: str
    number: bool
    whole: bool
    choices: tuple[Any, ...]
    low: float = 0.0
    high: float = LARGEST

    def times(self, value: Any, factor: float) -> Any:
        """The value times a factor, None where it cannot be multiplied.

        Args:
            value: of the setting, a number or a tuple of numbers.
            factor: above zero.
        """
        if isinstance(value, tuple):
            values = [self.times(one, factor) for one in value]
            return None if not values or None in values else tuple(values)
        if (
            not self.number
            or value is None
            or isinstance(value, bool | str)
            or not 0 < value * factor < LARGEST
        ):
            return None
        product = max(min(value * factor, max(value, self.high)), self.low)
        return max(1, round(product)) if self.whole else float(f"{product:.{DIGITS}g}")


def axes_of(config: Any, fixed: Mapping[str, Any]) -> list[Axis]:
    """Return the settings that a search may move: all but free text and what is fixed.

    Args:
        config: whose settings.
        fixed: those that stay.
    """
    ranges = get_type_hints(type(config), include_extras=True)
    free = [_axis(name, hint, ranges[name]) for name, hint in hints(config).items() if name not in fixed]
    return [axis for axis in free if axis.number or axis.choices]


def _axis(name: str, hint: Any, declared: Any) -> Axis:
    options = list(_options(hint))
    numbers = [option for option in options if option in (int, float)]
    choices: list[Any] = [
        word for option in options if get_origin(option) is Literal for word in get_args(option)
    ]
    if bool in options:
        choices += [False, True]
    if numbers and get_origin(hint) is not tuple:
        choices += [numbers[0](0), numbers[0](1)] if name not in PROMISES else []
    if NoneType in options:
        choices.append(None)
    marks = getattr(declared, "__metadata__", ())
    low = max([float(cast(float, mark.ge)) for mark in marks if isinstance(mark, Ge)], default=0.0)
    high = min([float(cast(float, mark.le)) for mark in marks if isinstance(mark, Le)], default=LARGEST)
    return Axis(
        name=name,
        number=bool(numbers),
        whole=numbers == [int],
        choices=tuple(choices),
        low=low,
        high=min(high, PROMISES.get(name, LARGEST)),
    )


def _options(hint: Any) -> Sequence[Any]:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return [inner for option in get_args(hint) for inner in _options(option)]
    if origin is tuple:
        inner = [option for option in get_args(hint) if option is not Ellipsis]
        return [inner[0]] if inner and all(option in (int, float) for option in inner) else []
    return [hint]


def changed(config: Any, values: Mapping[str, Any]) -> Any | None:
    """Return the config with other values, None if it refuses them.

    Whole numbers that must be even, or odd, are raised by one.

    Args:
        config: to start from.
        values: of some settings.
    """
    for attempt in (values, _raised(values, 0), _raised(values, 1)):
        try:
            return replace(config, **attempt)
        except (TypeError, ValueError, OverflowError):
            continue
    return None


def _raised(values: Mapping[str, Any], rest: int) -> dict[str, Any]:
    """Whole numbers raised to the next one with this rest modulo 2."""
    return {n: v + (v + rest) % 2 if type(v) is int else v for n, v in values.items()}


def as_text(value: Any) -> str:
    """Return a value as `--set` reads it.

    Args:
        value: of a setting.

    >>> as_text((0.5, 2.0)), as_text(None), as_text(1e-07), as_text(True)
    ('0.5,2.0', 'none', '1e-07', 'true')
    """
    if isinstance(value, tuple):
        return ",".join(as_text(one) for one in value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
