"""Argument checks whose messages say what is wrong, where, and what was given."""

import math
import operator
from collections.abc import Collection
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

from torch import Tensor

LARGEST_SETTING = 1e30
"""Well inside single precision, whose largest number is 3e38."""

LARGEST_COUNT = 10**18
"""Well inside the 64 bits of an index."""


class ShapeError(ValueError):
    """A tensor does not have the shape its role demands."""


def require_number(
    value: Any,
    name: str,
    owner: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    positive: bool = False,
) -> float:
    """Return `value` as a float if it is a finite real number inside the stated range.

    Args:
        value: what was given.
        name: of the argument, for the message.
        owner: of the argument, for the message.
        minimum: the least value allowed.
        maximum: the largest value allowed.
        above: the value must be larger.
        below: the value must be smaller.
        positive: the same as `above=0`.

    >>> require_number(-0.1, "tau", "Ball", minimum=0)
    Traceback (most recent call last):
    ...
    ValueError: `tau` of `Ball` must be a finite number >= 0, got -0.1.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` of `{owner}` must be a number, got {value!r}.")
    number = float(value)
    rules = [
        (">=", minimum, operator.ge),
        ("<=", maximum, operator.le),
        (">", 0 if positive else above, operator.gt),
        ("<", below, operator.lt),
    ]
    stated = [(sign, end, fits) for sign, end, fits in rules if end is not None]
    if not math.isfinite(number) or not all(fits(number, end) for _, end, fits in stated):
        rule = " and ".join(f"{sign} {end:g}" for sign, end, _ in stated)
        raise ValueError(f"`{name}` of `{owner}` must be {f'a finite number {rule}'.strip()}, got {value}.")
    return number


def require_integer(value: Any, name: str, owner: str, *, minimum: int | None = None) -> int:
    """Return `value` as an int if it is a whole number at least `minimum`.

    Args:
        value: what was given.
        name: of the argument, for the message.
        owner: of the argument, for the message.
        minimum: the least value allowed.

    >>> require_integer(0, "d", "NoisyMixture", minimum=1)
    Traceback (most recent call last):
    ...
    ValueError: `d` of `NoisyMixture` must be a whole number >= 1, got 0.
    """
    rule = "a whole number" + (f" >= {minimum}" if minimum is not None else "")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"`{name}` of `{owner}` must be {rule}, got {value!r}.")
    if minimum is not None and value < minimum:
        raise ValueError(f"`{name}` of `{owner}` must be {rule}, got {value}.")
    return int(value)


def require_settings(config: Any, *, infinite: Collection[str] = ()) -> None:
    """Refuse settings with which no run can begin: NaN, and numbers that single precision, or an index of 64
    bits, cannot work with.

    Args:
        config: dataclass whose numbers, also those in tuples, are looked at.
        infinite: names of settings for which infinity has a meaning.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Config:
    ...     lr: float
    >>> require_settings(Config(1e39))
    Traceback (most recent call last):
    ...
    ValueError: `lr` of `Config` must be a number of size at most 1e+30, got 1e+39.
    """
    for field in fields(config):
        value = getattr(config, field.name)
        for number in value if isinstance(value, tuple) else (value,):
            if not isinstance(number, int | float) or (field.name in infinite and math.isinf(number)):
                continue
            whole = isinstance(number, int)
            most = LARGEST_COUNT if whole else LARGEST_SETTING
            if not abs(number) <= most:
                raise ValueError(
                    f"`{field.name}` of `{type(config).__name__}` must be a {'whole ' * whole}number of size "
                    f"at most {most:g}, got {number}."
                )


def require_even(value: Any, name: str, owner: str) -> int:
    """Return the number of neurons as an int if it is even and at least 2.

    Args:
        value: what was given.
        name: of the argument, for the message.
        owner: of the argument, for the message.

    >>> require_even(7, "m", "paired")
    Traceback (most recent call last):
    ...
    ValueError: `m` of `paired` must be even, for neurons come in pairs; got 7.
    """
    if require_integer(value, name, owner, minimum=2) % 2:
        raise ValueError(f"`{name}` of `{owner}` must be even, for neurons come in pairs; got {value}.")
    return int(value)


def require_choice(value: Any, name: str, owner: str, choices: Collection[Any]) -> Any:
    """Return `value` if it is one of `choices`; the message lists them.

    Args:
        value: what was given.
        name: of the argument, for the message.
        owner: of the argument, for the message.
        choices: what is allowed.

    >>> require_choice("l3", "norm", "Ball", ["l1", "l2"])
    Traceback (most recent call last):
    ...
    ValueError: `norm` of `Ball` must be one of 'l1', 'l2'; got 'l3'.
    """
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"`{name}` of `{owner}` must be one of {listed}; got {value!r}.")
    return value


def require_shape(tensor: Tensor, name: str, shape: tuple[int | None, ...]) -> Tensor:
    """Return `tensor` if its shape matches.

    Args:
        tensor: what was given.
        name: of the argument, for the message.
        shape: what it must be, `None` standing for any length.

    >>> import torch
    >>> require_shape(torch.zeros(3, 2), "x", (None, 5))
    Traceback (most recent call last):
    ...
    karat.core.checks.ShapeError: `x` must have shape (*, 5), got (3, 2).
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"`{name}` must be a tensor, got {type(tensor).__name__}.")
    fits = tensor.dim() == len(shape) and all(
        want is None or have == want for have, want in zip(tensor.shape, shape, strict=True)
    )
    if not fits:
        rule = "(" + ", ".join("*" if want is None else str(want) for want in shape)
        rule += ",)" if len(shape) == 1 else ")"
        raise ShapeError(f"`{name}` must have shape {rule}, got {tuple(tensor.shape)}.")
    return tensor


def require_labels(y: Tensor, n: int) -> Tensor:
    """Return `y` if it holds n labels, each +1 or -1.

    >>> import torch
    >>> require_labels(torch.tensor([0.0, 1.0]), 2)
    Traceback (most recent call last):
    ...
    ValueError: `y` must hold the labels +1 and -1 only, got [0.0, 1.0].
    """
    require_shape(y, "y", (n,))
    if not bool((y.abs() == 1).all()):
        raise ValueError(f"`y` must hold the labels +1 and -1 only, got {y.unique().tolist()[:6]}.")
    return y
