"""Tables of a SQLite or DuckDB file, read without writing to it, in the order in which the file returns the rows."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa

from tacit.data.names import check_names
from tacit.data.view import TableView, quoted
from tacit.privacy.errors import InvalidInput

__all__ = ["is_query", "read_database_file"]

_BATCH = 1 << 14
_KINDS = {"integer": pa.int64(), "real": pa.float64(), "blob": pa.binary()}


def is_query(wanted: str) -> bool:
    """Return whether the words after a database's ``#`` are a query rather than the name of a table."""
    return re.match(r"\s*(select|with|from)\s", wanted, re.IGNORECASE) is not None


def read_database_file(path: Path, wanted: str, *, scheme: str) -> TableView:
    """Return the rows of a table or a query; raise with the tables that there are if it is not one."""
    return (_read_sqlite if scheme == "sqlite" else _read_duckdb)(path, wanted)


def _read_duckdb(path: Path, wanted: str) -> TableView:
    with duckdb.connect(str(path), read_only=True) as database:
        found = database.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() "
            "UNION SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        tables = {
            name if schema == "main" else f"{schema}.{name}": f"{quoted(schema)}.{quoted(name)}"
            for schema, name in found
        }
        statement = _statement(wanted, tables)
        return _stored(database.execute(statement).to_arrow_reader(_BATCH), wanted)


def _read_sqlite(path: Path, wanted: str) -> TableView:
    address = f"{path.resolve().as_uri()}?mode=ro"
    with closing(
        sqlite3.connect(address, uri=True, check_same_thread=False)
    ) as database:  # DuckDB reads in its threads
        named = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        statement = _statement(wanted, {name: quoted(name) for (name,) in named})
        schema = _sqlite_schema(database, statement)
        batches = _sqlite_batches(database, statement, schema)
        return _stored(pa.RecordBatchReader.from_batches(schema, batches), wanted)


def _stored(rows: pa.RecordBatchReader, wanted: str) -> TableView:
    check_names(rows.schema.names, source=wanted)
    return TableView.of_arrow(rows)


def _statement(wanted: str, tables: Mapping[str, str]) -> str:
    """Return the query of a table, given as SQL writes the tables that there are, or the wanted query itself."""
    if is_query(wanted):
        return f"SELECT * FROM ({wanted.rstrip().rstrip(';')})"
    if wanted.strip() not in tables:
        raise InvalidInput(f"has no table {wanted.strip()!r}; its tables are {', '.join(sorted(tables)) or 'none'}")
    return f"SELECT * FROM {tables[wanted.strip()]}"


def _sqlite_schema(database: sqlite3.Connection, statement: str) -> pa.Schema:
    """The types of the values, for SQLite columns have none: mixed ones are text."""
    names = [column[0] for column in database.execute(f"{statement} LIMIT 0").description]
    asked = ", ".join(f"group_concat(DISTINCT nullif(typeof({quoted(name)}), 'null'))" for name in names)
    found = database.execute(f"SELECT {asked} FROM ({statement})").fetchone()
    return pa.schema([(name, _sqlite_kind(kinds)) for name, kinds in zip(names, found, strict=True)])


def _sqlite_kind(found: str | None) -> pa.DataType:
    kinds = {*(found or "text").split(",")}
    if kinds == {"integer", "real"}:
        return pa.float64()
    return _KINDS.get(kinds.pop(), pa.string()) if len(kinds) == 1 else pa.string()


def _sqlite_batches(database: sqlite3.Connection, statement: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    values = ", ".join(
        f"CAST({quoted(field.name)} AS TEXT)" if pa.types.is_string(field.type) else quoted(field.name)
        for field in schema
    )
    cursor = database.execute(f"SELECT {values} FROM ({statement})")
    while rows := cursor.fetchmany(_BATCH):
        columns = zip(*rows, strict=True)
        yield pa.record_batch(
            [pa.array(one, kind) for one, kind in zip(columns, schema.types, strict=True)], schema=schema
        )
