"""Where the rows of a table come from: read in batches, in order where they have one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from tacit.data.csv_file import fault
from tacit.data.view import TableView
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import ibis

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
        """Whether every reading gives the rows in the same order: files and frames do, another database does not."""
        return isinstance(self.table, TableView) or bool(self.table.get_backend().name == "duckdb")

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns, in order."""
        try:
            for batch in self._batches(columns):
                if batch.num_rows:
                    yield batch
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise InvalidInput(f"the table cannot be read to its end: {fault(error)}") from None

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if isinstance(self.table, TableView):
            return self.table.read(columns, batch_rows=self.batch_rows)
        return iter(self.table.select(*columns).to_pyarrow_batches(chunk_size=self.batch_rows))
