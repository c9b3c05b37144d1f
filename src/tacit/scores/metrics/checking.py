"""Labels and predictions as metrics read them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = [
    "class_predictions",
    "finite",
    "finite_labels",
    "number_labels",
    "probabilities",
    "without_tiny",
]

Numbers = NDArray[np.float64]

_TINY = 2.0**-300
_SUM = (1e-9, 0.05)  # a row of probabilities this far from 1 is accepted, and is divided by its sum


def number_labels(labels: ArrayLike, *, lower: float, upper: float) -> Numbers:
    """Return labels that are numbers within a public range, or raise without revealing one."""
    given = np.asarray(labels)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "fiub":
        raise InvalidInput(f"must be a non-empty list of one number per row, got shape {given.shape}", field="labels")
    numbers = given.astype(np.float64)
    good = (numbers >= lower) & (numbers <= upper)
    if not good.all():
        where = int(np.argmin(good))
        raise InvalidInput(f"must be numbers in [{lower}, {upper}], the one at row {where} is not", field="labels")
    return numbers


def finite_labels(labels: ArrayLike) -> Numbers:
    """Return labels that are finite numbers, or raise without revealing one."""
    given = np.asarray(labels, dtype=np.float64)
    if given.ndim != 1 or not given.size or not np.isfinite(given).all():
        raise InvalidInput(
            f"must be a non-empty list of one finite number per row, got shape {given.shape}", field="labels"
        )
    return given


def finite(predictions: ArrayLike, *, rows: int, columns: int | None = None) -> Numbers:
    """Return finite numbers of the right shape: (rows,) or (rows, columns); -0.0 becomes 0.0."""
    try:
        given = np.asarray(predictions, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            "must be numbers, got something else; one row of numbers per line", field="predictions"
        ) from None
    shape = (rows,) if columns is None else (rows, columns)
    if given.shape == (rows, 1) and columns is None:
        given = given[:, 0]
    if given.shape != shape:
        raise InvalidInput(
            f"must have shape {shape}, one row for each scored row, got {given.shape}", field="predictions"
        )
    good = np.isfinite(given)
    if not good.all():
        row = int(np.argwhere(~good)[0][0])
        raise InvalidInput(f"must be finite numbers, got {given[~good].flat[0]} at row {row}", field="predictions")
    return np.ascontiguousarray(given) + 0.0


def class_predictions(predictions: ArrayLike, *, rows: int, classes: int) -> Numbers:
    """Return predicted classes 0..classes-1, or raise."""
    given = finite(predictions, rows=rows)
    good = np.isin(given, np.arange(classes))
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidInput(f"must be classes in 0..{classes - 1}, got {given[row]} at row {row}", field="predictions")
    return given


def probabilities(predictions: ArrayLike, *, rows: int, classes: int) -> Numbers:
    """Return probabilities: (rows,) of class 1, or (rows, classes) whose rows sum to 1 within 0.05.

    Rows whose sum is off by more than 1e-9 are divided by it: rounded submissions are accepted, and a row of ones
    has no advantage.
    """
    one_column = classes == 2 and _one_column(predictions)
    given = finite(predictions, rows=rows, columns=None if one_column else classes)
    outside = (given < 0) | (given > 1)
    if outside.any():
        row = int(np.argwhere(outside)[0][0])
        raise InvalidInput(
            f"must be probabilities in [0, 1], got {given[outside].flat[0]} at row {row}", field="predictions"
        )
    given = without_tiny(given)
    return given if one_column else _normalized(given)


def without_tiny(numbers: Numbers, *, width: float = 1.0) -> Numbers:
    """Return numbers with those closer to 0 than 2^-300 of the range's width as 0.

    A processor takes many times longer over the smallest floats, the squares and quotients of such predictions among
    them. Which rows have them depends on the labels, and so would the time of a score.
    """
    return np.where(np.abs(numbers) < _TINY * width, 0.0, numbers)


def _one_column(predictions: ArrayLike) -> bool:
    try:
        shape = np.shape(predictions)
    except ValueError:  # rows of unequal length, which :func:`finite` refuses
        return True
    return len(shape) == 1 or shape[1:] == (1,)


def _normalized(p: Numbers) -> Numbers:
    totals = p.sum(axis=1)
    off = np.abs(totals - 1)
    if off.max() > _SUM[1]:
        row = int(off.argmax())
        raise InvalidInput(f"must sum to 1 in each row, got {totals[row]:.6g} at row {row}", field="predictions")
    return np.where((off > _SUM[0])[:, None], p / totals[:, None], p)
