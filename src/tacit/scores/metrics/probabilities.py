"""Log loss and the Brier score: means of a loss of predicted probabilities."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.privacy.settings import BOUND, Choice, about
from tacit.scores.metrics.base import Metric
from tacit.scores.metrics.reveals import RowLosses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tacit.scores.losses import InvertibleLoss
    from tacit.scores.metrics.base import Numbers

__all__ = ["SKLEARN_FLOOR", "Brier", "LogLoss"]

SKLEARN_FLOOR = 2.0**-52
"""The floor of ``sklearn.metrics.log_loss`` for 64-bit predictions; 2^-23 for 32-bit ones."""


@dataclass(frozen=True, kw_only=True)
class _ProbabilityMetric(Choice, Metric):
    per_class = True

    classes: int = field(default=2, metadata=BOUND)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self.classes, name="classes", least=2)

    @property
    @abstractmethod
    def loss(self) -> InvertibleLoss:
        """What a row costs with each label."""

    @property
    def reveals(self) -> RowLosses:
        """The sum of the rows' losses."""
        return RowLosses(loss=self.loss)

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return probabilities, as :func:`tacit.scores.metrics.checking.probabilities` reads them."""
        from tacit.scores.metrics.checking import probabilities

        return probabilities(predictions, rows=rows, classes=self.classes)

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        import numpy as np

        table = np.asarray(self.loss.row_losses(predictions), dtype=np.float64)
        low, high = self.term_bounds
        return np.clip(np.take_along_axis(table, labels[:, None], axis=1)[:, 0], low, high)


@dataclass(frozen=True, kw_only=True)
class LogLoss(_ProbabilityMetric):
    """The log loss of probabilities kept within [floor, 1 - floor]; a row costs at most -ln floor.

    Sensitivity: ln((1 - floor)/floor)/rows. A small floor helps the attacker: with 1e-15 one row may weigh 34.5
    nats, with 0.01 it weighs 4.6.

    Parameters
    ----------
    floor
        Least probability that keeps its own loss, in (0, 1/classes). With :data:`SKLEARN_FLOOR` the score is
        ``sklearn.metrics.log_loss``, bit for bit.

    References
    ----------
    Aggarwal et al. (2021), equation (2).

    Examples
    --------
    >>> metric = LogLoss(floor=0.01)
    >>> round(metric.score([1, 0], [0.9, 0.0]), 6), round(metric.sensitivity(1000), 6)
    (0.057705, 0.004595)
    """

    name: ClassVar[str] = "log_loss"
    title = "log loss"

    floor: float = field(default=0.01, metadata=about("The least probability that keeps its own loss."))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.floor < 1 / self.classes:
            raise InvalidInput(
                f"must be in (0, 1/{self.classes}) for {self.classes} classes, got {self.floor!r}; give a smaller one "
                f"as in {self.name}:floor=1e-6",
                field="floor",
            )

    @property
    def loss(self) -> InvertibleLoss:
        """The clipped cross-entropy."""
        from tacit.scores.losses import ClippedCrossEntropy, ProbabilityFloor

        return ClippedCrossEntropy(classes=self.classes, clip=ProbabilityFloor(self.floor))

    @property
    def term_bounds(self) -> tuple[float, float]:
        """-ln(1 - floor) and -ln floor."""
        return -math.log1p(-self.floor), -math.log(self.floor)


@dataclass(frozen=True, kw_only=True)
class Brier(_ProbabilityMetric):
    """The Brier score: mean squared distance to the label, in [0, 1] for two classes and [0, 2] for more.

    Sensitivity: 1/rows for two classes, 2/rows for more.
    """

    name: ClassVar[str] = "brier"
    title = "the Brier score"

    @property
    def loss(self) -> InvertibleLoss:
        """The squared error."""
        from tacit.scores.losses import SquaredError

        return SquaredError(classes=self.classes)

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and 1, or 2 for more than two classes."""
        return 0.0, 1.0 if self.classes == 2 else 2.0
