"""Every cell of Tables 1 to 5 as printed: train and test accuracy in percent, best cosine."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from karat.papers.features.experiments.methods import MethodsResult
from karat.papers.features.experiments.settings import LearningConfig, Method
from karat.study.run import Run

MethodRun = Run[LearningConfig, MethodsResult]


class PrintedCell(NamedTuple):
    """What the paper prints for one method.

    Args:
        train: accuracy in percent.
        test: accuracy in percent.
        cos: best cosine, None for the NTK.
    """

    train: float
    test: float
    cos: float | None


PRINTED_METHODS: tuple[Method, ...] = (
    "network",
    "ntk",
    "rf",
    "one_step",
    "two_step",
    "network_unstructured",
)
"""Columns of the tables, in their order."""

NAMES: Mapping[Method, str] = {
    "network": "Network",
    "ntk": "NTK",
    "rf": "RF",
    "one_step": "One Step",
    "one_step_rescaled": "One Step, rescaled",
    "two_step": "Two Step",
    "network_unstructured": "Network w/o structure",
    "ntk_unstructured": "NTK w/o structure",
    "rf_unstructured": "RF w/o structure",
}

# Train / test accuracy / cosine, the columns in the order of PRINTED_METHODS.
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
VARIED: Mapping[str, tuple[str, Callable[[LearningConfig], float]]] = {
    "tab3": ("d", lambda config: config.d),
    # The labels of the parity itself are balanced.
    "tab4": ("negative_rate", lambda config: 0.5 if config.negative_rate is None else config.negative_rate),
    "tab5": ("n", lambda config: config.n),
}
"""Table -> the setting that tells its parts apart."""


def _parsed(text: str) -> dict[Method, PrintedCell]:
    train, test, cos = (row.split() for row in text.split("/"))
    return {
        method: PrintedCell(float(fit), float(right), None if cosine == "-" else float(cosine))
        for method, fit, right, cosine in zip(PRINTED_METHODS, train, test, cos, strict=True)
    }


REPORTED: Mapping[tuple[str, str], Mapping[Method, PrintedCell]] = {
    part: _parsed(text) for part, text in _PRINTED.items()
}
"""(table, part) -> method -> printed cell; a table of one part has the part ""."""


def part_of(table: str, config: LearningConfig) -> str:
    """Return the part of a table that a run belongs to, such as "d=100".

    Args:
        table: such as "tab3".
        config: of the run.
    """
    if table not in VARIED:
        return ""
    name, setting = VARIED[table]
    return f"{name}={setting(config):g}"


def part_label(table: str, config: LearningConfig) -> str:
    """Return the part of a table in words, such as "negative_rate=0.8, balanced batches".

    What a run adds to the printed setting is named too.

    Args:
        table: such as "tab4".
        config: of the run.
    """
    weights = "class weights" if config.weighted and table in ("tab2", "tab4") else ""
    batches = "balanced batches" if config.sampling != "plain" else ""
    return ", ".join(filter(None, [part_of(table, config), weights, batches]))


def reported_text(table: str) -> str:
    """Return the test accuracies of a table on one line, for the field `reported` of its claim.

    Args:
        table: such as "tab1".

    >>> reported_text("tab1")
    'test accuracy 100, 86.4, 76, 52.2, 100, 52'
    """
    texts = []
    for (name, part), cells in REPORTED.items():
        if name == table:
            numbers = ", ".join(f"{cells[method].test:g}" for method in PRINTED_METHODS)
            texts.append(f"{numbers} ({part})" if part else numbers)
    return "test accuracy " + "; ".join(texts)
