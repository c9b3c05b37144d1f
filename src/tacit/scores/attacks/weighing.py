"""Detecting matrices: a few weighings of many labels at once, read back in polynomial time.

Queries are numbered x = 0..q-1 and read as sets of bits. A column that belongs to the set A has entries
F(x & A), where F has the coefficient c = sum over subsets x of A of (-1)^|A - x| F(x). The same alternating
sum of the answers at A sees only columns of sets that contain A; those of larger sets are known by then
(sets are read in descending order), so what is left is sum_i c_i y_i over the columns of A itself: one
weighing with weights as large as 2^|A| times the mean of the largest and the smallest entry's size. Every
prefix 0..q-1 is closed under subsets, so any number of queries works. With q = 2^k and entries of either
sign this is the recursion [[D, D, I], [D, -D, 0]].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.design import Labels, ScoreQuery, Steps
from tacit.scores.attacks.errors import InconsistentAnswer
from tacit.scores.attacks.weights import TABLE_WEIGHTS, digits_of, most_weights, power_weights, subset_of
from tacit.scores.losses.precision import Numbers

__all__ = [
    "MOST_QUERIES",
    "DetectingMatrix",
    "ask_matrix",
    "ask_totals",
    "detecting_matrices",
    "detecting_matrix",
    "matrix_blocks",
]

MOST_QUERIES = 4096
"""Queries of one matrix; more labels are split into several."""

Entries = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectingMatrix:
    """A matrix of integers whose product with a vector of labels 0..radix-1 determines the labels.

    Parameters
    ----------
    labels
        Number of columns in use, at most as many as the queries can determine.
    low, high
        Entries are in -low..high; 0 and 1 count the labels of a chosen subset.
    radix
        Labels are 0..radix-1.

    References
    ----------
    Lindstrom (1965); Cantor, Mills (1966), "Determination of a subset from certain combinatorial properties".
    """

    queries: int
    labels: int
    low: int
    high: int
    radix: int = 2

    def __post_init__(self) -> None:
        check_count(self.queries, name="queries")
        check_count(self.labels, name="labels")
        check_count(self.low, name="low", least=0)
        check_count(self.high, name="high", least=max(1, self.low))
        check_count(self.radix, name="radix", least=2)
        if self.labels > (most := _capacity(self.queries, self._range)):
            raise InvalidInput(f"must be at most {most} for {self.queries} queries, got {self.labels}", field="labels")

    def weights(self, query: int) -> Entries:
        """Return row ``query`` of the matrix: the weight of every label in that query."""
        sets, coefficients = _columns(self.queries, self._range)
        sets, coefficients = sets[: self.labels], coefficients[: self.labels]
        return self._entries(np.full(self.labels, query), sets, coefficients)

    def matrix(self) -> Entries:
        """Return all rows."""
        return np.stack([self.weights(x) for x in range(self.queries)])

    def decode(self, totals: ArrayLike) -> Entries:
        """Return the labels behind the totals matrix @ labels, or raise if no labels give them."""
        left = np.asarray(totals, dtype=np.int64).copy()
        if left.shape != (self.queries,):
            raise InvalidInput(f"must be {self.queries} numbers, got shape {left.shape}", field="totals")
        found = np.zeros(self.labels, dtype=np.int64)
        points = np.arange(self.queries)
        for subset, columns in reversed(list(self._sets())):
            below = points[: subset + 1][(points[: subset + 1] & ~subset) == 0]
            signs = _signs(below, np.full_like(below, subset))
            labels = self._labels_of(int(signs @ left[below]), subset.bit_count())
            if labels[columns.stop - columns.start :].any():
                raise InvalidInput(
                    "must come from labels of this design, got numbers that no labels give", field="totals"
                )
            found[columns] = labels[: columns.stop - columns.start]
            asked = np.flatnonzero(found[columns])
            grid = np.broadcast_to(points[:, None], (self.queries, len(asked)))
            coefficients = _coefficients(subset.bit_count(), self._range)[asked]
            left -= self._entries(grid, np.full_like(grid, subset), coefficients) @ labels[asked]
        if left.any():
            raise InvalidInput("must come from labels of this design, got numbers that no labels give", field="totals")
        return found

    def _labels_of(self, total: int, size: int) -> Entries:
        if self.radix > 2:
            count = len(_coefficients(size, self._range))
            return digits_of([total], count=count, radix=self.radix).reshape(-1)
        heavy = _heavy(size, self._range)
        heavy_total, light_total = divmod(total, 1 << size)
        bits = (subset_of([heavy_total], weights=heavy), digits_of([light_total], count=size))
        return np.concatenate(bits, axis=None)

    def _sets(self) -> Iterator[tuple[int, slice]]:
        start = 0
        for subset in range(self.queries):
            stop = min(start + len(_coefficients(subset.bit_count(), self._range)), self.labels)
            yield subset, slice(start, stop)
            start = stop

    @property
    def _range(self) -> tuple[int, int, int]:
        return self.low, self.high, self.radix

    def _entries(self, queries: Entries, sets: Entries, coefficients: Entries) -> Entries:
        """Return F(query & set): the coefficient is spread over the points of positive sign, then the others."""
        signs = _signs(queries & sets, sets)
        ranks, sizes = _rank(queries & sets, sets)
        halves = np.maximum(sizes - 1, 0)
        plus = np.minimum(coefficients, np.int64(self.high) << halves)
        share = np.where(signs > 0, plus, coefficients - plus)
        # Of ranks 2 r and 2 r + 1 one point has positive sign and one negative.
        entries: Entries = signs * ((share >> halves) + (ranks // 2 < (share & ((1 << halves) - 1))))
        return entries


def ask_matrix(
    matrix: DetectingMatrix,
    predict: Callable[[Entries], Numbers],
    total: Callable[[float, Numbers], int],
    *,
    known: Labels,
) -> Steps:
    """Ask the queries of a matrix and return the labels behind the totals.

    Parameters
    ----------
    predict
        From the weights of one query to the predictions that weigh so.
    total
        From an answer and its predictions to the weighted sum of the labels.
    """
    totals = yield from ask_totals(map(matrix.weights, range(matrix.queries)), predict, total, known=known)
    try:
        return matrix.decode(totals)
    except InvalidInput:
        raise InconsistentAnswer from None


def ask_totals(
    weights: Iterable[Entries],
    predict: Callable[[Entries], Numbers],
    total: Callable[[float, Numbers], int],
    *,
    known: Labels,
) -> Steps:
    """Ask a query for each line of weights, as :func:`ask_matrix` does, and return the weighted sums of the labels."""
    totals = []
    for line in weights:
        predictions = predict(line)
        answer = yield ScoreQuery(predictions, known.copy())
        totals.append(total(answer, predictions))
    return np.array(totals, dtype=np.int64)


def detecting_matrix(labels: int, *, low: float, high: float, radix: int = 2) -> DetectingMatrix:
    """Return the design with the fewest queries for ``labels`` labels, or the largest there is."""
    entries = (int(low), int(high), radix)
    left = check_count(labels, name="labels")
    for subset in range(MOST_QUERIES):
        left -= len(_coefficients(subset.bit_count(), entries))
        if left <= 0:
            return DetectingMatrix(queries=subset + 1, labels=labels, low=int(low), high=int(high), radix=radix)
    most = _capacity(MOST_QUERIES, entries)
    return DetectingMatrix(queries=MOST_QUERIES, labels=most, low=int(low), high=int(high), radix=radix)


def detecting_matrices(labels: int, *, low: float, high: float, radix: int = 2) -> Iterator[DetectingMatrix]:
    """Yield designs that reveal ``labels`` labels one after the other, because one design holds only some of them."""
    left = labels
    while left > 0:
        matrix = detecting_matrix(left, low=low, high=high, radix=radix)
        yield from repeat(matrix, left // matrix.labels)
        left %= matrix.labels


def matrix_blocks(rows: Labels, *, low: float, high: float, radix: int = 2) -> Iterator[tuple[DetectingMatrix, Labels]]:
    """Yield the designs that reveal the labels of all rows, each with the rows that it reveals."""
    start = 0
    for matrix in detecting_matrices(len(rows), low=low, high=high, radix=radix):
        yield matrix, rows[start : start + matrix.labels]
        start += matrix.labels


def _largest(size: int, entries: tuple[int, int, int]) -> int:
    low, high, _ = entries
    return high if size == 0 else (low + high) << (size - 1)


@lru_cache(maxsize=256)
def _heavy(size: int, entries: tuple[int, int, int]) -> Entries:
    limit = _largest(size, entries) >> size
    return most_weights(limit, most=TABLE_WEIGHTS) if limit else np.zeros(0, dtype=np.int64)


@lru_cache(maxsize=256)
def _coefficients(size: int, entries: tuple[int, int, int]) -> Entries:
    if entries[2] > 2:
        return most_weights(_largest(size, entries), radix=entries[2])
    return np.concatenate([_heavy(size, entries) << size, power_weights(size)])


@lru_cache(maxsize=256)
def _capacity(queries: int, entries: tuple[int, int, int]) -> int:
    return sum(len(_coefficients(x.bit_count(), entries)) for x in range(queries))


@lru_cache(maxsize=4)
def _columns(queries: int, entries: tuple[int, int, int]) -> tuple[Entries, Entries]:
    parts = [_coefficients(x.bit_count(), entries) for x in range(queries)]
    return np.repeat(np.arange(queries), [len(part) for part in parts]), np.concatenate(parts)


def _signs(points: Entries, sets: Entries) -> Entries:
    signs: Entries = 1 - 2 * (np.bitwise_count(points ^ sets).astype(np.int64) & 1)
    return signs


def _rank(points: Entries, sets: Entries) -> tuple[Entries, Entries]:
    """Number the subsets of each set 0, 1, ...: the bits of the point that lie in the set, packed."""
    ranks, sizes = np.zeros_like(points), np.zeros_like(points)
    for bit in range(int(sets.max(initial=0)).bit_length()):
        inside = (sets >> bit) & 1
        ranks |= ((points >> bit) & inside) << sizes
        sizes += inside
    return ranks, sizes
