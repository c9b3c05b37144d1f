"""A competition from the attacker's side: what a score under known rules reveals about the labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.scores.attacks.channel import revealed_by
from tacit.scores.attacks.posterior import ScoreReading, label_posterior, with_unscored
from tacit.scores.attacks.reconstruct import CandidatePredictions
from tacit.scores.metrics import Metric
from tacit.scores.policies import Policy

__all__ = ["CompetitionView", "candidate_predictions"]

_AT_ONCE = 8

Floats = NDArray[np.float64]


@dataclass(slots=True, kw_only=True, eq=False)
class CompetitionView:
    """A competition as the attacker sees it: choices go out, intervals for the sum of terms come back."""

    submit: Callable[[ArrayLike], str]
    metric: Metric
    policy: Policy
    prior: Floats
    share: float = 1.0
    """Of the rows that are scored; which these are is not known."""
    made: int = 0
    last: str = ""
    menu: CandidatePredictions = field(init=False)
    predictions: Floats = field(init=False)

    def __post_init__(self) -> None:
        classes = self.prior.shape[1]
        self.predictions, table, neutral = candidate_predictions(self.metric, classes)
        if self.share < 1:
            self.prior, table = with_unscored(self.prior, table, share=self.share)
        self.menu = CandidatePredictions(losses=table, neutral=neutral, unscored=table.shape[1] > classes)

    @property
    def rows(self) -> int:
        """How many rows a submission has."""
        return len(self.prior)

    @property
    def scored(self) -> int:
        """About how many rows are behind a score."""
        return max(1, round(self.rows * self.share))

    @property
    def deviation(self) -> float:
        """Standard deviation of an answer, in the units of the sum of terms."""
        low, high, scale = self._interval(*self._middle(), changed=True)
        return math.sqrt((high - low) ** 2 / 12 + 2 * scale**2)

    def ask(self, choice: NDArray[np.signedinteger[Any]]) -> ScoreReading:
        """Submit one prediction of the menu for every row, and read the answer."""
        return self.read(choice, self.submit(self.predictions[choice]))

    def read(self, choice: NDArray[np.signedinteger[Any]], answer: str) -> ScoreReading:
        """Return what the answer to one prediction of the menu for every row reveals."""
        self.made += 1
        changed, self.last = answer != self.last, answer
        low, high, scale = self._interval(float(answer), int((choice == 1).sum()), changed=changed)
        return ScoreReading(choice, low, high, scale)

    def ask_all(self, choices: Sequence[NDArray[np.int8]]) -> Iterator[ScoreReading]:
        """Ask for many at once where an answer does not depend on the ones before it."""
        if not self.policy.stateless:
            yield from map(self.ask, choices)
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for choice, answer in zip(
                choices, pool.map(lambda choice: self.submit(self.predictions[choice]), choices), strict=True
            ):
                self.made += 1
                low, high, scale = self._interval(float(answer), int((choice == 1).sum()), changed=True)
                yield ScoreReading(choice, low, high, scale)

    def weigh_few(self, readings: Sequence[ScoreReading], known: Floats) -> Floats:
        """Return the beliefs after few answers.

        Where a prediction costs the same with all labels, costs are taken against it: then rows that say nothing count
        nothing, whether they are scored or not.
        """
        losses, neutral = self.menu.losses, self.menu.neutral
        if neutral is None:
            floating = self.menu.floating if len(readings) > 1 else None
            return label_posterior(list(readings), known, losses=losses, floating=floating)
        base = losses[neutral, 0]
        losses = np.where(np.arange(losses.shape[1]) < losses.shape[1] - 1, losses - base, 0.0)
        shift = base * self.scored
        moved = [replace(reading, low=reading.low - shift, high=reading.high - shift) for reading in readings]
        return label_posterior(moved, known, losses=losses)

    def _middle(self) -> tuple[float, int]:
        low, high = self.metric.bounds
        return (low + high) / 2, self.rows // 2

    def _interval(self, answer: float, ones: int, *, changed: bool) -> tuple[float, float, float]:
        """Return what an answer reveals about the sum of terms: low, high, and the noise's scale."""
        low, high, scale = self.policy.interval(answer, metric=self.metric, rows=self.scored, changed=changed)
        slope, offset = (self.scored, 0.0) if self.policy.improvement else self._line(ones)
        return low * slope + offset, high * slope + offset, scale * slope

    def _line(self, ones: int) -> tuple[float, float]:
        """Return slope and offset of the sum of terms as a function of their mean, where so many rows are given 1."""
        if self.metric.additive:
            return float(self.scored), 0.0
        positives = float(self.prior[:, 1].sum()) * self.share
        return revealed_by(self.metric).line(predicted=round(ones * self.share), positives=positives, rows=self.scored)


def candidate_predictions(metric: Metric, classes: int) -> tuple[Floats, Floats, int | None]:
    """Return predictions, what each costs with each label, and which of them costs the same with all."""
    counted = None if metric.additive and metric.reveals is None else revealed_by(metric).costs(classes)
    if counted is not None:
        costs, neutral = counted
        return np.arange(len(costs), dtype=np.float64), np.array(costs), neutral
    rows = np.concatenate([np.eye(classes), np.full((1, classes), 1 / classes)])
    predictions = rows[:, 1] if classes == 2 else rows
    labels = np.arange(classes)
    table = np.array([metric.measure(labels, np.repeat(given[None], classes, axis=0)).terms for given in predictions])
    table[classes] = table[classes].mean()  # equal but for the last bit
    return predictions, table, classes
