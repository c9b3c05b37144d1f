"""Where rows are grouped: one Ibis expression a partition, on DuckDB, Spark or any backend of Ibis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.bags.mechanisms.measure import GridStatistic
from tacit.bags.partition.feature import Feature
from tacit.data import load_table
from tacit.data.csv_file import fault
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput, TacitError

__all__ = ["DuckDBEngine", "Engine", "GroupedRows", "check_labels", "group_rows", "open_rows"]


@runtime_checkable
class Engine(Protocol):
    """Opens what a user gives as an Ibis table, in the engine that is to group its rows."""

    @property
    def name(self) -> str:
        """The engine's name."""

    def open(self, source: object) -> AbstractContextManager[ibis.Table]:
        """Give the table for as long as the block runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckDBEngine:
    """Group rows in this process's DuckDB, or where an Ibis table of another backend lies.

    Rows stream through; what does not fit in memory is spilled to a private temporary folder. The bags themselves
    must fit in memory.

    Parameters
    ----------
    memory
        The most memory that DuckDB may use, such as ``"2GB"``; None for its own default, 80% of the machine's.
    threads
        The most threads; None for all cores.
    """

    memory: str | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.memory is not None and not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", self.memory):
            raise InvalidInput(f"must be a size such as 2GB or 500MB, got {self.memory!r}", field="memory")
        if self.threads is not None and self.threads < 1:
            raise InvalidInput(f"must be a whole number >= 1, got {self.threads!r}", field="threads")

    @property
    def name(self) -> str:
        """``duckdb``."""
        return "duckdb"

    @contextmanager
    def open(self, source: object) -> Iterator[ibis.Table]:
        """Give the table, with the settings in force for as long as the block runs."""
        table = load_table(source)
        backend: Any = table.get_backend()
        if backend.name != "duckdb":
            yield table
            return
        wanted = {"memory_limit": self.memory, "threads": self.threads}
        changed = {name: value for name, value in wanted.items() if value is not None}
        before = {name: _setting(backend, name) for name in changed}
        try:
            for name, value in changed.items():
                backend.con.execute(f"SET {name} = '{value}'")
            yield table
        finally:
            for name, value in before.items():
                backend.con.execute(f"RESET {name}")
                if _setting(backend, name) != value:  # not DuckDB's default, which it prints rounded
                    backend.con.execute(f"SET {name} = '{value}'")


@contextmanager
def open_rows(table: object) -> Iterator[ibis.Table]:
    """Give the rows of whatever ``load_table`` takes, or of a Spark table where it lies."""
    if type(table).__module__.partition(".")[0] == "pyspark":
        from tacit.bags.mechanisms.spark import SparkEngine

        with SparkEngine().open(table) as rows:
            yield rows
    else:
        with DuckDBEngine().open(table) as rows:
            yield rows


def _setting(backend: Any, name: str) -> Any:  # noqa: ANN401
    return backend.con.sql(f"SELECT current_setting('{name}')").fetchone()[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupedRows:
    """The bags of one partition before anything is hidden: private.

    Parameters
    ----------
    features
        What the rows are grouped by.
    keys
        One row a bag, sorted, missing values last.
    counts
        Rows in each bag.
    sums
        The sum of T(y) in each bag, in steps where the measure has a grid.
    """

    features: tuple[Feature, ...]
    keys: pa.Table
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]


def check_labels(table: ibis.Table, *, label: str, measure: GridStatistic) -> int:
    """Return how many rows there are, or raise if a label is missing or out of range; one pass over one column."""
    check_present(label, table.columns, argument="label")
    column = table[label]
    measure.check_type(column, name=label)
    wrong = measure.loss.violation(column).cast("int64").sum()
    found = _run(table.aggregate(rows=table.count(), missing=column.isnull().cast("int64").sum(), wrong=wrong))
    rows, bad, missing = (int(found[name][0].as_py() or 0) for name in ("rows", "wrong", "missing"))
    if bad:
        are = "that is" if bad == 1 else "that are"
        null = f", {missing} of them NULL" if missing else ""
        raise InvalidInput(
            f"label column {label!r} has {bad} label{'s' * (bad > 1)} of {rows} {are} missing or out of range for "
            f"the loss {measure.loss.describe()}{null}; remove or recode those rows"
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
