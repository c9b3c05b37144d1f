"""The process's one DuckDB connection, and Arrow data as tables in it."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable
from functools import cache, partial

import ibis
import pyarrow as pa
import pyarrow.dataset
from ibis.backends.duckdb import Backend

__all__ = ["connection", "register"]

_unused: list[Callable[[], object]] = []


@cache
def connection() -> Backend:
    """Return the one connection of this process, so that the tables of two files can be joined.

    It prints nothing, fetches nothing, keeps the order of rows, and spills what does not fit in memory.

    Examples
    --------
    >>> connection() is connection()
    True
    """
    # Spilled rows are private: a folder that only this user reads, removed at exit, not the working folder.
    spill = tempfile.TemporaryDirectory(prefix="tacit-", ignore_cleanup_errors=True)
    backend = ibis.duckdb.connect(
        temp_directory=spill.name, preserve_insertion_order=True, autoinstall_known_extensions=False
    )
    backend.raw_sql("PRAGMA disable_progress_bar")  # SET is refused in a notebook without widgets
    backend.spill = spill
    return backend


def register(rows: pa.Table | pa.dataset.Dataset | pa.RecordBatchReader) -> ibis.Table:
    """Return Arrow data as a table of the connection, without a copy, until nothing refers to it.

    A reader can be read once and a table many times, so a reader's rows are copied into DuckDB.

    Examples
    --------
    >>> register(pa.table({"x": [1, 2]})).x.sum().execute()
    3
    """
    # Ibis 12 keeps a memtable's data until the process ends; a table loaded again and again must not.
    while _unused:
        _unused.pop()()
    backend, name = connection(), ibis.util.gen_name("tacit")
    backend.con.register(name, rows)
    drop = partial(backend.con.unregister, name)
    if isinstance(rows, pa.RecordBatchReader):
        view, name = name, ibis.util.gen_name("tacit")
        backend.raw_sql(f'CREATE TEMP TABLE "{name}" AS FROM "{view}"')
        drop()
        drop = partial(backend.raw_sql, f'DROP TABLE "{name}"')
    table = backend.table(name)
    # The collector may run inside a query, where the connection is locked: drop at the next call instead.
    weakref.finalize(table.op(), _unused.append, drop).atexit = False
    return table
