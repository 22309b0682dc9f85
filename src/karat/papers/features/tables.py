"""Tables 1 to 5 and 7 of features: measured beside printed."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from karat.core.statistics import t_interval
from karat.papers.features.checks.reported import NAMES, REPORTED, part_label, part_of
from karat.study.record import Record
from karat.study.tables import Entry, Make, Table

COLUMNS = (
    "part",
    "method",
    "test %",
    "low",
    "high",
    "printed test %",
    "train %",
    "printed train %",
    "cosine",
    "printed cosine",
    "hinge",
    "majority %",
    "rate",
    "seeds",
)
GRADIENTS = ("v1, mean", "v2, mean", "v3, mean", "v1, v2", "v1, v3", "v2, v3")
_TAB7 = {
    128: (0.9727, 0.8655, 0.6549, 0.7454, 0.5083, 0.6533),
    256: (0.8646, 0.9665, 0.9121, 0.7087, 0.6919, 0.9135),
}


def methods_table(table: str, records: Sequence[Record]) -> Table:
    """One row per method and part: accuracies in percent with a 95% interval over seeds, beside the printed.

    Ref: features, Tab 1
    """
    parts: dict[str, list[Record]] = {}
    for record in records:
        if record.status == "done":
            parts.setdefault(part_label(table, record.config), []).append(record)
    rows = [
        _row(table, label, method, group)
        for label, group in parts.items()
        for method in NAMES
        if f"{method}_test" in group[0].values
    ]
    note = (
        "Rates are chosen on a validation sample. Rows without printed numbers are not in the paper. "
        "The majority column is the accuracy of the best constant answer."
    )
    return Table(
        title=f"Table {table[3:]} of features: measured and printed", columns=COLUMNS, rows=rows, note=note
    )


def _row(table: str, label: str, method: str, group: Sequence[Record]) -> list[Entry]:
    printed = REPORTED.get((table, part_of(table, group[0].config)), {}).get(method)
    test = [100 * float(record.values[f"{method}_test"]) for record in group]
    interval = t_interval(test) if len(test) > 1 else None
    majority = "majority_unstructured" if method.endswith("_unstructured") else "majority"
    return [
        label,
        NAMES[method],
        float(np.mean(test)),
        interval.low if interval else None,
        interval.high if interval else None,
        printed.test if printed else None,
        _mean(group, f"{method}_train", 100),
        printed.train if printed else None,
        _mean(group, f"{method}_cos"),
        printed.cos if printed else None,
        _mean(group, f"{method}_hinge"),
        _mean(group, majority, 100),
        _mean(group, f"{method}_lr"),
        len(group),
    ]


def _mean(group: Sequence[Record], name: str, factor: float = 1.0) -> float | None:
    values = [record.values[name] for record in group if name in record.values]
    return factor * float(np.mean(values)) if values else None


def gradients_table(records: Sequence[Record]) -> Table:
    """Cosines of early mean gradients for the selected filter, beside the printed ones of the same width.

    Ref: features, Tab 7
    """
    done = [record for record in records if record.status == "done"]
    rows: list[list[Entry]] = []
    for m in sorted({record.config["m"] for record in done} | set(_TAB7)):
        own = [record.values["gradient_cosines"] for record in done if record.config["m"] == m]
        for kind, values in (("measured", np.mean(own, axis=0) if own else None), ("printed", _TAB7.get(m))):
            if values is not None:
                rows.append([f"ResNet({m})", kind, *map(float, values)])
    return Table(title="Table 7 of features", columns=("net", "", *GRADIENTS), rows=rows)


TABLES: dict[str, Make] = {
    f"features.{name}": partial(methods_table, name) for name in ("tab1", "tab2", "tab3", "tab4", "tab5")
} | {"features.fig20": gradients_table}
