"""Where the rows of a table come from: read in batches, in order where they have one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb
import ibis
import pyarrow as pa

from tacit.data.csv_file import fault
from tacit.privacy.errors import InvalidInput

__all__ = ["TableSource"]

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableSource:
    """The rows of an Ibis table, streamed: never more than a few batches in memory."""

    table: ibis.Table  # what ``tacit.data.load_table`` returned
    batch_rows: int = _BATCH_ROWS  # the most rows at a time

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.columns)

    @property
    def ordered(self) -> bool:
        """Whether every reading gives the rows in the same order: files and frames do, another database does not."""
        return bool(self.table.get_backend().name == "duckdb")

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns, in order."""
        try:
            for batch in self.table.select(*columns).to_pyarrow_batches(chunk_size=self.batch_rows):
                if batch.num_rows:
                    yield batch
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise InvalidInput(f"the table cannot be read to its end: {fault(error)}") from None
