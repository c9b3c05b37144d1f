"""A table with a label column, and its source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.encoder import Encoder
from tacit.data.rows import label_column

__all__ = ["Dataset"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """Rows in memory, with their label column, their feature columns, and their source.

    Parameters
    ----------
    features
        The columns that a model may use; a column that is neither (a split, a time) is only in ``table``.
    class_names
        The meaning of the sorted values of the label, if they are codes.
    """

    name: str
    table: pa.Table
    label: str
    features: tuple[str, ...]
    source: str
    license: str
    class_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802 (scikit-learn's name)
        """The features as numbers in their own units, by an :class:`~tacit.data.Encoder` of these rows."""
        return Encoder.fitted(self.table, self.features, chosen=True).encode(self.table)

    @property
    def y(self) -> NDArray[Any]:
        """The labels in row order, unchanged: int64 or str."""
        return label_column(self.table, self.label)

    @property
    def classes(self) -> NDArray[Any]:
        """The different labels, sorted."""
        return np.unique(self.y)

    @property
    def codes(self) -> NDArray[np.int64]:
        """The labels as places in ``classes``: 0, 1, ..., K - 1."""
        return np.searchsorted(self.classes, self.y).astype(np.int64)

    def take(self, rows: NDArray[np.integer[Any] | np.bool_], /) -> Dataset:
        """Return the rows at these places, or those where a mask is true, in order."""
        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return replace(self, table=self.table.take(pa.array(places)))
