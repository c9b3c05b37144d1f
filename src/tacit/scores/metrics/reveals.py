"""What a score reveals about the labels; each kind has its own attacks in :mod:`tacit.scores.attacks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tacit.scores.losses import InvertibleLoss

__all__ = ["RankSums", "Reveals", "RightRows", "RowLosses", "TruePositives"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLosses:
    """A sum of row losses: each label moves its own by an amount that the prediction chooses."""

    loss: InvertibleLoss
    root: bool = False

    @property
    def classes(self) -> int:
        """Number of labels."""
        return self.loss.classes


@dataclass(frozen=True, slots=True, kw_only=True)
class RightRows:
    """How many rows are predicted correctly: a count of labels in a chosen subset."""

    classes: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TruePositives:
    """2 TP / (S + P): how many of the S rows predicted positive are, P the number of positives."""

    classes: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSums:
    """The sum of the ranks of the positives."""

    classes: int = 2


Reveals: TypeAlias = RowLosses | RightRows | TruePositives | RankSums
"""What a score may reveal."""
