"""A column of labels, from any container."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.privacy.errors import InvalidInput

__all__ = ["as_column", "as_floats", "is_whole"]

_LABELS = "must be numbers, text or truth values"
_TOO_LARGE = "must be integers below 2^63, got larger ones; convert them to text"


def as_column(labels: object, *, name: str | None = None) -> pa.Array:
    """Return a column of labels as one plain Arrow array; NaN and None are missing.

    Errors call it by its ``name``, if it has one.

    A table or an array of one column is that column. Decimals become int64 if they are integers, or float64 if they
    stay different. Dates, bytes and
    other values that no release can name are rejected.
    """
    try:
        column = _to_arrow(_single(labels))
        return _plain(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    except InvalidInput as error:
        raise error if name is None else InvalidInput(error.worded(f"label column {name!r}")) from None


def as_floats(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return a column of numbers as float64, each rounded to the nearest."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # Arrow's own way is an ulp off: 0.3 becomes 0.30000000000000004
    return column.cast(pa.float64(), safe=False)


def is_whole(column: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether a column is of integers of at most 64 bits, or of decimals that warehouses keep these in."""
    if not pa.types.is_decimal(column.type):
        return bool(pa.types.is_integer(column.type))
    if column.type.scale != 0:
        return False
    ends = pc.min_max(column).as_py().values()
    return all(end is None or -(2**63) <= end < 2**63 for end in ends)


def _single(labels: Any) -> Any:  # noqa: ANN401
    """Return the one column of a table or an array, in this machine's byte order."""
    if isinstance(labels, str | bytes | Mapping | Set) or not (hasattr(labels, "__iter__") or _is_frame(labels)):
        raise InvalidInput(f"must be a column, such as a list or a series, got {type(labels).__name__}", field="labels")
    if _is_frame(labels):
        names = list(getattr(labels, "column_names", labels.columns))
        if len(names) != 1:
            raise InvalidInput(f"must be one column, got a table of {len(names)}: take one of them", field="labels")
        return labels[names[0]]
    if isinstance(labels, np.ndarray):
        if labels.ndim != 1 and labels.shape[1:] != (1,):
            raise InvalidInput(f"must be one value per row, got shape {labels.shape}", field="labels")
        flat = labels.reshape(-1)
        return flat if flat.dtype.isnative else flat.astype(flat.dtype.newbyteorder("="))
    return labels


def _is_frame(labels: object) -> bool:
    return isinstance(labels, pa.Table | pa.RecordBatch) or (hasattr(labels, "shape") and hasattr(labels, "columns"))


def _to_arrow(labels: Any) -> pa.Array | pa.ChunkedArray:  # noqa: ANN401
    if isinstance(labels, pa.Array | pa.ChunkedArray):
        return labels
    try:
        return pa.array(labels, from_pandas=True)
    except pa.ArrowNotImplementedError:
        kind = getattr(labels, "dtype", type(labels).__name__)
        raise InvalidInput(f"{_LABELS}, got {kind}", field="labels") from None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        fault = str(error).partition("\n")[0]
        if "did not recognize" in fault:
            raise InvalidInput(f"{_LABELS}, got others ({fault})", field="labels") from None
        raise InvalidInput(f"must be of one type, got a mixture ({fault})", field="labels") from None
    except OverflowError:
        raise InvalidInput(_TOO_LARGE, field="labels") from None


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_nested(kind):
        raise InvalidInput(f"must be one value per row, got {kind}; make a column of that value", field="labels")
    if pa.types.is_decimal(kind):
        return column.cast(pa.int64()) if is_whole(column) else _as_float(column)
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return _finite(column.cast(pa.float32()) if pa.types.is_float16(kind) else column)
    known = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_string, pa.types.is_null)
    if not any(is_kind(kind) for is_kind in known):
        raise InvalidInput(f"{_LABELS}, got {kind}; convert them to text", field="labels")
    if pa.types.is_uint64(kind) and (pc.max(column).as_py() or 0) >= 2**63:
        raise InvalidInput(_TOO_LARGE, field="labels")
    return column


def _finite(column: pa.Array) -> pa.Array:
    if pc.any(pc.is_inf(column)).as_py():
        raise InvalidInput("must be finite, got an infinite one; remove or recode those rows", field="labels")
    zero = pa.scalar(0, column.type)
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), pc.add(column, zero))  # which makes -0.0 be 0.0


def _as_float(column: pa.Array) -> pa.Array:
    numbers = as_floats(column)
    if pc.count_distinct(numbers).as_py() < pc.count_distinct(column).as_py():
        raise InvalidInput(
            f"must be different as numbers of 64 bits, got {column.type}; convert them to text", field="labels"
        )
    return numbers
