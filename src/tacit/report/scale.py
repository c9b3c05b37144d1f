"""Scales of drawings: where a number is drawn, and which round numbers have a tick."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

__all__ = ["AxisRange"]

_LEAST = 0.1  # of shares: less than ten percentage points would draw chance as a cliff
_LEAST_FOLD = 2.0  # between the ends of a scale of odds
_LEAST_ODDS = 1.0  # in log odds, on either side of what is shown
_EDGE = 1e-4  # probabilities beyond it are drawn at it
_CHANCES = (0.5, 0.1, 0.01, 0.001, 0.3, 0.2, 0.4, 0.02, 0.05, 0.03, 0.005, 0.002)  # and what is missing to 1
_STEPS = ((2.0, (1,)), (1.2, (1, 3)), (0.5, (1, 2, 5)), (0.0, (1, 1.2, 1.5, 2, 3, 5)))  # by how many decades
_APART = 0.11  # of the scale, between two ticks of probabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisRange:
    """A range of numbers that is just wide enough for what is shown, so that small differences are seen.

    Parameters
    ----------
    low, high
        The ends, after bending.
    bend
        The logarithm for odds, log odds for probabilities.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    bend: Callable[[float], float] = float

    def place(self, value: float) -> float:
        """Return where a number is, from 0 to 1; beyond the ends, the end."""
        return (min(max(self.bend(value), self.low), self.high) - self.low) / (self.high - self.low)

    @classmethod
    def of_shares(cls, values: Iterable[float]) -> AxisRange:
        """Return an even scale with three to six round ticks."""
        shown = [*values] or [0.0, 1.0]
        missing = max(0.0, _LEAST - (max(shown) - min(shown))) / 2
        low, high = min(shown) - missing, max(shown) + missing
        step = next(s for s in (0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, math.inf) if (high - low) / s <= 5)
        first, last = math.floor(low / step), math.ceil(high / step)
        return cls(low=first * step, high=last * step, ticks=tuple(k * step for k in range(first, last + 1)))

    @classmethod
    def of_folds(cls, values: Iterable[float]) -> AxisRange:
        """Return a logarithmic scale of changes of odds, 1 included; infinity is drawn at the upper end."""
        shown = [1.0, *(value for value in values if 0 < value < math.inf)]
        low, high = max(min(shown), 0.01) / 1.15, min(max(shown), 1e7) * 1.3
        high = max(high, low * _LEAST_FOLD)
        decades = math.log10(high / low)
        steps = next(steps for least, steps in _STEPS if decades > least)
        rounded = (step * 10.0**power for power in range(-2, 8, 1 if decades <= 5 else 2) for step in steps)
        ticks = tuple(number for number in rounded if low <= number <= high)
        return cls(low=math.log(low), high=math.log(high), ticks=ticks, bend=_log)

    @classmethod
    def of_chances(cls, values: Iterable[float]) -> AxisRange:
        """Return a scale of log odds for probabilities, so that 0.4% is seen as well as 50% and 52% are told apart."""
        bent = [_log_odds(value) for value in values] or [_log_odds(0), _log_odds(1)]
        low, high = max(_log_odds(0), min(bent) - 0.1), min(_log_odds(1), max(bent) + 0.1)
        missing = max(0.0, _LEAST_ODDS - (high - low)) / 2
        scale = cls(low=low - missing, high=high + missing, ticks=(), bend=_log_odds)
        ticks: list[float] = []
        for chance in (end for least in _CHANCES for end in (least, round(1 - least, 3))):
            at = _log_odds(chance)
            apart = (abs(scale.place(chance) - scale.place(other)) >= _APART for other in ticks)
            if scale.low <= at <= scale.high and all(apart):
                ticks.append(chance)
        return replace(scale, ticks=tuple(sorted(ticks)))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _log_odds(chance: float) -> float:
    inside = min(max(chance, _EDGE), 1 - _EDGE)
    return math.log(inside / (1 - inside))
