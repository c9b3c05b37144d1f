"""How far a released score can be from the exact one: its digits, its interval, and what two scores say of an order."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tacit.scores.metrics import Metric
from tacit.scores.policies import Answer, Policy, TermInterval

__all__ = ["Interval", "ScoreNoise", "places"]

Interval = tuple[float, float]

_RISK = 0.05
_TOUCH = 1e-13  # intervals of neighboring rounded scores touch, and do not overlap


@dataclass(frozen=True, kw_only=True)
class ScoreNoise:
    """What a policy's answers on so many rows say of the exact scores of these same rows.

    It is about noise and rounding alone, not about other rows. All of it is computed from released scores and public
    numbers. Nothing is known of policies whose answers depend on earlier ones.

    Examples
    --------
    >>> from tacit.scores.metrics import LogLoss
    >>> from tacit.scores.policies import Laplace
    >>> noise = ScoreNoise(metric=LogLoss(), policy=Laplace(epsilon=0.2), rows=36)
    >>> noise.shown(1.38429)
    '1.4'
    >>> [round(end, 2) for end in noise.interval(1.4)]
    [0.01, 3.36]
    """

    metric: Metric
    policy: Policy
    rows: int

    def shown(self, released: float) -> str | None:
        """Return a noisy score rounded to the noise; None where its text has no digit too many."""
        told = self._told(released)
        if told is None or not told.scale:
            return None
        step = self._step(told)
        return f"{round(released / step) * step:.{max(0, -round(math.log10(step)))}f}"

    def rounded(self, answer: Answer) -> Answer:
        """Return an answer with no more digits than the noise leaves, which costs nothing."""
        text = self.shown(answer.released)
        return answer if text is None else replace(answer, released=float(text), text=text)

    def interval(self, released: float, *, of: int = 1) -> Interval | None:
        """Return where the exact score is, at 95%.

        Parameters
        ----------
        of
            From how many scores this one was chosen: the best of many is likely to be a lucky one.
        """
        told = self._told(released)
        if told is None:
            return None
        reach = told.scale * math.log(max(1, of) / _RISK) + (self._step(told) / 2 if told.scale else 0)
        low, high = self.metric.term_bounds
        ends = (max(low, told.low - reach), min(high, told.high + reach))
        first, last = sorted(map(self.metric.finish, (min(ends[0], high), max(ends[1], low))))
        return first, last

    def in_order(self, better: float, worse: float) -> float | None:
        """Return the chance that the exact scores are in the order of the released ones, knowing these alone.

        For Laplace noise of scale b and a difference d of the means it is 1 - (1 + d/2b) e^(-d/b) / 2.
        """
        told = self._told(better)
        if told is None:
            return None
        apart, width = abs(self.metric.mean_of(better) - self.metric.mean_of(worse)), told.high - told.low
        if told.scale:
            share = apart / told.scale
            return 1 - math.exp(-share) * (1 + share / 2) / 2
        share = min(1.0, apart / width) if width > 0 else float(apart > 0)
        return 1 - (1 - share) ** 2 / 2

    def _told(self, released: float) -> TermInterval | None:
        if not self.policy.stateless:
            return None
        if scale := _scale(self):
            mean = self.metric.mean_of(released)
            return TermInterval(mean, mean, scale)
        return self.policy.interval(released, metric=self.metric, rows=self.rows)

    def _step(self, told: TermInterval) -> float:
        """Return the largest power of ten that is no larger than the noise, in units of the score."""
        low, high = self.metric.term_bounds
        ends = (max(low, told.low - told.scale), min(high, told.high + told.scale))
        spread = abs(self.metric.finish(ends[1]) - self.metric.finish(ends[0])) / 2
        return 10.0 ** math.floor(math.log10(max(spread, 1e-12)))


@lru_cache(maxsize=1_024)
def _scale(noise: ScoreNoise) -> float:
    """Return the scale of the noise, which is the same for every score and takes longer than the rest."""
    middle = noise.metric.finish(sum(noise.metric.term_bounds) / 2)
    return noise.policy.interval(middle, metric=noise.metric, rows=noise.rows).scale


def places(scores: Sequence[float], intervals: Sequence[Interval | None], *, lower: bool) -> list[tuple[int, int]]:
    """Return the first and last place that each of some scores, best first, may have: those that overlap are tied.

    Where nothing is known of the noise, equal scores are tied.
    """
    known = [(one, one) if interval is None else interval for one, interval in zip(scores, intervals, strict=True)]
    ends = [(low, high) if lower else (-high, -low) for low, high in known]
    highs, lows = sorted(high for _, high in ends), sorted(low for low, _ in ends)
    margin = _TOUCH * max((abs(end) for pair in ends for end in pair), default=0.0)
    return [_place(low, high, lows, highs, margin=min(margin, (high - low) / 2)) for low, high in ends]


def _place(low: float, high: float, lows: list[float], highs: list[float], *, margin: float) -> tuple[int, int]:
    """Return one more than how many are surely better, and how many are not surely worse."""
    if low == high:
        return 1 + bisect_left(highs, low), bisect_right(lows, high)
    return 1 + bisect_right(highs, low + margin), bisect_left(lows, high - margin)
