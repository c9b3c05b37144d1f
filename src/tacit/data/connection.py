"""The process's one DuckDB connection."""

from __future__ import annotations

import atexit
import re
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from tacit.privacy.errors import InvalidInput
from tacit.privacy.unfinished import temporary_folder

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend

__all__ = ["connection", "ibis_backend", "limit_memory", "private_folder"]

_SIZE = re.compile(r"\d+(\.\d+)?\s*[KMGT]i?B")


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """Return the one connection of this process, so that the tables of two files can be joined.

    It prints nothing, fetches nothing, keeps the order of rows, and spills what does not fit in memory.
    """
    # Spilled rows are private: not into the working folder.
    opened = duckdb.connect(
        config={
            "temp_directory": str(private_folder()),
            "preserve_insertion_order": True,
            "autoinstall_known_extensions": False,
            "python_enable_replacements": False,  # a name in a query is never a variable of this process
        }
    )
    opened.execute("SET TimeZone = 'UTC'")
    opened.execute("PRAGMA disable_progress_bar")  # SET is refused in a notebook without widgets
    return opened


def limit_memory(memory: str, *, engine: str = "duckdb") -> None:
    """Set the most memory that the connection may use, such as ``2GB``; what does not fit is spilled to disk."""
    if engine != "duckdb":
        raise InvalidInput("is for the engine duckdb: Spark has its own settings", field="memory")
    if not _SIZE.fullmatch(memory):
        raise InvalidInput(f"must be a size such as 2GB or 500MB, got {memory!r}", field="memory")
    connection().execute(f"SET memory_limit = '{memory}'")


@cache
def private_folder() -> Path:
    """Return a folder that only this user reads, removed when the process ends."""
    until_the_end = ExitStack()
    atexit.register(until_the_end.close)
    return until_the_end.enter_context(temporary_folder())


@cache
def ibis_backend() -> Backend:
    """Return Ibis on the connection; importing it takes longer than reading most files."""
    import ibis

    return ibis.duckdb.from_connection(connection())
