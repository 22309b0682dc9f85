"""The layout of a store file: its mark, its version, and the steps from one version to the next."""

import sqlite3

APPLICATION = 0x6B617274
"""SQLite's application id of a karat store ("kart"), written into the header of the file."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE schema (version INTEGER NOT NULL);
    INSERT INTO schema (version) VALUES (0);
    CREATE TABLE cells (
        experiment TEXT NOT NULL,
        config_hash TEXT NOT NULL,
        seed INTEGER NOT NULL,
        status TEXT NOT NULL,
        version TEXT NOT NULL,
        cpu_seconds REAL NOT NULL,
        record TEXT NOT NULL,
        saved_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
        PRIMARY KEY (experiment, config_hash, seed)
    ) WITHOUT ROWID;
    """,
    # The hash of the source code, and an index that answers everything about cells but their records.
    """
    ALTER TABLE cells ADD COLUMN source TEXT NOT NULL DEFAULT '';
    CREATE INDEX cells_light ON cells
        (experiment, status, version, source, config_hash, seed, cpu_seconds, saved_at);
    """,
    # What was asked for, so that a report can show a sweep before it is finished; rows of benchmarks.
    """
    CREATE TABLE sweeps (
        name TEXT NOT NULL PRIMARY KEY,
        experiment TEXT NOT NULL,
        plan TEXT NOT NULL,
        saved_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
    ) WITHOUT ROWID;
    CREATE TABLE benchmarks (
        name TEXT NOT NULL PRIMARY KEY,
        outcome TEXT NOT NULL,
        saved_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
    ) WITHOUT ROWID;
    """,
    # A digest of all other columns; rows written before have none.
    """
    ALTER TABLE cells ADD COLUMN digest TEXT;
    ALTER TABLE sweeps ADD COLUMN digest TEXT;
    ALTER TABLE benchmarks ADD COLUMN digest TEXT;
    """,
    # With row ids several records share a page; without, each of them took one of its own. Whoever looks for
    # cells reads their digests too, so that an index of the other columns served nobody.
    """
    CREATE TABLE packed (
        experiment TEXT NOT NULL,
        config_hash TEXT NOT NULL,
        seed INTEGER NOT NULL,
        status TEXT NOT NULL,
        version TEXT NOT NULL,
        source TEXT NOT NULL,
        cpu_seconds REAL NOT NULL,
        saved_at TEXT NOT NULL,
        record TEXT NOT NULL,
        digest TEXT,
        PRIMARY KEY (experiment, config_hash, seed)
    );
    INSERT INTO packed SELECT experiment, config_hash, seed, status, version, source, cpu_seconds, saved_at,
        record, digest FROM cells;
    DROP TABLE cells;
    ALTER TABLE packed RENAME TO cells;
    """,
)
"""Step i brings a store from version i to version i + 1; append, never edit."""

VERSION = len(MIGRATIONS)

_PRESENT = {
    "cells": (
        "experiment, config_hash, seed, status, version, cpu_seconds, record, saved_at, source, digest"
    ),
    "sweeps": "name, experiment, plan, saved_at, digest",
    "benchmarks": "name, outcome, saved_at, digest",
}
_DEFAULTS = {"source": "''"}


class SchemaError(ValueError):
    """The file is not a store this version of karat can use; the message completes "PATH: ..."."""


class ForeignError(SchemaError):
    """The file has not the marks of a store, or has lost them."""


def check(connection: sqlite3.Connection) -> int:
    """Return the version of a store (0 for an empty file), or raise a SchemaError for any other file."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    if mark != APPLICATION or not {"schema", "cells"} <= tables:
        raise ForeignError("not a karat store (an SQLite file of another program).")
    version = (connection.execute("SELECT MAX(version) FROM schema").fetchone())[0]
    if not isinstance(version, int):
        raise ForeignError("not a karat store any more (its schema version is lost).")
    if version > VERSION:
        raise SchemaError(
            f"written by a newer karat (schema {version}, this one reads up to {VERSION}); update karat."
        )
    return version


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring an empty or older store to the present version, in one transaction under the write lock."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in MIGRATIONS[check(connection) : VERSION]:
            for statement in filter(str.strip, step.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("UPDATE schema SET version = ?", (VERSION,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def show_as_present(connection: sqlite3.Connection) -> None:
    """Show an older layout as the present one, to this connection alone; nothing is written into the file."""
    connection.execute("PRAGMA temp_store = MEMORY")
    for table, names in _PRESENT.items():
        stored = {row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")}
        columns = ", ".join(
            name if name in stored else f"{_DEFAULTS.get(name, 'NULL')} AS {name}"
            for name in names.split(", ")
        )
        origin = f"FROM main.{table}" if stored else "WHERE 0"
        connection.execute(f"CREATE TEMP VIEW {table} AS SELECT {columns} {origin}")
