"""Queries that every database reads alike: written in DuckDB's SQL, which Ibis translates for the others."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tacit.data.view import TableView, quoted

if TYPE_CHECKING:
    import ibis

__all__ = [
    "SqlColumn",
    "SqlValue",
    "column_of",
    "count_rows",
    "float_literal",
    "is_number",
    "is_ordered",
    "schema_of",
    "select",
]

_LARGEST = 1.7976931348623157e308


class SqlValue(NamedTuple):
    """What SQL computes, and its type."""

    text: str
    kind: pa.DataType


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column by its name and type, and what is asked of it in SQL."""

    name: str
    kind: pa.DataType

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers; truth values are none."""
        return is_number(self.kind)

    @property
    def value(self) -> str:
        """The column unchanged."""
        return quoted(self.name)

    @property
    def number(self) -> str:
        """The column as float64, truth values as 0 and 1."""
        if pa.types.is_boolean(self.kind):
            return f"CASE WHEN {self.value} THEN {float_literal(1)} WHEN NOT {self.value} THEN {float_literal(0)} END"
        return f"CAST({self.value} AS DOUBLE)"

    @property
    def is_missing(self) -> str:
        """Whether a row has no finite number there; never NULL."""
        return f"NOT COALESCE(ABS({self.number}) <= {float_literal(_LARGEST)}, FALSE)"


def column_of(table: TableView | ibis.Table, name: str) -> SqlColumn:
    """Return a column of a table that has it."""
    kind = schema_of(table, [name]).field(name).type
    return SqlColumn(name, kind.value_type if pa.types.is_dictionary(kind) else kind)


def schema_of(table: TableView | ibis.Table, columns: Sequence[str]) -> pa.Schema:
    """Return the types of some columns; no row is read."""
    if isinstance(table, TableView):
        chosen = ", ".join(map(quoted, columns))
        return table.query(f"SELECT {chosen} FROM {quoted(table.name)} LIMIT 0").to_arrow(columns).schema
    schema: pa.Schema = table.select(*columns).schema().to_pyarrow()
    return schema


def is_number(kind: pa.DataType) -> bool:
    """Return whether values of a type are numbers; truth values are none."""
    return any(of(kind) for of in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


def select(
    table: TableView | ibis.Table, columns: Mapping[str, SqlValue], *, group_by: Sequence[str] = ()
) -> TableView | ibis.Table:
    """Return new columns of a table, for each of its rows or of its groups; lazily, where the rows are."""
    source = quoted(f"rows_{secrets.token_hex(8)}")
    chosen = ", ".join(f"{value.text} AS {quoted(name)}" for name, value in columns.items())
    groups = f" GROUP BY {', '.join(map(quoted, group_by))}" if group_by else ""
    query = f"SELECT {chosen} FROM {source}{groups}"
    if isinstance(table, TableView):
        return table.query(f"WITH {source} AS (FROM {quoted(table.name)}) {query}")
    import ibis

    types = pa.schema({name: value.kind for name, value in columns.items()})  # which not every database knows
    return table.alias(source.strip('"')).sql(query, dialect="duckdb").cast(ibis.Schema.from_pyarrow(types))


def count_rows(table: TableView | ibis.Table) -> int:
    """Return how many rows a table has."""
    if isinstance(table, TableView):
        return int(table.query(f"SELECT COUNT(*) AS n FROM {quoted(table.name)}").to_arrow(["n"])["n"][0].as_py())
    return int(table.count().execute())


def is_ordered(table: TableView | ibis.Table) -> bool:
    """Return whether every reading gives the rows in the same order: files and frames do, other databases do not."""
    return isinstance(table, TableView) or bool(table.get_backend().name == "duckdb")


def float_literal(value: float) -> str:
    """Return a number as float64 in SQL, to the last bit: with an exponent no database reads it as a decimal."""
    return f"{Decimal(repr(float(value))):e}"
