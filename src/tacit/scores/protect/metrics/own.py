"""A host's own metric."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.protect.metrics.base import Metric, Numbers, class_labels, finite

__all__ = ["OwnMetric"]

_log = logging.getLogger("tacit.scores")

Function = Callable[[NDArray[Any], Numbers], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMetric(Metric):
    """A score by a function of the host, capped to a public range.

    The function must take the same time whatever the labels are, and must not write anything that tells one. Where it
    raises or returns no number, the worst score of the range counts, and a warning without the exception's text goes to
    the log: a refusal would tell, for nothing, that these predictions and the labels make it fail.

    Parameters
    ----------
    function
        From labels and predictions to a number.
    name
        What the metric is called in rules and files.
    lower, upper
        Bounds of the score; it is clipped to them.
    lower_is_better
        Whether a small score is a good one.
    classes
        Labels are 0..classes-1; 0 where they are real numbers.
    columns
        Numbers in a prediction row; 1 means a plain list.
    one_label
        From the number of rows to a bound, for all labels and predictions, on how much one label moves the score; the
        host's promise. None: no policy with a guarantee takes the metric.

    Examples
    --------
    >>> def balanced(labels, predictions):
    ...     return float(np.mean([(predictions[labels == k] > 0.5).mean() == k for k in (0, 1)]))
    >>> metric = OwnMetric(function=balanced, name="balanced", lower=0.0, upper=1.0, lower_is_better=False)
    >>> metric.score([0, 1], [0.2, 0.9]), metric.sensitivity(2)
    (1.0, None)
    """

    additive = False

    function: Function = field(repr=False)
    name: str
    lower: float
    upper: float
    lower_is_better: bool
    classes: int = 2
    columns: int = 1
    one_label: Callable[[int], float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise InvalidInput(f"upper must be a finite number above lower, got {self.upper!r} and {self.lower!r}")
        if not self.name.strip():
            raise InvalidInput(f"name must say what the metric is called, got {self.name!r}")
        check_count(self.columns, name="columns")

    @property
    def term_bounds(self) -> tuple[float, float]:
        """The public range.

        Examples
        --------
        >>> OwnMetric(function=min, name="m", lower=0.0, upper=2.0, lower_is_better=True).term_bounds
        (0.0, 2.0)
        """
        return self.lower, self.upper

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return finite numbers of the right shape.

        Examples
        --------
        >>> OwnMetric(function=min, name="m", lower=0.0, upper=2.0, lower_is_better=True).check([3, 4], rows=2)
        array([3., 4.])
        """
        return finite(predictions, rows=rows, columns=None if self.columns == 1 else self.columns)

    def check_labels(self, labels: ArrayLike) -> NDArray[Any]:
        """Return classes, or numbers where ``classes`` is 0.

        Examples
        --------
        >>> metric = OwnMetric(function=min, name="m", lower=0.0, upper=2.0, lower_is_better=True, classes=0)
        >>> metric.check_labels([0.5, 7.0])
        array([0.5, 7. ])
        """
        if self.classes:
            return class_labels(labels, classes=self.classes)
        given = np.asarray(labels, dtype=np.float64)
        if given.ndim != 1 or not given.size or not np.isfinite(given).all():
            raise InvalidInput(f"labels must be a non-empty list of one finite number a row, got shape {given.shape}")
        return given

    def sensitivity(self, rows: int) -> float | None:
        """Return the host's bound.

        Examples
        --------
        >>> def bound(rows):
        ...     return 2 / rows
        >>> metric = OwnMetric(function=min, name="m", lower=0, upper=1, lower_is_better=True, one_label=bound)
        >>> metric.sensitivity(100)
        0.02
        """
        return None if self.one_label is None else float(self.one_label(check_count(rows, name="rows")))

    @property
    def no_sensitivity(self) -> str:
        """That the host gave no bound.

        Examples
        --------
        >>> OwnMetric(function=min, name="m", lower=0, upper=1, lower_is_better=True).no_sensitivity
        'm comes without one_label, a bound on what one label does to it'
        """
        return "" if self.one_label else f"{self.name} comes without one_label, a bound on what one label does to it"

    def to_json(self) -> dict[str, Any]:
        """Return the name; :func:`metric_from_json` finds the function among those the operator passes in.

        Examples
        --------
        >>> OwnMetric(function=min, name="m", lower=0, upper=1, lower_is_better=True).to_json()
        {'metric': 'own', 'name': 'm'}
        """
        return {"metric": "own", "name": self.name}

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        worst = self.upper if self.lower_is_better else self.lower
        try:
            value = float(self.function(labels, predictions))
        except Exception as error:  # its text might quote a label
            _log.warning("the metric %s failed with %s; the worst score counts", self.name, type(error).__name__)
            value = worst
        if math.isnan(value):
            _log.warning("the metric %s gave no number; the worst score counts", self.name)
            value = worst
        return np.array([min(max(value, self.lower), self.upper)])
