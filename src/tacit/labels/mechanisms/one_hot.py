"""Laplace noise on the one-hot label, and the posterior it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from tacit.labels.mechanisms.finite import OverClasses, check_codes, check_prior
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import DiscreteLaplace, Grid

__all__ = ["LaplaceOneHot"]

_GRID = Grid(step=Fraction(1, 2**10))
_ONE = 2**10  # the number 1 in steps of the grid


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceOneHot(OverClasses):
    """Release the one-hot label plus noise of scale 2/epsilon on every class (ALIBI).

    The noise is discrete Laplace on the public grid of 2^-10: exact, and as good as continuous.

    Unit: one row's label; neighbours differ in that label alone, which moves two entries by one each. Assumes
    that the class list is public. Not protected: features, which rows exist.

    Parameters
    ----------
    epsilon
        > 0, read as the decimal it prints.
    classes
        K >= 2; None until :meth:`bind`.

    References
    ----------
    Malek Esmaeili et al. (2021). Formula sheet a7.

    Examples
    --------
    >>> alibi = LaplaceOneHot(epsilon=1.0, classes=3)
    >>> alibi.perturb(np.array([0, 2]), rng=np.random.default_rng(0)).shape
    (2, 3)
    >>> alibi.posterior(np.array([[0.9, 0.2, -0.1]]), prior=[1 / 3] * 3).round(6)
    array([[0.525443, 0.260927, 0.213629]])
    """

    name: ClassVar[str] = "laplace_one_hot"

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on one entry, in steps of the grid."""
        return DiscreteLaplace.for_epsilon(self.epsilon, sensitivity=2 * _ONE)

    def perturb(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw one noised one-hot row a label."""
        K = self.K
        labels = check_codes(codes, classes=K)
        steps = self.noise.draw((len(labels), K), rng=rng)
        steps[np.arange(len(labels)), labels] += _ONE
        return _GRID.values(steps)

    def log_likelihood(self, observed: ArrayLike) -> NDArray[np.float64]:
        """Return log P(observed | label = c), up to a constant of the row, as column c.

        (|o_c| - |o_c - 1|)/b with b = 2/epsilon: it never exceeds 1/b either way, so exact ties happen.
        """
        rows = np.asarray(observed, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.K or not np.isfinite(rows).all():
            raise InvalidInput(f"must be rows of {self.K} finite numbers, got shape {rows.shape}", field="observed")
        scale = float(self.noise.scale) / _ONE
        return np.asarray((np.abs(rows) - np.abs(rows - 1)) / scale)

    def posterior(self, observed: ArrayLike, *, prior: ArrayLike) -> NDArray[np.float64]:
        """Return P(label = c | observed) as column c, for one prior or one a row."""
        weights = check_prior(prior, classes=self.K)
        with np.errstate(divide="ignore"):
            return np.asarray(softmax(self.log_likelihood(observed) + np.log(weights), axis=1))

    def estimate_counts(self, observed: ArrayLike) -> NDArray[np.float64]:
        """Return an unbiased estimate of the class counts: the column sums, since the noise has mean 0."""
        return np.asarray(np.asarray(observed, dtype=np.float64).sum(axis=0))

    def guarantee(self) -> Guarantee:
        """Return the guarantee for one label."""
        return Guarantee(unit=Unit.LABEL, epsilon=self.epsilon, assumptions=("features and the class list are public",))
