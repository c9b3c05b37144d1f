"""Metrics of numbers in a public range, each a mean of one capped term a row or its root."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.scores import attack
from tacit.scores.losses import Loss
from tacit.scores.protect.metrics.base import Numbers, finite, without_tiny
from tacit.scores.protect.metrics.rows import RowMetric

__all__ = ["Mae", "Rmse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mae(RowMetric):
    """The mean absolute error of numbers that lie in a public range; predictions outside are moved to its ends.

    Sensitivity: (upper - lower)/rows.

    Parameters
    ----------
    lower, upper
        The range of labels; 0 and 1 for two classes.

    Examples
    --------
    >>> Mae().score([0, 1], [0.25, 2.0])
    0.125
    """

    name = "mae"

    classes: int = field(default=0, init=False, repr=False)  # labels are numbers
    lower: float = 0.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise InvalidInput(f"upper must be a finite number above lower, got {self.upper!r} and {self.lower!r}")

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and the width of the range.

        Examples
        --------
        >>> Mae(lower=-1.0, upper=3.0).term_bounds
        (0.0, 4.0)
        """
        return 0.0, self.upper - self.lower

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return predictions moved into the range.

        Examples
        --------
        >>> Mae().check([-3.0, 0.5], rows=2)
        array([0. , 0.5])
        """
        within = np.clip(finite(predictions, rows=rows), self.lower, self.upper)
        return without_tiny(within, width=self.upper - self.lower) + 0.0

    def check_labels(self, labels: ArrayLike) -> NDArray[Any]:
        """Return labels, all of them within the range.

        Examples
        --------
        >>> Mae().check_labels([0.5, 3.0])
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: labels must be numbers in [0.0, 1.0], the one at row 1 is not
        """
        given = np.asarray(labels)
        if given.ndim != 1 or not given.size or given.dtype.kind not in "fiub":
            raise InvalidInput(f"labels must be a non-empty list of one number a row, got shape {given.shape}")
        numbers = given.astype(np.float64)
        good = (numbers >= self.lower) & (numbers <= self.upper)
        if not good.all():
            raise InvalidInput(
                f"labels must be numbers in [{self.lower}, {self.upper}], the one at row {int(np.argmin(good))} is not"
            )
        return numbers

    def attacked_as(self) -> Loss | attack.Metric | None:
        """Return the absolute error of 0/1 labels; None for another range.

        Examples
        --------
        >>> type(Mae().attacked_as()).__name__, Mae(upper=2.0).attacked_as()
        ('AbsoluteError', None)
        """
        return attack.AbsoluteError() if (self.lower, self.upper) == (0.0, 1.0) else None

    def to_json(self) -> dict[str, Any]:
        """Return name and range.

        Examples
        --------
        >>> Mae().to_json()
        {'metric': 'mae', 'lower': 0.0, 'upper': 1.0}
        """
        return {"metric": self.name, "lower": self.lower, "upper": self.upper}

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        return np.asarray(np.abs(labels - predictions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rmse(Mae):
    """The root mean squared error of numbers in a public range.

    The terms are squared errors: noise goes on their mean, which one label moves by (upper - lower)^2/rows, and the
    root is taken of what is released. The root itself has no such bound: near 0 it moves by (upper - lower)/sqrt(rows).

    Examples
    --------
    >>> Rmse().score([0, 1], [0.5, 0.5]), Rmse().sensitivity(100)
    (0.5, 0.01)
    """

    name = "rmse"

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and the squared width of the range.

        Examples
        --------
        >>> Rmse(upper=2.0).term_bounds
        (0.0, 4.0)
        """
        return 0.0, (self.upper - self.lower) ** 2

    def finish(self, mean: float) -> float:
        """Return the root, of 0 where noise made the mean negative.

        Examples
        --------
        >>> Rmse().finish(-0.1)
        0.0
        """
        return math.sqrt(max(0.0, mean))

    def attacked_as(self) -> Loss | attack.Metric | None:
        """Return the root mean squared error of 0/1 labels; None for another range.

        Examples
        --------
        >>> Rmse().attacked_as()
        RootMeanSquaredError(classes=2)
        """
        return attack.RootMeanSquaredError() if (self.lower, self.upper) == (0.0, 1.0) else None

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        return np.asarray((labels - predictions) ** 2)
