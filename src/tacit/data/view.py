"""Rows as a view of DuckDB's connection: read in batches and in order, without importing Ibis."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from tacit.data.connection import connection, ibis_backend
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import duckdb
    import ibis
    import pyarrow.dataset

__all__ = ["TableView", "as_ibis", "is_stored", "literal", "quoted", "union_views"]

_NUMBERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"}
"""Types that a union unifies."""

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

_unused: list[Callable[[], object]] = []


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class TableView:
    """A view of the connection: its name there, and its columns with DuckDB's types."""

    name: str
    types: dict[str, str]
    decimal_marks: dict[str, str] = field(default_factory=dict)
    """The mark of decimals in each column of a text file, whose type is not settled yet."""

    @classmethod
    def of_query(cls, query: str, *, decimal_marks: Mapping[str, str] | None = None) -> TableView:
        """Return a view of a query; each reading runs it."""
        name = _new_name()
        connection().execute(f"CREATE TEMP VIEW {quoted(name)} AS {query}")
        return cls._named(name, decimal_marks)

    @classmethod
    def of_arrow(cls, rows: pa.Table | pa.dataset.Dataset | pa.RecordBatchReader) -> TableView:
        """Return Arrow data as a view, without a copy, until nothing refers to it.

        A reader can be read once and a view many times, so a reader's rows are copied into DuckDB.
        """
        name = _new_name()
        connection().register(name, rows)
        view = cls._until_unused(name, partial(connection().unregister, name))
        return view.stored(view.columns) if isinstance(rows, pa.RecordBatchReader) else view

    @classmethod
    def _until_unused(
        cls, name: str, drop: Callable[[], object], decimal_marks: Mapping[str, str] | None = None
    ) -> TableView:
        while _unused:
            _unused.pop()()
        view = cls._named(name, decimal_marks)
        # The collector may run inside a query, where the connection is locked: drop at the next call instead.
        weakref.finalize(view, _unused.append, drop).atexit = False
        return view

    @classmethod
    def _named(cls, name: str, decimal_marks: Mapping[str, str] | None) -> TableView:
        described = connection().execute(f"DESCRIBE {quoted(name)}").fetchall()
        return cls(name, {str(column): str(kind) for column, kind, *_ in described}, dict(decimal_marks or {}))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.types)

    def read(self, columns: Sequence[str], *, batch_rows: int = 1 << 20) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some columns, in order; never more than a few batches are in memory."""
        yield from self._select(columns).to_arrow_reader(batch_rows)

    def to_arrow(self, columns: Sequence[str]) -> pa.Table:
        """Return all rows of some columns."""
        return self._select(columns).to_arrow_table()

    def first(self, columns: Sequence[str], rows: int) -> dict[str, list[Any]]:
        """Return the values of some columns in the first rows."""
        found: dict[str, list[Any]] = (
            connection().execute(f"{self._statement(columns)} LIMIT {rows}").to_arrow_table().to_pydict()
        )
        return found

    def query(self, query: str) -> TableView:
        """Return a view of a query that reads this one, which then lives as long."""
        made = TableView.of_query(query)
        weakref.finalize(made, id, self).atexit = False
        return made

    def replaced(self, values: Mapping[str, str]) -> TableView:
        """Return a view with other values, as SQL, in some columns."""
        if not values:
            return self
        changed = ", ".join(f"{value} AS {quoted(name)}" for name, value in values.items())
        return self.query(f"SELECT * REPLACE ({changed}) FROM {quoted(self.name)}")

    def stored(self, columns: Sequence[str]) -> TableView:
        """Return some columns as a table of DuckDB: they are read once, and spilled to disk where they do not fit."""
        name = _new_name()
        connection().execute(f"CREATE TEMP TABLE {quoted(name)} AS {self._statement(columns)}")
        drop = partial(connection().execute, f"DROP TABLE {quoted(name)}")
        return self._until_unused(name, drop, self.decimal_marks)

    def _select(self, columns: Sequence[str]) -> duckdb.DuckDBPyConnection:
        return connection().execute(self._statement(columns))

    def _statement(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(self.name)}"

    def to_ibis(self) -> ibis.Table:
        """Return the view as a lazy Ibis table."""
        table = ibis_backend().table(self.name)
        weakref.finalize(table.op(), id, self).atexit = False  # the rows live as long as the table
        return table


def as_ibis(table: TableView | ibis.Table) -> ibis.Table:
    """Return an open table as a lazy Ibis table."""
    return table.to_ibis() if isinstance(table, TableView) else table


def is_stored(view: TableView) -> bool:
    """Return whether a table's rows are in DuckDB, so that a query reads no file."""
    found = connection().execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = ?", [view.name]).fetchone()
    return bool(found and found[0])


def union_views(views: Sequence[TableView], *, files: Sequence[Path], folder: Path | None = None) -> TableView:
    """Return the rows of several files, one after the other; ``key=value`` folders become columns.

    Raise unless all files have the same columns.
    """
    stated = [_partitions(view, file, folder) for view, file in zip(views, files, strict=True)]
    if len(views) == 1 and not stated[0]:
        return views[0]
    _check_alike(views, stated, files)
    names = [*views[0].columns, *stated[0]]
    selected = (
        ", ".join(f"{_cell(parts[name])} AS {quoted(name)}" if name in parts else quoted(name) for name in names)
        for parts in stated
    )
    united = TableView.of_query(
        " UNION ALL ".join(
            f"SELECT {chosen} FROM {quoted(view.name)}" for chosen, view in zip(selected, views, strict=True)
        ),
        decimal_marks=views[0].decimal_marks,
    )
    weakref.finalize(united, id, views).atexit = False  # their rows live as long as the table
    return united


def _partitions(view: TableView, file: Path, folder: Path | None) -> dict[str, str | None]:
    """The columns in the names of folders, as Hive writes them."""
    if folder is None:
        return {}
    pairs = [part.partition("=") for part in file.relative_to(folder).parts[:-1]]
    named = ((unquote(name), unquote(value)) for name, sign, value in pairs if sign)
    return {name: None if value == _NO_VALUE else value for name, value in named if name not in view.columns}


def _check_alike(views: Sequence[TableView], stated: Sequence[dict[str, str | None]], files: Sequence[Path]) -> None:
    names = [*views[0].columns, *stated[0]]
    for view, parts, file in zip(views, stated, files, strict=True):
        found = [*view.columns, *parts]
        if set(found) != set(names):
            raise InvalidInput(
                f"{file} must have the columns of {files[0].name}, {', '.join(names)}, got {', '.join(found)}"
            )
        for name, kind in view.types.items():
            expected = views[0].types.get(name, "VARCHAR")
            if kind != expected and not {kind, expected} <= _NUMBERS:
                raise InvalidInput(
                    f"{file} must have the column {name!r} as {files[0].name} has it, {expected}, got {kind}"
                )


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """Return a value as SQL writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return str(value).lower() if isinstance(value, bool | int) else "'" + str(value).replace("'", "''") + "'"


def _cell(value: str | None) -> str:
    return "CAST(NULL AS VARCHAR)" if value is None else literal(value)


def _new_name() -> str:
    return f"tacit_{secrets.token_hex(8)}"
