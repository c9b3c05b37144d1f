"""Checks of labels and predictions that every loss shares."""

from __future__ import annotations

import numpy as np
from ibis.expr.types import BooleanValue, NumericValue, Value
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["LEAST", "Floats", "as_labels", "as_predictions", "clip", "missing", "number_of", "refuse"]

Floats = NDArray[np.float64]

# a predicted mean is kept this far from the ends of its range, so that its link is finite
LEAST = 1e-12


def as_predictions(f: ArrayLike, targets: int) -> Floats:
    """Read predictions as a matrix with one column per target."""
    values = np.asarray(f, dtype=np.float64)
    if values.ndim == 1 and targets == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != targets:
        raise InvalidInput(f"must have shape (rows, {targets}), got {values.shape}", field="predictions")
    return values


def as_labels(labels: ArrayLike) -> Floats:
    """Read labels as finite numbers, one per row."""
    try:
        y = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("must be numbers, got text or objects: recode the labels", field="labels") from error
    if y.ndim != 1:
        raise InvalidInput(f"must be one value per row, got an array of shape {y.shape}", field="labels")
    refuse(~np.isfinite(y), y, "a label must be a finite number", "remove or recode the row")
    return y


def refuse(wrong: NDArray[np.bool_], y: Floats, rule: str, remedy: str) -> None:
    """Reject the first wrong label by its value and row."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(f"{rule}, got {float(y[row])!r} at row {row}: {remedy}")


def number_of(column: Value) -> NumericValue:
    """Read a column as float64, booleans as 0 and 1."""
    number: NumericValue = column.cast("float64")
    return number


def missing(column: Value) -> BooleanValue:
    """Return where a column has no finite number, by an expression that is never NULL."""
    number = number_of(column)
    absent = number.isnull()
    if column.type().is_floating():  # integers are finite, and not every engine can ask
        absent = absent | number.isnan() | number.isinf()
    # a comparison with NULL is NULL on every engine; the answer here must be a plain yes
    flagged: BooleanValue = absent.fill_null(True)
    return flagged


def clip(number: NumericValue, lower: float | None, upper: float | None) -> NumericValue:
    """Clip a column to the bounds that are declared."""
    return number if lower is None and upper is None else number.clip(lower=lower, upper=upper)
