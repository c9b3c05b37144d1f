"""Which features leave: chosen under a guarantee, named by the custodian, or all."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.features.protect.choose import ChooseTop, OneShot
from tacit.features.protect.moments import ClassMoments
from tacit.features.protect.scores import Distance, FeatureScore
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise.rejection import LIMIT
from tacit.privacy.rounding import check_count, check_epsilon

__all__ = ["RESOLUTION", "PrivateSelection"]

RESOLUTION = 1024
"""Whole units of score to one sensitivity: finer than any noise on it."""

_LARGEST = 2.0**40  # a float's last digit is far below one unit of such a score


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateSelection:
    """The ``keep`` features of highest score under noise: epsilon-differentially private for one record.

    Unit: one record, its label included; neighbours replace one. Assumed: ``class_rows``, the denominators, are public
    or were released before. Not protected: the number of features and of rows, and the box.

    Parameters
    ----------
    epsilon
        The promise.
    keep
        How many features leave.
    score
        ``Distance()`` or ``TStatistic()``.
    choose
        ``OneShot()`` or ``Peeling()``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(0, 2, 2000)
    >>> steps = rng.integers(-300, 300, (2000, 5)) + 500 * codes[:, None] * (np.arange(5) < 2)
    >>> moments = ClassMoments.of(steps, codes, classes=2)
    >>> selection = PrivateSelection(epsilon=1.0, keep=2)
    >>> selection.select(moments, class_rows=np.array([1000, 1000]), rng=rng)
    array([0, 1])
    >>> print(selection.guarantee())
    epsilon 1 for one record
    """

    epsilon: float
    keep: int
    score: FeatureScore = field(default_factory=Distance)
    choose: ChooseTop = field(default_factory=OneShot)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_count(self.keep, name="keep")

    def guarantee(self) -> Guarantee:
        """Return the promise.

        Examples
        --------
        >>> PrivateSelection(epsilon=0.5, keep=1).guarantee().unit
        <Unit.RECORD: 'record'>
        """
        return Guarantee(unit=Unit.RECORD, epsilon=self.epsilon)

    def check(self, *, features: int) -> None:
        """Raise before anything is charged if so many features cannot be chosen from.

        Examples
        --------
        >>> PrivateSelection(epsilon=1.0, keep=4).check(features=3)
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: keep must be at most the number of features, 3, got 4
        """
        if self.keep > features:
            raise InvalidInput(f"keep must be at most the number of features, {features}, got {self.keep}")
        if 2 * self.keep * (RESOLUTION + 1) / self.epsilon > LIMIT:
            raise InvalidInput(f"epsilon must be larger to choose {self.keep} features, got {self.epsilon!r}")

    def select(
        self, moments: ClassMoments, *, class_rows: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the places of the selected features.

        Examples
        --------
        >>> moments = ClassMoments.none(classes=2, features=3)
        >>> PrivateSelection(epsilon=1.0, keep=4).select(moments, class_rows=np.array([1, 1]),
        ...                                              rng=np.random.default_rng(0))
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: keep must be at most the number of features, 3, got 4
        """
        self.check(features=moments.sums.shape[1])
        return self.choose.choose(
            self.units(moments, class_rows=class_rows),
            keep=self.keep,
            sensitivity=RESOLUTION + 1,  # the last is for the float that a score is computed in
            epsilon=self.epsilon,
            rng=rng,
        )

    def units(self, moments: ClassMoments, *, class_rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the scores in whole units, which one record moves by at most 1,025.

        A score that moves by at most D moves by at most 1,024 units of D/1024 before it is rounded. Its float lies
        within 2^-12 units of it, so that the rounded score moves by at most one unit more.

        Examples
        --------
        >>> moments = ClassMoments.of(np.array([[1024], [0]]), np.array([0, 1]), classes=2)
        >>> PrivateSelection(epsilon=1.0, keep=1).units(moments, class_rows=np.array([1, 1]))
        array([512])
        """
        sensitivity = self.score.sensitivity(class_rows=class_rows)
        units = self.score.scores(moments, class_rows=class_rows) * (RESOLUTION / sensitivity)
        if units.max(initial=0.0) > _LARGEST:
            raise InvalidInput("class_rows must be nearer to the true class sizes: the scores leave the grid")
        return np.floor(units + 0.5).astype(np.int64)
