"""Columns that give the label away: each of their values occurs with one label alone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

__all__ = ["copies_of"]

_CHANCE = 1e-6  # of a column without information having one label for each value


def copies_of(table: pa.Table, label: str, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of which every value has one label, where that is no chance.

    Labels that are independent of a column, with shares p, are all alike for each of its values with probability
    prod over values of sum over labels of p^(rows of the value).

    Examples
    --------
    >>> ages, ill = [30, 31, 32] * 33 + [33], ["no", "yes"] * 50
    >>> table = pa.table({"sick": ["a", "b"] * 50, "id": range(100), "age": ages, "ill": ill})
    >>> copies_of(table, "ill", ["sick", "id", "age"])
    ('sick',)
    """
    flat = [name for name in columns if name != label and not pa.types.is_nested(table.schema.field(name).type)]
    return tuple(name for name in flat if _gives_away(table.select([name, label]).rename_columns(["column", "label"])))


def _gives_away(pairs: pa.Table) -> bool:
    each = pairs.group_by("column").aggregate([("label", "count_distinct"), ("label", "count")])
    if (each["label_count_distinct"].to_numpy() > 1).any():
        return False
    shares = pairs["label"].value_counts().field("counts").to_numpy() / pairs.num_rows
    alike = (shares[:, None] ** each["label_count"].to_numpy()).sum(axis=0)
    return bool(np.log(np.maximum(alike, 1e-300)).sum() < np.log(_CHANCE))
