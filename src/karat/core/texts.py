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
