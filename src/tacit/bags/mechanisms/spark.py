"""The same expressions on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ibis
from ibis.common.exceptions import IbisError, TableNotFound

from tacit.data.spark import start_spark
from tacit.privacy.errors import InvalidInput

__all__ = ["SparkEngine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkEngine:
    """Group rows on Spark: the running session, or a new one.

    Parameters
    ----------
    settings
        Spark's properties, such as ``{"spark.master": "local[2]", "spark.driver.memory": "4g"}``.
    """

    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``spark``."""
        return "spark"

    @contextmanager
    def open(self, source: object) -> Iterator[ibis.Table]:
        """Give a Parquet file or folder, a table of the catalog, a Spark or an Ibis table as an Ibis table."""
        if isinstance(source, ibis.Table):
            yield source
            return
        session = start_spark(self.settings)
        backend = ibis.pyspark.connect(session)
        if isinstance(source, str | os.PathLike):
            yield _open_named(str(source), backend)
            return
        if type(source).__module__.partition(".")[0] != "pyspark":
            raise InvalidInput(
                "must be a Parquet file or folder, a table of Spark's catalog, or a Spark or Ibis table for "
                f"engine spark, got {type(source).__name__}",
                field="table",
            )
        name = ibis.util.gen_name("tacit")
        frame: Any = source
        frame.createOrReplaceTempView(name)
        try:
            yield backend.table(name)
        finally:
            session.catalog.dropTempView(name)


def _open_named(name: str, backend: Any) -> ibis.Table:  # noqa: ANN401
    from pyspark.errors import PySparkException

    try:
        is_file = "/" in name or Path(name).exists()
        table: ibis.Table = backend.read_parquet(name) if is_file else backend.table(name)
    except (PySparkException, IbisError, TableNotFound) as error:
        raise InvalidInput(
            f"{name} must be a Parquet file or folder, or a table of Spark's catalog, to be read by Spark"
        ) from error
    return table
