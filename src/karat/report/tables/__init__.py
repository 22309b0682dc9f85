"""Tables of measured numbers beside printed ones, for people and for other programs."""

from karat.report.tables.features import FEATURES
from karat.report.tables.purification import PURIFICATION
from karat.report.tables.summary import summary_table
from karat.report.tables.table import FORMATS, Make, Table

TABLES: dict[str, Make] = {**FEATURES, **PURIFICATION}
"""Experiment -> its own table; all others get the averages of their values."""


def table_of(experiment: str) -> Make:
    """How the records of an experiment become a table."""
    return TABLES.get(experiment, summary_table)


__all__ = ["FORMATS", "TABLES", "Make", "Table", "summary_table", "table_of"]
