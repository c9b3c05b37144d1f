"""What the class weights of an estimator do to the odds that it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["class_shift"]

Array = NDArray[np.float64]


def class_shift(estimator: Any, classes: Sequence[Any], *, shares: Array) -> Array:  # noqa: ANN401
    """Return the factor of each class's probability: its weight.

    Where rows of class c count w(c) times, what is learned is P(c | x) w(c), scaled to sum to 1. Labels under noise do
    not say which rows these are; the product does the same.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> balanced = HistGradientBoostingClassifier(class_weight="balanced")
    >>> class_shift(balanced, [0, 1], shares=np.array([0.9, 0.1])).round(2)
    array([0.56, 5.  ])
    """
    settings = estimator.get_params(deep=False)
    positive = settings.get("scale_pos_weight")
    if positive is not None and positive != 1:
        return np.array([1.0, float(positive)]) if len(classes) == 2 else np.ones(len(classes))
    balanced = 1 / (len(shares) * np.maximum(shares, 1e-12))
    given = settings.get("class_weight", settings.get("class_weights"))
    automatic = settings.get("auto_class_weights")
    if given == "balanced" or automatic == "Balanced" or settings.get("is_unbalance") or settings.get("unbalance"):
        return balanced
    if automatic == "SqrtBalanced":
        return np.sqrt(balanced)
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, Mapping):
        return np.array([float(given.get(name, 1.0)) for name in classes])
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (len(classes),):
        raise InvalidInput(f"must be one for each of {len(classes)} classes, got {given!r}", field="class_weight")
    return weights
