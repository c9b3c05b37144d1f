"""Two rules of Fisher's: features as if independent, or with their whole covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["Full", "Independence", "Metric", "Rule"]

Matrix = NDArray[np.float64]

_LEAST = 1e-3  # of the mean variance: what is left of a variance after the noise's is taken out


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """The inverse covariance, diagonal or whole.

    Examples
    --------
    >>> Metric(np.array([2.0, 1.0])).apply(np.eye(2))
    array([[0.5, 0. ],
           [0. , 1. ]])
    """

    covariance: Matrix

    def apply(self, vectors: Matrix) -> Matrix:
        """Return the inverse covariance times each column.

        Examples
        --------
        >>> Metric(np.diag([2.0, 1.0])).apply(np.eye(2))[0]
        array([0.5, 0. ])
        """
        if self.covariance.ndim == 1:
            return vectors / self.covariance[:, None]
        return np.asarray(np.linalg.solve(self.covariance, vectors))


class Rule(Protocol):
    """How the covariance of noised rows becomes that of the rows to classify.

    Examples
    --------
    >>> rule: Rule = Independence()
    >>> rule.metric(np.diag([5.0, 1.0]), noise=np.array([4.0, 0.0]), noised_test=False).covariance
    array([1., 1.])
    """

    def metric(self, spread: Matrix, *, noise: Matrix, noised_test: bool) -> Metric:
        """Return the metric from the spread of the noised rows and the noise's variances."""


@dataclass(frozen=True, slots=True)
class Independence:
    """Use the variances alone: in high dimension the covariance cannot be learned, and its noise does harm.

    References
    ----------
    Bickel and Levina (2004); Fan and Fan (2008).

    Examples
    --------
    >>> Independence().metric(np.array([5.0, 3.0]), noise=np.zeros(2), noised_test=False).covariance
    array([5., 3.])
    """

    def metric(self, spread: Matrix, *, noise: Matrix, noised_test: bool) -> Metric:
        """Return the variances without the noise's, kept above a thousandth of their mean.

        Examples
        --------
        >>> Independence().metric(np.array([5.0, 3.9]), noise=np.full(2, 4.0), noised_test=False).covariance
        array([1.e+00, 5.e-04])
        """
        variances = spread if spread.ndim == 1 else np.diag(spread)
        return Metric(_positive(variances - noise) + (noise if noised_test else 0.0))


@dataclass(frozen=True, slots=True)
class Full:
    """Use the whole covariance, with the noise taken out of its diagonal and its spectrum kept positive.

    Examples
    --------
    >>> Full().metric(np.array([[5.0, 0.5], [0.5, 5.0]]), noise=np.full(2, 4.0), noised_test=False).covariance
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def metric(self, spread: Matrix, *, noise: Matrix, noised_test: bool) -> Metric:
        """Return the covariance without the noise's.

        Examples
        --------
        >>> Full().metric(np.ones(2), noise=np.zeros(2), noised_test=False)
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: the full rule needs products of features, which class totals do not hold;
        take Independence()
        """
        if spread.ndim == 1:
            raise InvalidInput(
                "the full rule needs products of features, which class totals do not hold; take Independence()"
            )
        values, vectors = np.linalg.eigh(spread - np.diag(noise))
        own = (vectors * _positive(values)) @ vectors.T
        return Metric(own + np.diag(noise) if noised_test else own)


def _positive(values: Matrix) -> Matrix:
    positive = np.maximum(values, 0.0)
    scale = positive.mean()
    return np.maximum(positive, _LEAST * (scale if scale > 0 else 1.0))
