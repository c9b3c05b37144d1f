"""Checks of labels and predictions that every loss shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["LEAST", "Floats", "as_labels", "as_predictions", "refuse"]

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
