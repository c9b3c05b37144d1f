"""A table with a label column, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.matrix import FeatureMatrix, numeric_matrix, one_hot_matrix
from tacit.data.rows import label_column
from tacit.data.table import load_table

if TYPE_CHECKING:
    import ibis

__all__ = ["Dataset"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """Rows in memory, which column is the label, which are features, and whose data it is.

    Parameters
    ----------
    name
        What it is called.
    table
        All columns, as Arrow.
    label
        The column with the labels.
    features
        The columns a model may use; a column that is neither (a split, a time) is in ``table`` alone.
    source, licence
        Who made it, and under which terms it may be used.
    class_names
        What the sorted values of the label stand for, where they are codes.

    Examples
    --------
    >>> from tacit.data import satellite
    >>> data = satellite()
    >>> data.X.shape, data.classes.tolist()
    ((6430, 36), [1, 2, 3, 4, 5, 7])
    """

    name: str
    table: pa.Table
    label: str
    features: tuple[str, ...]
    source: str
    licence: str
    class_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802 (scikit-learn's name)
        """The features as float64, NaN where missing; refused where one is text: use ``one_hot``.

        Examples
        --------
        >>> from tacit.data import iris
        >>> iris().X[0].tolist()
        [5.1, 3.5, 1.4, 0.2]
        """
        return numeric_matrix(self.table, columns=self.features)

    @property
    def y(self) -> NDArray[Any]:
        """The labels in row order, as they are: int64 or str.

        Examples
        --------
        >>> from tacit.data import titanic
        >>> titanic().y[:3].tolist()
        ['No', 'No', 'No']
        """
        return label_column(self.table, self.label)

    @property
    def classes(self) -> NDArray[Any]:
        """The different labels, sorted.

        Examples
        --------
        >>> from tacit.data import titanic
        >>> titanic().classes.tolist()
        ['No', 'Yes']
        """
        return np.unique(self.y)

    @property
    def codes(self) -> NDArray[np.int64]:
        """The labels as places in ``classes``: 0, 1, ..., K - 1.

        Examples
        --------
        >>> from tacit.data import titanic
        >>> int(titanic().codes.sum())
        711
        """
        return np.searchsorted(self.classes, self.y).astype(np.int64)

    def one_hot(self) -> FeatureMatrix:
        """Return the features as numbers, text as one 0/1 column for each value.

        Examples
        --------
        >>> from tacit.data import titanic
        >>> encoded = titanic().one_hot()
        >>> encoded.names
        ('class=1st', 'class=2nd', 'class=3rd', 'class=Crew', 'age=Adult', 'age=Child', 'sex=Female', 'sex=Male')
        >>> encoded.values.shape
        (2201, 8)
        """
        return one_hot_matrix(self.table, columns=self.features)

    def take(self, rows: NDArray[np.integer[Any] | np.bool_], /) -> Dataset:
        """Return the rows at these places, or those where a mask is true, in order.

        Examples
        --------
        >>> from tacit.data import iris
        >>> len(iris().take(np.arange(100)))
        100
        >>> data = iris()
        >>> len(data.take(data.y == 2))
        50
        """
        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return replace(self, table=self.table.take(pa.array(places)))

    def lazy(self) -> ibis.Table:
        """Return the table as Ibis sees it.

        Examples
        --------
        >>> from tacit.data import titanic
        >>> titanic().lazy().count().execute()
        2201
        """
        return load_table(self.table)
