"""The errors of numbers in a public range: mean absolute and root mean squared."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import Choice, about
from tacit.scores.metrics.base import Metric
from tacit.scores.metrics.reveals import RowLosses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tacit.scores.metrics.base import Numbers

__all__ = ["Mae", "Rmse", "check_range"]


@dataclass(frozen=True, kw_only=True)
class Mae(Choice, Metric):
    """The mean absolute error of numbers that lie in a public range; predictions outside are moved to its ends.

    Sensitivity: (upper - lower)/rows.
    """

    name: ClassVar[str] = "mae"
    title = "the mean absolute error"

    classes: int = field(default=0, init=False, repr=False)  # labels are numbers
    lower: float = field(default=0.0, metadata=about("The least label, publicly known."))
    upper: float = field(default=1.0, metadata=about("The largest label, publicly known."))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self.lower, self.upper)

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and the width of the range."""
        return 0.0, self.upper - self.lower

    @property
    def label_range(self) -> tuple[float, float]:
        """The public range."""
        return self.lower, self.upper

    @property
    def reveals(self) -> RowLosses | None:
        """The sum of the absolute errors of 0/1 labels; None for another range."""
        from tacit.scores.losses import AbsoluteError

        return RowLosses(loss=AbsoluteError()) if (self.lower, self.upper) == (0.0, 1.0) else None

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return predictions moved into the range."""
        import numpy as np

        from tacit.scores.metrics.checking import finite, without_tiny

        within = np.clip(finite(predictions, rows=rows), self.lower, self.upper)
        return without_tiny(within, width=self.upper - self.lower) + 0.0

    def check_labels(self, labels: ArrayLike) -> NDArray[Any]:
        """Return labels, all of them within the range."""
        from tacit.scores.metrics.checking import number_labels

        return number_labels(labels, lower=self.lower, upper=self.upper)

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        import numpy as np

        return np.asarray(np.abs(labels - predictions))


@dataclass(frozen=True, kw_only=True)
class Rmse(Mae):
    """The root mean squared error of numbers in a public range.

    The terms are squared errors: noise goes on their mean, which one label moves by (upper - lower)^2/rows, and the
    root is taken of what is released. The root itself has no such bound: near 0 it moves by (upper - lower)/sqrt(rows).
    """

    name: ClassVar[str] = "rmse"
    title = "the root mean squared error"
    root: ClassVar[bool] = True

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and the squared width of the range."""
        return 0.0, (self.upper - self.lower) ** 2

    @property
    def reveals(self) -> RowLosses | None:
        """The mean of the squared errors of 0/1 labels, by its root; None for another range."""
        from tacit.scores.losses import SquaredError

        return RowLosses(loss=SquaredError(), root=True) if (self.lower, self.upper) == (0.0, 1.0) else None

    def finish(self, mean: float) -> float:
        """Return the root, of 0 where noise made the mean negative."""
        return math.sqrt(max(0.0, mean))

    def mean_of(self, score: float) -> float:
        """Return the square."""
        return score**2

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        import numpy as np

        return np.asarray((labels - predictions) ** 2)


def check_range(lower: float, upper: float) -> None:
    """Raise unless both are finite and the upper end is above the lower."""
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise InvalidInput(f"must be a finite number above lower, got {upper!r} and {lower!r}", field="upper")
