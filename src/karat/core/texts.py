"""Numbers as people read them."""

from typing import Any


def number(value: Any, *, digits: int = 4, missing: str = "") -> str:
    """Return a number with few significant digits, a whole number or a word as it is.

    Args:
        value: what is shown.
        digits: significant ones, at most.
        missing: stands for None.

    >>> number(0.123456), number(12345), number("Table 1"), number(None)
    ('0.1235', '12345', 'Table 1', '')
    """
    if value is None:
        return missing
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    """Return a time in the unit in which people think of it, with two digits at most.

    Args:
        seconds: not negative.

    >>> duration(0.4), duration(41.3), duration(754), duration(9000), duration(1e6)
    ('1 s', '41 s', '13 min', '2.5 h', '12 d')
    """
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.95 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 99 * size else f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1.0):.0f} s"
