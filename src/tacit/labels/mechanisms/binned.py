"""Randomized response on bins: the best private release of a number for squared error, given a prior."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.labels.mechanisms.finite import check_prior
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.rounding import check_epsilon

__all__ = ["RandomizedResponseOnBins"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomizedResponseOnBins:
    """Replace a number by its bin's output, then apply randomized response over the outputs.

    The bins and their outputs minimise the expected squared error for the prior, over all epsilon-DP
    randomizers.

    Unit: one row's label; neighbours differ in that label alone. Assumes that the list of values and the prior
    are public or were paid for apart. Not protected: features, which rows exist.

    Parameters
    ----------
    epsilon
        In (0, 4096], read as the decimal it prints.
    values
        The values a label can take, ascending.
    prior
        Their probabilities.

    References
    ----------
    Ghazi et al. (2022), Algorithm 2 and Theorem 1. Formula sheet a8.

    Examples
    --------
    >>> rr = RandomizedResponseOnBins(epsilon=1.0, values=np.arange(5.0), prior=[0.4, 0.3, 0.15, 0.1, 0.05])
    >>> rr.starts, rr.outputs.round(6), round(rr.expected_error, 6)
    ((0, 2), array([0.733379, 1.632894]), 1.19463)
    """

    name: ClassVar[str] = "randomized_response_on_bins"
    epsilon: float
    values: NDArray[np.float64]
    prior: NDArray[np.float64]
    starts: tuple[int, ...] = field(init=False)
    outputs: NDArray[np.float64] = field(init=False)
    expected_error: float = field(init=False)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise InvalidInput("must be at least two finite numbers in ascending order", field="values")
        prior = check_prior(self.prior, classes=len(values))
        starts, error = _best_bins(values, prior, self.epsilon)
        outputs = np.array(
            [
                _output(values, prior, self.epsilon, start, stop)
                for start, stop in zip(starts, (*starts[1:], len(values)), strict=True)
            ]
        )
        for name, value in (
            ("values", values),
            ("prior", prior),
            ("starts", starts),
            ("outputs", outputs),
            ("expected_error", error),
        ):
            object.__setattr__(self, name, value)

    def bin_of(self, labels: ArrayLike) -> NDArray[np.int64]:
        """Return the bin of each label."""
        numbers = np.asarray(labels, dtype=np.float64)
        place = np.searchsorted(self.values, numbers)
        known = place < len(self.values)
        known[known] = self.values[place[known]] == numbers[known]
        if not known.all():
            raise InvalidInput(f"must be among the declared values, got {float(numbers[~known][0])!r}", field="labels")
        return np.asarray(np.searchsorted(self.starts, place, side="right") - 1, dtype=np.int64)

    def randomize(self, labels: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw one output a label."""
        bins = self.bin_of(labels)
        if len(self.outputs) == 1:
            return np.full(len(bins), self.outputs[0])
        return self.outputs[self._response().randomize(bins, rng=rng)]

    def exact_transition(self) -> tuple[tuple[Fraction, ...], ...]:
        """Row i: the exact probability of each output when the label is the i-th value."""
        bins = self.bin_of(self.values)
        if len(self.outputs) == 1:
            return tuple((Fraction(1),) for _ in bins)
        matrix = self._response().exact_transition()
        return tuple(matrix[b] for b in bins)

    def estimate_mean(self, observed: ArrayLike) -> float:
        """Return the mean of released numbers: not unbiased, the outputs are shrunk towards the prior's mean."""
        return float(np.mean(np.asarray(observed, dtype=np.float64)))

    def guarantee(self) -> Guarantee:
        """Return the guarantee for one label."""
        return Guarantee(
            unit=Unit.LABEL,
            epsilon=self.epsilon,
            assumptions=("features, the list of label values and their prior are public",),
        )

    def _response(self) -> RandomizedResponse:
        return RandomizedResponse(epsilon=self.epsilon, classes=len(self.outputs))


def _output(values: NDArray[np.float64], prior: NDArray[np.float64], epsilon: float, start: int, stop: int) -> float:
    """The mean of the values, those outside of the bin weighing e^-epsilon times as much."""
    inside = np.zeros(len(values), dtype=bool)
    inside[start:stop] = True
    weights = np.where(inside, prior, prior * np.exp(-epsilon))
    if weights.sum() == 0:  # a bin without mass, and all others out of reach: any number of the bin will do
        weights = inside.astype(np.float64)
    return float(weights @ values / weights.sum())


def _best_bins(
    values: NDArray[np.float64], prior: NDArray[np.float64], epsilon: float
) -> tuple[tuple[int, ...], float]:
    """Dynamic programming over the number of bins and where the last one starts: O(n^2) a bin.

    k bins cost at least k times the cheapest one, and k/(1 + (k - 1) e^-epsilon) grows with k: where that is above the
    best error so far, so it is for all that are more.
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
    starts = [n]
    for places in reversed(last[:k]):
        starts.append(int(places[starts[-1]]))
    return tuple(reversed(starts[1:])), error


def _bin_costs(values: NDArray[np.float64], prior: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """cost[r, l]: the squared error of the bin values[l:r], weighed as its output is; infinite unless l < r."""
    centred = values - prior @ values  # smaller numbers cancel less
    sums = [np.concatenate([[0.0], np.cumsum(prior * centred**power)]) for power in (0, 1, 2)]
    outside, gain = np.exp(-epsilon), -np.expm1(-epsilon)  # e^epsilon itself overflows from 710 on
    w0, w1, w2 = (outside * total[-1] + gain * (total[:, None] - total[None, :]) for total in sums)
    # rounding can put the mean of a bin of nearly no mass anywhere, but it lies among the values
    mean = np.clip(w1 / np.where(w0 > 0, w0, 1), centred[0], centred[-1])
    cost = np.maximum(w2 - w1 * mean, 0)
    places = np.arange(len(values) + 1)
    return np.where(places[:, None] > places, cost, np.inf)
