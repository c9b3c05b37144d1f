"""Tables that Spark reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import ibis
    from pyspark.sql import SparkSession

__all__ = ["open_spark", "start_spark"]


def start_spark(settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return the running Spark session, or start one.

    Parameters
    ----------
    settings
        Spark properties, such as ``{"spark.master": "local[2]"}``. Default: those that Spark itself is configured with.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise InvalidInput(
            "engine spark needs PySpark; install tacit with the extra: pip install 'tacit[spark]'"
        ) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # a local worker must find what this process finds
    try:
        builder: Any = SparkSession.builder
        for name, value in {"spark.ui.showConsoleProgress": "false", **(settings or {})}.items():
            builder = builder.config(name, value)
        session: SparkSession = builder.getOrCreate()
    except PySparkException as error:
        reason = str(error).strip().partition("\n")[0]
        raise InvalidInput(f"engine spark cannot start Spark: {reason}; it needs Java 17 or later") from error
    session.sparkContext.setLogLevel("OFF")  # a failure is raised here too, as one sentence
    return session


def open_spark(source: str) -> ibis.Table:
    """Return a Parquet file or folder, or a table of Spark's catalog, as an Ibis table."""
    import ibis
    from ibis.common.exceptions import IbisError, TableNotFound

    session = start_spark()  # raises where PySpark is not installed
    from pyspark.errors import PySparkException

    backend = ibis.pyspark.connect(session)
    try:
        return backend.read_parquet(source) if "/" in source or Path(source).exists() else backend.table(source)
    except (PySparkException, IbisError, TableNotFound) as error:
        raise InvalidInput(
            f"{source} must be a Parquet file or folder, or a table of Spark's catalog, to be read by Spark"
        ) from error
