"""The misclassification rate W = 1 - Phi(Psi) of Fisher's rules when the means they know are noisy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["ReleasedMeans", "independence_rule_error", "psi"]

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedMeans:
    """How exactly a rule knows two classes' means, and how its test rows vary: all that its error depends on.

    Parameters
    ----------
    test_variance
        g_j: the variance of feature j in the rows that are classified, given the class.
    mean_variance
        (2, features): t_kj, the variance of the released mean of class k.
    """

    test_variance: Vector
    mean_variance: Vector

    @classmethod
    def of_rows(
        cls, *, sigma: ArrayLike, noise: ArrayLike, rows: tuple[int, int], features: int, noisy_test: bool = False
    ) -> ReleasedMeans:
        """Return the case of released rows: noise on every training feature, and on the test's if ``noisy_test``.

        Parameters
        ----------
        sigma
            Standard deviation of a feature within a class; one number, or one per feature.
        noise
            Standard deviation of the noise on a released value.
        rows
            Rows of the two classes.
        features
            How many.
        noisy_test
            Whether the rows to classify carry the same noise.
        """
        own, added = _variances(sigma, features), _variances(noise, features)
        n1, n2 = (check_count(n, name="rows") for n in rows)
        spread = own + added
        return cls(test_variance=spread if noisy_test else own, mean_variance=np.stack([spread / n1, spread / n2]))

    @classmethod
    def of_sums(
        cls, *, sigma: ArrayLike, noise: tuple[ArrayLike, ArrayLike], rows: tuple[int, int], features: int
    ) -> ReleasedMeans:
        """Return the case of released class means: noise of the given standard deviations on the means themselves."""
        own = _variances(sigma, features)
        n = [check_count(count, name="rows") for count in rows]
        added = [_variances(deviation, features) for deviation in noise]
        return cls(test_variance=own, mean_variance=np.stack([own / n[0] + added[0], own / n[1] + added[1]]))

    def first(self, features: int) -> ReleasedMeans:
        """Return the same for the first features alone."""
        return ReleasedMeans(
            test_variance=self.test_variance[:features], mean_variance=self.mean_variance[:, :features]
        )


def psi(gaps: ArrayLike, means: ReleasedMeans) -> Vector:
    """Return Psi of the independence rule on the first 1, 2, ..., p features, for rows of the first class.

    Psi = [S + sum_j (t_2j - t_1j)/g_j] / (2 sqrt(S + sum_j (t_1j + t_2j)/g_j)), S = sum_j alpha_j^2/g_j.

    References
    ----------
    Fan and Fan (2008), Theorem 1; formula sheet j1.

    Examples
    --------
    >>> means = ReleasedMeans.of_rows(sigma=1.0, noise=0.0, rows=(50, 50), features=2)
    >>> psi([2.0, 1.0], means).round(4)
    array([0.995 , 1.1092])
    """
    alpha = _gaps(gaps, means)
    g, (t1, t2) = means.test_variance, means.mean_variance
    signal = np.cumsum(alpha**2 / g)
    return np.asarray(
        (signal + np.cumsum((t2 - t1) / g)) / (2 * np.sqrt(signal + np.cumsum((t1 + t2) / g))), dtype=np.float64
    )


def independence_rule_error(gaps: ArrayLike, means: ReleasedMeans) -> float:
    """Return the error W = 1 - Phi(Psi) on rows of the first class, of the rule that takes features as independent.

    The variances are taken as known; for n rows their estimation adds a factor 1 + O(sqrt(log p / n)) to Psi.

    Parameters
    ----------
    gaps
        alpha_j: the difference of the two classes' true means.
    means
        How exactly the rule knows them.

    References
    ----------
    Fan and Fan (2008), Theorem 1; the feature-release paper, Theorem 6; formula sheet j1.

    Examples
    --------
    >>> gaps = 2 * np.arange(1, 501) ** -0.75
    >>> clean = ReleasedMeans.of_rows(sigma=1.0, noise=0.0, rows=(50, 50), features=500)
    >>> round(independence_rule_error(gaps, clean), 6), round(independence_rule_error(gaps[:24], clean.first(24)), 6)
    (0.178825, 0.079073)
    """
    return float(norm.sf(psi(gaps, means)[-1]))


def _gaps(gaps: ArrayLike, means: ReleasedMeans) -> Vector:
    alpha = np.asarray(gaps, dtype=np.float64)
    if alpha.shape != means.test_variance.shape or not np.isfinite(alpha).all():
        raise InvalidInput(
            f"gaps must be one finite number for each of {len(means.test_variance)} features, got shape {alpha.shape}"
        )
    return alpha


def _variances(deviation: ArrayLike, features: int) -> Vector:
    squares = np.square(np.asarray(deviation, dtype=np.float64))
    if not np.isfinite(squares).all():
        raise InvalidInput("standard deviations must be finite numbers")
    return np.broadcast_to(squares, (check_count(features, name="features"),)).copy()
