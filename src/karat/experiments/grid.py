"""The axes of a sweep, read from text: lists, equal steps, equal ratios."""

import math
from fractions import Fraction
from typing import Any

from karat.experiments.config import Mismatch, read


def read_axis(text: str, hint: Any, name: str, owner: str) -> tuple[Any, ...]:
    """Return the values of one axis, each once, in order.

    "1000,2000" lists them; "1:10:4" takes four equal steps from 1 to 10, both ends included; "1:1000:4:log"
    takes equal ratios, rounded to whole numbers where the setting is one.

    Args:
        text: what a user typed; hint: type of the setting; name, owner: setting and experiment, for messages.

    >>> read_axis("1000,2e3", int, "d", "benign.fig1")
    (1000, 2000)
    >>> read_axis("0.1:0.5:5", float, "ratio", "benign.fig3")
    (0.1, 0.2, 0.3, 0.4, 0.5)
    >>> read_axis("1:1000:4:log", int, "d", "benign.fig1")
    (1, 10, 100, 1000)
    """
    if ":" not in text:
        parts = [part.strip() for part in text.split(",") if part.strip()]
        values = [read(part, hint, name, owner, text=True) for part in parts]
    else:
        values = [read(value, hint, name, owner) for value in _steps(text, hint, name, owner)]
    if not values:
        raise Mismatch(f"the axis `{name}` of `{owner}` has no values.")
    return tuple(dict.fromkeys(values))


def _steps(text: str, hint: Any, name: str, owner: str) -> list[float | int]:
    form = f"the axis `{name}` of `{owner}` must be a list or start:stop:count[:log], got {text!r}."
    parts = [part.strip() for part in text.split(":")]
    if len(parts) not in (3, 4) or parts[3:] not in ([], ["log"]):
        raise Mismatch(form)
    try:
        # Fractions, so that the steps of 0.1:0.5:5 are the numbers one would type.
        start, stop, count = Fraction(parts[0]), Fraction(parts[1]), int(parts[2])
    except ValueError:
        raise Mismatch(form) from None
    if count < 2:
        raise Mismatch(f"{form[:-1]}, whose count is not at least 2.")
    shares = [Fraction(step, count - 1) for step in range(count)]
    if not parts[3:]:
        return [_plain(start + (stop - start) * share) for share in shares]
    if start <= 0 or stop <= 0:
        raise Mismatch(f"{form[:-1]}; equal ratios need positive ends.")
    inner = [math.exp(math.log(start) + float(share) * math.log(stop / start)) for share in shares[1:-1]]
    return [_plain(start), *(round(value) if hint is int else value for value in inner), _plain(stop)]


def _plain(value: Fraction) -> float | int:
    return int(value) if value.denominator == 1 else float(value)
