"""Made-up results for the examples of checks: what a check does not read is filled with zeros."""

import types
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, TypeVar, Union, get_origin, get_type_hints

R = TypeVar("R")


def made_up(kind: type[R], **values: Any) -> R:
    """Return a result of which only some values are said; every other number is 0, every other list empty.

    Args:
        kind: class of the result, a dataclass.
        values: fields by name; of a field that is a dataclass itself a dictionary says some values.

    >>> from karat.papers.purification.experiments.weak_attackers import CleanNet, WeakAttackersResult
    >>> made_up(WeakAttackersResult, clean={"pgd": 0.5}).clean
    CleanNet(ratio=0.0, aligned=0.0, pgd=0.5)
    """
    assert is_dataclass(kind)
    hints = get_type_hints(kind)
    given: dict[str, Any] = {}
    for field in fields(kind):
        inner = hints[field.name]
        if isinstance(values.get(field.name), dict) and is_dataclass(inner):
            given[field.name] = made_up(inner, **values[field.name])  # type: ignore[arg-type]
        elif field.name in values:
            given[field.name] = values[field.name]
        elif field.default is MISSING:
            given[field.name] = _zero(inner)
    unknown = sorted(set(values) - set(given))
    if unknown:
        raise TypeError(f"`{kind.__name__}` has no field `{unknown[0]}`.")
    return kind(**given)


def _zero(hint: Any) -> Any:
    """The emptiest value of a type."""
    origin = get_origin(hint)
    if hint is None or origin in (Union, types.UnionType):
        return None
    if is_dataclass(hint):
        return made_up(hint)  # type: ignore[arg-type]
    kind = get_origin(hint) or hint
    return None if kind is Annotated else kind()
