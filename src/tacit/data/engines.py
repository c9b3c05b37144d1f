"""Which engine reads a table: DuckDB in this process, or Spark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from tacit.privacy.errors import InvalidInput

__all__ = ["EngineName", "open_table"]

EngineName = Literal["duckdb", "spark"]

_SIZE = re.compile(r"\d+(\.\d+)?\s*[KMGT]i?B")


def open_table(source: str, *, engine: EngineName = "duckdb", memory: str | None = None) -> Any:  # noqa: ANN401
    """Return a table as every ``protect`` takes it: the source itself for DuckDB, an Ibis table for Spark.

    Parameters
    ----------
    source
        What :func:`tacit.data.load_table` takes; for Spark Parquet, or the name of a table.
    memory
        The most memory that DuckDB may use, such as ``2GB``; what does not fit is spilled to disk.
    """
    if memory is not None:
        _limit_memory(memory, engine)
    return source if engine == "duckdb" else _open_spark(source)


def _limit_memory(memory: str, engine: EngineName) -> None:
    from tacit.data.connection import connection

    if engine == "spark":
        raise InvalidInput("is for the engine duckdb: Spark has its own settings", field="memory")
    if not _SIZE.fullmatch(memory):
        raise InvalidInput(f"must be a size such as 2GB or 500MB, got {memory!r}", field="memory")
    connection().execute(f"SET memory_limit = '{memory}'")


def _open_spark(source: str) -> Any:  # noqa: ANN401
    import ibis
    from ibis.common.exceptions import IbisError, TableNotFound

    from tacit.data.spark import start_spark

    session = start_spark()  # raises where PySpark is not installed
    from pyspark.errors import PySparkException

    backend = ibis.pyspark.connect(session)
    try:
        return backend.read_parquet(source) if "/" in source or Path(source).exists() else backend.table(source)
    except (PySparkException, IbisError, TableNotFound) as error:
        raise InvalidInput(
            f"{source} must be a Parquet file or folder, or a table of Spark's catalog, to be read by Spark"
        ) from error
