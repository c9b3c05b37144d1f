"""The likelihood of what was released about rows, under linear logits of standardized features, and its maximum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.sparsefuncs import mean_variance_axis

from tacit.labels.fitting.shares import class_rates

__all__ = ["LikelihoodRows", "StandardizedFeatures"]

Array = NDArray[np.float64]

_TINY = 1e-300
_BLOCK = 1 << 18  # cells of features that are read together: a processor keeps them for the gradient
_MOST_COLUMNS = 1000  # beyond, directions cost more than the steps that they save
_DIRECTION_ROWS = 10  # for each column, of those that directions are found from


@dataclass(frozen=True, slots=True)
class StandardizedFeatures:
    """Features with the shift and scale that standardize them, and the directions in which they vary.

    Sparse ones are only scaled. ``directions`` has a unit vector in each column, along which standardized rows have
    mean square ``spread``.
    """

    X: Any
    shift: Array
    scale: Array
    directions: Array | None
    spread: Array

    @classmethod
    def of(cls, X: Any, weights: Array) -> StandardizedFeatures:  # noqa: ANN401
        """Measure mean and standard deviation of the weighted rows, and the directions of some."""
        if sp.issparse(X):
            mean, variance = mean_variance_axis(X, axis=0, weights=weights)
            shift, variance = np.zeros_like(mean), variance + mean**2
        else:
            shift = weights @ X / weights.sum()
            variance = sum(weights[part] @ (X[part] - shift) ** 2 for part in _blocks(X)) / weights.sum()
        scale = np.where(variance > 0, np.sqrt(variance), 1.0)
        return cls(X, shift, scale, *_directions(X, shift, scale, weights))

    def take(self, rows: NDArray[np.int64]) -> StandardizedFeatures:
        """Return those of some rows, by the same standard."""
        return StandardizedFeatures(self.X[rows], self.shift, self.scale, self.directions, self.spread)

    def unscaled(self, parameters: Array) -> tuple[Array, Array]:
        """Return coefficients, and intercepts, of the features as they were given."""
        slopes = parameters[:-1] / self.scale[:, None]
        return slopes, np.asarray(parameters[-1] - self.shift @ slopes)

    def along(self, parameters: Array) -> Array:
        """Return the parameters with slopes along the directions."""
        return (
            parameters if self.directions is None else np.vstack([self.directions.T @ parameters[:-1], parameters[-1]])
        )

    def back(self, parameters: Array) -> Array:
        """Return parameters for the features from those along the directions."""
        if self.directions is None:
            return parameters
        return np.vstack([self.directions @ parameters[:-1], parameters[-1]])


def _directions(X: Any, shift: Array, scale: Array, weights: Array) -> tuple[Array | None, Array]:  # noqa: ANN401
    rows, columns = X.shape
    if sp.issparse(X) or columns > _MOST_COLUMNS:
        return None, np.ones(columns)
    step = max(1, rows // (_DIRECTION_ROWS * columns + 1000))
    some, counts = (X[::step] - shift) / scale, weights[::step, None]
    spread, directions = np.linalg.eigh(some.T @ (some * counts) / counts.sum())
    return directions, np.maximum(spread, 0.0)


def _blocks(X: Any) -> Iterator[slice]:  # noqa: ANN401
    rows, columns = X.shape
    size = rows if sp.issparse(X) else max(1, _BLOCK // columns)
    return (slice(start, start + size) for start in range(0, rows, size))


@dataclass(frozen=True, slots=True)
class LikelihoodRows:
    """The rows, the likelihood of what was released about each, and their weights.

    Parameters are a matrix whose last row are intercepts: a column for each class, or, of two classes, one, the log
    odds of the second.
    """

    features: StandardizedFeatures
    likelihood: Array
    weights: Array

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.weights)

    @property
    def columns(self) -> int:
        """How many features there are."""
        return int(self.features.X.shape[1])

    @property
    def cells(self) -> int:
        """The coefficients of a row's logits."""
        return self.columns * self._logits

    @property
    def _logits(self) -> int:
        classes = self.likelihood.shape[1]
        return 1 if classes == 2 else classes

    @property
    def _share(self) -> float:
        """Of a penalty: one logit of two classes is two slopes of half its size."""
        return 0.5 if self._logits == 1 else 1.0

    def take(self, rows: NDArray[np.int64]) -> LikelihoodRows:
        """Return some rows."""
        return LikelihoodRows(self.features.take(rows), self.likelihood[rows], self.weights[rows])

    def where(self, chosen: NDArray[np.bool_]) -> LikelihoodRows:
        """Return all rows, with weight 0 where they are not chosen: nothing is copied."""
        return LikelihoodRows(self.features, self.likelihood, self.weights * chosen)

    def known(self, rates: Array) -> float:
        """Return how much the released labels say about a logit: the information of all rows at the class rates."""
        return max(float(self._squares(rates).mean()), _TINY)

    def start(self) -> Array:
        """Return no slopes, and as intercepts the rates that make the release likeliest."""
        parameters = np.zeros((self.columns + 1, self._logits))
        levels = np.log(class_rates(self.likelihood, self.weights))
        parameters[-1] = levels[1] - levels[0] if self._logits == 1 else levels
        return parameters

    def losses_between(self, first: Array, second: Array, shares: Sequence[float]) -> Array:
        """Return the losses of parameters that go this share of the way from the first to the second."""
        losses, of = np.zeros(len(shares)), _of_one_logit if self._logits == 1 else _of_logits
        both = np.hstack([first, second - first])
        for part, logits in self._logit_blocks(both):
            start, change = np.hsplit(logits, 2)
            for place, share in enumerate(shares):
                losses[place] += of(start + share * change, self.likelihood[part], self.weights[part])[0]
        return losses

    def fit(self, penalty: float, *, rates: Array, start: Array, steps: int, precision: float) -> tuple[Array, int]:
        """Return the parameters of the largest penalized likelihood, and the steps that it took.

        What is penalized is the distance from the rates of the classes, of the intercepts too: labels that say little
        about slopes say little about intercepts. L-BFGS walks along the directions, each in steps of its own size: the
        inverse root of its curvature at the start.
        """
        penalty *= self._share
        sizes = self._sizes(start, penalty)

        def objective(flat: Array) -> tuple[float, Array]:
            parameters = flat.reshape(start.shape) * sizes
            loss, gradient = self._loss_and_gradient(self.features.back(parameters))
            pulled = parameters - rates
            loss += penalty * float((pulled**2).sum()) / 2
            return loss, ((self.features.along(gradient) + penalty * pulled) * sizes).ravel()

        how: Any = {"maxiter": steps, "ftol": precision, "gtol": 1e-9}
        first = (self.features.along(start) / sizes).ravel()
        found = minimize(objective, first, jac=True, method="L-BFGS-B", options=how)
        return self.features.back(np.asarray(found.x).reshape(start.shape) * sizes), int(found.nit)

    def _sizes(self, start: Array, penalty: float) -> Array:
        curvature = np.outer(np.append(self.features.spread, 1.0), self._squares(start))
        return np.asarray(1 / np.sqrt(np.maximum(curvature + penalty, 1e-12)))

    def _squares(self, parameters: Array) -> Array:
        each = np.maximum(self.weights, _TINY)[:, None]
        return np.asarray(
            sum((residuals**2 / each[part]).sum(axis=0) for part, _, residuals in self._parts(parameters))
        )

    def _loss_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """-log of the likelihood, and its gradient by the parameters of standardized features."""
        total, levels, slopes = 0.0, np.zeros(self._logits), np.zeros((len(parameters) - 1, self._logits))
        for part, loss, residuals in self._parts(parameters):
            total += loss
            levels += residuals.sum(axis=0)
            slopes += safe_sparse_dot(self.features.X[part].T, residuals)
        slopes = (slopes - np.outer(self.features.shift, levels)) / self.features.scale[:, None]
        return total, np.vstack([slopes, levels])

    def _parts(self, parameters: Array) -> Iterator[tuple[slice, float, Array]]:
        """Blocks of rows, their loss, and the derivative of the loss by each row's logits."""
        of = _of_one_logit if self._logits == 1 else _of_logits
        for part, logits in self._logit_blocks(parameters):
            yield part, *of(logits, self.likelihood[part], self.weights[part])

    def _logit_blocks(self, parameters: Array) -> Iterator[tuple[slice, Array]]:
        slopes, levels = self.features.unscaled(parameters)
        for part in _blocks(self.features.X):
            logits = safe_sparse_dot(self.features.X[part], slopes)
            logits += levels
            yield part, logits


def _of_one_logit(logits: Array, likelihood: Array, weights: Array) -> tuple[float, Array]:
    second = expit(logits[:, 0])
    change = likelihood[:, 1] - likelihood[:, 0]
    evidence = np.maximum(likelihood[:, 0] + change * second, _TINY)
    residuals = second * (second - 1) * change * weights / evidence
    return -float(weights @ np.log(evidence)), residuals[:, None]


def _of_logits(logits: Array, likelihood: Array, weights: Array) -> tuple[float, Array]:
    p = logits
    p -= p.max(axis=1, keepdims=True)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    joint = p * likelihood
    evidence = np.maximum(joint.sum(axis=1), _TINY)
    joint /= evidence[:, None]
    p -= joint
    p *= weights[:, None]
    return -float(weights @ np.log(evidence)), p
