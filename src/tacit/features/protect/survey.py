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
from tacit.features.protect.box import Box
from tacit.features.protect.moments import ClassMoments, class_members
from tacit.privacy.errors import InvalidInput

__all__ = ["FeatureTable", "Survey"]

Progress = Callable[[int, int], None]

_CELLS = 1 << 25  # of a batch: 256 MiB as float64
_ROWS = 1 << 16  # of a batch at most
_BLOCK = 1 << 18  # cells that are added up at a time: they fit a core's cache


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """What one look at a table found.

    Examples
    --------
    >>> Survey.none(classes=2, features=1).rows
    0
    """

    moments: ClassMoments
    least: NDArray[np.float64]
    most: NDArray[np.float64]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.moments.counts.sum())

    @classmethod
    def none(cls, *, classes: int, features: int) -> Survey:
        """Return what no rows show.

        Examples
        --------
        >>> Survey.none(classes=2, features=1).least
        array([inf])
        """
        return cls(
            moments=ClassMoments.none(classes=classes, features=features),
            least=np.full(features, np.inf),
            most=np.full(features, -np.inf),
        )

    @classmethod
    def side_by_side(cls, parts: Sequence[Survey]) -> Survey:
        """Return what rows show in all features, from what they show in some each.

        Examples
        --------
        >>> part = Survey.none(classes=2, features=1)
        >>> Survey.side_by_side([part, part]).most
        array([-inf, -inf])
        """
        return cls(
            moments=ClassMoments.side_by_side([part.moments for part in parts]),
            least=np.concatenate([part.least for part in parts]),
            most=np.concatenate([part.most for part in parts]),
        )

    def __add__(self, other: Survey) -> Survey:
        return Survey(
            moments=self.moments + other.moments,
            least=np.minimum(self.least, other.least),
            most=np.maximum(self.most, other.most),
        )


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

    Examples
    --------
    >>> from tacit.data import load_table
    >>> table = FeatureTable.of(load_table(pa.table({"a": [0.5, 1.5], "y": ["n", "p"]})), label="y")
    >>> table.features, table.classes.values
    (('a',), ('n', 'p'))
    """

    table: ibis.Table
    features: tuple[str, ...]
    label: str
    classes: Classes

    @classmethod
    def of(
        cls,
        table: ibis.Table,
        *,
        label: str,
        features: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> FeatureTable:
        """Return a checked description of a table.

        Parameters
        ----------
        features
            Default: every column but the label; each must be numeric.
        classes
            The public class list, cast to the label column's type; None declares the classes that occur public.

        Examples
        --------
        >>> from tacit.data import load_table
        >>> FeatureTable.of(load_table(pa.table({"a": ["x", "z"], "y": [0, 1]})), label="y")
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: column 'a' is string, not numbers; leave it out or encode it one-hot
        """
        check_present(label, table.columns, argument="label")
        wanted = tuple(name for name in table.columns if name != label) if features is None else tuple(features)
        for name in wanted:
            check_present(name, table.columns, argument="features")
        if label in wanted:
            raise InvalidInput(f"features must not hold the label column {label!r}: it would leave unprotected")
        if len(set(wanted)) < len(wanted):
            twice = next(name for name in wanted if wanted.count(name) > 1)
            raise InvalidInput(f"features must name each column once, got {twice!r} twice")
        if not wanted:
            raise InvalidInput("features must name at least one column beside the label")
        numeric_matrix(table.select(*wanted).limit(0).to_pyarrow(), columns=wanted)
        if classes is None:
            found = Classes.of(table.select(label).distinct().to_pyarrow()[label])
        else:
            found = _declare(classes, as_column(table.select(label).limit(0).to_pyarrow()[label]).type)
        return cls(table=table, features=wanted, label=label, classes=found)

    def read(self, features: Sequence[str]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Return rows of some features and their class codes, batch by batch.

        Examples
        --------
        >>> from tacit.data import load_table
        >>> table = FeatureTable.of(load_table(pa.table({"a": [0.5, 1.5], "y": ["n", "p"]})), label="y")
        >>> [(rows.tolist(), codes.tolist()) for rows, codes in table.read(["a"])]
        [([[0.5], [1.5]], [0, 1])]
        """
        for rows in self._batches(features):
            yield numeric_matrix(rows, columns=features), self._codes(rows)

    def _batches(self, features: Sequence[str]) -> Iterator[pa.Table]:
        chunk = max(1, min(_CELLS // max(1, len(features)), _ROWS))
        try:
            for batch in self.table.select(*features, self.label).to_pyarrow_batches(chunk_size=chunk):
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise InvalidInput(f"the table cannot be read to its end: {fault(error)}") from None

    def _codes(self, rows: pa.Table) -> NDArray[np.int64]:
        codes = self.classes.encode(rows[self.label])
        if (codes == MISSING).any():
            raise InvalidInput(f"label column {self.label!r} has missing labels; leave those rows out")
        return codes

    def survey(self, *, box: Box, progress: Progress | None = None) -> Survey:
        """Read all rows once: refuse what cannot be released, and add up the class totals.

        Examples
        --------
        >>> from tacit.data import load_table
        >>> table = FeatureTable.of(load_table(pa.table({"a": [0.5, 0.25] * 2, "y": [0, 1] * 2})), label="y")
        >>> table.survey(box=Box.symmetric(1.0)).moments.sums.ravel()
        array([1024,  512])
        """
        p, K = len(self.features), len(self.classes)
        box.check_features(p)
        total = int(self.table.count().execute())
        found = Survey.none(classes=K, features=p)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            waiting: list[Future[Survey]] = []
            for rows in self._batches(self.features):  # the next batch is read while this one is added up
                begun = self._begin(rows, box, pool)
                found = _collect(found, waiting)
                if progress:
                    progress(found.rows, total)
                waiting = begun
            found = _collect(found, waiting)
        self._check(found, box=box)
        return found

    def _begin(self, rows: pa.Table, box: Box, pool: ThreadPoolExecutor) -> list[Future[Survey]]:
        members = class_members(self._codes(rows), classes=len(self.classes))
        kinds = {kind: members.astype(kind) for kind in (np.dtype(np.float32), np.dtype(np.float64))}
        width = max(1, _BLOCK // rows.num_rows)
        starts = range(0, len(self.features), width)
        return [pool.submit(self._part, rows, kinds, slice(start, start + width), box) for start in starts]

    def _part(self, rows: pa.Table, members: dict[np.dtype[Any], NDArray[Any]], part: slice, box: Box) -> Survey:
        """What a batch shows in some features; each is read as one piece of memory."""
        names = self.features[part]
        values = np.stack([_numbers(rows, name) for name in names])
        least, most = values.min(axis=1), values.max(axis=1)  # NaN if one is
        for name, finite in zip(names, np.isfinite(least) & np.isfinite(most), strict=True):
            if not finite:
                raise InvalidInput(
                    f"feature {name!r} has missing, NaN or infinite values; drop or impute those rows first"
                )
        steps = box.take(np.arange(len(self.features))[part]).whole_steps(values.T)
        return Survey(moments=ClassMoments.of_members(steps, members[steps.dtype]), least=least, most=most)

    def _check(self, found: Survey, *, box: Box) -> None:
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
            j = int(outside[0])
            raise InvalidInput(
                f"the bounds of feature {self.features[j]!r} clip every row to one side; move lower and upper to "
                "where its values lie"
            )


def _declare(classes: Sequence[Any], kind: pa.DataType) -> Classes:
    """Return the class list in the labels' own type: the words 0 and 1 of a command are the numbers of the column."""
    given = Classes.of(None, declared=classes)
    try:
        return Classes(values=tuple(pa.array(given.values).cast(kind).to_pylist()))
    except pa.ArrowException:
        raise InvalidInput(
            f"classes must be of the label column's type, {kind}, got {', '.join(map(str, given.values))}"
        ) from None


def _collect(found: Survey, parts: list[Future[Survey]]) -> Survey:
    return found + Survey.side_by_side([part.result() for part in parts]) if parts else found


def _numbers(rows: pa.Table, name: str) -> NDArray[Any]:
    """Return a column as float64, or as the float32 it is."""
    column = rows[name]
    if pa.types.is_float32(column.type) and not column.null_count:
        return np.asarray(column.to_numpy())
    return numeric_matrix(rows.select([name]), columns=[name])[:, 0]
