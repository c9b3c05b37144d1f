"""How the private column becomes the numbers that are added up: class names by their place in a public list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.mechanisms.engine import ROWS, run
from tacit.data import open_table, read_rows
from tacit.data.classes import missing_labels
from tacit.data.column import as_column
from tacit.data.names import check_present
from tacit.data.queries import SqlValue, column_of, float_literal, select
from tacit.data.view import TableView, literal, quoted
from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import check_class_count
from tacit.privacy.words import counted

if TYPE_CHECKING:
    import ibis

    from tacit.bags.losses import SemilinearLoss
    from tacit.bags.plan import Plan

__all__ = ["OCCURRING", "LabelEncoding", "loss_of_plan"]

OCCURRING = "which classes occur is public"
"""What a guarantee rests on where the plan lists no classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEncoding:
    """Labels as numbers: the places of class names in a public list, or the numbers themselves.

    Examples
    --------
    >>> import pyarrow as pa
    >>> LabelEncoding(label="ill", classes=("no", "yes")).read(pa.table({"ill": ["yes", "no"]}), argument="truth")
    array([1., 0.])
    """

    label: str
    classes: tuple[str, ...] | None = None  # the list; None if labels are numbers or truth values already

    @classmethod
    def of_plan(cls, plan: Plan, rows: TableView | ibis.Table) -> LabelEncoding:
        """Return the plan's classes, or those that occur where labels are names or each class has a total."""
        column = column_of(rows, check_present(plan.label, rows.columns, argument="label"))
        as_column(pa.array([], column.kind), name=plan.label)
        most, numbers = plan.totals.most_classes, column.is_number or pa.types.is_boolean(column.kind)
        if plan.classes is not None or not most or (most == 2 and numbers):
            return cls(label=plan.label, classes=plan.classes)
        labels = run(rows, {plan.label: SqlValue(column.value, column.kind)}, group_by=[plan.label])[plan.label]
        found = _occurring(labels, numeric=column.is_number)
        check_class_count(len(found), label=plan.label)
        if not 2 <= len(found) <= most:
            labels = f"column {plan.label!r} has {counted(len(found), 'different label')}"
            if most == 2 < len(found):
                raise InvalidInput(f"must be classes where {labels}", field="totals")
            raise InvalidInput(f"must list two classes or more where {labels}", field="classes")
        return cls(label=plan.label, classes=found)

    def apply(self, rows: TableView | ibis.Table, *, beside: Sequence[str] = ()) -> TableView | ibis.Table:
        """Return the labels as places in the list, and the columns beside; a label that is not in it is rejected."""
        if self.classes is None:
            return rows
        column = column_of(rows, check_present(self.label, rows.columns, argument="label"))
        words = column.number if column.is_number else f"CAST({column.value} AS VARCHAR)"
        names = map(float_literal, self._numbers()) if column.is_number else map(literal, self.classes)
        place = f"CASE {' '.join(f'WHEN {words} = {name} THEN {i}' for i, name in enumerate(names))} END"
        counts = {
            "given": SqlValue(f"COUNT({column.value})", ROWS.kind),
            "listed": SqlValue(f"COUNT({place})", ROWS.kind),
        }
        n, given, listed = run(rows, {"n": ROWS, **counts}).to_pylist()[0].values()
        if given < n:
            raise missing_labels(self.label, n - given, of=n)
        if listed < n:
            raise InvalidInput(
                f"must list every label of {self.label!r}, but {counted(n - listed, 'row')} of {n:,} have another; "
                "declare it too, or correct those rows",
                field="classes",
            )
        others = {name: SqlValue(quoted(name), column_of(rows, name).kind) for name in beside}
        return select(rows, {self.label: SqlValue(place, pa.int64()), **others})

    def read(self, table: object, *, argument: str) -> NDArray[np.float64]:
        """Return the labels of a table with true labels as numbers; others than the release's are refused."""
        rows = open_table(table)
        if self.label not in rows.columns:
            raise InvalidInput(f"must have the column {self.label!r} with true labels", field=argument)
        try:
            column = read_rows(self.apply(rows), columns=[self.label])[self.label]
            return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        except (InvalidInput, TypeError, ValueError):
            wanted = "numbers" if self.classes is None else f"only the classes {', '.join(self.classes)}"
            raise InvalidInput(f"must have {wanted} in its column {self.label!r}", field=argument) from None

    def _numbers(self) -> list[float]:
        try:
            return [float(name) for name in self.classes or ()]
        except ValueError:
            raise InvalidInput(
                f"must be numbers, as the labels of {self.label!r} are, got {', '.join(self.classes or ())}",
                field="classes",
            ) from None


def loss_of_plan(plan: Plan, classes: Sequence[str] | None) -> SemilinearLoss:
    """Return the loss whose T(y) the plan adds up."""
    return plan.totals.loss(len(classes or ()), lower=plan.lower, upper=plan.upper)


def _occurring(column: pa.ChunkedArray, *, numeric: bool) -> tuple[str, ...]:
    found = column.drop_null().to_pylist()
    if numeric:
        return tuple(f"{value:g}" if float(f"{value:g}") == value else repr(value) for value in sorted(found))
    return tuple(sorted(str(value).lower() if isinstance(value, bool) else str(value) for value in found))
