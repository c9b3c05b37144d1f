"""One look at the rows: are they what a release can be made of, and their class totals on the grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes
from tacit.data.csv_file import fault
from tacit.data.matrix import numeric_matrix
from tacit.data.names import check_present
from tacit.features.protect.box import STEPS, Box
from tacit.features.protect.moments import ClassMoments
from tacit.privacy.errors import InvalidInput

__all__ = ["FeatureTable", "Survey"]

Progress = Callable[[int, int], None]

_CELLS = 1 << 22  # of a batch: 32 MiB as float64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """What one look at a table found.

    Examples
    --------
    >>> Survey(rows=0, moments=ClassMoments.none(classes=2, features=1), clipped=np.zeros(1)).rows
    0
    """

    rows: int
    moments: ClassMoments
    clipped: NDArray[np.float64]


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
            The public class list; None declares the classes that occur public.

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
        if not wanted:
            raise InvalidInput("features must name at least one column beside the label")
        numeric_matrix(table.select(*wanted).limit(0).to_pyarrow(), columns=wanted)
        occurring = None if classes is not None else table.select(label).distinct().to_pyarrow()[label]
        return cls(table=table, features=wanted, label=label, classes=Classes.of(occurring, declared=classes))

    def read(self, features: Sequence[str]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Return rows of some features and their class codes, batch by batch.

        Examples
        --------
        >>> from tacit.data import load_table
        >>> table = FeatureTable.of(load_table(pa.table({"a": [0.5, 1.5], "y": ["n", "p"]})), label="y")
        >>> [(rows.tolist(), codes.tolist()) for rows, codes in table.read(["a"])]
        [([[0.5], [1.5]], [0, 1])]
        """
        chunk = max(1, _CELLS // max(1, len(features)))
        try:
            for batch in self.table.select(*features, self.label).to_pyarrow_batches(chunk_size=chunk):
                if batch.num_rows:
                    rows = pa.Table.from_batches([batch])
                    yield numeric_matrix(rows, columns=features), self._codes(rows)
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
        total = self.table.count().execute()
        moments, rows, clipped = ClassMoments.none(classes=K, features=p), 0, np.zeros(p)
        least, most = np.full(p, np.inf), np.full(p, -np.inf)
        for values, codes in self.read(self.features):
            self._check_finite(values)
            np.minimum(least, values.min(axis=0), out=least)
            np.maximum(most, values.max(axis=0), out=most)
            steps = box.snap(values)
            clipped += (np.abs(steps) == STEPS).sum(axis=0)
            moments += ClassMoments.of(steps, codes, classes=K)
            rows += len(values)
            if progress:
                progress(rows, int(total))
        self._check(moments, least=least, most=most, box=box)
        return Survey(rows=rows, moments=moments, clipped=clipped / max(rows, 1))

    def _check_finite(self, values: NDArray[np.float64]) -> None:
        if np.isfinite(values).all():
            return
        name = self.features[int(np.flatnonzero(~np.isfinite(values).all(axis=0))[0])]
        raise InvalidInput(f"feature {name!r} has missing, NaN or infinite values; drop or impute those rows first")

    def _check(self, moments: ClassMoments, *, least: NDArray[np.float64], most: NDArray[np.float64], box: Box) -> None:
        if moments.counts.min() < 2:
            rare = self.classes.values[int(moments.counts.argmin())]
            raise InvalidInput(f"class {rare!r} has {int(moments.counts.min())} rows; each class needs at least two")
        constant = [self.features[j] for j in np.flatnonzero(least == most)]
        if constant:
            more = f" and {len(constant) - 3} more" if len(constant) > 3 else ""
            raise InvalidInput(
                f"features {', '.join(map(repr, constant[:3]))}{more} have one value in all rows; leave them out"
            )
        outside = np.flatnonzero((least >= box.middle + box.half) | (most <= box.middle - box.half))
        if len(outside):
            j = int(outside[0])
            raise InvalidInput(
                f"the bounds of feature {self.features[j]!r} clip every row to one side; move lower and upper to "
                "where its values lie"
            )
