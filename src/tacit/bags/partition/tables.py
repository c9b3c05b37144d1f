"""Bags as tables of a release, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.bags.partition.bags import Partition
from tacit.bags.partition.feature import COUNT, TOTAL, KeyColumn
from tacit.bags.partition.random_bags import RandomBags
from tacit.privacy.errors import InvalidRelease

__all__ = ["partition_of", "partition_table", "random_of", "random_table"]

_ROW, _LABEL = "row_", "label_"


def partition_of(table: pa.Table, described: Mapping[str, Any]) -> Partition:
    """Return the partition that a table and its description hold, or raise if they do not fit."""
    features = tuple(
        KeyColumn(one["name"], edges=one["edges"], values=one.get("values")) for one in described["features"]
    )
    totals = [f"{TOTAL}{k}" for k in range(_within(table, described["targets"]))]
    names = [feature.name for feature in features]
    if table.column_names != [*names, COUNT, *totals] or len(table) != described["bags"]:
        raise _mismatch()
    count = table[COUNT].to_numpy()
    numbers = _floats(table.select(totals))
    if count.dtype.kind not in "if" or not np.isfinite(count).all():
        raise _mismatch()
    return Partition(
        features=features,
        keys=table.select(names),
        counts=count.astype(np.int64 if count.dtype.kind == "i" else np.float64),
        totals=numbers,
        variance=float(described["variance"]),
        count_variance=float(described["count_variance"]),
        other=described["other"],
        dropped=bool(described["dropped"]),
    )


def random_of(table: pa.Table, described: Mapping[str, Any]) -> RandomBags:
    """Return the random bags that a table and its description hold, or raise if they do not fit."""
    rows = [f"{_ROW}{j}" for j in range(_within(table, described["size"]))]
    labels = [f"{_LABEL}{k}" for k in range(_within(table, described["targets"]))]
    if table.column_names != [*rows, *labels] or len(table) != described["bags"]:
        raise _mismatch()
    if any(not pa.types.is_integer(table.schema.field(name).type) for name in rows):
        raise _mismatch()
    return RandomBags(
        rows=np.column_stack([table[name].to_numpy() for name in rows]).astype(np.int64),
        labels=_floats(table.select(labels)),
        joins=described["joins"],
        bernoulli=bool(described["bernoulli"]),
        variance=float(described["variance"]),
    )


def partition_table(part: Partition) -> pa.Table:
    """Return a row per bag: its key, its count and its totals."""
    table = part.keys.append_column(COUNT, pa.array(part.counts))
    for k in range(part.targets):
        table = table.append_column(f"{TOTAL}{k}", pa.array(np.ascontiguousarray(part.totals[:, k])))
    return table


def random_table(bags: RandomBags) -> pa.Table:
    """Return a row per bag: the numbers of its rows, and its label."""
    columns = {f"{_ROW}{j}": np.ascontiguousarray(bags.rows[:, j]) for j in range(bags.size)}
    columns |= {f"{_LABEL}{k}": np.ascontiguousarray(bags.labels[:, k]) for k in range(bags.targets)}
    return pa.table(columns)


def _floats(table: pa.Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    if any(not pa.types.is_float64(column.type) or column.null_count for column in table.columns):
        raise _mismatch()
    values = np.column_stack([column.to_numpy() for column in table.columns])
    if not np.isfinite(values).all():
        raise _mismatch()
    return np.ascontiguousarray(values)


def _within(table: pa.Table, columns: object) -> int:
    """Return how many columns a header states, at most those that there are: names are made for each."""
    if not isinstance(columns, int) or not 0 <= columns <= table.num_columns:
        raise _mismatch()
    return columns


def _mismatch() -> InvalidRelease:
    return InvalidRelease("a table of bags does not have the columns, types and sizes that its header states")
