"""What the list of selected features tells about one record: two neighboring data sets, many runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak import FixedThreshold, Leak, leak_from_scores
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["Neighbors", "selection_leak", "tied_neighbors"]

Select = Callable[[NDArray[np.float64], NDArray[np.int64], np.random.Generator], ArrayLike]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbors:
    """Two data sets that differ in one record, and the feature whose selection tells them apart."""

    rows: NDArray[np.float64]
    other_rows: NDArray[np.float64]
    labels: NDArray[np.int64]
    feature: int


def tied_neighbors(*, rows: int, features: int) -> Neighbors:
    """Return neighbors in [-1, 1] for which one record decides which of two tied features has the larger distance.

    Two classes of ``rows`` records each. In the first data set the last record of the second class makes feature 0
    differ a little more than feature 1; in the other it is the other way round. The remaining features do not differ.

    Examples
    --------
    >>> pair = tied_neighbors(rows=10, features=3)
    >>> means = [rows.reshape(2, 10, 3).mean(axis=1) for rows in (pair.rows, pair.other_rows)]
    >>> [np.abs(first - second).round(2).tolist() for first, second in means]
    [[0.6, 0.4, 0.0], [0.4, 0.6, 0.0]]
    """
    n, p = check_count(rows, name="rows", least=2), check_count(features, name="features", least=2)
    labels = np.repeat([0, 1], n)
    first = np.zeros((2 * n, p))
    first[n:-1, :2] = 0.5 * n / (n - 1)
    second = first.copy()
    first[-1, :2] = (1.0, -1.0)
    second[-1, :2] = (-1.0, 1.0)
    return Neighbors(rows=first, other_rows=second, labels=labels, feature=0)


def selection_leak(
    select: Select, neighbors: Neighbors, *, runs: int, rng: np.random.Generator, level: float = 0.95
) -> Leak:
    """Run a selection on two neighboring data sets and guess, from the list alone, which of them it saw.

    The guess is whether ``neighbors.feature`` was selected; each run is independent, so the rates prove an epsilon.

    Parameters
    ----------
    select
        (rows, labels, rng) -> the selected features' places.
    neighbors
        Two data sets that differ in one record.
    runs
        On each of the two.

    Examples
    --------
    >>> def printed(rows, labels, rng):
    ...     return np.argsort(-np.abs(rows[labels == 1].mean(axis=0) - rows[labels == 0].mean(axis=0)))[:1]
    >>> leak = selection_leak(printed, tied_neighbors(rows=50, features=10), runs=500, rng=np.random.default_rng(0))
    >>> leak.advantage, leak.epsilon_lower_bound > 4
    (1.0, True)
    """
    count = check_count(runs, name="runs")
    seen = [
        [float(neighbors.feature in np.asarray(select(rows, neighbors.labels, rng))) for _ in range(count)]
        for rows in (neighbors.rows, neighbors.other_rows)
    ]
    if neighbors.rows.shape != neighbors.other_rows.shape:
        raise InvalidInput("the two data sets must have the same shape: neighbors replace one record")
    return leak_from_scores(seen[0], seen[1], threshold=FixedThreshold(0.5), level=level)
