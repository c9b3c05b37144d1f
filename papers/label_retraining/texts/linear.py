"""Multinomial logistic regression on dense or sparse rows, from soft targets or from likelihoods of released labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

Array = NDArray[np.float64]
Matrix = Any  # a NumPy array, a SciPy sparse matrix, or both side by side; float32


class Beside:
    """Matrices side by side, none of them copied or made dense."""

    def __init__(self, *blocks: Matrix) -> None:
        self.blocks = blocks
        self.shape = (blocks[0].shape[0], sum(block.shape[1] for block in blocks))

    def __getitem__(self, rows: NDArray[np.int64]) -> Beside:
        return Beside(*(block[rows] for block in self.blocks))

    def __matmul__(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        ends = np.cumsum([block.shape[1] for block in self.blocks])[:-1]
        parts = np.split(weights, ends)
        return np.asarray(sum(block @ part for block, part in zip(self.blocks, parts, strict=True)))

    def turned(self) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
        """Return multiplication by the transpose, which sparse blocks keep by rows."""
        blocks = [block.T.tocsr() if hasattr(block, "tocsr") else block.T for block in self.blocks]
        return lambda slope: np.vstack([block @ slope for block in blocks])


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Weights and intercepts, a column a class."""

    weights: Array

    def logits(self, X: Matrix) -> Array:
        """Return the rows' scores before the softmax."""
        return np.asarray(X @ self.weights[:-1].astype(np.float32) + self.weights[-1])

    def probabilities(self, X: Matrix) -> Array:
        """Return P(class | x)."""
        return np.asarray(np.exp(log_softmax(self.logits(X), axis=1)))


def fit_linear(
    X: Matrix, given: Array, *, decay: float, corrected: bool = False, start: Linear | None = None, steps: int = 200
) -> Linear:
    """Minimise the mean loss + decay |W|^2 / 2 by L-BFGS.

    The loss of a row is -sum_c t_c log p_c with ``given`` its targets t; corrected, -log sum_c L_c p_c with ``given``
    the likelihoods L of its released label (forward correction, Patrini et al. 2017). Both have gradient
    (p - r) x, with r the targets, or the posterior p L / sum p L.
    """
    shape = (X.shape[1] + 1, given.shape[1])
    logs = np.log(np.maximum(given, 1e-12)) if corrected else given
    total = np.ones((len(given), 1)) if corrected else given.sum(axis=1, keepdims=True)
    turned = (X if isinstance(X, Beside) else Beside(X)).turned()

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(shape)
        log_p = log_softmax(Linear(weights).logits(X), axis=1)
        if corrected:
            joint = log_p + logs
            whole = logsumexp(joint, axis=1, keepdims=True)
            value, wanted = -whole.mean(), np.exp(joint - whole)
        else:
            value, wanted = -(given * log_p).sum() / len(given), given
        slope = (np.exp(log_p) * total - wanted) / len(given)
        gradient = np.vstack([turned(slope.astype(np.float32)), slope.sum(axis=0)])
        gradient[:-1] += decay * weights[:-1]
        return value + decay / 2 * float((weights[:-1] ** 2).sum()), gradient.ravel()

    first = np.zeros(shape) if start is None else start.weights
    found = minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps, "gtol": 1e-6})
    return Linear(found.x.reshape(shape))
