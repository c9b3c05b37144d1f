"""Losses that other hosts show and no public range bounds: of logits, or added up instead of averaged."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.settings import BOUND, Choice
from tacit.scores.metrics.base import Metric
from tacit.scores.metrics.reveals import RowLosses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tacit.scores.losses import InvertibleLoss
    from tacit.scores.metrics.base import Numbers

__all__ = ["ClampedLoss", "SigmoidLoss", "SoftmaxLoss", "UnboundedLoss"]


class _LossMetric(Metric):
    """A loss of :mod:`tacit.scores.losses` as a metric: it can be attacked, and never has a guarantee."""

    __slots__ = ()

    title = "the loss"
    additive = False
    no_sensitivity = "the loss has no public range"

    @property
    @abstractmethod
    def loss(self) -> InvertibleLoss:
        """What a row costs with each label."""

    @property
    def term_bounds(self) -> tuple[float, float]:
        """0 and infinity."""
        return 0.0, math.inf

    @property
    def reveals(self) -> RowLosses:
        """The sum of the rows' losses."""
        return RowLosses(loss=self.loss)

    def check(self, predictions: ArrayLike, *, rows: int) -> Numbers:
        """Return finite numbers of the loss's shape."""
        from tacit.scores.metrics.checking import finite

        return finite(predictions, rows=rows, columns=None if self.loss.columns == 1 else self.loss.columns)

    def sensitivity(self, _: int) -> None:
        """Return None: no bound is known."""

    def _terms(self, labels: NDArray[Any], predictions: Numbers) -> Numbers:
        import numpy as np

        return np.array([float(self.loss.score(labels, predictions))])


@dataclass(frozen=True, slots=True, kw_only=True)
class UnboundedLoss(_LossMetric):
    """Any loss, as an object: a sum instead of a mean, or with another clip."""

    name = "unbounded_loss"

    loss: InvertibleLoss

    @property
    def classes(self) -> int:  # type: ignore[override]
        """Number of labels."""
        return self.loss.classes


@dataclass(frozen=True, kw_only=True)
class SoftmaxLoss(Choice, _LossMetric):
    """Cross-entropy of logits, one per class, as torch's ``CrossEntropyLoss`` computes it."""

    name: ClassVar[str] = "softmax"
    of: ClassVar[str] = "SoftmaxCrossEntropy"
    """The loss, by its name in :mod:`tacit.scores.losses`."""

    classes: int = field(default=2, metadata=BOUND)

    @property
    def loss(self) -> InvertibleLoss:
        """What a row costs with each label."""
        from tacit.scores import losses

        loss: InvertibleLoss = getattr(losses, self.of)(classes=self.classes)
        return loss


@dataclass(frozen=True, kw_only=True)
class SigmoidLoss(SoftmaxLoss):
    """Binary cross-entropy of one logit per row, as torch's ``BCEWithLogitsLoss`` computes it."""

    name: ClassVar[str] = "sigmoid"
    of: ClassVar[str] = "SigmoidCrossEntropy"


@dataclass(frozen=True, kw_only=True)
class ClampedLoss(SoftmaxLoss):
    """Binary cross-entropy with clamped logarithms, as torch's ``BCELoss`` computes it."""

    name: ClassVar[str] = "bce"
    of: ClassVar[str] = "ClampedCrossEntropy"
