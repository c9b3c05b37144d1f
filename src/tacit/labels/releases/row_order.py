"""Whether labels follow the order of the rows, which the owner should know before the rows are released in it."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["OrderSurvey", "follows_order"]

_SURE = 6.0  # standard deviations from what a random order has


def follows_order(labels: pa.ChunkedArray) -> bool:
    """Return whether labels follow the order of their rows."""
    survey = OrderSurvey()
    for chunk in labels.chunks:
        survey.add(chunk)
    return survey.follows(labels.drop_null().value_counts().field("counts").to_numpy())


class OrderSurvey:
    """Counts neighbors with equal labels, and correlates neighboring numbers, batch by batch."""

    def __init__(self) -> None:
        self._last: pa.Scalar | None = None
        self._pairs = self._equal = 0
        self._sums = np.zeros(3)  # of numbers, their squares, and products of neighbors

    def add(self, labels: pa.Array) -> None:
        """Count the labels of a batch, after those of the batches before."""
        known = labels.drop_null()
        if not len(known):
            return
        first = known if self._last is None else pa.concat_arrays([pa.array([self._last.as_py()], known.type), known])
        self._last = known[-1]
        self._pairs += len(first) - 1
        if _are_numbers(known):
            values = np.asarray(known, dtype=np.float64)
            chain = np.asarray(first, dtype=np.float64)
            with np.errstate(over="ignore", invalid="ignore"):  # of such numbers nothing is said
                self._sums += (values.sum(), (values**2).sum(), (chain[1:] * chain[:-1]).sum())
        self._equal += pc.sum(pc.equal(first[1:], first[:-1])).as_py() or 0

    def follows(self, counts: NDArray[np.int64]) -> bool:
        """Return whether neighbors are alike more often than in a random order of labels with these class counts."""
        if self._pairs < 1:
            return False
        return self._alike(np.asarray(counts, dtype=np.float64)) or self._correlated()

    def _alike(self, counts: NDArray[np.float64]) -> bool:
        """The number of equal neighbors is about normal: mean n S2, variance n (S2 + S2^2 - 2 S3), Sk = sum p^k."""
        shares = counts / counts.sum()
        squares, cubes = float((shares**2).sum()), float((shares**3).sum())
        spread = math.sqrt(max(self._pairs * (squares + squares**2 - 2 * cubes), 1.0))
        return self._equal - self._pairs * squares > _SURE * spread

    def _correlated(self) -> bool:
        total, squared, products = self._sums
        n = self._pairs + 1
        variance = squared / n - (total / n) ** 2
        correlation = (products / self._pairs - (total / n) ** 2) / variance if variance > 0 else 0.0
        return bool(correlation * math.sqrt(n) > _SURE)


def _are_numbers(labels: pa.Array) -> bool:
    return bool(pa.types.is_integer(labels.type) or pa.types.is_floating(labels.type))
