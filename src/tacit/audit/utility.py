"""The utility of a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.audit.words import percent, span
from tacit.leak import Interval, clopper_pearson, difference_interval
from tacit.leak.ranking import ranking_area
from tacit.leak.stored_result import StoredResult, read_fields

__all__ = ["Utility", "ranking_utility", "share_utility", "variance_utility"]

_METHOD = "Clopper-Pearson; the cost from rows that only one of the two got right, half of the error each"
_RESAMPLES = 1000
_TWO_SIDED = 1.96  # standard errors at 95%


@dataclass(frozen=True, slots=True, kw_only=True)
class Utility(StoredResult):
    """The utility of a release, compared with that of the private data and of no data.

    Parameters
    ----------
    measure
        What was measured, in words; more is better.
    protected, interval
        With the release.
    unprotected, unprotected_interval
        With the private data.
    blind, blind_interval
        Without any data.
    cost_interval
        Of ``unprotected`` minus ``protected``.
    method
        How the intervals were made, in words.

    Examples
    --------
    >>> use = share_utility("accuracy of a model", [True] * 3 + [False], [True] * 4, truth=[0, 0, 1, 1])
    >>> print(use)
    accuracy of a model: 75.0% (19.4% to 99.4%), 100% (39.8% to 100%) without protection, 50.0% without any data
    >>> use.cost, use.worthless
    (0.25, False)
    """

    known_as: ClassVar[str] = "a utility"

    measure: str
    protected: float
    interval: Interval
    unprotected: float
    unprotected_interval: Interval
    blind: float
    blind_interval: Interval
    cost_interval: Interval
    method: str

    @property
    def cost(self) -> float:
        """The utility that protection costs."""
        return self.unprotected - self.protected

    @property
    def kept(self) -> float:
        """The share of what the private data add to no data, between 0 and 1."""
        most = self.unprotected - self.blind
        return min(max((self.protected - self.blind) / most, 0.0), 1.0) if most > 0 else 0.0

    @property
    def worthless(self) -> bool:
        """Whether the private data clearly are better than no data, and the release is not shown to be."""
        return self._beats_no_data(self.unprotected_interval) and not self._beats_no_data(self.interval)

    @property
    def unproved(self) -> bool:
        """Whether neither the release nor the private data are shown to be better than no data."""
        return not (self._beats_no_data(self.unprotected_interval) or self._beats_no_data(self.interval))

    def _beats_no_data(self, interval: Interval) -> bool:
        return interval.low > self.blind

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read back what :meth:`to_json` wrote; older files have no interval of ``blind``."""
        blind = document.get("blind")
        return cls(**read_fields(cls, {"blind_interval": {"low": blind, "high": blind, "level": 0.95}, **document}))

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON, with what follows from it."""
        return {**StoredResult.to_json(self), "cost": self.cost, "worthless": self.worthless}

    def __str__(self) -> str:
        return (
            f"{self.measure}: {percent(self.protected)} ({span(self.interval)}), {percent(self.unprotected)} "
            f"({span(self.unprotected_interval)}) without protection, {percent(self.blind)} without any data"
        )


def share_utility(
    measure: str, protected: ArrayLike, unprotected: ArrayLike, *, truth: ArrayLike, about: str = ""
) -> Utility:
    """Return the accuracy with and without protection; blind always guesses the majority class.

    Parameters
    ----------
    protected, unprotected
        Whether each prediction was correct, for the same rows.
    about
        Words that the method ends with.
    """
    right, clean = np.asarray(protected, dtype=bool), np.asarray(unprotected, dtype=bool)
    rows = len(right)
    majority = int(np.unique(np.asarray(truth), return_counts=True)[1].max())
    lost, won = int((clean & ~right).sum()), int((right & ~clean).sum())
    return Utility(
        measure=measure,
        protected=float(right.mean()),
        interval=clopper_pearson(int(right.sum()), rows),
        unprotected=float(clean.mean()),
        unprotected_interval=clopper_pearson(int(clean.sum()), rows),
        blind=majority / rows,
        blind_interval=clopper_pearson(majority, rows),
        cost_interval=difference_interval((lost, rows), (won, rows)),
        method=f"{_METHOD}{about}",
    )


def ranking_utility(
    measure: str,
    protected: NDArray[np.float64],
    unprotected: NDArray[np.float64],
    *,
    truth: NDArray[np.bool_],
    about: str = "",
) -> Utility:
    """Return how often a row of a class is ranked above another row (AUC); blind is one half.

    Accuracy cannot see a rare class: always guessing the other one is nearly always correct.

    Parameters
    ----------
    protected, unprotected
        The predicted probability of the class, for the same rows.
    about
        Words that the method ends with.

    Examples
    --------
    >>> scores, ill = np.arange(100.0), np.arange(100) >= 96
    >>> use = ranking_utility("AUC", scores % 98, scores, truth=ill)
    >>> round(use.protected, 3), use.unprotected, use.blind
    (0.505, 1.0, 0.5)
    """
    kept, whole = (ranking_area(scores, truth.astype(np.float64)) for scores in (protected, unprotected))
    area, error, best, best_error = kept.value, kept.error, whole.value, whole.error
    return Utility(
        measure=measure,
        protected=area,
        interval=_around(area, error),
        unprotected=best,
        unprotected_interval=_around(best, best_error),
        blind=0.5,
        blind_interval=Interval(low=0.5, high=0.5, level=0.95),
        cost_interval=_around(best - area, float(np.hypot(error, best_error)), least=-1.0),
        method=f"DeLong's standard errors, added as if independent for the cost{about}",
    )


def _around(value: float, error: float, *, least: float = 0.0) -> Interval:
    return Interval(low=max(value - _TWO_SIDED * error, least), high=min(value + _TWO_SIDED * error, 1.0), level=0.95)


def variance_utility(
    measure: str,
    protected: NDArray[np.float64],
    unprotected: NDArray[np.float64],
    *,
    truth: NDArray[np.float64],
    about: str = "",
) -> Utility:
    """Return the share of the labels' variance that predictions explain (R2); blind is to predict the mean always.

    Intervals are percentiles over 1,000 resamples of the rows.

    Parameters
    ----------
    protected, unprotected
        Predictions of the same rows.
    about
        Words that the method ends with.

    Examples
    --------
    >>> truth = np.arange(100.0)
    >>> round(variance_utility("R2", truth + 20, truth, truth=truth).protected, 3)
    0.52
    """
    rows = np.random.default_rng(0).integers(0, len(truth), size=(_RESAMPLES, len(truth)))
    draws = [_explained(made[rows], truth[rows]) for made in (protected, unprotected)]
    whole = [float(_explained(made[None], truth[None])[0]) for made in (protected, unprotected)]
    return Utility(
        measure=measure,
        protected=whole[0],
        interval=_percentiles(draws[0]),
        unprotected=whole[1],
        unprotected_interval=_percentiles(draws[1]),
        blind=0.0,
        blind_interval=Interval(low=0.0, high=0.0, level=0.95),
        cost_interval=_percentiles(draws[1] - draws[0]),
        method=f"percentiles over {_RESAMPLES:,} resamples of the rows{about}",
    )


def _explained(made: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = ((truth - truth.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.asarray(1 - ((made - truth) ** 2).sum(axis=1) / np.maximum(spread, np.finfo(float).tiny))


def _percentiles(draws: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(low=float(low), high=float(high), level=0.95)
