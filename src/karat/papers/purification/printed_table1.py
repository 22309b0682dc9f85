"""Table 1 of purification as printed: ResNet-34 on CIFAR-10, percent."""

from typing import NamedTuple

ATTACKERS = ("linf:4", "linf:8", "l2:0.5:0.12", "l2:1:0.25")
"""Columns of the table, by karat's names."""


class Cell(NamedTuple):
    """One cell of the table, in percent.

    Args:
        robust: accuracy under the training attacker.
        clean: accuracy without attack, in brackets in the paper.
    """

    robust: float
    clean: float


_ROWS = {
    "clean": ((0.0, 93.9), (0.0, 93.9), (0.0, 93.9), (0.0, 93.9)),
    "from_random": ((61.4, 82.3), (45.7, 71.6), (59.8, 78.3), (42.3, 64.3)),
    "from_clean": ((61.9, 83.9), (46.0, 73.7), (60.0, 79.2), (42.2, 65.5)),
}
PRINTED: dict[str, dict[str, Cell]] = {
    mode: {name: Cell(*cell) for name, cell in zip(ATTACKERS, row, strict=True)}
    for mode, row in _ROWS.items()
}
"""Training -> attacker -> cell."""

LABELS = {
    "clean": "clean training",
    "from_random": "adversarial from random",
    "from_clean": "adversarial from clean",
    "noise": "noise only",
}
"""Training -> what figures and tables call it, in the order of the table; the last is a control of ours."""


def reported_text() -> str:
    """Return all twelve cells in one line, robust (clean) percent."""
    rows = [
        f"{LABELS[mode]} " + ", ".join(f"{cell.robust} ({cell.clean})" for cell in row.values())
        for mode, row in PRINTED.items()
    ]
    return "l_inf 4/255, l_inf 8/255, l2(0.5, 0.12), l2(1, 0.25): " + "; ".join(rows)
