"""Where the rows of a table come from: read in batches, in order where they have one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.data.queries import is_ordered
from tacit.data.rows import read_batches

if TYPE_CHECKING:
    import ibis
    import pyarrow as pa

    from tacit.data.view import TableView

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
