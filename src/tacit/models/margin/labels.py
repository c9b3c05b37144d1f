"""Rows with one of two labels, checked once: what every learner of a margin takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["check_points", "signs_of"]


def check_points(X: ArrayLike, *, name: str = "X") -> NDArray[np.float64]:
    """Return the rows as a matrix of float64, or raise unless all of it is finite."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"must be a table of numbers, got {type(X).__name__}", field=name) from None
    if rows.ndim != 2 or rows.size == 0:
        raise InvalidInput(f"must have a row per point and a column per feature, got shape {rows.shape}", field=name)
    broken = int((~np.isfinite(rows)).sum())
    if broken:
        raise InvalidInput(
            f"must have finite numbers only, got {broken} that are not: drop or fill those rows", field=name
        )
    return rows


def signs_of(y: ArrayLike, *, rows: int) -> NDArray[np.float64]:
    """Return labels of any two values as -1 and +1, the larger value as +1; -1 and +1 alone stay what they are."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise InvalidInput(f"must have one label for each of {rows} rows of X, got shape {labels.shape}", field="y")
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise InvalidInput("must not contain NaN or infinite labels: drop those rows", field="y")
    try:
        values, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InvalidInput(
            "must have labels that can be compared, all of one kind: fill missing ones", field="y"
        ) from None
    if len(values) == 1 and labels.dtype.kind in "iuf" and abs(float(values[0])) == 1:
        return labels.astype(np.float64)
    if len(values) != 2:
        raise InvalidInput(f"must have two values, got {len(values)}", field="y")
    return np.asarray(2.0 * codes - 1.0)
