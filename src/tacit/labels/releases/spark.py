"""The same mechanisms on every partition of a Spark table, each worker drawing its own entropy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import as_column
from tacit.labels.mechanisms.column import Coding, LabelColumn, count_labels
from tacit.labels.releases.labels import MissingLabels
from tacit.labels.releases.source import LABEL, released_batch
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import system_rng

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkSource", "open_spark_table"]

Work = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_IPC = "batch binary"  # what workers send to the driver: one serialized record batch a row


@dataclass(frozen=True, slots=True, eq=False)
class SparkSource:
    """The rows of a Spark table, counted and randomized by its workers and collected batch by batch.

    Labels are randomized where they lie: the driver sees released ones only. Every worker process draws from its own
    operating system; no seed is shared between partitions. A task that Spark runs twice draws twice, and one of
    the two results is dropped unseen.

    Parameters
    ----------
    frame
        A ``pyspark.sql.DataFrame``. Tacit must be installed on the workers.

    Examples
    --------
    >>> SparkSource.distributed.fget(None)
    True
    """

    frame: DataFrame

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.frame.columns)

    @property
    def ordered(self) -> bool:
        """False: partitions may come in another order the next time."""
        return False

    @property
    def distributed(self) -> bool:
        """True: workers draw."""
        return True

    def distinct(self, label: str, *, most: int) -> pa.Array:
        """Return the different labels, or ``most`` + 1 of them if there are more than ``most``."""
        return as_column(_select(self.frame, [label]).distinct().limit(most + 1).toArrow().column(0))

    def count(self, label: str, *, coding: Coding) -> NDArray[np.int64]:
        """Return how many rows each class has, and last how many have no label; counted by the workers."""
        total = np.zeros(len(coding) + 1, dtype=np.int64)
        for batch in self._run([label], _Count(coding)):
            total += np.asarray(batch.column(0))
        return total

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns, partition by partition."""
        return self._run(columns, _pass_on, names=columns)

    def release(
        self,
        label: str,
        *,
        keep: Sequence[str],
        column: LabelColumn,
        missing: MissingLabels,
        rng: np.random.Generator,  # noqa: ARG002  # each worker makes its own
    ) -> Iterator[pa.RecordBatch]:
        """Return the kept columns and, last, the labels that the workers released; each is randomized once."""
        return self._run([*keep, label], _Randomize(column, missing), names=[*keep, LABEL])

    def _run(
        self, columns: Sequence[str], work: Work, *, names: Sequence[str] = ("count",)
    ) -> Iterator[pa.RecordBatch]:
        """Yield what ``work`` makes of the partitions, in their order, one batch in the driver at a time."""
        sent = _select(self.frame, columns).mapInArrow(_Serialized(work), _IPC)
        try:
            for row in sent.toLocalIterator(prefetchPartitions=True):
                yield pa.ipc.open_stream(row[0]).read_next_batch().rename_columns(names)
        except Exception as error:
            raise _explained(error) from error


@dataclass(frozen=True, slots=True)
class _Count:
    """Runs on a worker: the counts of a partition's labels."""

    coding: Coding

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = np.zeros(len(self.coding) + 1, dtype=np.int64)
        for batch in batches:
            total += count_labels(batch.column(0), coding=self.coding)
        yield pa.record_batch({"count": total})


@dataclass(frozen=True, slots=True)
class _Randomize:
    """Runs on a worker: the partition with its labels released."""

    column: LabelColumn
    missing: MissingLabels

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rng = system_rng()
        for batch in batches:
            if batch.num_rows:
                yield released_batch(batch, column=self.column, missing=self.missing, rng=rng)


@dataclass(frozen=True, slots=True)
class _Serialized:
    """Runs on a worker: its batches as bytes, one row each, so that the driver can take them one at a time."""

    work: Work

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self.work(batches):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.record_batch({"batch": [sink.getvalue().to_pybytes()]})


def _pass_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch for batch in batches if batch.num_rows)


def open_spark_table(name: str, *, session: SparkSession) -> SparkSource:
    """Return a Parquet file or folder, or a table of Spark's catalog, by its path or name.

    Examples
    --------
    >>> callable(open_spark_table)
    True
    """
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        is_parquet = "/" in name or Path(name).exists()
        return SparkSource(session.read.parquet(name) if is_parquet else session.table(name))
    except (PySparkException, Py4JError) as error:
        raise InvalidInput(
            f"{name} must be a Parquet file or folder, or a table of Spark's catalog, to be read by Spark"
        ) from error


def _select(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    # backticks, and names without dots for mapInArrow: it would take a dot for a field of a struct
    quoted = ["`" + name.replace("`", "``") + "`" for name in columns]
    return frame.select(*(frame[name].alias(f"c{i}") for i, name in enumerate(quoted)))


def _explained(error: Exception) -> Exception:
    """The sentence that a worker raised, out of Spark's report; any other error as it is."""
    lines = [
        line.partition("InvalidInput: ")[2].strip() for line in str(error).splitlines() if "InvalidInput: " in line
    ]
    if "No module named 'tacit'" in str(error):
        return InvalidInput("tacit must be installed where Spark's workers run; PYSPARK_PYTHON names their Python")
    return InvalidInput(lines[-1]) if lines else error
