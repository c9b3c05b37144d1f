"""Feature rows from a frame, an Arrow table, an Ibis table or a path: only the columns that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import pandas as pd
import pyarrow as pa

from tacit.data import load_table, read_rows
from tacit.data.names import check_present

__all__ = ["read_columns"]


def read_columns(table: Any, columns: Sequence[str]) -> pa.Table:  # noqa: ANN401
    """Return these columns of all rows."""
    if isinstance(table, pd.DataFrame) and all(name in table.columns for name in columns):
        return pa.Table.from_pandas(table[list(columns)], preserve_index=False)
    given = table if isinstance(table, pa.Table | ibis.Table) else load_table(table)
    for name in columns:
        check_present(name, given.column_names if isinstance(given, pa.Table) else given.columns, argument="data")
    return given.select(list(columns)) if isinstance(given, pa.Table) else read_rows(given, columns=list(columns))
