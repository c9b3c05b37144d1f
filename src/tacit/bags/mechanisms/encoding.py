"""How the private column becomes the numbers that are added up: class names by their place in a public list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
from numpy.typing import NDArray

from tacit.bags.losses import CategoricalLoss, LogisticLoss, PoissonLoss, SemilinearLoss, SquaredLoss
from tacit.data import as_ibis, open_table, read_rows
from tacit.data.classes import missing_labels
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import check_class_count

if TYPE_CHECKING:
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
    def of_plan(cls, plan: Plan, rows: ibis.Table) -> LabelEncoding:
        """Return the plan's classes, or those that occur where labels are names or each class has a total."""
        kind = rows[check_present(plan.label, rows.columns, argument="label")].type()
        numbers = kind.is_numeric() or kind.is_boolean()
        if plan.classes is not None or plan.totals in ("squared", "poisson") or (plan.totals == "log" and numbers):
            return cls(label=plan.label, classes=plan.classes)
        found = _occurring(rows[plan.label], numeric=kind.is_numeric())
        check_class_count(len(found), label=plan.label)
        if len(found) < 2 or (plan.totals == "log" and len(found) > 2):
            wanted = "two classes for totals log" if plan.totals == "log" else "at least two classes"
            raise InvalidInput(
                f"must list {wanted}: column {plan.label!r} has {len(found)} different labels", field="classes"
            )
        return cls(label=plan.label, classes=found)

    def apply(self, rows: ibis.Table) -> ibis.Table:
        """Replace each label by its place in the list; a label that is not in it is rejected."""
        if self.classes is None:
            return rows
        column = rows[check_present(self.label, rows.columns, argument="label")]
        kind = column.type()
        names: Sequence[Any] = self._numbers() if kind.is_numeric() else self.classes
        words = column.cast("float64" if kind.is_numeric() else "string")
        coded = ibis.cases(*[(words == name, place) for place, name in enumerate(names)], else_=ibis.null("int64"))
        flags = {"outside": coded.isnull(), "absent": column.isnull()}
        sums = {name: flag.cast("int64").sum() for name, flag in flags.items()}
        found = rows.aggregate(rows=rows.count(), **sums).to_pyarrow().to_pylist()[0]
        if found["absent"]:
            raise missing_labels(self.label, found["absent"], of=found["rows"])
        if found["outside"]:
            raise InvalidInput(
                f"must list every label of {self.label!r}, got {found['outside']} rows with another", field="classes"
            )
        return rows.mutate(**{self.label: coded.cast("int64")})

    def read(self, table: object, *, argument: str) -> NDArray[np.float64]:
        """Return the labels of a table with true labels as numbers; others than the release's are refused."""
        rows = as_ibis(open_table(table))
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
    made: Mapping[str, Any] = {
        "log": LogisticLoss,
        "classes": lambda: CategoricalLoss(classes=len(classes or ())),
        "squared": lambda: SquaredLoss(lower=plan.lower, upper=plan.upper),
        "poisson": lambda: PoissonLoss(most=None if plan.upper is None else int(plan.upper)),
    }
    loss: SemilinearLoss = made[plan.totals]()
    return loss


def _occurring(column: ibis.Value, *, numeric: bool) -> tuple[str, ...]:
    found = column.as_table().distinct().to_pyarrow().column(0).drop_null().to_pylist()
    if numeric:
        return tuple(f"{value:g}" if float(f"{value:g}") == value else repr(value) for value in sorted(found))
    return tuple(sorted(str(value).lower() if isinstance(value, bool) else str(value) for value in found))
