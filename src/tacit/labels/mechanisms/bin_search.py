"""The bins of numbers, and the output of each, that have the least expected squared error under a prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BestBins", "find_bins"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BestBins:
    """Where bins start among the values, the output of each, and the error; the error of a release is not known."""

    starts: tuple[int, ...]
    outputs: Array
    expected_error: float = float("nan")

    @classmethod
    def of_release(cls, settled: Mapping[str, Any]) -> BestBins:
        """Return the bins that a release states."""
        return cls(starts=tuple(settled["starts"]), outputs=np.asarray(settled["outputs"]))

    def bins_of(self, values: int) -> NDArray[np.int64]:
        """Return the bin of each value."""
        return np.asarray(np.searchsorted(self.starts, np.arange(values), side="right") - 1, dtype=np.int64)


def find_bins(values: Array, prior: Array, epsilon: float) -> BestBins:
    """Return the best bins, by dynamic programming over their number and where the last one starts: O(n^2) per bin.

    k bins cost at least k times the cheapest one, and k/(1 + (k - 1) e^-epsilon) grows with k: where that is above the
    best error so far, so it is for all larger k.
    """
    n = len(values)
    cost = _bin_costs(values, prior, epsilon)
    cheapest, error, k = cost.min(), np.inf, 0
    best = np.where(np.arange(n + 1) == 0, 0.0, np.inf)  # best[r]: so many bins on values[:r]
    last: list[NDArray[np.int64]] = []
    for bins in range(1, n + 1):
        scale = 1 + (bins - 1) * np.exp(-epsilon)
        if bins * cheapest / scale >= error:
            break
        total = best + cost
        last.append(total.argmin(axis=1))
        best = total[np.arange(n + 1), last[-1]]
        if best[n] / scale < error:
            error, k = float(best[n] / scale), bins
    ends = [n]
    for places in reversed(last[:k]):
        ends.append(int(places[ends[-1]]))
    starts = tuple(reversed(ends[1:]))
    cuts = zip(starts, (*starts[1:], n), strict=True)
    outputs = np.array([_output(values, prior, epsilon, start, stop) for start, stop in cuts])
    return BestBins(starts=starts, outputs=outputs, expected_error=error)


def _output(values: Array, prior: Array, epsilon: float, start: int, stop: int) -> float:
    """The mean of the values, those outside of the bin weighing e^-epsilon times as much."""
    inside = np.zeros(len(values), dtype=bool)
    inside[start:stop] = True
    weights = np.where(inside, prior, prior * np.exp(-epsilon))
    if weights.sum() == 0:  # a bin without mass, and all others out of reach: any number of the bin will do
        weights = inside.astype(np.float64)
    return float(weights @ values / weights.sum())


def _bin_costs(values: Array, prior: Array, epsilon: float) -> Array:
    """cost[r, l]: the squared error of the bin values[l:r], weighed as its output is; infinite unless l < r."""
    centered = values - prior @ values  # smaller numbers cancel less
    sums = [np.concatenate([[0.0], np.cumsum(prior * centered**power)]) for power in (0, 1, 2)]
    outside, gain = np.exp(-epsilon), -np.expm1(-epsilon)  # e^epsilon itself overflows from 710 on
    w0, w1, w2 = (outside * total[-1] + gain * (total[:, None] - total[None, :]) for total in sums)
    # rounding can put the mean of a bin of nearly no mass anywhere, but it lies among the values
    mean = np.clip(w1 / np.where(w0 > 0, w0, 1), centered[0], centered[-1])
    cost = np.maximum(w2 - w1 * mean, 0)
    places = np.arange(len(values) + 1)
    return np.where(places[:, None] > places, cost, np.inf)
