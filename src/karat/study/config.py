"""Configs as plain JSON and back, and single settings read from text by the type of their field."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Strict JSON has no infinities: these words stand for them."""

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


class Mismatch(ValueError):
    """A value does not fit the type of its field."""


def config_to_json(config: Any) -> dict[str, Any]:
    """Return the config as strict JSON: tuples become lists, infinities words, and equal configs equal texts.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Config:
    ...     tau: float
    ...     widths: tuple[int, ...] = (2, 3)
    >>> config_to_json(Config(math.inf))
    {'tau': 'inf', 'widths': [2, 3]}
    >>> config_to_json(Config(1))
    {'tau': 1.0, 'widths': [2, 3]}
    """
    owner, known = type(config).__name__, hints(config)
    return {name: encode(read(getattr(config, name), hint, name, owner)) for name, hint in known.items()}


def config_from_json(kind: type, values: Mapping[str, Any]) -> Any:
    """Rebuild the config of class `kind` from what `config_to_json` returned."""
    owner, known = kind.__name__, hints(kind)
    for name in values:
        require_setting(name, known, owner)
    return kind(**{name: read(value, known[name], name, owner) for name, value in values.items()})


def require_setting(name: str, known: Mapping[str, Any], owner: str) -> None:
    """Raise a ValueError that lists the known settings unless `name` is one of them.

    Args:
        name: of a setting, as somebody gave it.
        known: setting -> its type.
        owner: config or experiment named in the message.
    """
    if name not in known:
        raise ValueError(f"`{owner}` has no setting `{name}`; its settings are {', '.join(known)}.")


def hints(config: Any) -> dict[str, Any]:
    """Return the settings of a config (or config class) with their types, in the order of the class."""
    return _hints(config if isinstance(config, type) else type(config))


@cache
def _hints(kind: type) -> dict[str, Any]:
    if not is_dataclass(kind):
        raise TypeError(f"a config must be a dataclass, got {kind.__name__}.")
    types = get_type_hints(kind)  # without the ranges of `Annotated`, which the class itself checks
    return {field.name: types[field.name] for field in fields(kind) if field.init}


def encode(value: Any) -> Any:
    """Return `value` as strict JSON, or raise a TypeError that names the type which has no JSON form.

    >>> encode((1, 2.5, math.nan, {"flag": True}))
    [1, 2.5, 'nan', {'flag': True}]
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        # Adding zero turns -0.0 into 0.0, so that equal numbers have equal texts.
        return number + 0.0 if math.isfinite(number) else str(number)
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    raise TypeError(
        f"a value of type {type(value).__name__} is not plain JSON (numbers, text, lists, dicts)."
    )


def decode(value: Any) -> Any:
    """Return the numbers behind the words "inf", "-inf" and "nan" inside a JSON value."""
    if isinstance(value, str):
        return NON_FINITE.get(value, value)
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        return {key: decode(item) for key, item in value.items()}
    return value


def read(value: Any, hint: Any, name: str, owner: str, *, text: bool = False) -> Any:
    """Return `value` as the type `hint`, or say in one sentence what the setting must be.

    Args:
        value: a typed value, its JSON form, or (with `text`) what a user typed.
        hint: type of the field.
        name: setting named in the message.
        owner: config or experiment named in the message.
        text: whether `value` is what a user typed, so that "1e3" is a number.

    >>> read("1e3", int, "d", "benign.sec5", text=True)
    1000
    >>> read("wide", int, "d", "benign.sec5", text=True)
    Traceback (most recent call last):
    ...
    karat.study.config.Mismatch: `d` of `benign.sec5` must be a whole number, got 'wide'.
    """
    try:
        return _fit(value, hint, text)
    except Mismatch:
        raise Mismatch(f"`{name}` of `{owner}` must be {_describe(hint)}, got {shown(value)}.") from None


def shown(value: Any) -> str:
    """The value in a message, cut short where it is long.

    >>> shown("wide"), len(shown("9" * 400))
    ("'wide'", 80)
    """
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _fit(value: Any, hint: Any, text: bool) -> Any:
    origin, options = get_origin(hint), get_args(hint)
    if hint is NoneType:
        return _match(value is None or (text and value.strip().lower() in {"none", "null"}), None)
    if origin is Literal:
        fitting = [option for option in options if _same(value, option) or (text and value == str(option))]
        return _match(bool(fitting), fitting[0] if fitting else None)
    if origin in (Union, UnionType):
        # None first: the word "none" is also a text.
        for option in sorted(options, key=lambda option: option is not NoneType):
            try:
                return _fit(value, option, text)
            except Mismatch:
                continue
        raise Mismatch
    if origin is tuple:
        return _fit_tuple(value, options, text)
    return _fit_plain(value, hint, text)


def _fit_tuple(value: Any, options: tuple[Any, ...], text: bool) -> tuple[Any, ...]:
    parts = [part.strip() for part in value.strip(" ()[]").split(",") if part.strip()] if text else value
    _match(isinstance(parts, list | tuple), None)
    kinds = [options[0]] * len(parts) if len(options) == 2 and options[1] is Ellipsis else list(options)
    _match(len(kinds) == len(parts), None)
    return tuple(_fit(part, kind, text) for part, kind in zip(parts, kinds, strict=True))


def _fit_plain(value: Any, hint: Any, text: bool) -> Any:
    if hint is str:
        return _match(isinstance(value, str), value)
    if hint is bool:
        truth = _TRUTH.get(value.strip().lower()) if text else value
        return _match(isinstance(truth, bool), truth)
    if hint not in (int, float) or isinstance(value, bool):
        raise Mismatch
    if isinstance(value, str) and (text or value in NON_FINITE):
        value = _number(value)
    _match(isinstance(value, Real), None)
    try:
        number = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        raise Mismatch from None
    if hint is float:
        return number
    return int(_match(isinstance(value, Integral) or number.is_integer(), value))


def _number(text: str) -> int | float:
    for kind in (int, float):  # int first: a float would round whole numbers above 2^53
        try:
            return kind(text)
        except ValueError:
            continue
    raise Mismatch


def _match(fits: bool, value: Any) -> Any:
    if not fits:
        raise Mismatch
    return value


def _same(value: Any, option: Any) -> bool:
    return bool(value == option) and isinstance(value, bool) == isinstance(option, bool)


def _describe(hint: Any) -> str:
    origin, options = get_origin(hint), get_args(hint)
    if hint is NoneType:
        return "none"
    if origin is Literal:
        return "one of " + ", ".join(map(str, options))
    if origin in (Union, UnionType):
        return " or ".join(_describe(option) for option in options)
    if origin is tuple and len(options) == 2 and options[1] is Ellipsis:
        return f"a list separated by commas, each item {_describe(options[0])}"
    if origin is tuple:
        return "separated by commas: " + ", ".join(_describe(option) for option in options)
    return _PLAIN.get(hint, f"a {getattr(hint, '__name__', hint)}, which cannot be set here")
