"""Results with types: an experiment measures a frozen dataclass, and a record keeps it as plain JSON."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

R = TypeVar("R")
Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Undefined:
    """Marks a measured number that may be missing (NaN) or infinite: `Annotated[float, Undefined("...")]`.

    A run with any other NaN or infinity in its result has diverged.

    Args:
        when: the reason, such as "infinite where no step flips the net".
    """

    when: str


@dataclass(frozen=True)
class Spread:
    """Marks a dictionary of dataclasses that is stored flat: `Annotated[dict[str, Errors], Spread("nets")]`.

    The entry "pure net" is stored as `pure net_clean`, ..., for keys may be words that no field can be
    called. None of its numbers may be `Undefined`.

    Args:
        keys: under which name the list of the keys is stored. Without it the values themselves tell: a key
            is there if every value that its entry must have is.

    >>> @dataclass(frozen=True)
    ... class Error:
    ...     clean: float
    >>> @dataclass(frozen=True)
    ... class Comparison:
    ...     errors: Annotated[dict[str, Error], Spread("nets")]
    >>> to_values(Comparison({"pure net": Error(0.1)}))
    {'nets': ['pure net'], 'pure net_clean': 0.1}
    >>> from_values(Comparison, {"nets": ["pure net"], "pure net_clean": 0.1}).errors
    {'pure net': Error(clean=0.1)}
    >>> @dataclass(frozen=True)
    ... class Sizes:
    ...     errors: Annotated[dict[int, Error], Spread()]
    >>> from_values(Sizes, {"9_clean": 0.1, "50_clean": 0.2}).errors
    {9: Error(clean=0.1), 50: Error(clean=0.2)}
    """

    keys: str | None = None


class Together:
    """Marks a dataclass whose values stay together under the name of their field.

    >>> @dataclass(frozen=True)
    ... class Sizes:
    ...     atoms: int
    >>> @dataclass(frozen=True)
    ... class Codes:
    ...     sizes: Annotated[Sizes, Together()]
    >>> to_values(Codes(Sizes(4)))
    {'sizes': {'atoms': 4}}
    >>> from_values(Codes, {"sizes": {"atoms": 4}})
    Codes(sizes=Sizes(atoms=4))
    """


def to_values(result: Any) -> dict[str, Any]:
    r"""Return a result as values by name; the fields of a dataclass inside it stand beside the others.

    A field `final: Errors` becomes `final_clean`, `final_robust`, ..., so that every number has one plain
    name in tables and exports. A field that is None by default and None now is left out. The underscore at
    the end of a name that Python needs itself, as `lambda_`, is dropped.

    Args:
        result: a dataclass.

    >>> @dataclass(frozen=True)
    ... class Errors:
    ...     clean: float
    ...     certified: float | None = None
    >>> @dataclass(frozen=True)
    ... class Curves:
    ...     steps: list[int]
    ...     final: Errors
    >>> to_values(Curves([0, 1], Errors(0.1)))
    {'steps': [0, 1], 'final_clean': 0.1}
    >>> from_values(Curves, {"steps": [0, 1], "final_clean": 0.1}).final
    Errors(clean=0.1, certified=None)
    """
    values: dict[str, Any] = {}
    for field in fields(result):
        value, name = getattr(result, field.name), _stored(field.name)
        hint = _fields(cast(Any, type(result)))[field.name][0]
        spread = _spread(hint)
        if value is None and field.default is None:
            continue
        if spread is not None:
            values |= {spread.keys: list(value)} if spread.keys else {}
            for key, part in value.items():
                values |= _prefixed(key, part)
        elif is_dataclass(value) and not _together(hint):
            values |= _prefixed(name, value)
        else:
            values[name] = _plain(value)
    return values


def from_values(kind: type[R], values: Mapping[str, Any]) -> R:
    """Return the result of class `kind` behind the values of a record; a KeyError names a missing one.

    None in the place of a number is NaN again. Values that the class does not know are left out.

    Args:
        kind: the dataclass.
        values: what `to_values` returned, perhaps by way of JSON.
    """
    return _read_fields(kind, values, "")


def undefined_values(kind: type) -> dict[str, str]:
    """Return which values of a result may have no number or be infinite: name in a record -> when.

    Args:
        kind: the dataclass.
    """
    found: dict[str, str] = {}
    for field_name, (hint, _) in _fields(kind).items():
        name = _stored(field_name)
        reasons = [mark.when for mark in _marks(hint) if isinstance(mark, Undefined)]
        found |= dict.fromkeys([name], reasons[0]) if reasons else {}
        for inner in _dataclasses(hint):
            flat = _nested(hint) is inner
            found |= {f"{name}_{n}" if flat else n: when for n, when in undefined_values(inner).items()}
    return found


def _stored(name: str) -> str:
    return name.rstrip("_")


def _prefixed(prefix: str, part: Any) -> dict[str, Any]:
    return {f"{prefix}_{name}": value for name, value in to_values(part).items()}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return to_values(value)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple) and value and not isinstance(value[0], int | float | str):
        return [_plain(inner) for inner in value]
    return value


def _read_fields(kind: type[R], values: Mapping[str, Any], prefix: str) -> R:
    given: dict[str, Any] = {}
    described: dict[str, tuple[Any, bool]] = _fields(cast(Any, kind))
    for name, (hint, required) in described.items():
        key, nested, spread = f"{prefix}{_stored(name)}", _nested(hint), _spread(hint)
        if spread is not None:
            to_key, item = _key_reader(hint), get_args(_bare(hint))[1]
            entries = values[f"{prefix}{spread.keys}"] if spread.keys else _entries(item, values, prefix)
            given[name] = {to_key(key): _read_fields(item, values, f"{prefix}{key}_") for key in entries}
        elif nested is not None:
            # An optional part is there if its first value is; names of others may begin alike.
            first = next(iter(_fields(nested)))
            if required or any(other.startswith(f"{key}_{first}") for other in values):
                given[name] = _read_fields(nested, values, f"{key}_")
        elif key in values:
            given[name] = _reader(hint)(values[key])
        elif required:
            raise KeyError(key)
    return kind(**given)


@cache
def _fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Name -> type, and whether it must be there."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.name: (hints[field.name], field.default is MISSING and field.default_factory is MISSING)
        for field in fields(kind)
    }


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _options(hint: Any) -> tuple[Any, ...]:
    bare = _bare(hint)
    return get_args(bare) if get_origin(bare) in (Union, UnionType) else (bare,)


def _nested(hint: Any) -> Any:
    """The dataclass that a field is, or may be, and whose values stand beside those of other fields."""
    kinds = [option for option in _options(hint) if option is not NoneType]
    return kinds[0] if len(kinds) == 1 and is_dataclass(kinds[0]) and not _together(hint) else None


def _together(hint: Any) -> bool:
    return any(isinstance(mark, Together) for mark in _marks(hint))


def _spread(hint: Any) -> Spread | None:
    marks = hint.__metadata__ if get_origin(hint) is Annotated else ()
    return next((mark for mark in marks if isinstance(mark, Spread)), None)


def _entries(item: Any, values: Mapping[str, Any], prefix: str) -> list[str]:
    """The keys of a dictionary that is stored flat without a list of them."""
    first, *others = [name for name, (_, required) in _fields(item).items() if required]
    end = f"_{first}"
    keys = [
        name[len(prefix) : -len(end)] for name in values if name.startswith(prefix) and name.endswith(end)
    ]
    # Another name may end alike (`test_loss`, `loss`): all that an entry must have decide.
    return [key for key in keys if all(f"{prefix}{key}_{name}" in values for name in others)]


def _key_reader(hint: Any) -> Read:
    return int if get_args(_bare(hint))[0] is int else _same


def _marks(hint: Any) -> Iterable[Any]:
    """The annotations of a type, at any depth: list[Annotated[float, Undefined(...)]] counts."""
    if get_origin(hint) is Annotated:
        yield from hint.__metadata__
        yield from _marks(get_args(hint)[0])
    else:
        for inner in get_args(hint):
            yield from _marks(inner)


def _dataclasses(hint: Any) -> Iterable[Any]:
    if is_dataclass(hint):
        yield hint
    for inner in get_args(hint):
        yield from _dataclasses(inner)


@cache
def _reader(hint: Any) -> Read:
    """How a JSON value becomes one of this type; whatever needs no change is handed on."""
    bare = _bare(hint)
    origin, inner = get_origin(bare), get_args(bare)
    if bare is float:
        return _number
    if isinstance(bare, type) and is_dataclass(bare):
        return lambda value: from_values(bare, value)
    if origin in (Union, UnionType) and NoneType in inner:
        some = [_reader(option) for option in inner if option is not NoneType]
        return lambda value: None if value is None else some[0](value)
    if origin is list:
        item = _reader(inner[0])
        return list if item is _same else lambda value: [item(one) for one in value]
    if origin is tuple:
        kinds = [_reader(option) for option in inner if option is not Ellipsis]
        if Ellipsis in inner:
            return lambda value: tuple(kinds[0](one) for one in value)
        return lambda value: tuple(read(one) for read, one in zip(kinds, value, strict=True))
    if origin is dict:
        to_key, item = _key_reader(bare), _reader(inner[1])
        return lambda value: {to_key(key): item(one) for key, one in value.items()}
    return _same


def _same(value: Any) -> Any:
    return value


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
