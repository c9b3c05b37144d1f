"""Columns that give the label away: each of their values, or of what is read off them, occurs with one label alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["copies_of"]

_CHANCE = math.log(1e-6)  # of a column without information having one label for each value
_LARGEST_DIVISOR = 10
_PARTS_OF_DATES = {"year": pc.year, "month": pc.month, "day": pc.day, "weekday": pc.day_of_week}
_PART_OF_TIMES = {"hour": pc.hour}
_ENDS_OF_TEXT = {"first character": (0, 1), "last character": (-1, None)}


def copies_of(table: pa.Table, label: str, columns: Iterable[str]) -> dict[str, str]:
    """Return the columns that tell every label, where that is no chance, each with how it does; empty: by its value.

    Besides the values these are tried: remainders of integers, parts of dates and times, the first and the last
    character of text, and ranges of numbers and dates with a label each.

    Labels that are independent of a column, with shares p, are all alike for each of its values with probability
    prod over values of sum over labels of p^(rows of the value). Labels in random order come in as many runs as there
    are labels with probability (labels)! prod over labels of (rows of the label)! / (rows)!.

    Examples
    --------
    >>> ages, ill = [30, 31, 32] * 33 + [33], ["no", "yes"] * 50
    >>> table = pa.table({"sick": ["a", "b"] * 50, "id": range(100), "age": ages, "ill": ill})
    >>> copies_of(table, "ill", ["sick", "id", "age"])
    {'sick': '', 'id': 'remainder by 2'}
    """
    if pa.types.is_nested(table.schema.field(label).type):
        return {}
    flat = [name for name in columns if name != label and not pa.types.is_nested(table.schema.field(name).type)]
    known = table.filter(pc.is_valid(table[label]))
    labels = known[label].combine_chunks()
    found = {name: _how(known[name].combine_chunks(), labels) for name in flat}
    return {name: how for name, how in found.items() if how is not None}


def _how(column: pa.Array, labels: pa.Array) -> str | None:
    """Return what tells every label: of a column, the first of what can be read off it."""
    return next((how for how, values in _readings(column) if _gives_away(values, labels)), _by_range(column, labels))


def _readings(column: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    yield "", column
    kind = column.type
    if pa.types.is_integer(kind):
        numbers = column.cast(pa.int64(), safe=False)
        for divisor in range(2, _LARGEST_DIVISOR + 1):
            whole = pc.multiply(pc.divide(numbers, divisor), divisor)
            yield f"remainder by {divisor}", pc.subtract(numbers, whole)
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        parts = _PARTS_OF_DATES | (_PART_OF_TIMES if pa.types.is_timestamp(kind) else {})
        yield from ((name, part(column)) for name, part in parts.items())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield from ((name, pc.utf8_slice_codeunits(column, *ends)) for name, ends in _ENDS_OF_TEXT.items())


def _gives_away(values: pa.Array, labels: pa.Array) -> bool:
    pairs = pa.table({"column": values, "label": labels})
    each = pairs.group_by("column").aggregate([("label", "count_distinct"), ("label", "count")])
    if (each["label_count_distinct"].to_numpy() > 1).any():
        return False
    shares = _counts(labels) / len(labels)
    alike = (shares[:, None] ** each["label_count"].to_numpy()).sum(axis=0)
    return bool(np.log(np.maximum(alike, 1e-300)).sum() < _CHANCE)


def _by_range(column: pa.Array, labels: pa.Array) -> str | None:
    """Say "ranges" if the rows in the order of the column come in one run for each label, and equal values in one."""
    kind, counts = column.type, _counts(labels)
    measured = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    if not measured or column.null_count or len(labels) < 2:
        return None
    order = pc.sort_indices(column)
    values, sorted_labels = column.take(order), labels.take(order)
    ends = pc.not_equal(sorted_labels[1:], sorted_labels[:-1])
    within = pc.and_(ends, pc.equal(values[1:], values[:-1]))
    runs = 1 + (pc.sum(ends).as_py() or 0)
    ways = [math.lgamma(count + 1) for count in counts.tolist()]
    chance = math.lgamma(len(counts) + 1) + sum(ways) - math.lgamma(len(labels) + 1)
    return "ranges" if runs == len(counts) and not pc.any(within).as_py() and chance < _CHANCE else None


def _counts(labels: pa.Array) -> NDArray[np.int64]:
    return np.asarray(labels.value_counts().field("counts"))
