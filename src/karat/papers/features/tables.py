"""Tables 1 to 5 and 7 of features: measured beside printed."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from karat.core.statistics import t_interval
from karat.papers.features.checks.printed_size import table_name
from karat.papers.features.checks.reported import NAMES, REPORTED, MethodRun, part_label, part_of
from karat.papers.features.experiments.filters import FIG20, FiltersConfig, FiltersResult
from karat.papers.features.experiments.settings import Method
from karat.papers.features.experiments.tables import TAB1, TAB2, TAB3, TAB4, TAB5
from karat.study.run import Run, grouped
from karat.study.tables import Entry, Table, Tabulation

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


def methods_table(table: str, runs: Sequence[MethodRun]) -> Table:
    """Return one row per method and part: accuracies in percent with a 95% interval over seeds, and printed.

    Args:
        table: such as "tab1".
        runs: of it.

    Ref: features, Tab 1
    """
    rows = []
    for label, group in grouped(runs, lambda run: part_label(table, run.config)).items():
        for method in NAMES:
            if method in group[0].result.methods:
                rows.append(_row(table, label, method, group))
            if method == "ntk" and group[0].result.ntk_closed is not None:
                rows.append(_closed_form_row(label, group))
    note = (
        "Of several rates the validation sample chooses. Rows without printed numbers are not in the paper. "
        "The majority column is the accuracy of the best constant answer."
    )
    return Table(
        title=f"Table {table[3:]} of features: measured and printed", columns=COLUMNS, rows=rows, note=note
    )


def _row(table: str, label: str, method: Method, group: Sequence[MethodRun]) -> list[Entry]:
    printed = REPORTED.get((table, part_of(table, group[0].config)), {}).get(method)
    scores = [run.result.methods[method] for run in group]
    coins = method.endswith("_unstructured")
    majority = [run.result.majority_unstructured if coins else run.result.majority for run in group]
    return [
        label,
        NAMES[method],
        *_test_cells([one.test for one in scores]),
        printed.test if printed else None,
        _mean([one.train for one in scores], 100),
        printed.train if printed else None,
        _mean([one.cos for one in scores]),
        printed.cos if printed else None,
        _mean([one.hinge for one in scores]),
        _mean(majority, 100),
        _mean([one.lr for one in scores]),
        len(group),
    ]


def _closed_form_row(label: str, group: Sequence[MethodRun]) -> list[Entry]:
    """The NTK without training, so without a rate, a training accuracy or a printed number."""
    kernels = [run.result.ntk_closed for run in group if run.result.ntk_closed is not None]
    cells: dict[str, Entry] = dict.fromkeys(COLUMNS)
    cells |= {"part": label, "method": "NTK, closed form", "seeds": len(group)}
    cells |= zip(("test %", "low", "high"), _test_cells([kernel.test for kernel in kernels]), strict=True)
    cells["hinge"] = _mean([kernel.hinge for kernel in kernels])
    cells["majority %"] = _mean([run.result.majority for run in group], 100)
    return list(cells.values())


def _test_cells(accuracies: Sequence[float]) -> list[Entry]:
    """Mean in percent and both ends of its interval, which one seed does not have."""
    percent = [100 * accuracy for accuracy in accuracies]
    interval = t_interval(percent) if len(percent) > 1 else None
    ends = (interval.low, interval.high) if interval else (None, None)
    return [float(np.mean(percent)), *ends]


def _mean(values: Sequence[float | None], factor: float = 1.0) -> float | None:
    known = [value for value in values if value is not None]
    return factor * float(np.mean(known)) if known else None


def gradients_table(runs: Sequence[Run[FiltersConfig, FiltersResult]]) -> Table:
    """Return cosines of early mean gradients of the selected filter, beside those printed for the width.

    Args:
        runs: of any widths.

    Ref: features, Tab 7
    """
    by_width = grouped(runs, lambda run: run.config.m)
    rows: list[list[Entry]] = []
    for m in sorted(set(by_width) | set(_TAB7)):
        if m in by_width:
            measured = np.mean([run.result.gradient_cosines for run in by_width[m]], axis=0)
            rows.append([f"ResNet({m})", "measured", *map(float, measured)])
        if m in _TAB7:
            rows.append([f"ResNet({m})", "printed", *_TAB7[m]])
    return Table(title="Table 7 of features", columns=("net", "", *GRADIENTS), rows=rows)


TABLES: tuple[Tabulation[Any, Any], ...] = (
    *(
        Tabulation(experiment, partial(methods_table, table_name(experiment)))
        for experiment in (TAB1, TAB2, TAB3, TAB4, TAB5)
    ),
    Tabulation(FIG20, gradients_table),
)
