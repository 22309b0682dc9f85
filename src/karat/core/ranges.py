"""Ranges of settings, declared on the field: `d: Count`, `lr: Positive`, `side: Annotated[int, Ge(8)]`.

`checked` makes a dataclass refuse values outside their declared ranges, `settings` also numbers that no run
can begin with.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Interval, Le, Lt, MinLen, MultipleOf

from karat.core.checks import require_choice, require_integer, require_number, require_settings

T = TypeVar("T")

Count = Annotated[int, Ge(1)]
"""How many, at least one."""

Steps = Annotated[int, Ge(0)]
"""How many, perhaps none."""


class Neurons:
    """Marks a number of neurons."""


Pairs = Annotated[int, Ge(2), MultipleOf(2), Neurons()]
"""An even number of neurons, which come in pairs."""

Even = Annotated[int, Ge(2), MultipleOf(2)]
"""An even number of anything else."""

Positive = Annotated[float, Gt(0)]
"""A finite number above zero."""

NonNegative = Annotated[float, Ge(0)]
"""A finite number, zero included."""

Share = Annotated[float, Ge(0), Le(1)]
"""A share or probability, both ends included."""

Moderate = Annotated[float, Ge(1e-9), Le(1e9)]
"""Positive, and within nine powers of ten of one: formulas keep their digits."""

Power = Annotated[float, Ge(0), Le(10)]
"""An exponent of a size such as d, which may be 1e18."""

Inside = Annotated[float, Gt(0), Lt(1)]
"""Strictly between zero and one."""


class Unbounded:
    """Marks a number for which infinity has a meaning: `Annotated[float, Unbounded()]`."""


def checked(kind: type[T]) -> type[T]:
    """Let the instances of a class refuse fields outside their declared ranges, then do its own checks.

    Stands below `@dataclass`; a `__post_init__` of the class is left for what several fields must fulfil
    together.

    Args:
        kind: a class with annotated fields.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... @checked
    ... class Plan:
    ...     steps: Count
    ...     lr: Positive = 0.1
    >>> Plan(steps=0)
    Traceback (most recent call last):
    ...
    ValueError: `steps` of `Plan` must be a whole number >= 1, got 0.
    >>> Plan(steps=3, lr=-1.0)
    Traceback (most recent call last):
    ...
    ValueError: `lr` of `Plan` must be a finite number > 0, got -1.0.
    """
    return _with_check(kind, check_fields)


def settings(kind: type[T]) -> type[T]:
    """Let the config of an experiment refuse NaN, numbers too large to work with, and undeclared values.

    Args:
        kind: a class with annotated fields; stands below `@dataclass`.
    """
    return _with_check(kind, _check_settings)


def check_fields(instance: Any) -> None:
    """Refuse a field outside its declared range, in one sentence with field, class, rule and value.

    Args:
        instance: of a dataclass.
    """
    for name, hint in _declared(cast(Any, type(instance))).items():
        _check(getattr(instance, name), hint, (), name, type(instance).__name__)


def _check_settings(instance: Any) -> None:
    check_fields(instance)
    require_settings(instance, infinite=_infinite(cast(Any, type(instance))))


def _with_check(kind: type[T], check: Callable[[Any], None]) -> type[T]:
    # Its own or an inherited one: what the fields of a parent must fulfil together holds for its children.
    own: Callable[[Any], None] | None = getattr(kind, "__post_init__", None)

    def check_all(self: Any) -> None:
        check(self)
        if own is not None:
            own(self)

    kind.__post_init__ = check_all  # type: ignore[attr-defined]
    return kind


@cache
def _declared(kind: Any) -> dict[str, Any]:
    """Field -> its type, for those with a range or a choice of words."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if list(_marks(hint)) or "Literal" in repr(hint)}


@cache
def _infinite(kind: Any) -> frozenset[str]:
    """The fields for which infinity has a meaning."""
    return frozenset(name for name, hint in _declared(kind).items() if any(map(_unbounded, _marks(hint))))


def _marks(hint: Any) -> Iterator[Any]:
    """The annotations of a type at any depth."""
    if get_origin(hint) is Annotated:
        yield from hint.__metadata__
    for inner in get_args(hint):
        if not isinstance(inner, str | int):
            yield from _marks(inner)


def _unbounded(mark: Any) -> bool:
    return isinstance(mark, Unbounded)


def _check(value: Any, hint: Any, marks: tuple[Any, ...], name: str, owner: str) -> None:
    """Check a value by its type and the annotations around it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        _check(value, inner[0], (*marks, *hint.__metadata__), name, owner)
    elif origin in (Union, UnionType):
        _check_union(value, inner, marks, name, owner)
    elif origin is Literal:
        require_choice(value, name, owner, inner)
    elif origin is tuple:
        _check_items(value, inner, marks, name, owner)
    elif hint is int:
        _check_integer(value, marks, name, owner)
    elif hint is float and marks:
        _check_number(value, marks, name, owner)


def _check_union(value: Any, options: tuple[Any, ...], marks: tuple[Any, ...], name: str, owner: str) -> None:
    """None and words are matched first; what is left must fit the last option."""
    if value is None and NoneType in options:
        return
    words = [word for option in options if get_origin(option) is Literal for word in get_args(option)]
    if isinstance(value, str) and value in words:
        return
    rest = [option for option in options if option is not NoneType and get_origin(option) is not Literal]
    if rest:
        _check(value, rest[-1], marks, name, owner)
    else:
        require_choice(value, name, owner, words)


def _check_items(value: Any, kinds: tuple[Any, ...], marks: tuple[Any, ...], name: str, owner: str) -> None:
    least = max([mark.min_length for mark in marks if isinstance(mark, MinLen)], default=0)
    if len(value) < least:
        raise ValueError(f"`{name}` of `{owner}` must hold at least {least} values, got {value}.")
    each = kinds[:1] * len(value) if len(kinds) == 2 and kinds[1] is Ellipsis else kinds
    for item, kind in zip(value, each, strict=False):
        _check(item, kind, (), name, owner)


def _check_integer(value: Any, marks: tuple[Any, ...], name: str, owner: str) -> None:
    ends = _ends(marks)
    number = require_integer(value, name, owner, minimum=ends.get("minimum"))
    if "maximum" in ends and number > ends["maximum"]:
        raise ValueError(f"`{name}` of `{owner}` must be a whole number <= {ends['maximum']}, got {value}.")
    factors: list[Any] = [mark.multiple_of for mark in marks if isinstance(mark, MultipleOf)]
    for factor in factors:
        if number % factor:
            reason = "even" if factor == 2 else f"a multiple of {factor}"
            if any(isinstance(mark, Neurons) for mark in marks):
                reason += ", for neurons come in pairs"
            raise ValueError(f"`{name}` of `{owner}` must be {reason}; got {value}.")


def _check_number(value: Any, marks: tuple[Any, ...], name: str, owner: str) -> None:
    if any(map(_unbounded, marks)) and isinstance(value, float) and math.isinf(value) and value > 0:
        return
    require_number(value, name, owner, **_ends(marks))


@cache
def _ends(marks: tuple[Any, ...]) -> dict[str, Any]:
    """The ends of a range as `require_number` takes them."""
    ends: dict[str, Any] = {}
    for mark in marks:
        for one in mark if isinstance(mark, Interval) else (mark,):
            if isinstance(one, Ge):
                ends["minimum"] = one.ge
            elif isinstance(one, Le):
                ends["maximum"] = one.le
            elif isinstance(one, Gt):
                ends["above"] = one.gt
            elif isinstance(one, Lt):
                ends["below"] = one.lt
    return ends
