"""From randomized labels to what a row's neighbours say about its true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from tacit.labels.learn.expect import calibrate, posterior_targets
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["Neighbours", "expect_from_neighbours", "find_neighbours"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_FLOOR = 1e-3  # a vote of 0 from some hundred neighbours is no proof
_ROWS_AT_ONCE = 1024  # rows whose distances to all others are held at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The posterior of each true label: what the labels of near rows make likely, times the row's own likelihood.

    No model is trained, so it takes seconds; it is as good as the rows' distances are. Give it a representation:
    features that a network learned without labels, or scaled columns of a table. Features are public under label
    privacy, so whatever is learned from them alone is free.

    Parameters
    ----------
    count
        Neighbours a row, at most a tenth of the rows.
    rounds
        Votes over votes, after the first.

    References
    ----------
    Cover and Hart (1967). Votes are de-biased by one Newton step from the uniform distribution: for randomized
    response that is formula sheet a3.

    Examples
    --------
    >>> X, likelihood = np.repeat([[0.0], [9.0]], 20, axis=0), np.repeat([[0.6, 0.4], [0.4, 0.6]], 20, axis=0)
    >>> likelihood[0] = [0.4, 0.6]
    >>> targets = Neighbours(count=10).targets(None, X, likelihood=likelihood, given=None, rng=None)
    >>> targets[[0, 1, 39]].argmax(axis=1)
    array([0, 0, 1])
    """

    count: int = 300
    rounds: int = 3

    def __post_init__(self) -> None:
        check_count(self.count, name="count")
        check_count(self.rounds, name="rounds", least=0)

    def targets(
        self,
        estimator: Any,  # noqa: ANN401, ARG002
        X: Any,  # noqa: ANN401
        *,
        likelihood: Array,
        given: NDArray[np.int64],  # noqa: ARG002
        sample_weight: Any = None,  # noqa: ANN401, ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Array:
        """Return the posterior of each label after the last round.

        Examples
        --------
        >>> X, likelihood = np.arange(20.0)[:, None], np.repeat([[0.7, 0.3], [0.3, 0.7]], 10, axis=0)
        >>> Neighbours().targets(None, X, likelihood=likelihood, given=None, rng=None).shape
        (20, 2)
        """
        count = min(self.count, max(1, len(likelihood) // 10))
        near = find_neighbours(X, count=count)
        return posterior_targets(expect_from_neighbours(near, likelihood=likelihood, rounds=self.rounds), likelihood)


def find_neighbours(X: ArrayLike, *, count: int) -> Rows:
    """Return for each row the other rows at the least Euclidean distance, in no order.

    Examples
    --------
    >>> find_neighbours([[0.0], [1.0], [5.0], [5.5]], count=1).ravel()
    array([1, 0, 3, 2])
    """
    check_count(count, name="count")
    given = np.asarray(X)
    rows = given.reshape(len(given), -1).astype(np.float32)
    rows -= rows.mean(axis=0)  # a common offset would cost digits below
    if count >= len(rows):
        raise InvalidInput(f"count must be less than the {len(rows)} rows, got {count}")
    squares = (rows**2).sum(axis=1)
    near = np.empty((len(rows), count), dtype=np.int64)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        far = squares - 2 * part @ rows.T
        far[np.arange(len(part)), np.arange(start, start + len(part))] = np.inf  # a row is no neighbour of its own
        near[start : start + len(part)] = np.argpartition(far, count - 1, axis=1)[:, :count]
    return near


def expect_from_neighbours(neighbours: Rows, *, likelihood: Array, rounds: int = 3) -> Array:
    """Return P(true label) of every row from the released labels of its neighbours.

    With g_j(c) = L_j(c) / mean L_j - 1 the first vote is one Newton step for the neighbours' log-likelihood from the
    uniform distribution, 1/K + F^+ mean_j g_j with F = E[g g']. Every later round is the mean of the neighbours'
    posteriors, each its own last vote times its own likelihood. Votes are calibrated: to the power, one for all rows,
    that makes the release likeliest.

    Parameters
    ----------
    neighbours
        Row numbers; row i not among those of row i.
    likelihood
        P(released | true label = c) of every row, as column c.
    rounds
        After the first vote.

    Examples
    --------
    >>> likelihood = np.array([[0.6, 0.4]] * 5 + [[0.4, 0.6]])
    >>> near = np.array([[j for j in range(6) if j != i] for i in range(6)])
    >>> expect_from_neighbours(near, likelihood=likelihood)[5].argmax()
    np.int64(0)
    """
    n, count = neighbours.shape
    if len(likelihood) != n:
        raise InvalidInput(
            f"likelihood must have one row for each of the {n} rows with neighbours, got {likelihood.shape}"
        )
    mean = csr_array(
        (np.full(n * count, 1 / count), neighbours.ravel(), np.arange(n + 1) * count), shape=(n, len(likelihood))
    )
    prior = calibrate(_proportions(_first_votes(mean, likelihood)), likelihood=likelihood)
    for _ in range(rounds):
        prior = calibrate(_proportions(mean @ posterior_targets(prior, likelihood)), likelihood=likelihood)
    return prior


def _first_votes(mean: csr_array, likelihood: Array) -> Array:
    """The Newton step; entries may be negative."""
    score = likelihood / likelihood.mean(axis=1, keepdims=True) - 1
    information = score.T @ score / len(score)
    step = (mean @ score) @ np.linalg.pinv(information, rcond=1e-6, hermitian=True)
    return np.asarray(1 / likelihood.shape[1] + step)


def _proportions(votes: Array) -> Array:
    kept = np.maximum(votes, _FLOOR)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
