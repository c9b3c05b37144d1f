"""From randomized labels to the posterior of a row's label by the votes of its neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors

from tacit.labels.fitting.denoise import NoisyLabels
from tacit.labels.fitting.expect import calibrate, posterior_targets
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["NeighborVotes", "choose_count", "expect_from_neighbors", "find_neighbors"]

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

_FLOOR = 1e-3  # a vote of 0 from some hundred neighbors is no proof
_LEAST = 10  # fewer neighbors are not tried


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborVotes:
    """The posterior of each true label: what the labels of near rows make likely, times the row's own likelihood.

    No model is trained, so it takes seconds; it is as good as the rows' distances are. Give it a representation:
    features that a network learned without labels, or scaled columns of a table. Features are public under label
    privacy, so whatever is learned from them alone is free.

    Parameters
    ----------
    count
        The largest number of neighbors per row, also at most a tenth of the rows. The number used has the largest
        likelihood of the release: few if labels are often correct, many if they are not.
    rounds
        Iterations of the votes, after the first. They sharpen clusters of many rows; with few rows or much noise some
        classes absorb others, and an estimator trained on the first votes does better.

    References
    ----------
    Cover and Hart (1967). Votes are de-biased by one Newton step from the uniform distribution: for randomized
    response that is formula sheet a3.

    Examples
    --------
    >>> X, likelihood = np.repeat([[0.0], [9.0]], 20, axis=0), np.repeat([[0.6, 0.4], [0.4, 0.6]], 20, axis=0)
    >>> likelihood[0] = [0.4, 0.6]
    >>> noisy = NoisyLabels(given=likelihood.argmax(axis=1), likelihood=likelihood)
    >>> targets = NeighborVotes(count=10).targets(None, X, noisy, rng=None)
    >>> targets[[0, 1, 39]].argmax(axis=1)
    array([0, 0, 1])
    """

    count: int = 300
    rounds: int = 0

    def __post_init__(self) -> None:
        check_count(self.count, name="count")
        check_count(self.rounds, name="rounds", least=0)

    def targets(self, estimator: Any, X: Any, noisy: NoisyLabels, *, rng: np.random.Generator) -> Array:  # noqa: ANN401, ARG002
        """Return the posterior of each label after the last round."""
        likelihood = noisy.likelihood
        if len(likelihood) == 1:  # nobody to hear
            return posterior_targets(np.ones_like(likelihood), likelihood)
        near = find_neighbors(X, count=min(self.count, max(1, len(likelihood) // 10)))
        heard = near[:, : choose_count(near, likelihood=likelihood)]
        prior = expect_from_neighbors(heard, likelihood=likelihood, rounds=self.rounds)
        return posterior_targets(prior, likelihood)


def find_neighbors(X: ArrayLike, *, count: int) -> Rows:
    """Return for each row the other rows at the least Euclidean distance, the nearest first.

    Examples
    --------
    >>> find_neighbors([[0.0], [1.0], [5.0], [5.5]], count=1).ravel()
    array([1, 0, 3, 2])
    """
    check_count(count, name="count")
    rows = _scaled(np.asarray(X))
    if count >= len(rows):
        raise InvalidInput(f"must be less than the {len(rows)} rows, got {count}", field="count")
    return np.asarray(NearestNeighbors(n_neighbors=count, algorithm="brute").fit(rows).kneighbors()[1])


def _scaled(given: NDArray[Any]) -> NDArray[np.float32]:
    """Return rows with the same neighbors whose squares neither overflow nor lose the digits that distinguish them.

    The offset goes before the digits do: float32 has seven. It is the median, which one stray row does not move.
    """
    rows = given.reshape(len(given), -1).astype(np.result_type(given, np.float32))
    rows = rows - np.median(rows, axis=0)
    return np.asarray(rows / (np.abs(rows).max(initial=0.0) or 1.0), dtype=np.float32)


def expect_from_neighbors(neighbors: Rows, *, likelihood: Array, rounds: int = 0) -> Array:
    """Return P(true label) of every row from the released labels of its neighbors.

    With g_j(c) = L_j(c) / mean L_j - 1 the first vote is one Newton step for the neighbors' log-likelihood from the
    uniform distribution, 1/K + F^+ mean_j g_j with F = E[g g']. Every later round is the mean of the neighbors'
    posteriors, each its own last vote times its own likelihood. Votes are calibrated: to the power, one for all rows,
    that makes the release likeliest.

    Parameters
    ----------
    neighbors
        Row numbers; row i not among those of row i.
    likelihood
        P(released | true label = c) of every row, as column c.
    rounds
        After the first vote. From the second vote on a row's own label has a part in it, through its neighbors.
    """
    n, count = neighbors.shape
    if len(likelihood) != n:
        raise InvalidInput(
            f"must have one row for each of the {n} rows with neighbors, got {likelihood.shape}", field="likelihood"
        )
    mean = csr_array(
        (np.full(n * count, 1 / count), neighbors.ravel(), np.arange(n + 1) * count), shape=(n, len(likelihood))
    )
    prior = calibrate(_proportions(_first_votes(mean, likelihood)), likelihood=likelihood)
    for _ in range(rounds):
        prior = calibrate(_proportions(mean @ posterior_targets(prior, likelihood)), likelihood=likelihood)
    return prior


def choose_count(neighbors: Rows, *, likelihood: Array) -> int:
    """Return how many of the neighbors to use: the number with the largest likelihood of the release.

    A row's own label has no part in its first vote, so each label is evaluated by those of others.
    """
    counts = [int(neighbors.shape[1])]
    while counts[-1] // 3 >= _LEAST:
        counts.append(counts[-1] // 3)
    votes = (expect_from_neighbors(neighbors[:, :count], likelihood=likelihood, rounds=0) for count in counts)
    fits = [float(np.log((prior * likelihood).sum(axis=1)).sum()) for prior in votes]
    return counts[fits.index(max(fits))]


def _first_votes(mean: csr_array, likelihood: Array) -> Array:
    """The Newton step; entries may be negative."""
    score = likelihood / likelihood.mean(axis=1, keepdims=True) - 1
    information = score.T @ score / len(score)
    step = (mean @ score) @ np.linalg.pinv(information, rcond=1e-6, hermitian=True)
    return np.asarray(1 / likelihood.shape[1] + step)


def _proportions(votes: Array) -> Array:
    kept = np.maximum(votes, _FLOOR)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
