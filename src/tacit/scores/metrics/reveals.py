"""What a score reveals about the labels; each kind has its own attacks in :mod:`tacit.scores.attacks`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.lazy import lazy_method

if TYPE_CHECKING:
    from tacit.scores.losses import InvertibleLoss

__all__ = ["RankSums", "RevealedTotal", "RightRows", "RowLosses", "TruePositives"]


@dataclass(frozen=True, kw_only=True)
class RevealedTotal:
    """What a kind of score says of the labels: a total over rows that the predictions choose."""

    classes: int = 2

    design: ClassVar[Callable[..., Any]]
    """The attack that asks for this kind; row losses have several."""

    @property
    def row_losses(self) -> RowLosses | None:
        """The losses that the score is made of; None where it is made of counts."""
        return None

    @property
    def plain_loss(self) -> InvertibleLoss | None:
        """The loss whose mean or sum the score is, without a root."""
        return None

    def largest_weight(self, rows: int, error: float) -> float:
        """Return how much one label moves the total, in units of what an answer within ``error`` resolves."""
        del rows, error
        return 1.0

    def costs(self, classes: int) -> tuple[list[list[float]], int | None] | None:
        """Return what each predicted class adds to the total with each label, and which adds nothing.

        None where the metric's terms say it.
        """
        del classes
        return None

    def line(self, *, predicted: float, positives: float, rows: float) -> tuple[float, float]:
        """Return slope and offset of the total as a function of the score, where so many rows are predicted 1."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class RowLosses(RevealedTotal):
    """A sum of row losses: each label moves its own by an amount that the prediction chooses."""

    loss: InvertibleLoss
    root: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", self.loss.classes)

    @property
    def row_losses(self) -> RowLosses:
        """Itself."""
        return self

    @property
    def plain_loss(self) -> InvertibleLoss | None:
        """The loss, unless the score is a root."""
        return None if self.root else self.loss


@dataclass(frozen=True, kw_only=True)
class RightRows(RevealedTotal):
    """How many rows are predicted correctly: a count of labels in a chosen subset."""

    design = staticmethod(lazy_method("tacit.scores.attacks.counts", "RightRowsDesign"))

    def costs(self, classes: int) -> tuple[list[list[float]], int | None]:
        """Return 1 for the right class; every class says something."""
        return [[float(label == given) for label in range(classes)] for given in range(classes)], None


@dataclass(frozen=True, kw_only=True)
class _RevealedPositives(RevealedTotal):
    """A total of the positives among the rows that are predicted positive."""

    def costs(self, classes: int) -> tuple[list[list[float]], int | None]:
        """Return 1 for a positive that is predicted positive."""
        del classes
        return [[0.0, 0.0], [0.0, 1.0]], 0


@dataclass(frozen=True, kw_only=True)
class TruePositives(_RevealedPositives):
    """2 TP / (S + P): how many of the S rows predicted positive are, P the number of positives."""

    design = staticmethod(lazy_method("tacit.scores.attacks.counts", "TruePositivesDesign"))

    def line(self, *, predicted: float, positives: float, rows: float) -> tuple[float, float]:
        """Return the line of TP = score (S + P)/2."""
        del rows
        return (predicted + positives) / 2, 0.0


@dataclass(frozen=True, kw_only=True)
class RankSums(_RevealedPositives):
    """The sum of the ranks of the positives."""

    design = staticmethod(lazy_method("tacit.scores.attacks.ranks", "RankDesign"))

    @staticmethod
    def gap(pairs: float, error: float) -> int:
        """Return the least whole difference of rank sums that shows, for so many pairs of both classes."""
        return max(1, math.ceil(2.001 * pairs * error))

    def largest_weight(self, rows: int, error: float) -> float:
        """Return the ranks' range in units of what shows, for classes of equal size."""
        return (rows - 1) / self.gap(rows * rows / 4, error)

    def line(self, *, predicted: float, positives: float, rows: float) -> tuple[float, float]:
        """Return the line of TP where predictions are 0 and 1: the score is 1/2 + (TP/P - FP/N)/2."""
        negatives = rows - positives
        slope = 2 / (1 / positives + 1 / negatives)
        return slope, predicted * slope / (2 * negatives) - 0.5 * slope
