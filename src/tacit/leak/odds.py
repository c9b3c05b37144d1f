"""How much a release changes the odds of one class: the measure of a leak that holds for rare labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tacit.leak.intervals import Interval, clopper_pearson
from tacit.leak.stored_result import StoredResult

__all__ = ["LeakVerdict", "OddsChange", "compare_odds"]


_VAST = 1e6  # the end of an interval beyond which it says no more than none


class LeakVerdict(StrEnum):
    """How a leak compares with a limit; only ``BELOW`` passes."""

    ABOVE = "above the limit"
    BELOW = "below the limit"
    UNKNOWN = "too few rows to tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsChange(StoredResult):
    """How often rows of one class are flagged by what the release adds, beside other rows that look alike.

    The attacker flags the rows whose odds of the class the release raises the most. Because the other rows are
    weighted by their odds before the release, what the features reveal anyway cancels, and for an (epsilon, delta)
    guarantee of labels the rates satisfy flagged <= e^epsilon falsely_flagged + delta.

    Parameters
    ----------
    name
        The class, or the classes that were pooled because each has few rows.
    rows, others
        How many rows have the class; how many equally weighted rows the others are worth.
    flagged, falsely_flagged
        The shares of flagged rows, among rows of the class and among the others.
    scope
        What the intervals hold for, in words, if not for every release of the same kind: where all rows share one
        draw of noise, another release may leak more or less.

    References
    ----------
    docs/proofs/odds_change.md.
    """

    name: str = field(metadata={"key": "class"})
    rows: int
    others: float
    share: float
    flagged: float
    falsely_flagged: float
    flagged_interval: Interval
    falsely_flagged_interval: Interval
    scope: str = ""

    @classmethod
    def from_counts(
        cls,
        name: str,
        *,
        found: int,
        rows: int,
        mistaken: int,
        others: int,
        share: float,
        level: float,
        error: float | None = None,
        spread: float = 1.0,
    ) -> OddsChange:
        """Count flags of rows that all looked alike before: ``found`` of ``rows``, and ``mistaken`` of ``others``.

        Parameters
        ----------
        error
            The error that the two intervals share, if it is less than 1 - ``level``.
        spread
            How many times as much as independent rows these vary: so many times fewer rows have their intervals.
        """
        half = 1 - (1 - level if error is None else error) / 2
        own, other = (
            clopper_pearson(part, whole, level=half, spread=spread)
            for part, whole in ((found, rows), (mistaken, others))
        )
        return cls(
            name=name,
            rows=rows,
            others=others,
            share=share,
            flagged=found / rows,
            falsely_flagged=mistaken / others,
            flagged_interval=Interval(low=own.low, high=own.high, level=level),
            falsely_flagged_interval=Interval(low=other.low, high=other.high, level=level),
        )

    @property
    def odds(self) -> float:
        """The factor by which a flag multiplies the odds of the class; 1 where nothing is flagged."""
        return _ratio(self.flagged, self.falsely_flagged)

    @property
    def odds_interval(self) -> Interval:
        """The interval of :attr:`odds`, from those of the two rates."""
        found, mistaken = self.flagged_interval, self.falsely_flagged_interval
        return Interval(low=_ratio(found.low, mistaken.high), high=_ratio(found.high, mistaken.low), level=found.level)

    @property
    def advantage(self) -> float:
        """The balanced advantage: flagged minus falsely flagged."""
        return self.flagged - self.falsely_flagged

    @property
    def advantage_interval(self) -> Interval:
        """The interval of :attr:`advantage`."""
        found, mistaken = self.flagged_interval, self.falsely_flagged_interval
        return Interval(low=found.low - mistaken.high, high=found.high - mistaken.low, level=found.level)

    @property
    def suspicion(self) -> float:
        """How probable the class is for a flagged row that looked like an average one before."""
        return _after(self.share, self.odds)

    @property
    def suspicion_interval(self) -> Interval:
        """The interval of :attr:`suspicion`."""
        odds = self.odds_interval
        return Interval(low=_after(self.share, odds.low), high=_after(self.share, odds.high), level=odds.level)

    def __str__(self) -> str:
        reach = f"{_percent(self.suspicion_interval.low)} to {_percent(self.suspicion_interval.high)}"
        return (
            f"{self.name}: suspicion goes from {_percent(self.share)} to {_percent(self.suspicion)} ({reach}) for a "
            f"flagged row{self.scope and f' {self.scope}'}; the odds change {self._fold()}"
        )

    def _fold(self) -> str:
        low, high = self.odds_interval.low, self.odds_interval.high
        if math.isinf(self.odds):
            return f"at least {_written(low)}-fold" if low > 1 else "by any factor"
        reach = f"{_written(low)} or more" if high >= _VAST else f"{_written(low)} to {_written(high)}"
        return f"{_written(self.odds)}-fold ({reach})"


def compare_odds(changes: Sequence[OddsChange], *, limit: float) -> LeakVerdict:
    """Compare the change of odds with a limit, such as 10: above if any class surely is, below if all surely are."""
    if any(change.odds_interval.low >= limit for change in changes):
        return LeakVerdict.ABOVE
    if changes and all(change.odds_interval.high < limit for change in changes):
        return LeakVerdict.BELOW
    return LeakVerdict.UNKNOWN


def _ratio(found: float, mistaken: float) -> float:
    if mistaken > 0:
        return found / mistaken
    return math.inf if found > 0 else 1.0


def _after(share: float, odds: float) -> float:
    return 1.0 if math.isinf(odds) else share * odds / (1 - share + share * odds)


def _written(odds: float) -> str:
    return f"{odds:,.3g}" if odds < 1000 or odds >= _VAST else f"{odds:,.0f}"


def _percent(value: float) -> str:
    return f"{100 * value:.3g}%"
