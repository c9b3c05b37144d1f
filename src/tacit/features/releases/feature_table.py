"""One look at the rows: are they what a release can be made of, and their class totals on the grid."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes, as_column
from tacit.data.csv_file import fault
from tacit.data.matrix import numeric_matrix
from tacit.data.names import check_present
from tacit.features.mechanisms.box import Box
from tacit.features.mechanisms.moments import ClassMoments, class_members
from tacit.features.plan import EVERY_COLUMN, Plan
from tacit.privacy.errors import InvalidInput

__all__ = ["FeatureTable", "Progress"]

Progress = Callable[[int, int], None]

_CELLS = 1 << 25  # of a batch: 256 MiB as float64
_ROWS = 1 << 16  # of a batch at most
_BLOCK = 1 << 18  # cells that are added up at a time: they fit a core's cache


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureTable:
    """A table of any size with numeric features and a private label, read in batches and in order.

    Parameters
    ----------
    table
        What ``tacit.data.load_table`` returned.
    features
        Names of numeric columns.
    label
        The private label column.
    classes
        The class list.
    rows
        How many rows there are.
    """

    table: ibis.Table
    features: tuple[str, ...]
    label: str
    classes: Classes
    rows: int

    @classmethod
    def of(cls, table: ibis.Table, plan: Plan) -> FeatureTable:
        """Return the columns that a plan reads, or raise if they are missing, not numbers, or of another class.

        Examples
        --------
        >>> from tacit.data import load_table
        >>> plan = Plan(label="y", epsilon=1, delta=1e-6, ranges={"*": (0, 1)})
        >>> FeatureTable.of(load_table(pa.table({"a": ["x", "z"], "y": [0, 1]})), plan)
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: column 'a' is string, not numbers; leave it out or encode it one-hot
        """
        check_present(plan.label, table.columns, argument="label")
        features = plan.features or tuple(name for name in table.columns if name != plan.label)
        for name in features:
            check_present(name, table.columns, argument="features")
        for name in plan.ranges:
            if name != EVERY_COLUMN:
                check_present(name, features, argument="ranges")
        if not features:
            raise InvalidInput("must name at least one column beside the label", field="features")
        numeric_matrix(table.select(*features).limit(0).to_pyarrow(), columns=features)
        counted = _read(lambda: table.group_by(plan.label).agg(rows=table.count()).to_pyarrow())
        kind = as_column(table.select(plan.label).limit(0).to_pyarrow()[plan.label]).type
        classes = Classes.of(counted[plan.label]) if plan.classes is None else _declare(plan.classes, kind)
        rows = sum(counted["rows"].to_pylist())
        return cls(table=table, features=features, label=plan.label, classes=classes, rows=rows)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return all columns of the table, read or not: a ledger knows records by them."""
        yield from self._stream(self.table.columns)

    def read(self, features: Sequence[str]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Return rows of some features and their class codes, batch by batch."""
        for rows in self._tables(features):
            yield numeric_matrix(rows, columns=features), self._codes(rows)

    def _tables(self, features: Sequence[str]) -> Iterator[pa.Table]:
        for batch in self._stream([*features, self.label]):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])

    def _stream(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        chunk = max(1, min(_CELLS // len(columns), _ROWS))
        batches = self.table.select(*columns).to_pyarrow_batches(chunk_size=chunk)
        while (batch := _read(lambda: next(batches, None))) is not None:
            yield batch

    def _codes(self, rows: pa.Table) -> NDArray[np.int64]:
        codes = self.classes.encode(rows[self.label])
        if (codes == MISSING).any():
            raise InvalidInput(f"label column {self.label!r} has missing labels; leave those rows out")
        return codes

    def survey(self, *, box: Box, progress: Progress | None = None) -> ClassMoments:
        """Read all rows once: refuse what cannot be released, and return the class totals."""
        found = _Survey.none(classes=len(self.classes), features=len(self.features))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            waiting: list[Future[_Survey]] = []
            for rows in self._tables(self.features):  # the next batch is read while this one is added up
                begun = self._begin(rows, box, pool)
                found = found.collect(waiting)
                if progress:
                    progress(int(found.moments.counts.sum()), self.rows)
                waiting = begun
            found = found.collect(waiting)
        self._check(found, box=box)
        return found.moments

    def _begin(self, rows: pa.Table, box: Box, pool: ThreadPoolExecutor) -> list[Future[_Survey]]:
        members = class_members(self._codes(rows), classes=len(self.classes))
        kinds = {kind: members.astype(kind) for kind in (np.dtype(np.float32), np.dtype(np.float64))}
        width = max(1, _BLOCK // rows.num_rows)
        starts = range(0, len(self.features), width)
        return [pool.submit(self._part, rows, kinds, slice(start, start + width), box) for start in starts]

    def _part(self, rows: pa.Table, members: dict[np.dtype[Any], NDArray[Any]], part: slice, box: Box) -> _Survey:
        """What a batch shows in some features; each is read as one piece of memory."""
        names = self.features[part]
        values = np.stack([_numbers(rows, name) for name in names])
        least, most = values.min(axis=1), values.max(axis=1)  # NaN if one is
        for name, finite in zip(names, np.isfinite(least) & np.isfinite(most), strict=True):
            if not finite:
                raise InvalidInput(
                    f"feature {name!r} has missing, NaN or infinite values; drop or impute those rows first"
                )
        steps = box.take(range(len(self.features))[part]).whole_steps(values.T)
        return _Survey(moments=ClassMoments.of_members(steps, members[steps.dtype]), least=least, most=most)

    def _check(self, found: _Survey, *, box: Box) -> None:
        counts = found.moments.counts
        if counts.min() < 2:
            rare, has = self.classes.values[int(counts.argmin())], int(counts.min())
            raise InvalidInput(f"class {rare!r} has {has} row{'s' * (has != 1)}; each class needs at least two")
        constant = [self.features[j] for j in np.flatnonzero(found.least == found.most)]
        if constant:
            more = f" and {len(constant) - 1} other features" if len(constant) > 1 else ""
            raise InvalidInput(f"feature {constant[0]!r}{more} must vary, got one value in all rows; leave it out")
        outside = np.flatnonzero((found.least >= np.asarray(box.upper)) | (found.most <= np.asarray(box.lower)))
        if len(outside):
            name = self.features[int(outside[0])]
            raise InvalidInput(
                f"of feature {name!r} clip every row to one side; move them to where its values are", field="ranges"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Survey:
    """What one look at rows found: class totals, and the least and largest value of each feature."""

    moments: ClassMoments
    least: NDArray[np.float64]
    most: NDArray[np.float64]

    @classmethod
    def none(cls, *, classes: int, features: int) -> _Survey:
        """What no rows show."""
        nothing = ClassMoments.none(classes=classes, features=features)
        return cls(moments=nothing, least=np.full(features, np.inf), most=np.full(features, -np.inf))

    def collect(self, parts: Sequence[Future[_Survey]]) -> _Survey:
        """Add what more rows show, each part in some of the features."""
        if not parts:
            return self
        found = [part.result() for part in parts]
        return _Survey(
            moments=self.moments + ClassMoments.side_by_side([part.moments for part in found]),
            least=np.minimum(self.least, np.concatenate([part.least for part in found])),
            most=np.maximum(self.most, np.concatenate([part.most for part in found])),
        )


def _declare(classes: Sequence[str], kind: pa.DataType) -> Classes:
    """Return the class list in the labels' own type: the words 0 and 1 of a command are the numbers of the column."""
    try:
        return Classes(values=tuple(pa.array(classes).cast(kind).to_pylist()))
    except pa.ArrowException:
        raise InvalidInput(
            f"must be of the label column's type, {kind}, got {', '.join(classes)}", field="classes"
        ) from None


def _numbers(rows: pa.Table, name: str) -> NDArray[Any]:
    """Return a column as float64, or as the float32 it is."""
    column = rows[name]
    if pa.types.is_float32(column.type) and not column.null_count:
        return np.asarray(column.to_numpy())
    return numeric_matrix(rows.select([name]), columns=[name])[:, 0]


def _read(query: Callable[[], Any]) -> Any:  # noqa: ANN401
    try:
        return query()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InvalidInput(f"the table cannot be read to its end: {fault(error)}") from None
