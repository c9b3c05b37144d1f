"""Class counts, sums and squares on the grid: all that selection and Fisher's rule read of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.features.protect.box import STEPS
from tacit.privacy.errors import InvalidInput

__all__ = ["ClassMoments"]

_EXACT = 1 << 53


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
        (features,) sums over all rows of squared steps, in units of 1024: each row adds a whole number in 0..1024.

    Examples
    --------
    >>> moments = ClassMoments.of(np.array([[1024, 0], [-512, 512]]), np.array([0, 1]), classes=2)
    >>> moments.counts, moments.sums.tolist(), moments.squares
    (array([1, 1]), [[1024, 0], [-512, 512]], array([1280,  256]))
    """

    counts: NDArray[np.int64]
    sums: NDArray[np.int64]
    squares: NDArray[np.int64]

    @classmethod
    def of(cls, steps: NDArray[np.int64], codes: NDArray[np.int64], *, classes: int) -> ClassMoments:
        """Return the totals of one batch.

        Examples
        --------
        >>> ClassMoments.of(np.array([[3]]), np.array([1]), classes=2).sums.tolist()
        [[0], [3]]
        """
        if len(steps) != len(codes):
            raise InvalidInput(f"labels must be one a row, got {len(codes)} for {len(steps)} rows")
        if len(steps) * STEPS >= _EXACT:
            raise InvalidInput(f"a batch must have fewer than {_EXACT // STEPS} rows")
        member = np.zeros((classes, len(codes)))
        member[codes, np.arange(len(codes))] = 1.0
        sums = member @ steps.astype(np.float64)  # whole numbers below 2^53: exact, and at the speed of BLAS
        return cls(
            counts=np.bincount(codes, minlength=classes).astype(np.int64),
            sums=sums.astype(np.int64),
            squares=(np.square(steps) // STEPS).sum(axis=0),
        )

    @classmethod
    def none(cls, *, classes: int, features: int) -> ClassMoments:
        """Return the totals of no rows.

        Examples
        --------
        >>> ClassMoments.none(classes=2, features=3).sums.shape
        (2, 3)
        """
        zeros = np.zeros((classes, features), dtype=np.int64)
        return cls(counts=np.zeros(classes, dtype=np.int64), sums=zeros, squares=np.zeros(features, dtype=np.int64))

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return ClassMoments(
            counts=self.counts + other.counts, sums=self.sums + other.sums, squares=self.squares + other.squares
        )

    def take(self, features: NDArray[np.int64]) -> ClassMoments:
        """Return the totals of some features.

        Examples
        --------
        >>> ClassMoments.none(classes=2, features=3).take(np.array([2])).sums.shape
        (2, 1)
        """
        return ClassMoments(counts=self.counts, sums=self.sums[:, features], squares=self.squares[features])
