"""Table 1 of purification: measured accuracies beside the printed ones."""

import math
from collections.abc import Sequence

import numpy as np

from karat.papers.purification.printed_table1 import ATTACKERS, MODES, PRINTED
from karat.study.record import Record, number
from karat.study.tables import Entry, Make, Table

COLUMNS = (
    "network",
    "images",
    "attacker",
    "training",
    "clean %",
    "attacker %",
    "strong %",
    "certified % at 0",
    "at 0.25",
    "at 0.5",
    "printed robust %",
    "printed clean %",
    "seeds",
)


def table1(records: Sequence[Record]) -> Table:
    """One row per net, attacker and training; printed rows of ResNet-34 where nothing was measured.

    Ref: purification, Tab 1
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.status == "done":
            groups.setdefault(record.config_hash, []).append(record)
    rows = [
        _row(group, index, attacker, mode)
        for group in groups.values()
        for index, attacker in enumerate(group[0].config["attackers"])
        for mode in MODES
        if f"{mode}_strong" in group[0].values
    ]
    seen = {str(row[2]) for row in rows if row[10] is not None}
    for attacker in (name for name in ATTACKERS if name not in seen):
        for mode, cells in PRINTED.items():
            cell = cells[attacker]
            empty: list[Entry] = [None] * 6
            rows.append(
                ["ResNet-34", "cifar10", attacker, MODES[mode], *empty, cell.robust, cell.clean, None]
            )
    note = (
        "Attacker: the training attacker, noise included, as in the paper. Strong: noise-free attack with "
        "restarts in the same ball. Certified: the majority vote under noise, another classifier. Printed: "
        "ResNet-34 on all of CIFAR-10."
    )
    return Table(
        title="Table 1 of purification: measured and printed",
        columns=COLUMNS,
        rows=[row for row in rows if row[4] is not None or row[10] is not None],
        note=note,
    )


def _row(group: Sequence[Record], index: int, attacker: str, mode: str) -> list[Entry]:
    first = group[0]
    shares = [_percent([r.values[f"{mode}_{what}"][index] for r in group]) for what in _MEASURES]
    proofs = [r.values[f"{mode}_certified"][index] for r in group]
    certified: list[Entry] = [None] * 3
    if proofs[0]:
        certified = [100 * float(share) for share in np.mean(proofs, axis=0)]
    ten = first.config["source"] == "cifar10"
    printed = PRINTED.get(mode, {}).get(attacker) if ten else None
    return [
        first.config["network"],
        first.config["source"],
        attacker,
        MODES[mode],
        *shares,
        *certified,
        printed.robust if printed else None,
        printed.clean if printed else None,
        len(group),
    ]


_MEASURES = ("accuracy", "attacker", "strong")


def _percent(shares: Sequence[float | None]) -> float | None:
    mean = float(np.mean([number(share) for share in shares]))
    return None if math.isnan(mean) else 100 * mean


TABLES: dict[str, Make] = {"purification.table1": table1}
