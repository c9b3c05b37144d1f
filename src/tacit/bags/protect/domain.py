"""All bags that there could be, where which of them occur must stay private."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.bags.partition.bags import look_up
from tacit.bags.partition.feature import Feature
from tacit.bags.protect.engine import Grouped
from tacit.privacy.errors import InvalidInput

__all__ = ["fill_domain"]

_MOST_BAGS = 10_000_000


def fill_domain(grouped: Grouped) -> Grouped:
    """Return the bags of every combination of declared values and buckets, and last one bag of all other rows.

    Which keys occur tells of the record that has a key alone, so the list of bags must not depend on the rows.

    Examples
    --------
    >>> made = Grouped(features=(Feature("city", values=("a", "b")),), keys=pa.table({"city": ["b", "z"]}),
    ...                counts=np.array([3, 1]), sums=np.array([[2.0], [1.0]]))
    >>> full = fill_domain(made)
    >>> full.keys["city"].to_pylist(), full.counts.tolist()
    ([None, 'a', 'b', None], [0, 0, 3, 1])
    """
    vocabularies = [_declared(feature) for feature in grouped.features]
    size = math.prod(map(len, vocabularies))
    if size > _MOST_BAGS:
        raise InvalidInput(f"by must make at most {_MOST_BAGS:,} bags from declared values, got {size:,}; use fewer")
    keys = _all_keys(vocabularies, grouped)
    plain = tuple(Feature(feature.name) for feature in grouped.features)
    at = look_up(grouped.keys, keys, plain)
    at = np.where(at < 0, size, at)
    counts, sums = np.zeros(size + 1, dtype=np.int64), np.zeros((size + 1, grouped.sums.shape[1]))
    np.add.at(counts, at, grouped.counts)
    np.add.at(sums, at, grouped.sums)
    empty = pa.table({name: pa.nulls(1, keys.schema.field(name).type) for name in keys.column_names})
    return Grouped(features=grouped.features, keys=pa.concat_tables([keys, empty]), counts=counts, sums=sums)


def _declared(feature: Feature) -> Sequence[Any]:
    if feature.buckets is not None:
        return [None, *range(feature.buckets)]
    if feature.values is None:
        raise InvalidInput(
            f"by must declare the values or the edges of {feature.name!r} for the unit record: which keys occur tells"
            " of single records"
        )
    return [None, *feature.values]


def _all_keys(vocabularies: Sequence[Sequence[Any]], grouped: Grouped) -> pa.Table:
    columns = zip(*product(*vocabularies), strict=True)
    try:
        return pa.table(
            {
                feature.name: pa.array(list(column), grouped.keys.schema.field(feature.name).type)
                for feature, column in zip(grouped.features, columns, strict=True)
            }
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidInput(f"values must be of their column's type: {error}") from None
