"""The likelihood of what was released about each label, as boosting libraries take a loss: by score."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tacit.labels.fitting.shares import class_rates

__all__ = ["ReleasedObjective", "information_bound"]

Array = NDArray[np.float64]

_TINY = 1e-300
_LEAST_HESSIAN = 1e-12


def information_bound(likelihood: Array) -> float:
    """Return the largest share of a label's information that its release can carry.

    For likelihoods L(y) of the rows that is max over rows of ((max L - min L) / (max L + min L))^2: tanh(epsilon/2)^2
    for randomized response, 1 for labels that are known. It bounds the chi-squared contraction of the channel, so
    that the expected Hessian of -log sum_y L(y) p(y) is at most this share of that of -log p(y).

    References
    ----------
    Asoodeh and Zhang (2024), Theorem 1.

    Examples
    --------
    >>> round(information_bound(np.array([[0.75, 0.25], [0.25, 0.75]])), 4)
    0.25
    """
    most, least = likelihood.max(axis=1), likelihood.min(axis=1)
    return float(np.max((most - least) / (most + least)) ** 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedObjective:
    """-log sum_y L(y) p(y) of some rows, as a function of their scores above the class shares.

    p(y) is proportional to share(y) exp(s(y)). The scores s are one for each class; or, with ``points``, one number t
    for each row and s(y) = t point(y): for two classes, and for numbers, whose mean rises with t.

    Parameters
    ----------
    likelihood
        L(y) of each row as column y, up to a factor of the row.
    weights
        One per row.
    start
        The log of the shares.
    points
        Where the values are on a line; None: each has a score of its own.
    bound
        Of the information of a release (:func:`information_bound`).
    """

    likelihood: Array
    weights: Array | None
    start: Array
    points: Array | None
    bound: float

    @classmethod
    def of(cls, likelihood: Array, weights: Array | None, *, values: Array | None = None) -> ReleasedObjective:
        """Start from the shares that make the release likeliest; ``values`` are numbers to predict the mean of."""
        scaled = likelihood / likelihood.max(axis=1, keepdims=True)
        K = scaled.shape[1]
        shares = class_rates(scaled, np.ones(len(scaled)))
        points = np.array([0.0, 1.0]) if K == 2 else None
        if values is not None:
            points = _standardized(values, shares)
        bound = information_bound(scaled) or 1.0  # nothing was released: any step is as good
        return cls(likelihood=scaled, weights=weights, start=np.log(shares), points=points, bound=bound)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.likelihood)

    @property
    def scores(self) -> int:
        """How many scores a row has."""
        return len(self.start) if self.points is None else 1

    @property
    def least_information(self) -> float:
        """The sum of the Hessians at the start, over the rows and the rarest class."""
        return float(self.derivatives(self.nothing())[1].reshape(self.rows, -1).sum(axis=0).min())

    def nothing(self) -> Array:
        """Scores of 0."""
        return np.zeros(self.rows if self.points is not None else (self.rows, len(self.start)))

    def take(self, rows: NDArray[np.int64]) -> ReleasedObjective:
        """Return that of some rows, from the same start."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, likelihood=self.likelihood[rows], weights=weights)

    def with_rows(self, likelihood: Array) -> ReleasedObjective:
        """Return that of other rows, from the same start."""
        return replace(self, likelihood=likelihood, weights=None)

    def probabilities(self, scores: Array) -> Array:
        """Return p(y), one column for each value."""
        return np.asarray(softmax(self._logits(scores), axis=1))

    def posteriors(self, scores: Array) -> Array:
        """Return P(y | what was released), one column for each value."""
        q = self.probabilities(scores) * self.likelihood
        return np.asarray(q / np.maximum(q.sum(axis=1, keepdims=True), _TINY))

    def derivatives(self, scores: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian by score: p - q with the posterior q, and the bound's share of p(1 - p).

        p(1 - p) is the bound of expectation maximization. The exact Hessian is p(1 - p) - q(1 - q), which is negative
        in many rows.
        """
        p = self.probabilities(scores)
        q = p * self.likelihood
        q /= np.maximum(q.sum(axis=1, keepdims=True), _TINY)
        if self.points is None:
            gradient, hessian = p - q, p * (1 - p)
        else:
            mean = p @ self.points
            gradient, hessian = mean - q @ self.points, p @ self.points**2 - mean**2
        hessian = np.maximum(self.bound * hessian, _LEAST_HESSIAN)
        if self.weights is None:
            return gradient, hessian
        weights = self.weights if self.points is not None else self.weights[:, None]
        return gradient * weights, hessian * weights

    def loss(self, scores: Array) -> float:
        """Return the sum over the rows."""
        evidence = np.maximum((self.probabilities(scores) * self.likelihood).sum(axis=1), _TINY)
        return -float(np.log(evidence).sum() if self.weights is None else self.weights @ np.log(evidence))

    def _logits(self, scores: Array) -> Array:
        above = np.asarray(scores, dtype=np.float64)
        return self.start + (above if self.points is None else above.reshape(-1, 1) * self.points)


def _standardized(values: Array, shares: Array) -> Array:
    mean = shares @ values
    deviation = np.sqrt(shares @ (values - mean) ** 2)
    return np.asarray((values - mean) / (deviation or 1.0))
