"""Grouping of rows: one Ibis expression per partition, on DuckDB, Spark or any backend of Ibis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.bags.losses.checks import missing
from tacit.bags.mechanisms.measure import GridStatistic
from tacit.bags.partition.feature import Feature
from tacit.data import as_ibis, open_table
from tacit.data.classes import missing_labels
from tacit.data.csv_file import fault
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput, TacitError

__all__ = ["GroupedRows", "check_labels", "group_rows", "open_rows"]


@contextmanager
def open_rows(table: Any) -> Iterator[ibis.Table]:  # noqa: ANN401
    """Give the rows of whatever ``open_table`` takes, or of a Spark frame, where they lie."""
    if type(table).__module__.partition(".")[0] != "pyspark":
        yield as_ibis(open_table(table))
        return
    name = ibis.util.gen_name("tacit")
    table.createOrReplaceTempView(name)
    try:
        yield ibis.pyspark.connect(table.sparkSession).table(name)
    finally:
        table.sparkSession.catalog.dropTempView(name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupedRows:
    """The exact bags of one partition, which are private."""

    features: tuple[Feature, ...]  # what the rows are grouped by
    keys: pa.Table  # one row per bag, sorted, missing values last
    counts: NDArray[np.int64]  # rows in each bag
    sums: NDArray[np.float64]  # the sum of T(y) in each bag, in steps where the measure has a grid


def check_labels(table: ibis.Table, *, label: str, measure: GridStatistic) -> int:
    """Return how many rows there are, or raise if a label is missing or out of range; one pass over one column."""
    check_present(label, table.columns, argument="label")
    column = table[label]
    measure.check_type(column, name=label)
    absent = column.isnull() if measure.loss.several else missing(column)
    counted = {"absent": absent, "wrong": measure.loss.violation(column)}
    sums = {name: flag.cast("int64").sum() for name, flag in counted.items()}
    found = _run(table.aggregate(rows=table.count(), **sums))
    rows, none, bad = (int(found[name][0].as_py() or 0) for name in ("rows", "absent", "wrong"))
    if none:
        raise missing_labels(label, none, of=rows)
    if bad:
        are = "that is" if bad == 1 else "that are"
        raise InvalidInput(
            f"label column {label!r} has {bad} label{'s' * (bad > 1)} of {rows} {are} out of range for the loss "
            f"{measure.loss.describe()}; recode them, or leave those rows out"
        )
    return rows


def group_rows(table: ibis.Table, *, features: tuple[Feature, ...], label: str, measure: GridStatistic) -> GroupedRows:
    """Return the bags of one partition by one Ibis expression: Algorithm 1 of the paper, empty bags left out.

    Rows whose keys are equal are one bag, NULL being a key like any other. The bags are sorted by key, so that the
    same rows give the same bags on every engine.

    References
    ----------
    Chen et al. (2023), Algorithm 1, as corrected: sums and counts instead of means.
    """
    # keys get names of their own: a feature may be called as a column of the result
    keys = [f"key_{i}" for i in range(len(features))]
    inner = table.select(
        **{key: feature.expression(table) for key, feature in zip(keys, features, strict=True)},
        **{f"t_{k}": value for k, value in enumerate(measure.expressions(table[label]))},
    )
    targets = [f"t_{k}" for k in range(measure.loss.targets)]
    grouped = inner.group_by(keys).aggregate(rows=inner.count(), **{name: inner[name].sum() for name in targets})
    found = _sorted(_run(grouped), keys)
    return GroupedRows(
        features=features,
        keys=pa.table({feature.name: found[key] for key, feature in zip(keys, features, strict=True)}),
        counts=found["rows"].to_numpy().astype(np.int64),
        sums=np.column_stack([found[name].to_numpy() for name in targets]).astype(np.float64),
    )


def _sorted(found: pa.Table, keys: list[str]) -> pa.Table:
    """Keys in the types of a release, and bags in the order of their keys: engines have collations of their own."""
    for key in keys:
        at = found.column_names.index(key)
        found = found.set_column(at, key, Feature(key).codes(found[key]))
    order = pc.sort_indices(found, sort_keys=[(key, "ascending") for key in keys])
    return found.take(order).combine_chunks()


def _run(expression: ibis.Table) -> pa.Table:
    try:
        return expression.to_pyarrow()
    except TacitError:
        raise
    except Exception as error:  # each engine has errors of its own
        raise InvalidInput(f"the table cannot be grouped: {fault(error)}") from error
