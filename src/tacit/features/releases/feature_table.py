"""One look at the rows: their class totals on the grid."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data import Encoder, open_table
from tacit.data.amounts import check_classes, cut_column
from tacit.data.classes import MISSING, Classes, as_column, missing_labels
from tacit.data.encoder import ColumnRule
from tacit.data.encoder.planned import declared_encoder
from tacit.data.persons import draw_seed, limit_table
from tacit.data.rows import parse_once, read_batches, read_rows
from tacit.data.view import TableView, quoted
from tacit.features.mechanisms.box import FeatureRanges
from tacit.features.mechanisms.moments import ClassMoments, class_members
from tacit.features.plan import Plan
from tacit.privacy.edge import Progress
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import ibis

__all__ = ["FeatureTable"]

_COUNT = "tacit rows"
_CELLS = 1 << 25  # of a batch: 256 MiB as float64
_ROWS = 1 << 16  # of a batch at most
_BLOCK = 1 << 18  # cells that are added up at a time: they fit a core's cache


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureTable:
    """A table of any size with a private label, read in batches and in order; ``raw`` is what a ledger recognizes."""

    raw: TableView | ibis.Table
    table: TableView | ibis.Table
    encoder: Encoder
    plan: Plan
    classes: Classes
    rows: int

    @classmethod
    def of(cls, source: object, plan: Plan, *, rng: np.random.Generator) -> FeatureTable:
        """Return the columns that a plan reads, or raise if they are missing, undeclared, or of another class."""
        table = open_table(source)
        encoder = declared_encoder(plan, table)
        if plan.label in encoder.names:
            raise InvalidInput(
                f"must not be the name of an encoded column, got {plan.label!r}; rename it", field="label"
            )
        columns = [*encoder.columns(), plan.label]
        used = parse_once(table, source, columns=[*columns, *([] if plan.person is None else [plan.person])])
        if plan.person is not None:
            seed = draw_seed(rng)
            used = limit_table(used, columns=columns, person=plan.person, rows=plan.rows_per_person, seed=seed)
        labels, rows = _labels(used, plan.label)
        classes = _classes(labels, plan)
        return cls(raw=table, table=used, encoder=encoder, plan=plan, classes=classes, rows=rows)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return all columns of the table, read or not: a ledger knows records by them."""
        yield from _stream(self.raw, self.raw.columns)

    def read(self, names: Sequence[str]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Return some encoded features and the class codes of the rows, batch by batch."""
        for rows in self._tables(self.encoder.columns(names)):
            yield self.encoder.encode(rows, only=names), self._codes(rows)

    def _tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        for batch in _stream(self.table, [*columns, self.plan.label]):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])

    def _codes(self, rows: pa.Table) -> NDArray[np.int64]:
        codes = self.classes.encode(cut_column(rows[self.plan.label], self.plan))
        if (codes == MISSING).any():
            raise missing_labels(self.plan.label)
        return codes

    def survey(self, *, box: FeatureRanges, progress: Progress | None = None) -> ClassMoments:
        """Read all rows once, and return the class totals of the encoded features."""
        found = ClassMoments.none(classes=len(self.classes), features=box.features)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            waiting: list[Future[ClassMoments]] = []
            for rows in self._tables(self.encoder.columns()):  # the next batch is read while this one is added up
                begun = self._begin(rows, box, pool)
                found = _collect(found, waiting)
                if progress:
                    progress(int(found.counts.sum()), self.rows)
                waiting = begun
            return _collect(found, waiting)

    def _begin(self, rows: pa.Table, box: FeatureRanges, pool: ThreadPoolExecutor) -> list[Future[ClassMoments]]:
        members = class_members(self._codes(rows), classes=len(self.classes))
        begun, start = [], 0
        for rules in _blocks(self.encoder.rules, width=_BLOCK // rows.num_rows):
            end = start + sum(len(rule.encoded) for rule in rules)
            begun.append(pool.submit(_part, rows, members, rules, box.take(range(start, end))))
            start = end
        return begun


def _blocks(rules: Sequence[ColumnRule], *, width: int) -> Iterator[list[ColumnRule]]:
    """Return runs of rules that make at most so many columns, or one rule that makes more."""
    block: list[ColumnRule] = []
    columns = 0
    for rule in rules:
        if block and columns + len(rule.encoded) > width:
            yield block
            block, columns = [], 0
        block.append(rule)
        columns += len(rule.encoded)
    yield block


def _part(
    rows: pa.Table, members: NDArray[np.float64], rules: Sequence[ColumnRule], box: FeatureRanges
) -> ClassMoments:
    """The totals of some features of a batch; each feature is one piece of memory."""
    values = np.concatenate([rule.encode(rows[rule.name]).T for rule in rules])
    return ClassMoments.of_members(box.whole_steps(values.T), members)


def _collect(found: ClassMoments, parts: Sequence[Future[ClassMoments]]) -> ClassMoments:
    """Add the totals of more rows, each part of some of the features."""
    return found + ClassMoments.side_by_side([part.result() for part in parts]) if parts else found


def _classes(labels: pa.ChunkedArray, plan: Plan) -> Classes:
    """Return the class list: from cuts, or in the labels' own type, where a command's words 0 and 1 are numbers."""
    check_classes(labels, plan)
    if plan.cuts:
        return Classes(values=plan.cut_classes)
    column = as_column(labels)
    if plan.classes is None:
        return Classes.of(column)
    try:
        return Classes(values=tuple(pa.array(plan.classes).cast(column.type).to_pylist()))
    except pa.ArrowException:
        raise InvalidInput(
            f"must be of the label column's type, {column.type}, got {', '.join(plan.classes)}", field="classes"
        ) from None


def _labels(table: TableView | ibis.Table, label: str) -> tuple[pa.ChunkedArray, int]:
    """Return the different labels, and how many rows there are."""
    if isinstance(table, TableView):
        name, count = quoted(label), quoted(_COUNT)
        found = table.query(f"SELECT {name}, COUNT(*) AS {count} FROM {quoted(table.name)} GROUP BY {name}")
        counted = read_rows(found)
    else:
        counted = read_rows(table.group_by(label).agg(**{_COUNT: table.count()}))
    return counted[label], sum(counted[_COUNT].to_pylist())


def _stream(table: TableView | ibis.Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    return read_batches(table, columns=columns, batch_rows=max(1, min(_CELLS // len(columns), _ROWS)))
