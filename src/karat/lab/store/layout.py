"""The layout of a store file: its mark, its version, its tables."""

import sqlite3

APPLICATION = 0x6B617274
"""SQLite's application id of a karat store ("kart"), written into the header of the file."""

VERSION = 5
"""Of the tables below; a release that changes them takes the next number and reads the old ones, too."""

_TABLES = (
    "CREATE TABLE schema (version INTEGER NOT NULL)",
    f"INSERT INTO schema (version) VALUES ({VERSION})",
    # With row ids several records share a page; without, each of them would take one of its own.
    """
    CREATE TABLE cells (
        experiment TEXT NOT NULL,
        config_hash TEXT NOT NULL,
        seed INTEGER NOT NULL,
        status TEXT NOT NULL,
        version TEXT NOT NULL,
        source TEXT NOT NULL,
        cpu_seconds REAL NOT NULL,
        saved_at TEXT NOT NULL,
        record TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (experiment, config_hash, seed)
    )
    """,
    # What was asked for, so that a report can show a sweep before it is finished.
    """
    CREATE TABLE sweeps (
        name TEXT NOT NULL PRIMARY KEY,
        experiment TEXT NOT NULL,
        plan TEXT NOT NULL,
        saved_at TEXT NOT NULL,
        digest TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE benchmarks (
        name TEXT NOT NULL PRIMARY KEY,
        outcome TEXT NOT NULL,
        saved_at TEXT NOT NULL,
        digest TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    f"PRAGMA application_id = {APPLICATION}",
)


class LayoutError(ValueError):
    """The file is not a store this version of karat can use; the message completes "PATH: ..."."""


class ForeignError(LayoutError):
    """The file has not the marks of a store, or has lost them."""


def check(connection: sqlite3.Connection) -> int:
    """Return the version of a store (0 for an empty file), or raise a LayoutError for any other file."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    if mark != APPLICATION or not {"schema", "cells"} <= tables:
        raise ForeignError("not a karat store (an SQLite file of another program).")
    (version,) = connection.execute("SELECT MAX(version) FROM schema").fetchone()
    if not isinstance(version, int):
        raise ForeignError("not a karat store any more (its schema version is lost).")
    if version > VERSION:
        raise LayoutError(
            f"written by a newer karat (schema {version}, this one reads up to {VERSION}); update karat."
        )
    if version < VERSION:
        raise LayoutError(
            f"written by a karat before its first release (schema {version}, this one reads {VERSION}); "
            "choose another file, its cells are computed anew."
        )
    return version


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty file, in one transaction under the write lock."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if check(connection) == 0:  # asked again: another process may have been faster
            for statement in _TABLES:
                connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
