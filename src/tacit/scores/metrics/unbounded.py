"""Losses that other hosts show and no public range bounds: of logits, or added up instead of averaged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.scores.metrics.base import Metric
from tacit.scores.metrics.reveals import RowLosses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tacit.scores.losses import InvertibleLoss
    from tacit.scores.metrics.base import Numbers

__all__ = ["UnboundedLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnboundedLoss(Metric):
    """A loss of :mod:`tacit.scores.losses` as a metric: it can be attacked, and never has a guarantee."""

    name = "unbounded_loss"
    title = "the loss"
    additive = False
    no_sensitivity = "the loss has no public range"

    loss: InvertibleLoss

    @property
    def classes(self) -> int:  # type: ignore[override]
        """Number of labels."""
        return self.loss.classes

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
