"""The public list of numbers that labels are rounded to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes, as_column
from tacit.privacy.errors import InvalidInput

__all__ = ["Coding", "LabelValues"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelValues:
    """At least two finite numbers, ascending; each label is rounded to the nearest one.

    A label outside their range becomes the nearest of them, because an error would reveal that there is one.

    Examples
    --------
    >>> LabelValues(values=[0, 10, 20]).encode([3.0, 17.5, 99.0, None])
    array([ 0,  2,  2, -1])
    """

    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise InvalidInput("must be at least two finite numbers in ascending order", field="values")
        object.__setattr__(self, "values", values)

    def encode(self, labels: object) -> NDArray[np.int64]:
        """Return the place of the nearest value of each label, ``MISSING`` where there is none."""
        column = as_column(labels)
        try:
            numbers = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InvalidInput(f"must be numbers for this mechanism, got {column.type}", field="labels") from None
        absent = np.isnan(numbers)
        nearest = np.searchsorted((self.values[1:] + self.values[:-1]) / 2, np.where(absent, self.values[0], numbers))
        return np.where(absent, MISSING, nearest)

    def __len__(self) -> int:
        return len(self.values)


Coding = Classes | LabelValues
"""How labels become codes."""
