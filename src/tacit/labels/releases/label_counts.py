"""Count labels batch by batch: of the declared classes or values, or of whatever occurs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes, as_column, missing_labels
from tacit.labels.mechanisms.values import Coding, LabelValues
from tacit.labels.plan import Plan
from tacit.labels.releases.row_order import OrderSurvey
from tacit.privacy.errors import InvalidInput

__all__ = ["LabelCounts", "count_labels"]

Counts = NDArray[np.int64]

_MOST_CLASSES = 1000


class LabelCounts:
    """Labels counted so far; raises at the first that cannot be released. Tallies of parts of a table add up."""

    def __init__(self, plan: Plan) -> None:
        self.rows = 0
        self.order = OrderSurvey()
        self._plan = plan
        self._coding: Coding | None = None
        self._counts: Counts = np.zeros(0, dtype=np.int64)
        self._occurring: Counter[Any] = Counter()
        self._missing = 0
        self._kind: pa.DataType | None = None

    def add(self, column: pa.Array) -> None:
        """Count a batch of labels."""
        labels = as_column(column, name=self._plan.label)
        self.rows += len(labels)
        self._missing += labels.null_count
        if self._kind is None:
            self._kind, self._coding = labels.type, _declared(self._plan, labels.type)
        if self._coding is not None:
            self._counts = count_labels(self._coding, labels) + (self._counts if len(self._counts) else 0)
        else:
            found = pc.value_counts(labels.drop_null())
            self._occurring.update(dict(zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True)))
        self._check_few()
        self.order.add(labels)

    def merge(self, other: LabelCounts) -> None:
        """Add what was counted in another part of the table."""
        self.rows += other.rows
        self._missing += other._missing
        self._kind, self._coding = other._kind or self._kind, other._coding or self._coding
        self._counts = other._counts + (self._counts if len(self._counts) else 0)
        self._occurring.update(other._occurring)
        self._check_few()

    def result(self) -> tuple[Coding, Counts]:
        """Return the classes or values, and the labels of each, and last how many rows have none."""
        if self.rows == self._missing:
            raise InvalidInput(
                f"names a column with no label in any of its {self.rows:,} rows; name another column", field="label"
            )
        if self._plan.missing == "refuse" and self._missing:
            raise missing_labels(self._plan.label, self._missing, of=self.rows, field="missing")
        if self._coding is not None:
            return self._coding, self._counts
        values = sorted(self._occurring)
        if len(values) == 1:
            raise InvalidInput(
                f"names a column with one value, {values[0]!r}, in all rows; declare at least two classes",
                field="label",
            )
        counts = np.array([*(self._occurring[value] for value in values), self._missing], dtype=np.int64)
        if not self._plan.mechanism.numbers:
            return Classes(values=tuple(values), declared=False), counts
        if not (pa.types.is_integer(self._kind) or pa.types.is_floating(self._kind)):
            raise InvalidInput(f"must have numbers for {self._plan.mechanism.name}, got {self._kind}", field="label")
        return LabelValues(values=np.asarray(values, dtype=np.float64)), counts

    def _check_few(self) -> None:
        if len(self._occurring) <= _MOST_CLASSES:
            return
        label, many = repr(self._plan.label), f"more than {_MOST_CLASSES:,}"
        if self._plan.mechanism.numbers:
            raise InvalidInput(f"must be given, such as 0:100:5, where {label} has {many} values", field="values")
        if isinstance(next(iter(self._occurring)), str):
            sentence = (
                f"must name a column of at most {_MOST_CLASSES:,} classes, {label} has more; or declare the classes"
            )
            raise InvalidInput(sentence, field="label")
        raise InvalidInput(
            f"must be bins where {label} has {many} values, with the values to round to, such as 0:100:5; or declare "
            "the classes",
            field="mechanism",
        )


def count_labels(coding: Coding, labels: object) -> Counts:
    """Return how many labels each class or value has, and last how many are missing."""
    codes = coding.encode(labels)
    return np.bincount(np.where(codes == MISSING, len(coding), codes), minlength=len(coding) + 1)


def _declared(plan: Plan, kind: pa.DataType) -> Coding | None:
    """Return the classes or values that the plan declares, in the label column's type; None if it has none."""
    if plan.values is not None:
        return LabelValues(values=np.asarray(plan.values))
    if plan.classes is None:
        return None
    try:
        return Classes(values=tuple(pa.array(plan.classes, pa.string()).cast(kind).to_pylist()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInput(
            f"must be of the label column's type, {kind}, got {', '.join(plan.classes)}", field="classes"
        ) from None
