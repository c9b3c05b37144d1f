"""Two rules of Fisher's: features as if independent, or with their whole covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["RULES", "FisherRule", "FullCovarianceRule", "IndependenceRule", "InverseCovariance"]

Matrix = NDArray[np.float64]

_LEAST = 1e-3  # of the mean variance: what is left of a variance after the noise's is taken out


@dataclass(frozen=True, slots=True, eq=False)
class InverseCovariance:
    """The inverse covariance, diagonal or whole."""

    covariance: Matrix

    def apply(self, vectors: Matrix) -> Matrix:
        """Return the inverse covariance times each column."""
        if self.covariance.ndim == 1:
            return vectors / self.covariance[:, None]
        return np.asarray(np.linalg.solve(self.covariance, vectors))


class FisherRule(Protocol):
    """How the covariance of noisy rows becomes that of the rows to classify."""

    def squares(self, X: Matrix, *, weights: Matrix) -> Matrix:
        """Return what the rule reads of the rows' second moments."""

    def inverse_covariance(
        self, spread: Matrix, *, noise: Matrix, error: Matrix, noisy_test: bool
    ) -> InverseCovariance:
        """Return it from the spread of the noisy rows, the noise's variances, and how far these may err."""


@dataclass(frozen=True, slots=True)
class IndependenceRule:
    """Use the variances alone: in high dimension the covariance cannot be learned, and its noise does harm.

    References
    ----------
    Bickel and Levina (2004); Fan and Fan (2008).
    """

    def squares(self, X: Matrix, *, weights: Matrix) -> Matrix:
        """Return the weighted sum of squares of each feature: p numbers, where products would be p^2."""
        return np.asarray(np.einsum("i,ij,ij->j", weights, X, X))

    def inverse_covariance(
        self, spread: Matrix, *, noise: Matrix, error: Matrix, noisy_test: bool
    ) -> InverseCovariance:
        """Return the variances without the noise's, kept above the error of that difference.

        A feature whose difference falls near 0 by chance would otherwise decide alone.
        """
        variances = spread if spread.ndim == 1 else np.diag(spread)
        return InverseCovariance(_positive(variances - noise, least=error) + (noise if noisy_test else 0.0))


@dataclass(frozen=True, slots=True)
class FullCovarianceRule:
    """Use the whole covariance, with the noise taken out of its diagonal and its spectrum kept positive."""

    def squares(self, X: Matrix, *, weights: Matrix) -> Matrix:
        """Return the weighted sums of products of every two features."""
        return np.asarray((X * weights[:, None]).T @ X)

    def inverse_covariance(
        self, spread: Matrix, *, noise: Matrix, error: Matrix, noisy_test: bool
    ) -> InverseCovariance:
        """Return the covariance without the noise's, its spectrum above the edge of the noise's own.

        The sample covariance of p independent noises on n rows has eigenvalues up to 1 + 2 sqrt(p/n) times their
        variance, and the error of one variance is sqrt(2/n) times it: the edge is sqrt(2p) errors.
        """
        if spread.ndim == 1:
            raise InvalidInput(
                "the full rule needs products of features, which class totals do not contain; use the independence rule"
            )
        values, vectors = np.linalg.eigh(spread - np.diag(noise))
        edge = error.mean() * np.sqrt(2 * len(values))
        own = (vectors * _positive(values, least=edge)) @ vectors.T
        return InverseCovariance(own + np.diag(noise) if noisy_test else own)


RULES: dict[str, FisherRule] = {"independence": IndependenceRule(), "full": FullCovarianceRule()}
"""What the ``rule`` of a method names."""


def _positive(values: Matrix, *, least: Matrix) -> Matrix:
    positive = np.maximum(values, least)
    scale = positive.mean()
    return np.maximum(positive, _LEAST * scale if scale > 0 else 1.0)
