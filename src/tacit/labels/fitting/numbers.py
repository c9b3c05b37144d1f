"""Regression on released numbers: their pull to the mean undone, and the fit as far as the release supports it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.likelihood import NoSignalWarning

__all__ = ["CalibratedFit", "stretch_outputs"]

Array = NDArray[np.float64]

_TAIL = 0.02  # of the prior, at either end, in which a number counts as its nearest in between: tails pull a slope
_FOLDS, _MANY = 5, 10_000  # rows above which one part judges
_CHANCE = 1.5  # standard errors of the slope, below which features say nothing
_FLAT = 1e-9


def stretch_outputs(outputs: Array, *, values: Array, transition: Array, prior: Array) -> Array:
    """Return a number for each output, whose mean given a label is as near the label as a line makes it.

    Outputs that minimize squared error are pulled to the mean of the prior: E[output | y] is about a + b y with b < 1,
    and a least-squares fit of them is too flat by b. Returned is (output - a)/b, with a and b by least squares under
    the prior. Outputs without bias stay as they are.

    Examples
    --------
    >>> T = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> stretch_outputs(np.array([0.25, 0.75]), values=np.array([0.0, 1.0]), transition=T, prior=np.full(2, 0.5))
    array([-0.5,  1.5])
    """
    means = transition @ outputs
    if np.allclose(means, values, rtol=1e-6, atol=1e-6 * np.abs(values).max()):
        return outputs
    reached = np.cumsum(prior)
    low, high = (values[min(int(np.searchsorted(reached, q)), len(values) - 1)] for q in (_TAIL, 1 - _TAIL))
    within = np.clip(values, low, high)
    center, level = prior @ within, prior @ means
    spread = prior @ (within - center) ** 2
    slope = prior @ ((within - center) * (means - level)) / spread if spread > 0 else 0.0
    return center + (outputs - level) / slope if slope > _FLAT else np.full(len(outputs), center)


@dataclass(frozen=True, slots=True, eq=False)
class CalibratedFit:
    """A fitted regressor whose distance from the mean is multiplied by what rows it has not seen support.

    A regressor of noisy numbers finds differences that are noise. The share of them to keep is the slope of released
    numbers on predictions of other rows, less its own noise; 0 predicts the mean of all, and a warning says so.
    """

    model: Any
    mean: float
    center: float  # of the model's predictions
    share: float

    @classmethod
    def of(
        cls,
        estimator: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
        numbers: Array,
        weights: Array | None,
        *,
        rng: np.random.Generator,
    ) -> CalibratedFit:
        """Fit to the numbers, and calibrate by predictions of rows that a fit has not seen."""
        each = np.ones(len(numbers)) if weights is None else weights
        mean = float(np.average(numbers, weights=each))
        share = _share(estimator, X, numbers, weights, rng) if len(numbers) >= 2 * _FOLDS else 1.0
        model = _fitted(estimator, X, numbers, weights)
        center = float(np.average(model.predict(X), weights=each))
        return cls(model, mean, center, share)

    def predict(self, X: Any) -> Array:  # noqa: ANN401
        """Return the predictions of rows."""
        return np.asarray(self.mean + self.share * (np.asarray(self.model.predict(X), dtype=np.float64) - self.center))


def _fitted(estimator: Any, X: Any, numbers: Array, weights: Array | None) -> Any:  # noqa: ANN401
    return clone(estimator).fit(X, numbers, **({} if weights is None else {"sample_weight": weights}))


def _share(estimator: Any, X: Any, numbers: Array, weights: Array | None, rng: np.random.Generator) -> float:  # noqa: ANN401
    folds = KFold(_FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    predicted, judged = np.zeros(len(numbers)), np.zeros(len(numbers))
    for number, (seen, held) in enumerate(folds.split(numbers)):
        if number and len(numbers) > _MANY:
            break
        part = None if weights is None else weights[seen]
        predicted[held] = _fitted(estimator, _safe_indexing(X, seen), numbers[seen], part).predict(
            _safe_indexing(X, held)
        )
        judged[held] = 1.0 if weights is None else weights[held]
    return _supported(predicted, numbers, judged)


def _supported(predicted: Array, numbers: Array, weights: Array) -> float:
    """The slope of numbers on predictions, shrunk by its noise, between 0 and 1."""
    far = predicted - np.average(predicted, weights=weights)
    squares = weights @ far**2
    if squares > _FLAT * weights.sum() * max(1.0, float(np.abs(numbers).max()) ** 2 * _FLAT):
        slope = float(weights @ (far * (numbers - np.average(numbers, weights=weights))) / squares)
        left = numbers - np.average(numbers, weights=weights) - slope * far
        ratio = slope / (np.sqrt(weights**2 @ (left * far) ** 2) / squares or _FLAT)
        if ratio > _CHANCE:
            return float(np.clip(slope * (1 - 1 / ratio**2), 0.0, 1.0))
    warnings.warn(
        "the released numbers do not show that the features say anything about the label, so the mean of all is "
        "predicted; more rows, narrower bounds or a larger epsilon may help",
        NoSignalWarning,
        stacklevel=5,
    )
    return 0.0
