"""Every cell of Tables 1 to 5 as printed: train and test accuracy in percent, best cosine."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """What the paper prints for one method; the NTK has no cosine."""

    train: float
    test: float
    cos: float | None


METHODS = ("network", "ntk", "rf", "one_step", "two_step", "network_unstructured")
"""Columns of the tables, in their order."""

NAMES = {
    "network": "Network",
    "ntk": "NTK",
    "ntk_closed": "NTK, closed form",
    "rf": "RF",
    "one_step": "One Step",
    "one_step_rescaled": "One Step, rescaled",
    "two_step": "Two Step",
    "network_unstructured": "Network w/o structure",
    "ntk_unstructured": "NTK w/o structure",
    "rf_unstructured": "RF w/o structure",
}

_PRINTED = {
    ("tab1", ""): """
        100.0 84.0 74.7 51.3 100.0 100.0 / 100.0 86.4 76.0 52.2 100.0 52.0 / .997 - .114 .848 .997 .253""",
    ("tab2", ""): """
        100.0 100.0 76.4 44.1 100.0 100.0 / 100.0 100.0 73.2 41.0 100.0 100.0 / 1.00 - .153 .901 .994 .965""",
    ("tab3", "d=100"): """
        100.0 83.1 78.9 53.0 100.0 100.0 / 100.0 81.5 78.3 51.1 100.0 51.0 / 1.000 - .354 .967 1.000 .331""",
    ("tab3", "d=2000"): """
        100.0 75.6 80.0 50.22 100.0 100.0 / 100.0 75.4 77.0 50.01 100.0 52.5 / .998 - .056 .560 .998 .309""",
    ("tab4", "negative_rate=0.8"): """
        100.0 62.9 72.7 78.3 100.0 100.0 / 100.0 82.7 70.4 75.7 100.0 61.7 / .999 - .293 .950 .999 .218""",
    ("tab4", "negative_rate=0.9"): """
        100.0 84.0 73.6 92.3 100.0 100.0 / 100.0 81.7 72.4 89.2 100.0 71.8 / .997 - .296 .956 .997 .286""",
    ("tab5", "n=25000"): """
        100.0 84.0 78.6 50.6 100.0 100 / 100.0 84.1 74.7 50.0 100.0 50.2 / .997 - .105 .851 .997 .230""",
    ("tab5", "n=10000"): """
        100.0 73.9 71.6 50.7 100.0 100.0 / 100.0 75.0 74.3 50.3 100.0 52.2 / .995 - .096 .974 .994 .176""",
}
VARIED = {"tab3": "d", "tab4": "negative_rate", "tab5": "n"}
"""Table -> the setting that tells its parts apart."""


def _row(text: str) -> list[float | None]:
    return [None if cell == "-" else float(cell) for cell in text.split()]


def _parsed(text: str) -> dict[str, Cell]:
    train, test, cos = (_row(part) for part in text.split("/"))
    cells = {}
    for place, method in enumerate(METHODS):
        fit, right = train[place], test[place]
        assert fit is not None
        assert right is not None
        cells[method] = Cell(fit, right, cos[place])
    return cells


REPORTED: Mapping[tuple[str, str], Mapping[str, Cell]] = {
    place: _parsed(text) for place, text in _PRINTED.items()
}
"""(table, part) -> method -> printed cell; a table of one part has the part ""."""


def part_of(table: str, config: Mapping[str, Any]) -> str:
    """The part of a table that a run belongs to, such as "d=100".

    >>> part_of("tab3", {"d": 100})
    'd=100'
    """
    return f"{VARIED[table]}={config[VARIED[table]]:g}" if table in VARIED else ""


def part_label(table: str, config: Mapping[str, Any]) -> str:
    """The part of a table in words, with what a run adds to the printed setting.

    >>> part_label("tab4", {"negative_rate": 0.8, "sampling": "balanced"})
    'negative_rate=0.8, balanced batches'
    """
    added = "balanced batches" if config["sampling"] != "plain" else ""
    return ", ".join(filter(None, [part_of(table, config), added]))


def reported_text(table: str) -> str:
    """Test accuracies of a table on one line, for the field `reported` of its claim.

    >>> reported_text("tab1")
    'test accuracy 100, 86.4, 76, 52.2, 100, 52'
    """
    parts = []
    for (name, part), cells in REPORTED.items():
        if name == table:
            numbers = ", ".join(f"{cells[method].test:g}" for method in METHODS)
            parts.append(f"{numbers} ({part})" if part else numbers)
    return "test accuracy " + "; ".join(parts)
