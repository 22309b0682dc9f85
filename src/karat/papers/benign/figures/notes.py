"""Sentences that the captions share: how many seeds stand behind a figure, and what was left out."""

from collections.abc import Collection

import numpy as np

from karat.study.record import Record


def seeds_text(counts: np.ndarray, what: str = "cell") -> str:
    """Return how many seeds stand behind each cell.

    Args:
        counts: seeds per cell, 0 for cells that are not drawn.
        what: a word for a cell.

    >>> seeds_text(np.array([3, 3])), seeds_text(np.array([1, 2]))
    ('3 seeds', '1 to 2 seeds per cell')
    """
    known = counts[counts > 0]
    low, high = int(known.min()), int(known.max())
    if low == high:
        return "one seed" if low == 1 else f"{low} seeds"
    return f"{low} to {high} seeds per {what}"


def lost_note(lost: Collection[Record]) -> str:
    """Return how many cells a figure leaves out, or nothing.

    Args:
        lost: records of cells that diverged or failed.
    """
    return f"Diverged or failed and left out: {len(lost)}." if lost else ""


def sentences(*notes: str) -> str:
    """Return a caption of those notes that say something.

    Args:
        notes: sentences, some of them perhaps empty.

    >>> sentences("One seed.", "", "Two cells.")
    'One seed. Two cells.'
    """
    return " ".join(filter(None, notes))
