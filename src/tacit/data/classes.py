"""Labels of any type as class codes and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.column import as_column
from tacit.privacy.errors import InvalidInput
from tacit.privacy.words import shown

__all__ = ["CUTS_PUBLIC", "LISTED", "MISSING", "Classes", "as_column", "missing_labels"]

LISTED = "it is public that every row has a label of the class list"
"""The assumption of a guarantee for declared classes: a label outside the list, or a missing one, is rejected."""

CUTS_PUBLIC = "the cut points of the label are public"

MISSING = -1
"""The code of a missing label."""


def missing_labels(
    column: str, count: int | None = None, *, of: int | None = None, detail: str = "", field: str | None = None
) -> InvalidInput:
    """Return the error about rows without a label, worded alike on every surface.

    Parameters
    ----------
    field
        The field of a plan that can declare public which rows have no label.
    """
    counted = "missing labels" if count is None else f"{count} missing label{'s' * (count > 1)} of {of}"
    told = f"label column {column!r} has {counted}{detail}"
    if field is None:
        return InvalidInput(f"{told}; leave those rows out")
    return InvalidInput(f"must be public where {told}; or leave those rows out", field=field)


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """The public list of classes, in the order of their codes.

    Parameters
    ----------
    declared
        Whether the user gave the list. If not, it comes from the labels, and a Guarantee assumes that the classes that
        occur are public.

    Examples
    --------
    >>> classes = Classes.of(["no", "yes", "no"])
    >>> classes.values, classes.encode(["yes", None])
    (('no', 'yes'), array([ 1, -1]))
    >>> classes.decode(np.array([1, -1])).to_pylist()
    ['yes', None]
    """

    values: tuple[Any, ...]
    declared: bool = True

    def __post_init__(self) -> None:
        if len(set(self.values)) < len(self.values):
            raise InvalidInput(f"must be different, got {list(self.values)!r}", field="classes")
        if len(self.values) < 2:
            raise InvalidInput(
                f"must be at least two, got {list(self.values)!r}; one class hides nothing", field="classes"
            )
        if as_column(self.values).null_count:
            raise InvalidInput(f"must not be missing, got {list(self.values)!r}", field="classes")

    @classmethod
    def of(cls, labels: object, *, declared: Sequence[Any] | None = None) -> Classes:
        """Return the declared classes, or those that occur in the labels, sorted."""
        if declared is not None:
            return cls(values=tuple(_plain(value) for value in declared))
        occurring = pc.unique(as_column(labels).drop_null())
        if len(occurring) < 2:
            found = f"one class, {occurring[0].as_py()!r}, in all rows" if len(occurring) else "no value in any row"
            raise InvalidInput(f"must be declared, two or more, where the label has {found}", field="classes")
        return cls(values=tuple(sorted(occurring.to_pylist())), declared=False)

    def encode(self, labels: object) -> NDArray[np.int64]:
        """Return the code of each label, ``MISSING`` where there is none."""
        column = as_column(labels)
        try:
            declared = pa.array(self.values).cast(column.type) if len(column) else pa.array(self.values)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InvalidInput(
                f"must be of the classes' type, got {column.type} for {list(self.values)!r}", field="labels"
            ) from None
        codes = pc.index_in(column, value_set=declared)
        unknown = pc.and_(codes.is_null(), column.is_valid())
        if pc.any(unknown).as_py():
            first = column.filter(unknown)[0].as_py()
            raise InvalidInput(
                f"must be among the declared classes {shown(self.values)}, got {first!r}; declare it too, or correct "
                "the rows that have it",
                field="labels",
            )
        return np.asarray(pc.fill_null(codes, MISSING).to_numpy(zero_copy_only=False), dtype=np.int64)

    def decode(self, codes: NDArray[np.int64]) -> pa.Array:
        """Return the labels of codes; null where a code is ``MISSING``."""
        return pa.array(self.values).take(pa.array(codes, mask=codes == MISSING))

    def __len__(self) -> int:
        return len(self.values)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
