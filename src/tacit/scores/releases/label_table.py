"""A table of private labels and tables of predictions, as a metric reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.amounts import is_amount
from tacit.data.classes import Classes
from tacit.data.matrix import numeric_matrix
from tacit.data.names import check_present
from tacit.data.persons import draw_seed, limit_rows
from tacit.data.rows import label_column, read_rows
from tacit.data.table import open_table
from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import check_class_count
from tacit.scores.metrics import Metric, UnreleasedScore
from tacit.scores.plan import Plan

__all__ = ["LabelTable", "sources_of"]

_ID = "id"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelTable:
    """The private labels, in the order of their table.

    Parameters
    ----------
    labels
        Class codes, or numbers where the metric reads numbers.
    scored
        The numbers of the rows that are scored; None: all.
    clipped
        How many labels are beyond the metric's range and count as its nearer end, which a guarantee requires: whether
        such a label is refused would reveal it. For the owner only.
    """

    name: str
    table: pa.Table
    metric: Metric
    labels: NDArray[Any]
    classes: Classes | None
    ids: pa.Array | None
    scored: NDArray[np.int64] | None = None
    clipped: int = 0

    @classmethod
    def read(
        cls, source: object, plan: Plan, *, rng: np.random.Generator, classes: Sequence[Any] | None = None
    ) -> LabelTable:
        """Read the labels of a table and draw which rows of a person are scored; ``classes`` overrides the plan's."""
        table, name = open_table(source), _name_of(source, "the table")
        check_present(plan.label, table.columns, argument="label")
        columns = [plan.label] + [_ID] * (_ID in table.columns and plan.label != _ID)
        if plan.person is not None and plan.person not in columns:
            check_present(plan.person, table.columns, argument="person")
            columns.append(plan.person)
        rows = read_rows(table, columns=columns)
        values = label_column(rows, plan.label, least_classes=1)
        coding = _classes(values, plan, classes or plan.classes)
        metric = plan.metric.for_classes(0 if coding is None else len(coding))
        within = values if coding is not None or plan.epsilon is None else _moved_into_range(values, metric)
        return cls(
            name=name,
            table=rows,
            metric=metric,
            labels=_in_range(within, metric) if coding is None else coding.encode(values),
            classes=coding,
            ids=_distinct_ids(rows) if _ID in columns[1:] else None,
            scored=None
            if plan.person is None
            else limit_rows(rows[plan.person], rows=plan.rows_per_person, seed=draw_seed(rng)),
            clipped=int((within != values).sum()),
        )

    @property
    def rows(self) -> int:
        """How many labels there are, and predictions in a submission."""
        return len(self.labels)

    @property
    def scored_rows(self) -> int:
        """How many of them are scored."""
        return self.rows if self.scored is None else len(self.scored)

    def measure(self, predictions: NDArray[np.float64]) -> UnreleasedScore:
        """Return the exact score, hidden, on the rows that are scored."""
        rows = slice(None) if self.scored is None else self.scored
        return self.metric.measure(self.labels[rows], predictions[rows])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield what the plan reads, for the ledger."""
        yield from self.table.to_batches()

    def read_submission(self, source: object, *, number: int) -> NDArray[np.float64]:
        """Return predictions in the order of the labels: matched by id where both tables have ids, else row by row."""
        name = _name_of(source, f"submission {number}")
        rows = read_rows(open_table(source))
        columns = [column for column in rows.column_names if column != _ID]
        most = 1 if self.classes is None else len(self.classes)
        if len(columns) not in (1, most):
            each = f", or one for each of {most} classes" if most > 1 else ""
            got = ", ".join(columns) or "none"
            raise InvalidInput(f"{name} must have one column of predictions besides id{each}, got {got}")
        if rows.num_rows != self.rows:
            raise InvalidInput(f"{name} must have one row for each of the {self.rows} labels, got {rows.num_rows}")
        ordered = self._ordered(rows, name)
        try:
            return self.metric.check(self._values(ordered, columns), rows=self.rows)
        except InvalidInput as error:
            raise InvalidInput(f"{name}: {error}") from None

    def _ordered(self, rows: pa.Table, name: str) -> pa.Table:
        named = _ID in rows.column_names
        if named and self.ids is None and _ID in self.table.column_names:
            raise _repeated(self.name)
        if named != (self.ids is not None):
            with_ids, without = (name, self.name) if named else (self.name, name)
            raise InvalidInput(f"{with_ids} has a column id and {without} has none: both need it, or neither")
        if self.ids is None:
            return rows
        ids = _distinct_ids(rows)
        if ids is None:
            raise _repeated(name)
        places = pc.index_in(self.ids, value_set=ids)
        if places.null_count:
            missing = self.ids.filter(places.is_null())[0].as_py()
            raise InvalidInput(f"{name} must have a row with the id {missing!r} of {self.name}, got none")
        return rows.take(places)

    def _values(self, rows: pa.Table, columns: list[str]) -> NDArray[np.float64]:
        if self.classes is None or not self.metric.reads_classes:
            listed = [] if self.classes is None else [str(value) for value in self.classes.values]
            by_name = listed if len(columns) > 1 and set(listed) == set(columns) else columns
            return numeric_matrix(rows, columns=by_name)
        try:
            codes = self.classes.encode(rows[columns[0]])
        except InvalidInput:
            codes = np.array([-1])
        if len(columns) > 1 or codes.min() < 0:
            values = ", ".join(str(value) for value in self.classes.values)
            raise InvalidInput(
                f"must be one of the classes {values} in each row for {self.metric.name}", field="predictions"
            )
        return codes.astype(np.float64)


def sources_of(data: object) -> list[object]:
    """Return the tables that ``data`` is: none, one, or a list of them."""
    if data is None:
        return []
    return list(data) if isinstance(data, list | tuple) else [data]


def _name_of(source: object, otherwise: str) -> str:
    return Path(source).name if isinstance(source, str | os.PathLike) else otherwise


def _classes(values: NDArray[Any], plan: Plan, declared: Sequence[Any] | None) -> Classes | None:
    """Return the classes of the labels where they are no numbers to the metric."""
    if not plan.metric.classes:
        if values.dtype.kind not in "fiub":
            raise InvalidInput(f"must name a column of numbers for {plan.metric.name}, got words", field="label")
        return None
    if declared is None and len(set(values.tolist())) < 2:
        raise InvalidInput("must list the classes if all labels are the same, such as no,yes", field="classes")
    if declared is None and is_amount(pa.array(values)):
        raise InvalidInput(
            f"must be one for numbers, such as mae:lower=0,upper=30, where label column {plan.label!r} has amounts; "
            "if each number is a class, give the classes",
            field="metric",
        )
    classes = Classes.of(values, declared=declared)
    check_class_count(len(classes), label=plan.label)
    return classes


def _moved_into_range(values: NDArray[Any], metric: Metric) -> NDArray[Any]:
    return np.asarray(np.clip(values, *metric.label_range))


def _in_range(values: NDArray[Any], metric: Metric) -> NDArray[Any]:
    try:
        return metric.check_labels(values)
    except InvalidInput as error:
        raise InvalidInput(f"{error}; give the public range, as in metric {metric.name}:lower=0,upper=30") from None


def _distinct_ids(rows: pa.Table) -> pa.Array | None:
    """Return what identifies each row; None where a value is missing or repeated, as one of persons or visits is."""
    if pa.types.is_nested(rows.schema.field(_ID).type):
        return None
    ids = rows[_ID].cast(pa.string()).combine_chunks()
    return None if ids.null_count or len(ids.unique()) < len(ids) else ids


def _repeated(name: str) -> InvalidInput:
    return InvalidInput(f"{name} must have a different id in each row; remove the column id or repair it")
