"""Class counts, sums and squares on the grid: all that selection and Fisher's rule read of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.features.mechanisms.box import STEPS
from tacit.privacy.errors import InvalidInput

__all__ = ["ClassMoments", "class_members"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassMoments:
    """Exact totals of rows on the grid, by class; those of two batches add.

    Parameters
    ----------
    counts
        (classes,) rows of each class.
    sums
        (classes, features) sums of steps.
    squares
        (features,) sums over all rows of squared steps, in units of 1024: each row adds an integer in 0..1024.
    """

    counts: NDArray[np.int64]
    sums: NDArray[np.int64]
    squares: NDArray[np.int64]

    @classmethod
    def of(cls, steps: NDArray[np.int64], codes: NDArray[np.int64], *, classes: int) -> ClassMoments:
        """Return the totals of one batch."""
        if len(steps) != len(codes):
            raise InvalidInput(f"must be one per row, got {len(codes)} for {len(steps)} rows", field="labels")
        return cls.of_members(steps, class_members(codes, classes=classes))

    @classmethod
    def of_members(cls, steps: NDArray[np.int64 | np.float64], members: NDArray[np.float64]) -> ClassMoments:
        """Return the totals of one batch whose rows' classes are marked already; steps are integers."""
        whole = np.asarray(steps, dtype=np.float64)  # their sums are exact, in any order: no batch has 2^43 rows
        squares = np.square(whole)
        squares *= 1 / STEPS  # a power of 2
        return cls(
            counts=members.sum(axis=1).astype(np.int64),
            sums=(members @ whole).astype(np.int64),
            squares=np.floor(squares, out=squares).sum(axis=0).astype(np.int64),
        )

    @classmethod
    def none(cls, *, classes: int, features: int) -> ClassMoments:
        """Return the totals of no rows."""
        zeros = np.zeros((classes, features), dtype=np.int64)
        return cls(counts=np.zeros(classes, dtype=np.int64), sums=zeros, squares=np.zeros(features, dtype=np.int64))

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return ClassMoments(
            counts=self.counts + other.counts, sums=self.sums + other.sums, squares=self.squares + other.squares
        )

    @classmethod
    def side_by_side(cls, parts: Sequence[ClassMoments]) -> ClassMoments:
        """Return the totals of all features from those of some each, of the same rows."""
        return cls(
            counts=parts[0].counts,
            sums=np.concatenate([part.sums for part in parts], axis=1),
            squares=np.concatenate([part.squares for part in parts]),
        )

    def take(self, features: NDArray[np.int64]) -> ClassMoments:
        """Return the totals of some features."""
        return ClassMoments(counts=self.counts, sums=self.sums[:, features], squares=self.squares[features])


def class_members(codes: NDArray[np.int64], *, classes: int) -> NDArray[np.float64]:
    """Return one line per class, 1 at its rows and 0 at the others."""
    members = np.zeros((classes, len(codes)))
    members[codes, np.arange(len(codes))] = 1.0
    return members
