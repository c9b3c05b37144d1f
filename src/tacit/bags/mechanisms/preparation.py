"""The private rows as mechanisms read them, and what a mechanism makes of them before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from tacit.bags.mechanisms.encoding import LabelEncoding
from tacit.bags.partition import BagTotals
from tacit.data.names import check_present
from tacit.data.persons import draw_seed, limit_table
from tacit.data.queries import count_rows, is_ordered
from tacit.data.rows import read_batches
from tacit.data.view import TableView
from tacit.privacy.edge import Progress

if TYPE_CHECKING:
    import ibis

    from tacit.bags.plan import Plan

__all__ = ["PreparedBags", "PrivateRows"]

_BATCH_ROWS = 1 << 20


class PreparedBags(Protocol):
    """Bags of rows that were read and checked; drawing can no longer fail."""

    def draw(self, rng: np.random.Generator) -> BagTotals:
        """Return the totals as they are released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateRows:
    """The rows that a release is made from."""

    raw: TableView | ibis.Table  # the table as it was given, which the ledger knows
    table: TableView | ibis.Table  # the rows that are used, with labels as numbers
    encoding: LabelEncoding  # how labels became numbers
    person_seed: int | None  # the public seed that chose the rows of persons with too many
    columns: tuple[str, ...]
    progress: Progress | None = None

    @classmethod
    def of_plan(
        cls, plan: Plan, raw: TableView | ibis.Table, *, rng: np.random.Generator, progress: Progress | None
    ) -> PrivateRows:
        """Encode labels, and leave out rows of a person beyond the plan's bound."""
        encoding = LabelEncoding.of_plan(plan, raw)
        for name in plan.columns:
            check_present(name, raw.columns, argument="person" if name == plan.person else "by")
        used, seed, columns = raw, None, (plan.label, *plan.columns)
        if plan.person is not None:  # whose column is public for the unit label, and alone decides which rows stay
            seed = draw_seed(rng)
            used = limit_table(raw, columns=columns, person=plan.person, rows=plan.rows_per_person, seed=seed)
        return cls(
            raw=raw,
            table=encoding.apply(used, beside=plan.columns),
            encoding=encoding,
            person_seed=seed,
            columns=columns,
            progress=progress,
        )

    @property
    def ordered(self) -> bool:
        """Whether rows have an order: another database than DuckDB keeps none."""
        return is_ordered(self.raw)

    def count(self) -> int:
        """Return how many rows are used."""
        return count_rows(self.table)

    def left_out(self) -> int | None:
        """Return how many rows of persons with too many are left out; None if the plan names no person."""
        return None if self.person_seed is None else count_rows(self.raw) - self.count()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield every column that the plan reads, as it was given."""
        yield from read_batches(self.raw, columns=self.columns, batch_rows=_BATCH_ROWS)
