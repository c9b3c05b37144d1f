"""A column that bags are keyed by: its values, or the buckets between declared edges, the same on every engine."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.privacy.errors import InvalidInput

__all__ = ["COUNT", "TOTAL", "Feature", "as_features"]

COUNT = "bag_count"
"""The column of a partition's file that holds the number of rows of each bag."""

TOTAL = "bag_total_"
"""How the columns of a partition's file begin that hold the label totals, one for each target."""

_RESERVED = re.compile(rf"{COUNT}|{TOTAL}\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Feature:
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
    >>> Feature("age", edges=(18, 65)).codes(pa.array([17, 18, 65, None])).to_pylist()
    [0, 1, 2, None]
    >>> Feature("city").codes(pa.array(["b", None, "a"])).to_pylist()
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

    def codes(self, column: pa.Array | pa.ChunkedArray) -> pa.Array:
        """Return a column of rows as keys, in memory; the same keys as :meth:`expression` makes in an engine.

        Integers become int64, other numbers float64, text string; buckets are int64.
        """
        values = _plain(column, self.name)
        if self.edges is None:
            return values
        if pa.types.is_string(values.type) or pa.types.is_boolean(values.type) or pa.types.is_date32(values.type):
            raise InvalidInput(f"column {self.name!r} must have numbers to be cut at edges, got {values.type}")
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        missing = np.isnan(numbers)
        return pa.array(np.searchsorted(self.edges, numbers, side="right").astype(np.int64), mask=missing)

    def expression(self, table: ibis.Table) -> ibis.Value:
        """Return the key as an Ibis expression of a table that has the column."""
        column = table[self.name]
        kind = column.type()
        if self.edges is not None:
            if not (kind.is_numeric() and not kind.is_boolean()):
                raise InvalidInput(f"column {self.name!r} must have numbers to be cut at edges, got {kind}")
            return _bucketed(column.cast("float64"), self.edges, exact=kind.is_integer())
        if kind.is_integer():
            return column.cast("int64")
        if kind.is_floating() or kind.is_decimal():
            return _without_nan(column.cast("float64"))
        if kind.is_string() or kind.is_boolean() or kind.is_date():
            return column
        raise _unusable(self.name, kind)

    def to_json(self) -> dict[str, Any]:
        """Return the feature as plain JSON."""
        made: dict[str, Any] = {"name": self.name, "edges": None if self.edges is None else list(self.edges)}
        return made if self.values is None else {**made, "values": list(self.values)}

    def __str__(self) -> str:
        return self.name


def as_features(
    names: str | Feature | Sequence[str | Feature], *, edges: Mapping[str, Sequence[float]] | None = None
) -> tuple[Feature, ...]:
    """Return a feature set given as names or features, with the edges that are declared for its columns."""
    given = [names] if isinstance(names, str | Feature) else list(names)
    cuts = edges or {}
    made = tuple(
        one if isinstance(one, Feature) else Feature(one, edges=tuple(cuts[one]) if one in cuts else None)
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


def _plain(column: pa.Array | pa.ChunkedArray, name: str) -> pa.Array:
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_date32(kind) or pa.types.is_string(kind):
        return values
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return values.cast(pa.string())
    if pa.types.is_integer(kind):
        return values.cast(pa.int64())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = values.cast(pa.float64())
        # minus zero becomes zero: engines differ on whether the two are one key
        return pc.add(pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers), 0.0)
    raise _unusable(name, kind)


def _unusable(name: str, kind: object) -> InvalidInput:
    return InvalidInput(
        f"column {name!r} must have numbers, text, dates or truth values to key bags by, got {kind}; cast it to text"
    )


def _without_nan(column: ibis.Value) -> ibis.Value:
    # minus zero becomes zero: engines differ on whether the two are one key
    return ibis.ifelse(column.isnan(), ibis.null("float64"), column + ibis.literal(0.0, type="float64"))


def _bucketed(column: ibis.Value, edges: tuple[float, ...], *, exact: bool) -> ibis.Value:
    """The number of edges at or below a value: one comparison an edge, where Ibis's ``bucket`` makes two.

    The same as ``bucket(edges, closed="left", close_extreme=False, include_under=True, include_over=True)``; with its
    default, ``close_extreme=True``, the last edge itself would fall into the bucket below it.
    """
    missing = column.isnull() if exact else column.isnull() | column.isnan()  # engines put NaN above every edge
    below = [(column < edge, ibis.literal(i, type="int32")) for i, edge in enumerate(edges)]
    return ibis.cases((missing, ibis.null("int32")), *below, else_=ibis.literal(len(edges), type="int32"))
