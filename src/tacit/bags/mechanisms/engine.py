"""Grouping of rows: one query per partition, on DuckDB, Spark or any database that Ibis connects to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.bags.mechanisms.measure import GridStatistic
from tacit.bags.partition.feature import KeyColumn
from tacit.data import open_table, read_rows
from tacit.data.classes import missing_labels
from tacit.data.csv_file import fault
from tacit.data.names import check_present
from tacit.data.queries import SqlValue, column_of, select
from tacit.data.view import TableView
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.words import counted

if TYPE_CHECKING:
    import ibis

    from tacit.bags.losses import SemilinearLoss

__all__ = ["ROWS", "GroupedRows", "check_labels", "group_rows", "open_rows", "run"]

ROWS = SqlValue("COUNT(*)", pa.int64())
"""How many rows a table or a group has."""


@contextmanager
def open_rows(table: Any) -> Iterator[TableView | ibis.Table]:  # noqa: ANN401
    """Give the rows of whatever ``open_table`` takes, or of a Spark frame, where they lie."""
    if type(table).__module__.partition(".")[0] != "pyspark":
        yield open_table(table)
        return
    import ibis

    name = ibis.util.gen_name("tacit")
    table.createOrReplaceTempView(name)
    try:
        yield ibis.pyspark.connect(table.sparkSession).table(name)
    finally:
        table.sparkSession.catalog.dropTempView(name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupedRows:
    """The exact bags of one partition, which are private."""

    features: tuple[KeyColumn, ...]  # what the rows are grouped by
    keys: pa.Table  # one row per bag, sorted, missing values last
    counts: NDArray[np.int64]  # rows in each bag
    sums: NDArray[np.float64]  # the sum of T(y) in each bag, in steps where the measure has a grid


def check_labels(table: TableView | ibis.Table, *, label: str, measure: GridStatistic) -> int:
    """Return how many rows there are, or raise if a label is missing or out of range; one pass over one column."""
    column = column_of(table, check_present(label, table.columns, argument="label"))
    measure.check_type(column)
    flags = {"absent": column.is_missing, "wrong": measure.loss.violation(column)}
    sums = {name: SqlValue(f"SUM(CASE WHEN {flag} THEN 1 ELSE 0 END)", pa.int64()) for name, flag in flags.items()}
    found = run(table, {"n": ROWS, **sums})
    rows, none, bad = (int(found[name][0].as_py() or 0) for name in ("n", "absent", "wrong"))
    if none:
        raise missing_labels(label, none, of=rows)
    if bad:
        raise _out_of_range(label, bad, of=rows, loss=measure.loss)
    return rows


def _out_of_range(label: str, bad: int, *, of: int, loss: SemilinearLoss) -> InvalidInput:
    found = f"label column {label!r} has {counted(bad, 'label')} of {of:,} out of range for the loss {loss.name}"
    if loss.for_other_labels is None:
        return InvalidInput(f"{found}; recode them, or leave those rows out")
    return InvalidInput(f"{loss.for_other_labels}: {found}; or leave those rows out", field="totals")


def group_rows(
    table: TableView | ibis.Table, *, features: tuple[KeyColumn, ...], label: str, measure: GridStatistic
) -> GroupedRows:
    """Return the bags of one partition by one query: Algorithm 1 of the paper, empty bags left out.

    Rows whose keys are equal are one bag, NULL being a key like any other. The bags are sorted by key, so that the
    same rows give the same bags on every engine.

    References
    ----------
    Chen et al. (2023), Algorithm 1, as corrected: sums and counts instead of means.
    """
    # keys get names of their own: a feature may be called as a column of the result
    keys = {f"key_{i}": feature.in_sql(column_of(table, feature.name)) for i, feature in enumerate(features)}
    values = measure.in_sql(column_of(table, label))
    targets = {f"t_{k}": SqlValue(value, pa.float64()) for k, value in enumerate(values)}
    keyed = select(table, keys | targets)
    kept = {key: SqlValue(key, value.kind) for key, value in keys.items()}
    sums = {name: SqlValue(f"SUM({name})", pa.float64()) for name in targets}
    found = _sorted(run(keyed, {**kept, "n": ROWS, **sums}, group_by=list(keys)), list(keys))
    return GroupedRows(
        features=features,
        keys=found.select(list(keys)).rename_columns([feature.name for feature in features]),
        counts=found["n"].to_numpy().astype(np.int64),
        sums=np.column_stack([found[name].to_numpy() for name in targets]).astype(np.float64),
    )


def _sorted(found: pa.Table, keys: list[str]) -> pa.Table:
    """Keys in the types of a release, and bags in the order of their keys: engines have collations of their own."""
    for key in keys:
        at = found.column_names.index(key)
        found = found.set_column(at, key, KeyColumn(key).codes(found[key]))
    order = pc.sort_indices(found, sort_keys=[(key, "ascending") for key in keys])
    return found.take(order).combine_chunks()


def run(table: TableView | ibis.Table, columns: Mapping[str, SqlValue], *, group_by: Sequence[str] = ()) -> pa.Table:
    """Return new columns of a table, or of its groups, in memory."""
    try:
        return read_rows(select(table, columns, group_by=group_by))
    except TacitError:
        raise
    except Exception as error:  # each engine has errors of its own
        raise InvalidInput(f"the table cannot be grouped: {fault(error)}") from error
