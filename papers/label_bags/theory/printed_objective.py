"""Theorem 2's objective as printed: with the plug-in square, which is biased."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.bags.learners import UnbiasedObjective
from tacit.bags.learners.random_bags import BagMoments

__all__ = ["PrintedObjective", "printed_objective"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PrintedObjective(UnbiasedObjective):
    """Theorem 2's objective as printed, mean|r|^2 - c|mean r|^2, times k so that it has the scale of a risk.

    References
    ----------
    Chen et al. (2023), Theorem 2.

    Examples
    --------
    >>> round(PrintedObjective().value_and_gradient(np.array([[1.0], [0.0]]), np.array([[0.5], [0.5]]),
    ...                                    BagMoments(size=2, rows=5))[0], 6)
    0.666667
    """

    def value_and_gradient(self, means: Floats, labels: Floats, moments: BagMoments, /) -> tuple[float, Floats]:
        """Return the objective and its gradient.

        Examples
        --------
        >>> PrintedObjective().value_and_gradient(np.zeros((2, 1)), np.zeros((2, 1)), BagMoments(size=2, rows=5))[0]
        0.0
        """
        r = means - labels
        slope = 2 * (r - moments.c * r.mean(axis=0)) / len(r)
        return moments.k * printed_objective(r, moments), moments.k * slope


def printed_objective(residuals: Floats, moments: BagMoments) -> float:
    """Return what Theorem 2's estimator minimizes, as printed: mean|r|^2 - c |mean r|^2.

    Its expectation is lower than 1/k times the risk (plus a constant) by c E|r - E r|^2/n, which depends on h:
    :func:`tacit.bags.learners.random_bags.unbiased_risk` has no such term.

    References
    ----------
    Chen et al. (2023), Theorem 2.

    Examples
    --------
    >>> printed_objective(np.array([[0.5], [-0.5]]), BagMoments(size=2, rows=5))
    0.25
    """
    mean = residuals.mean(axis=0)
    return float(np.mean(np.sum(residuals**2, axis=1)) - moments.c * mean @ mean)
