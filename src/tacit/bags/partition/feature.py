"""A column that bags are keyed by: its values, or the buckets between declared edges, the same on every engine."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.data.queries import SqlColumn, SqlValue, float_literal, is_number
from tacit.privacy.errors import InvalidInput

__all__ = ["COUNT", "TOTAL", "KeyColumn", "as_features"]

COUNT = "bag_count"
"""The column of a partition's file that holds the number of rows of each bag."""

TOTAL = "bag_total_"
"""How the columns of a partition's file begin that hold the label totals, one for each target."""

_RESERVED = re.compile(rf"{COUNT}|{TOTAL}\d+", re.IGNORECASE)

_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A key column: categorical, or numeric and cut at public edges.

    With edges e_1 < ... < e_k a value v falls into bucket #{j: e_j <= v}: bucket 0 lies below e_1, bucket k begins
    at e_k, and every bucket is half-open, [a, b). A missing value (NULL or NaN) is a value of its own in both cases.

    Parameters
    ----------
    name
        The column.
    edges
        Finite, ascending, chosen without looking at the labels; None takes the values unchanged.
    values
        The public list of values, where the table's own must stay private (unit record); rows with others are in
        the bag "other". Not needed with edges, whose buckets are public.

    Examples
    --------
    >>> KeyColumn("age", edges=(18, 65)).codes(pa.array([17, 18, 65, None])).to_pylist()
    [0, 1, 2, None]
    >>> KeyColumn("city").codes(pa.array(["b", None, "a"])).to_pylist()
    ['b', None, 'a']
    """

    name: str
    edges: tuple[float, ...] | None = None
    values: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if not self.name or _RESERVED.fullmatch(self.name):
            raise InvalidInput(
                f"must not name a column {self.name!r}, a name that release files use; rename it", field="by"
            )
        if self.values is not None:
            object.__setattr__(self, "values", tuple(_value(one, self.name) for one in self.values))
            if not self.values or self.edges is not None or len(set(self.values)) < len(self.values):
                raise InvalidInput(f"values of {self.name!r} must be different, at least one, and given without edges")
        if self.edges is None:
            return
        edges = tuple(float(edge) for edge in self.edges)
        rising = all(a < b for a, b in pairwise(edges))
        if not edges or not rising or not all(map(math.isfinite, edges)):
            raise InvalidInput(
                f"edges of {self.name!r} must be finite numbers, ascending and different, got {list(self.edges)}"
            )
        object.__setattr__(self, "edges", edges)

    @property
    def buckets(self) -> int | None:
        """How many buckets the edges make, missing values not counted; None if there are no edges."""
        return None if self.edges is None else len(self.edges) + 1

    def key_type(self, kind: pa.DataType) -> pa.DataType:
        """Return the type of the keys of a column: integers are int64, other numbers float64, buckets int64."""
        numbers = is_number(kind) or pa.types.is_null(kind)
        if self.edges is not None and not numbers:
            raise InvalidInput(f"column {self.name!r} must have numbers to be cut at edges, got {kind}")
        if self.edges is not None or pa.types.is_integer(kind):
            return pa.int64()
        if is_number(kind):
            return pa.float64()
        if any(is_text(kind) for is_text in _TEXT):
            return pa.string()
        if numbers or pa.types.is_boolean(kind) or pa.types.is_date32(kind):
            return kind
        raise InvalidInput(
            f"column {self.name!r} must have numbers, text, dates or truth values to key bags by, got {kind}; cast it "
            "to text"
        )

    def codes(self, column: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Return a column of rows as keys, in memory; the same keys as :meth:`in_sql` makes in an engine."""
        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        kind = self.key_type(values.type)
        if self.edges is not None:
            numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            return pa.array(np.searchsorted(self.edges, numbers, side="right").astype(np.int64), mask=np.isnan(numbers))
        keys = values.cast(kind)
        if not pa.types.is_floating(kind):
            return keys
        # minus zero becomes zero: engines differ on whether the two are one key
        return pc.add(pc.if_else(pc.is_nan(keys), pa.scalar(None, kind), keys), 0.0)

    def in_sql(self, column: SqlColumn) -> SqlValue:
        """Return the key of each row in SQL."""
        kind, text = self.key_type(column.kind), column.value
        if self.edges is not None:
            text = _bucket(column.number, self.edges)
        elif pa.types.is_floating(kind):
            text = f"CASE WHEN {_is_number(column.number)} THEN {column.number} + {float_literal(0)} END"
        return SqlValue(text, kind)

    def to_json(self) -> dict[str, Any]:
        """Return the feature as plain JSON."""
        made: dict[str, Any] = {"name": self.name, "edges": None if self.edges is None else list(self.edges)}
        return made if self.values is None else {**made, "values": list(self.values)}

    def __str__(self) -> str:
        return self.name


def as_features(
    names: str | KeyColumn | Sequence[str | KeyColumn], *, edges: Mapping[str, Sequence[float]] | None = None
) -> tuple[KeyColumn, ...]:
    """Return a feature set given as names or features, with the edges that are declared for its columns."""
    given = [names] if isinstance(names, str | KeyColumn) else list(names)
    cuts = edges or {}
    made = tuple(
        one if isinstance(one, KeyColumn) else KeyColumn(one, edges=tuple(cuts[one]) if one in cuts else None)
        for one in given
    )
    if not made:
        raise InvalidInput("must name at least one column in each feature set, got an empty one", field="by")
    if len({one.name for one in made}) < len(made):
        raise InvalidInput(f"must name different columns in a feature set, got {', '.join(map(str, made))}", field="by")
    return made


def _value(value: object, name: str) -> object:
    """A declared value as a manifest can hold it, so that no release is paid for and cannot be written."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, str | int | float) or (isinstance(plain, float) and not math.isfinite(plain)):
        raise InvalidInput(
            f"values of {name!r} must be text, finite numbers or truth values, got {value!r}; cast dates to text, and "
            "leave out missing values, which have a bag anyway"
        )
    return plain + 0.0 if isinstance(plain, float) else plain  # minus zero becomes zero, as in rows


def _is_number(number: str) -> str:
    """False for NaN on every engine, whether it compares as greater than all numbers or as unlike any."""
    return f"({number} < -{number} OR {number} > -{number} OR {number} = 0)"


def _bucket(number: str, edges: tuple[float, ...]) -> str:
    """The number of edges at or below a value."""
    below = " ".join(f"WHEN {number} < {float_literal(edge)} THEN {i}" for i, edge in enumerate(edges))
    return f"CASE WHEN {_is_number(number)} THEN CASE {below} ELSE {len(edges)} END END"
