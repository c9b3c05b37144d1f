"""The process's one DuckDB connection."""

from __future__ import annotations

import tempfile
from functools import cache
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend

__all__ = ["connection", "ibis_backend", "private_folder"]


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """Return the one connection of this process, so that the tables of two files can be joined.

    It prints nothing, fetches nothing, keeps the order of rows, and spills what does not fit in memory.
    """
    # Spilled rows are private: not into the working folder.
    opened = duckdb.connect(
        config={
            "temp_directory": private_folder().name,
            "preserve_insertion_order": True,
            "autoinstall_known_extensions": False,
            "python_enable_replacements": False,  # a name in a query is never a variable of this process
        }
    )
    opened.execute("SET TimeZone = 'UTC'")
    opened.execute("PRAGMA disable_progress_bar")  # SET is refused in a notebook without widgets
    return opened


@cache
def private_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that only this user reads, removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="tacit-", ignore_cleanup_errors=True)


@cache
def ibis_backend() -> Backend:
    """Return Ibis on the connection; importing it takes longer than reading most files."""
    import ibis

    return ibis.duckdb.from_connection(connection())
