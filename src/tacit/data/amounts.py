"""Labels that are amounts, such as a cost: public cuts make classes of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.data.column import as_column
from tacit.privacy.encoded_plan import EncodedPlan
from tacit.privacy.errors import InvalidInput
from tacit.privacy.plan import Plan, check_class_count

__all__ = ["check_classes", "cut_column", "is_amount"]

_MOST_CODES = 20  # numbers of more values measure something; fewer may be codes of classes


def is_amount(column: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether a column of labels measures something: numbers of more than 20 values."""
    number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    return number and len(column.unique().drop_null()) > _MOST_CODES


def check_classes(column: pa.Array | pa.ChunkedArray, plan: EncodedPlan) -> None:
    """Raise where a plan takes amounts for classes, or a column has too many classes."""
    plain = as_column(column, name=plan.label)
    if plan.classes is not None or plan.cuts:
        return
    if is_amount(plain):
        raise InvalidInput(
            f"must be given for the label {plan.label!r}, numbers of more than {_MOST_CODES} values: public cut points "
            "such as 100,500 make classes of them; if each number is a class, give classes instead",
            field="cuts",
        )
    check_class_count(len(plain.unique().drop_null()), label=plan.label)


def cut_column(column: pa.Array | pa.ChunkedArray, plan: Plan | None) -> pa.Array:
    """Return the class of each number by a plan's cuts, a missing one as missing; without cuts, the column."""
    plain = as_column(column)
    if not isinstance(plan, EncodedPlan) or not plan.cuts:
        return plain
    if not (pa.types.is_integer(plain.type) or pa.types.is_floating(plain.type) or pa.types.is_null(plain.type)):
        raise InvalidInput(f"must cut a column of numbers, {plan.label!r} is {plain.type}", field="cuts")
    numbers = pc.cast(plain, pa.float64(), safe=False)
    codes = np.searchsorted(plan.cuts, numbers.to_numpy(zero_copy_only=False), side="right")
    return pa.array(plan.cut_classes).take(pa.array(codes, mask=plain.is_null().to_numpy(zero_copy_only=False)))
