"""How many features to release: each brings signal, and noise of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from papers.private_fisher.theory.error import ReleasedMeans, psi
from tacit.privacy.errors import InvalidInput

__all__ = ["KeptFeatures", "best_features"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFeatures:
    """The number of features with the least error, and that error.

    Examples
    --------
    >>> print(KeptFeatures(count=24, psi=1.411333, error=0.079073))
    24 features: error 0.0791
    """

    count: int
    psi: float
    error: float

    def __str__(self) -> str:
        return f"{self.count} features: error {self.error:.4f}"


def best_features(gaps: ArrayLike, *, means: Callable[[int], ReleasedMeans]) -> KeptFeatures:
    """Return the m that maximizes Psi of the independence rule on the m features of largest gap.

    Where a privacy budget is shared among the features kept, the noise grows with m: ``means(m)`` says how exactly m
    features are known.

    Parameters
    ----------
    gaps
        The classes' differences, in the order in which features are taken: the largest first.
    means
        From m to how exactly the first m features' means are known.

    References
    ----------
    Fan and Fan (2008), Section 4 (FAIR); formula sheet j2.

    Examples
    --------
    >>> gaps = 2 * np.arange(1, 501) ** -0.75
    >>> print(best_features(gaps, means=lambda m: ReleasedMeans.of_rows(
    ...     sigma=1.0, noise=1.0, rows=(50, 50), features=m, noisy_test=True)))
    16 features: error 0.1686
    """
    alpha = np.asarray(gaps, dtype=np.float64)
    if alpha.ndim != 1 or not len(alpha):
        raise InvalidInput(f"gaps must be a list of at least one number, got shape {alpha.shape}")
    values = [float(psi(alpha[:m], means(m))[-1]) for m in range(1, len(alpha) + 1)]
    best = int(np.argmax(values))
    return KeptFeatures(count=best + 1, psi=values[best], error=float(norm.sf(values[best])))
