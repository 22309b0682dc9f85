"""Table 1 of purification: measured accuracies beside the printed ones."""

import math
from collections.abc import Sequence

import numpy as np

from karat.papers.purification.experiments.table1 import TABLE1, Table1Config, Table1Result
from karat.papers.purification.printed_table1 import ATTACKERS, LABELS, PRINTED
from karat.study.run import Run, by_setting
from karat.study.tables import Entry, Table, Tabulation

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
ATTACKER, CLEAN, PRINTED_ROBUST = (
    COLUMNS.index(name) for name in ("attacker", "clean %", "printed robust %")
)
"""Columns that decide which rows are shown."""

Table1Runs = Sequence[Run[Table1Config, Table1Result]]


def table1(runs: Table1Runs) -> Table:
    """Make one row per net, attacker and training; printed rows of ResNet-34 where nothing was measured.

    Ref: purification, Tab 1
    """
    rows = [
        _row(group, index, mode)
        for group in by_setting(runs)
        for index in range(len(group[0].config.attackers))
        for mode in LABELS
        if mode in group[0].result.trainings
    ]
    compared = {row[ATTACKER] for row in rows if row[PRINTED_ROBUST] is not None}
    for attacker in (name for name in ATTACKERS if name not in compared):
        for mode, cells in PRINTED.items():
            cell = cells[attacker]
            unmeasured: list[Entry] = [None] * (PRINTED_ROBUST - CLEAN)
            rows.append(
                ["ResNet-34", "cifar10", attacker, LABELS[mode], *unmeasured, cell.robust, cell.clean, None]
            )
    note = (
        "Attacker: the training attacker, noise included, as in the paper. Strong: noise-free attack with "
        "restarts in the same ball. Certified: the majority vote under noise, another classifier. Printed: "
        "ResNet-34 on all of CIFAR-10."
    )
    return Table(
        title="Table 1 of purification: measured and printed",
        columns=COLUMNS,
        rows=[row for row in rows if row[CLEAN] is not None or row[PRINTED_ROBUST] is not None],
        note=note,
    )


def _row(group: Table1Runs, index: int, mode: str) -> list[Entry]:
    """One training against one attacker, means over the seeds."""
    config = group[0].config
    attacker = config.attackers[index]
    trained = [run.result.trainings[mode] for run in group]
    certified: list[Entry] = [None] * 3
    if trained[0].certified[index]:
        shares = np.mean([each.certified[index] for each in trained], axis=0)
        certified = [100 * float(share) for share in shares]
    # The printed numbers are of ten classes of photographs.
    printed = PRINTED.get(mode, {}).get(attacker) if config.source == "cifar10" else None
    return [
        config.network,
        config.source,
        attacker,
        LABELS[mode],
        _percent([each.accuracy[index] for each in trained]),
        _percent([each.attacker[index] for each in trained]),
        _percent([each.strong[index] for each in trained]),
        *certified,
        printed.robust if printed else None,
        printed.clean if printed else None,
        len(group),
    ]


def _percent(shares: Sequence[float]) -> float | None:
    mean = float(np.mean(shares))
    return None if math.isnan(mean) else 100 * mean


TABLES = (Tabulation(TABLE1, table1),)
