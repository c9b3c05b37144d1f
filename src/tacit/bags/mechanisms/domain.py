"""All possible bags, for releases in which the bags that occur must stay private."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.mechanisms.engine import GroupedRows
from tacit.bags.partition.bags import look_up
from tacit.bags.partition.feature import KeyColumn
from tacit.privacy.errors import InvalidInput

__all__ = ["fill_domain"]

_MOST_BAGS = 10_000_000
_WHOLE = 2.0**53  # a float of this size represents several integers


def fill_domain(grouped: GroupedRows) -> GroupedRows:
    """Return the bags of every combination of declared values and buckets, and last one bag of all other rows.

    Which keys occur reveals a record with a unique key, so the list of bags must not depend on the rows.
    """
    vocabularies = [_declared(feature) for feature in grouped.features]
    size = math.prod(map(len, vocabularies))
    if size > _MOST_BAGS:
        raise InvalidInput(
            f"must make at most {_MOST_BAGS:,} bags from declared values, got {size:,}; use fewer", field="by"
        )
    keys = _all_keys(vocabularies, grouped.features)
    found = _find(grouped, keys)
    at = np.where(found < 0, size, found)
    counts, sums = np.zeros(size + 1, dtype=np.int64), np.zeros((size + 1, grouped.sums.shape[1]))
    np.add.at(counts, at, grouped.counts)
    np.add.at(sums, at, grouped.sums)
    empty = pa.table({name: pa.nulls(1, keys.schema.field(name).type) for name in keys.column_names})
    return GroupedRows(features=grouped.features, keys=pa.concat_tables([keys, empty]), counts=counts, sums=sums)


def _declared(feature: KeyColumn) -> Sequence[Any]:
    if feature.buckets is not None:
        return [None, *range(feature.buckets)]
    if feature.values is None:
        raise InvalidInput(
            f"must declare the categories or the edges of {feature.name!r} for the unit record: which keys occur "
            "reveals single records",
            field="by",
        )
    return [None, *feature.values]


def _all_keys(vocabularies: Sequence[Sequence[Any]], features: Sequence[KeyColumn]) -> pa.Table:
    """Every combination, in the declared type: the column's own type reveals whether a fraction or a gap occurs."""
    columns = zip(*product(*vocabularies), strict=True)
    return pa.table(
        {
            feature.name: pa.array(list(column), _type_of(feature))
            for feature, column in zip(features, columns, strict=True)
        }
    )


def _type_of(feature: KeyColumn) -> pa.DataType:
    if feature.values is None:
        return pa.int64()
    try:
        return feature.key_type(pa.array(feature.values).type)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidInput(f"values of {feature.name!r} must be of one type: {error}") from None


def _find(grouped: GroupedRows, keys: pa.Table) -> NDArray[np.int64]:
    """The number of the declared key that each bag that occurs has, or -1."""
    fits = np.ones(len(grouped.counts), dtype=bool)
    columns = {}
    for feature in grouped.features:
        column, kind = grouped.keys[feature.name].combine_chunks(), keys.schema.field(feature.name).type
        if column.null_count == len(column):  # its type reveals nothing, and must not
            column = pa.nulls(len(column), kind)
        elif pa.types.is_floating(column.type) and pa.types.is_integer(kind):  # a fraction equals no integer
            numbers = column.to_numpy(zero_copy_only=False)
            whole = np.isnan(numbers) | ((np.floor(numbers) == numbers) & (np.abs(numbers) < _WHOLE))
            fits &= whole
            column = pa.array(np.where(whole, numbers, np.nan), from_pandas=True)
        elif pa.types.is_integer(column.type) and pa.types.is_floating(kind):
            column = column.cast(kind, safe=False)
        columns[feature.name] = column
    plain = tuple(KeyColumn(feature.name) for feature in grouped.features)
    return np.where(fits, look_up(pa.table(columns), keys, plain), -1)
