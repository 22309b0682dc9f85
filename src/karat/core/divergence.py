"""The one exception that means: a run left the range of finite numbers."""

import math
from collections.abc import Collection, Mapping
from typing import Any


class Diverged(ArithmeticError):
    """A run diverged, at a known step of training or in its result; recorded as a result, not shown as a
    stack trace.

    Args:
        step: of training, None if only the result shows it.
        what: is not finite, without a full stop.
    """

    def __init__(self, step: int | None, what: str) -> None:
        super().__init__(f"{what}." if step is None else f"training diverged at step {step}: {what}.")
        self.step = step
        self.what = what

    def __reduce__(self) -> tuple[type["Diverged"], tuple[int | None, str]]:
        """Survive the trip from a worker process."""
        return Diverged, (self.step, self.what)


def settle(values: Mapping[str, Any], undefined: Collection[str] = ()) -> dict[str, Any]:
    """Return the values of a finished run without NaN, or raise `Diverged` naming the first bad one.

    A value that is declared may have no number, which None then stands for, and may be infinite; any other
    NaN or infinity means that the run diverged.

    Args:
        values: name -> number, text, None, or lists and mappings of them.
        undefined: the declared names, at any depth.

    >>> settle({"loss": 0.5, "flip": [math.nan, math.inf]}, ["flip"])
    {'loss': 0.5, 'flip': [None, inf]}
    >>> settle({"curve": {"loss": [0.5, math.inf]}})
    Traceback (most recent call last):
    ...
    karat.core.divergence.Diverged: `curve.loss` is inf.
    """
    return {name: _settle(value, (name,), undefined) for name, value in values.items()}


def _settle(value: Any, path: tuple[str, ...], undefined: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _settle(inner, (*path, name), undefined) for name, inner in value.items()}
    if isinstance(value, list):
        return [_settle(inner, path, undefined) for inner in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if not any(name in undefined for name in path):
        raise Diverged(None, f"`{'.'.join(path)}` is {value}")
    return None if math.isnan(value) else value
