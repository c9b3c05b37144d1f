"""Where the rows of a table come from, and who counts and randomizes their labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from tacit.data.queries import is_ordered
from tacit.data.rows import read_batches
from tacit.labels.mechanisms.staged import StageLearner

if TYPE_CHECKING:
    import ibis
    import numpy as np

    from tacit.data.view import TableView
    from tacit.labels.mechanisms import LabelMechanism
    from tacit.labels.plan import Plan
    from tacit.labels.releases.label_survey import ChosenRows, LabelSurvey

__all__ = ["TableSource"]

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableSource:
    """The rows of a table, streamed: never more than a few batches in memory."""

    table: TableView | ibis.Table
    batch_rows: int = _BATCH_ROWS  # the most rows at a time

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.columns)

    @property
    def ordered(self) -> bool:
        """Whether every reading gives the rows in the same order."""
        return is_ordered(self.table)

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns, in order."""
        for batch in read_batches(self.table, columns=columns, batch_rows=self.batch_rows):
            if batch.num_rows:
                yield batch

    def check(self, plan: Plan, rng: np.random.Generator) -> None:
        """Carry out every plan."""

    def count(self, survey: LabelSurvey) -> None:
        """Read every row once."""
        for _ in survey.read():
            pass

    def randomize(
        self, survey: LabelSurvey, mechanism: LabelMechanism, chosen: ChosenRows | None, rng: np.random.Generator
    ) -> Iterator[pa.RecordBatch]:
        """Return the released columns: batch by batch, or all at once where rows teach each other."""
        shuffle, tables = survey.plan.shuffle, self._chosen_rows(survey, chosen)
        for used in [pa.concat_tables(tables)] if mechanism.needs_features or shuffle else tables:
            rows = used.select(survey.columns)
            learner = None if survey.encoder is None else StageLearner(X=survey.encoder.scaled(rows))
            drawn = mechanism.release(used[survey.plan.label], rng=rng, learner=learner, rows=rows)
            released = pa.table([*rows.columns, *drawn.columns], names=[*rows.column_names, *drawn.column_names])
            shuffled = released.take(rng.permutation(released.num_rows)) if shuffle else released
            yield from shuffled.combine_chunks().to_batches()

    def _chosen_rows(self, survey: LabelSurvey, chosen: ChosenRows | None) -> Iterator[pa.Table]:
        """The rows of each batch that are released, with their labels."""
        start = 0
        for batch in self.read([*survey.columns, survey.plan.label]):
            used = batch if chosen is None else batch.filter(pa.array(chosen.mask[start : start + batch.num_rows]))
            start += batch.num_rows
            if used.num_rows:
                yield pa.Table.from_batches([used])
