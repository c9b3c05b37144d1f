"""Which columns are released: the best few, by class means over noisy class sizes, chosen under a guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.features.mechanisms.moments import ClassMoments
from tacit.features.mechanisms.noise import NoNoise
from tacit.features.mechanisms.scores import FeatureScore, MeanDistance
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.noise.rejection import LIMIT
from tacit.privacy.rounding import exact

__all__ = ["RESOLUTION", "NoisyClassRows", "PrivateSelection", "choose_once", "selection_scale"]

RESOLUTION = 1024
"""Whole units of score to one sensitivity: finer than any noise on it."""

_SENSITIVITY = RESOLUTION + 1  # the last unit is for the float that a score is computed in
_LARGEST = 2.0**40  # a float's last digit is far below one unit of such a score

Steps = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyClassRows:
    """Class sizes under discrete Laplace noise: a record that changes its class moves two of them by one."""

    epsilon: float

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on each size."""
        return DiscreteLaplace.for_epsilon(self.epsilon, sensitivity=2)

    def guarantee(self) -> Guarantee:
        """Return what the sizes cost."""
        return self.noise.guarantee(sensitivity=2, unit=Unit.RECORD)

    def draw(self, counts: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return noisy sizes, at least 1."""
        noise = NoNoise() if math.isinf(self.epsilon) else self.noise
        return np.asarray(np.maximum(counts + noise.draw(len(counts), rng=rng), 1), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateSelection:
    """The ``keep`` features of highest score under noise: epsilon-differentially private for one record.

    An infinite epsilon adds no noise.

    Unit: one record, its label included; neighbors replace one. Assumed: ``class_rows``, the denominators, are public
    or were released before. Not protected: the number of features and of rows, and the box.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(0, 2, 2000)
    >>> steps = rng.integers(-300, 300, (2000, 5)) + 500 * codes[:, None] * (np.arange(5) < 2)
    >>> moments = ClassMoments.of(steps, codes, classes=2)
    >>> PrivateSelection(epsilon=1.0, keep=2).select(moments, class_rows=np.array([1000, 1000]), rng=rng)
    array([0, 1])
    """

    epsilon: float
    keep: int
    score: FeatureScore = field(default_factory=MeanDistance)

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the list of features."""
        return Guarantee(unit=Unit.RECORD, epsilon=self.epsilon)

    def check(self) -> None:
        """Raise before anything is charged if epsilon is too small to choose so many features."""
        if 2 * self.keep * _SENSITIVITY / self.epsilon > LIMIT:
            raise InvalidInput(
                f"must be larger to choose {self.keep} features, got {self.epsilon!r}", field="selection_epsilon"
            )

    def select(self, moments: ClassMoments, *, class_rows: Steps, rng: np.random.Generator) -> Steps:
        """Return the places of the selected features, in their order."""
        units = self.units(moments, class_rows=class_rows)
        return choose_once(units, keep=self.keep, sensitivity=_SENSITIVITY, epsilon=self.epsilon, rng=rng)

    def units(self, moments: ClassMoments, *, class_rows: Steps) -> Steps:
        """Return the scores in whole units, which one record moves by at most 1,025.

        A score that moves by at most D moves by at most 1,024 units of D/1024 before it is rounded. Its float is
        within 2^-12 units of it, so that the rounded score moves by at most one unit more. Scores beyond the grid are
        the largest on it, which moves none farther: a refusal would reveal that public class sizes are far off.
        """
        sensitivity = self.score.sensitivity(class_rows=class_rows)
        units = self.score.scores(moments, class_rows=class_rows) * (RESOLUTION / sensitivity)
        return np.floor(np.minimum(units, _LARGEST) + 0.5).astype(np.int64)


def choose_once(scores: Steps, *, keep: int, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Steps:
    """Add discrete Laplace noise to all scores once and take the m highest; ties go to the earlier feature.

    At scale 2 min(m, d - m) D/epsilon the *set* is epsilon-differentially private: shift the noise of the chosen (or of
    the others) by 2D. The order in which they are returned is that of the features, so it reveals nothing more.

    References
    ----------
    Qiao, Su and Zhang (2021); formula sheet j3. Proof: docs/proofs/features.md.
    """
    noise: DiscreteLaplace | NoNoise = NoNoise()
    if not math.isinf(epsilon):
        noise = DiscreteLaplace(
            scale=selection_scale(features=len(scores), keep=keep, sensitivity=sensitivity, epsilon=epsilon)
        )
    noisy = scores + noise.draw(len(scores), rng=rng)
    return np.sort(np.argsort(-noisy, kind="stable")[:keep])


def selection_scale(*, features: int, keep: int, sensitivity: int, epsilon: float) -> Fraction:
    """Return the scale of the noise on scores."""
    return 2 * max(1, min(keep, features - keep)) * sensitivity / exact(epsilon)
