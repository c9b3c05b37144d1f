"""A metric that the host wrote."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.privacy.settings import BOUND, Choice, about
from tacit.scores.metrics.base import Metric
from tacit.scores.metrics.errors import check_range

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tacit.scores.metrics.base import Numbers

__all__ = ["CustomMetric"]

_log = logging.getLogger("tacit.scores")


def _missing(*_: object) -> float:
    """Stand for the function of a metric that is only named."""
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class CustomMetric(Choice, Metric):
    """A score by a function of the host, capped to a public range.

    The function must take the same time whatever the labels are, and must not write anything that reveals one. Where it
    raises or returns no number, the worst score of the range counts, and a warning without the exception's text goes to
    the log: a refusal would reveal, for nothing, that these predictions and the labels make it fail.

    Parameters
    ----------
    metric
        What the metric is called in rules and files: a function is never in them.
    function
        From labels and predictions to a number.
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
        host vouches for it. None: no policy with a guarantee takes the metric.

    Examples
    --------
    >>> import numpy as np
    >>> def balanced(labels, predictions):
    ...     return float(np.mean([(predictions[labels == k] > 0.5).mean() == k for k in (0, 1)]))
    >>> metric = CustomMetric(function=balanced, metric="balanced", lower=0.0, upper=1.0, lower_is_better=False)
    >>> metric.score([0, 1], [0.2, 0.9]), metric.sensitivity(2)
    (1.0, None)
    """

    name: ClassVar[str] = "custom"
    additive = False

    metric: str = field(metadata=about("What the server's operator calls the metric."))
    function: Callable[..., float] = field(default=_missing, repr=False, metadata=BOUND)
    lower: float = field(default=0.0, metadata=BOUND)
    upper: float = field(default=1.0, metadata=BOUND)
    lower_is_better: bool = field(default=True, metadata=BOUND)
    classes: int = field(default=2, metadata=BOUND)
    columns: int = field(default=1, metadata=BOUND)
    one_label: Callable[[int], float] | None = field(default=None, repr=False, metadata=BOUND)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function is _missing:
            raise InvalidInput(f"must be one of the server's custom metrics, got {self.metric!r}", field="metric")
        check_range(self.lower, self.upper)
        if not self.metric.strip():
            raise InvalidInput(f"must be the name of the metric, got {self.metric!r}", field="metric")
        check_count(self.columns, name="columns")

    @property
    def unbound(self) -> Self:
        """Itself: its function belongs to it."""
        return self

    def for_classes(self, count: int) -> Self:
        """Return itself, or raise where the function was written for another number of classes."""
        if count != self.classes:
            raise InvalidInput(f"must be of {self.classes} classes for {self.metric}, got {count}", field="labels")
        return self

    @property
    def title(self) -> str:  # type: ignore[override]
        """The name in words."""
        return self.metric.replace("_", " ")

    @property
    def term_bounds(self) -> tuple[float, float]:
        """The public range."""
        return self.lower, self.upper

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return finite numbers of the right shape."""
        from tacit.scores.metrics.checking import finite

        return finite(predictions, rows=rows, columns=None if self.columns == 1 else self.columns)

    def check_labels(self, labels: ArrayLike) -> NDArray[Any]:
        """Return classes, or numbers where ``classes`` is 0."""
        from tacit.scores.losses import check_labels
        from tacit.scores.metrics.checking import finite_labels

        return check_labels(labels, classes=self.classes) if self.classes else finite_labels(labels)

    def sensitivity(self, rows: int) -> float | None:
        """Return the host's bound."""
        return None if self.one_label is None else float(self.one_label(check_count(rows, name="rows")))

    @property
    def no_sensitivity(self) -> str:  # type: ignore[override]
        """That the host gave no bound."""
        return "" if self.one_label else f"{self.metric} has no one_label, a bound on how far one label changes it"

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        import numpy as np

        worst = self.upper if self.lower_is_better else self.lower
        try:
            value = float(self.function(labels, predictions))
        except Exception as error:  # its text might quote a label
            _log.warning("the metric %s failed with %s; the worst score counts", self.metric, type(error).__name__)
            value = worst
        if math.isnan(value):
            _log.warning("the metric %s gave no number; the worst score counts", self.metric)
            value = worst
        return np.array([min(max(value, self.lower), self.upper)])
