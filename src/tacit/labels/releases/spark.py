"""The same mechanisms on every partition of a Spark table, each worker drawing its own entropy."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from tacit.labels.mechanisms import LabelMechanism
from tacit.labels.plan import Plan
from tacit.labels.releases.label_counts import LabelCounts
from tacit.labels.releases.source import TableSource
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import is_seeded, system_rng

if TYPE_CHECKING:
    import numpy as np
    from pyspark.sql import DataFrame

    from tacit.labels.releases.label_survey import ChosenRows, LabelSurvey

__all__ = ["LabelSource", "SparkSource", "spark_frame"]

Work = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_IPC = "batch binary"  # what workers send to the driver: one serialized record batch per row


def spark_frame(table: object) -> DataFrame | None:
    """Return the Spark frame of a Spark frame or an Ibis table of Spark; None for any other table."""
    if type(table).__module__.startswith("ibis."):
        import ibis

        assert isinstance(table, ibis.Table)
        backend: Any = table.get_backend()
        return backend._session.sql(str(ibis.to_sql(table))) if backend.name == "pyspark" else None
    is_frame = type(table).__module__.startswith("pyspark.") and hasattr(table, "mapInArrow")
    return table if is_frame else None  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, eq=False)
class SparkSource:
    """The rows of a Spark table, counted and randomized by its workers and collected batch by batch.

    Labels are randomized on the workers: the driver sees only released ones. Every worker process draws from its own
    operating system; no seed is shared between partitions. A task that Spark runs twice draws twice, and one of
    the two results is dropped unseen. Tacit must be installed on the workers.
    """

    frame: DataFrame
    ordered: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.frame.columns)

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns, partition by partition."""
        return self._run(columns, _pass_on, names=columns)

    def check(self, plan: Plan, rng: np.random.Generator) -> None:
        """Refuse what needs one generator, or all rows at once."""
        if is_seeded(rng):
            raise InvalidInput(
                "must be the operating system's: each worker of Spark draws its own entropy", field="rng"
            )
        if plan.mechanism.reads:
            raise InvalidInput(f"must be another one for Spark, got {plan.mechanism.name}", field="mechanism")
        if plan.mechanism.needs_features or plan.shuffle:
            what = "shuffle" if plan.shuffle else "mechanism"
            raise InvalidInput(
                "needs all rows at once, but each of Spark's workers sees only a part of them", field=what
            )

    def count(self, survey: LabelSurvey) -> None:
        """Let the workers count the labels."""
        total = LabelCounts(survey.plan)
        for batch in self._run([survey.plan.label], _CountPartition(survey.plan), names=["counts"]):
            total.merge(pickle.loads(batch.column(0)[0].as_py()))  # made by our own workers
        survey.take(total)

    def randomize(
        self,
        survey: LabelSurvey,
        mechanism: LabelMechanism,
        chosen: ChosenRows | None,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Iterator[pa.RecordBatch]:
        """Return the public columns and the labels that the workers randomized, each once."""
        columns = survey.columns
        return self._run([*columns, survey.plan.label], _RandomizePartition(mechanism), names=[*columns, "label"])

    def _run(self, columns: Sequence[str], work: Work, *, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield what ``work`` makes of the partitions, in their order, one batch in the driver at a time."""
        sent = _select(self.frame, columns).mapInArrow(_SerializedBatches(work), _IPC)
        try:
            for row in sent.toLocalIterator(prefetchPartitions=True):
                yield pa.ipc.open_stream(row[0]).read_next_batch().rename_columns(names)
        except Exception as error:
            raise _explained(error) from error


LabelSource = TableSource | SparkSource


@dataclass(frozen=True, slots=True)
class _CountPartition:
    """Runs on a worker: the counts of a partition's labels."""

    plan: Plan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts = LabelCounts(self.plan)
        for batch in batches:
            counts.add(batch.column(0))
        yield pa.record_batch({"counts": [pickle.dumps(counts)]})


@dataclass(frozen=True, slots=True)
class _RandomizePartition:
    """Runs on a worker: the partition with its labels released."""

    mechanism: LabelMechanism

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rng = system_rng()
        for batch in batches:
            if batch.num_rows:
                *public, labels = batch.columns
                drawn = self.mechanism.release(labels, rng=rng)
                columns = [*public, drawn["label"].combine_chunks()]
                yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@dataclass(frozen=True, slots=True)
class _SerializedBatches:
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


def _select(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    # backticks, and names without dots for mapInArrow: it would take a dot for a field of a struct
    quoted = ["`" + name.replace("`", "``") + "`" for name in columns]
    return frame.select(*(frame[name].alias(f"c{i}") for i, name in enumerate(quoted)))


def _explained(error: Exception) -> Exception:
    """The sentence that a worker raised, out of Spark's report; any other error unchanged."""
    lines = [
        line.partition("InvalidInput: ")[2].strip() for line in str(error).splitlines() if "InvalidInput: " in line
    ]
    if "No module named 'tacit'" in str(error):
        return InvalidInput("tacit must be installed where Spark's workers run; PYSPARK_PYTHON names their Python")
    return InvalidInput(lines[-1]) if lines else error
