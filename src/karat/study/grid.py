"""The axes of a sweep, read from text: lists, equal steps, equal ratios."""

import math
import re
from fractions import Fraction
from typing import Any

from karat.study.config import Mismatch, read, shown
from karat.study.experiment import MOST_CELLS

LONGEST_NUMBER, LARGEST_EXPONENT = 400, 400
"""Digits and exponent of the ends of an axis: fractions are exact, and would take for ever beyond."""

_EXPONENT = re.compile(r"[eE]([+-]?[\d_]+)")


def read_axis(text: str, hint: Any, name: str, owner: str) -> tuple[Any, ...]:
    """Return the values of one axis, each once, in order.

    "1000,2000" lists them; "1:10:4" takes four equal steps from 1 to 10, both ends included; "1:1000:4:log"
    takes equal ratios, rounded to whole numbers where the setting is one.

    Args:
        text: what a user typed.
        hint: type of the setting.
        name: setting, for messages.
        owner: experiment, for messages.

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
    form = f"the axis `{name}` of `{owner}` must be a list or start:stop:count[:log], got {shown(text)}."
    parts = [part.strip() for part in text.split(":")]
    if len(parts) not in (3, 4) or parts[3:] not in ([], ["log"]):
        raise Mismatch(form)
    try:
        start, stop, count = _fraction(parts[0]), _fraction(parts[1]), int(parts[2])
    except (ValueError, ZeroDivisionError):
        raise Mismatch(form) from None
    except OverflowError:
        most = f"at most {LONGEST_NUMBER} digits and exponents up to {LARGEST_EXPONENT}"
        raise Mismatch(f"{form[:-1]}; its ends may have {most}.") from None
    if count < 2:
        raise Mismatch(f"{form[:-1]}, whose count is not at least 2.")
    if count > MOST_CELLS:
        raise Mismatch(f"{form[:-1]}, whose count is more than {MOST_CELLS:,}.")
    if parts[3:] and (start <= 0 or stop <= 0):
        raise Mismatch(f"{form[:-1]}; equal ratios need positive ends.")
    try:
        return _ratios(start, stop, count, hint) if parts[3:] else _equal(start, stop, count)
    except (OverflowError, ValueError):
        raise Mismatch(f"{form[:-1]}, whose values leave the range of numbers.") from None


def _fraction(text: str) -> Fraction:
    """An end of an axis, exactly, so that the steps of 0.1:0.5:5 are the numbers one would type."""
    if len(text) > LONGEST_NUMBER or any(abs(int(e)) > LARGEST_EXPONENT for e in _EXPONENT.findall(text)):
        raise OverflowError
    return Fraction(text)


def _equal(start: Fraction, stop: Fraction, count: int) -> list[float | int]:
    return [_plain(start + (stop - start) * Fraction(step, count - 1)) for step in range(count)]


def _ratios(start: Fraction, stop: Fraction, count: int, hint: Any) -> list[float | int]:
    shares = [step / (count - 1) for step in range(1, count - 1)]
    inner = [math.exp(math.log(start) + share * math.log(stop / start)) for share in shares]
    return [_plain(start), *(round(value) if hint is int else value for value in inner), _plain(stop)]


def _plain(value: Fraction) -> float | int:
    return int(value) if value.denominator == 1 else float(value)
