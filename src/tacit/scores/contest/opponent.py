"""A competition from the attacker's side: what a score under known rules says of the labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.scores.attack import Menu, Reading, label_posterior
from tacit.scores.protect import (
    F1,
    Accuracy,
    Auc,
    Brier,
    Ladder,
    Laplace,
    LogLoss,
    Mae,
    Metric,
    Rounded,
    Setting,
    Thresholdout,
)

__all__ = ["Opponent", "menu_of"]

_AT_ONCE = 8

Floats = NDArray[np.float64]


@dataclass(slots=True, kw_only=True, eq=False)
class Opponent:
    """A competition as the attacker sees it: choices go out, intervals for the sum of terms come back.

    Examples
    --------
    >>> rules = Setting(metric=Accuracy(), policy=Rounded(decimals=1))
    >>> host = Opponent(submit=lambda p: "0.5", setting=rules, rows=2, prior=np.full((2, 2), 0.5))
    >>> host.ask(np.array([0, 1])).low, host.made
    (0.9, 1)
    """

    submit: Callable[[ArrayLike], str]
    setting: Setting
    rows: int
    prior: Floats
    made: int = 0
    last: str = ""
    menu: Menu = field(init=False)
    predictions: Floats = field(init=False)

    def __post_init__(self) -> None:
        classes = self.prior.shape[1]
        self.predictions, table, neutral = menu_of(self.setting.metric, classes)
        if self.setting.split.public_fraction < 1:
            # one more "label": the row is not scored, and nothing said about it counts
            table = np.concatenate([table, np.zeros((len(table), 1))], axis=1)
            share = self.setting.split.public_fraction
            self.prior = np.concatenate([self.prior * share, np.full((self.rows, 1), 1 - share)], axis=1)
        self.menu = Menu(losses=table, neutral=neutral, unscored=table.shape[1] > classes)

    @property
    def scored(self) -> int:
        """About how many rows are behind a score."""
        return max(1, round(self.rows * self.setting.split.public_fraction))

    @property
    def deviation(self) -> float:
        """Standard deviation of an answer, in the units of the sum of terms."""
        low, high, scale = self._interval(*self._middle(), changed=True)
        return math.sqrt((high - low) ** 2 / 12 + 2 * scale**2)

    def ask(self, choice: NDArray[np.signedinteger[Any]]) -> Reading:
        """Submit one prediction of the menu for every row, and read the answer.

        Examples
        --------
        >>> rules = Setting(metric=Accuracy(), policy=Rounded(decimals=1))
        >>> host = Opponent(submit=lambda p: "1.0", setting=rules, rows=2, prior=np.full((2, 2), 0.5))
        >>> reading = host.ask(np.array([0, 1]))
        >>> reading.low, reading.high
        (1.9, 2.1)
        """
        answer = self.submit(self.predictions[choice])
        self.made += 1
        changed, self.last = answer != self.last, answer
        low, high, scale = self._interval(float(answer), int((choice == 1).sum()), changed=changed)
        return Reading(choice, low, high, scale)

    def ask_all(self, choices: Sequence[NDArray[np.int8]]) -> Iterator[Reading]:
        """Ask for many at once where an answer does not depend on the ones before it.

        Examples
        --------
        >>> rules = Setting(metric=Accuracy(), policy=Rounded(decimals=1))
        >>> host = Opponent(submit=lambda p: str(p.mean()), setting=rules, rows=2, prior=np.full((2, 2), 0.5))
        >>> [reading.high for reading in host.ask_all([np.array([0, 0]), np.array([1, 1])])], host.made
        ([0.1, 2.1], 2)
        """
        if isinstance(self.setting.policy, Thresholdout):
            yield from map(self.ask, choices)
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for choice, answer in zip(
                choices, pool.map(lambda choice: self.submit(self.predictions[choice]), choices), strict=True
            ):
                self.made += 1
                low, high, scale = self._interval(float(answer), int((choice == 1).sum()), changed=True)
                yield Reading(choice, low, high, scale)

    def answer_alone(self, choice: NDArray[np.int8], known: Floats) -> Floats:
        """Return the beliefs after one answer that stands alone.

        Where a prediction costs the same with all labels, costs are taken against it: then rows that say nothing count
        nothing, whether they are scored or not.

        Examples
        --------
        >>> rules = Setting(metric=Accuracy(), policy=Rounded(decimals=1))
        >>> host = Opponent(submit=lambda p: "1.0", setting=rules, rows=2, prior=np.full((2, 2), 0.5))
        >>> host.answer_alone(np.array([0, 1], dtype=np.int8), host.prior).round(2).tolist()
        [[0.99, 0.01], [0.01, 0.99]]
        """
        reading, losses = self.ask(choice), self.menu.losses
        if self.menu.neutral is not None:
            base = losses[self.menu.neutral, 0]
            losses = np.where(np.arange(losses.shape[1]) < losses.shape[1] - 1, losses - base, 0.0)
            reading = replace(reading, low=reading.low - base * self.scored, high=reading.high - base * self.scored)
        return label_posterior([reading], known, losses=losses)

    def _middle(self) -> tuple[float, int]:
        low, high = self.setting.metric.bounds
        return (low + high) / 2, self.rows // 2

    def _interval(self, answer: float, ones: int, *, changed: bool) -> tuple[float, float, float]:
        """Return what an answer says of the sum of terms: low, high, and the noise's scale."""
        metric, policy = self.setting.metric, self.setting.policy
        if isinstance(policy, Laplace):
            per_answer = policy.scale(metric, rows=self.scored)
            middle, slope = self._sum(answer, ones)
            return middle, middle, per_answer * (self.scored if metric.additive else slope)
        if isinstance(policy, Ladder):
            return self._ladder(policy, answer, changed=changed)
        if isinstance(policy, Thresholdout):
            return self._thresholdout(policy, answer, changed=changed)
        half = 0.5 * 10.0**-policy.decimals if isinstance(policy, Rounded) else 1e-12
        ends = sorted(self._sum(end, ones)[0] for end in (answer - half, answer + half))
        return ends[0], ends[1], 0.0

    def _sum(self, answer: float, ones: int) -> tuple[float, float]:
        """Return the sum of terms that a score stands for, and how fast it moves with the score."""
        metric = self.setting.metric
        if metric.additive:
            mean = answer**2 if metric.name == "rmse" else answer
            return mean * self.scored, float(self.scored)
        positives = float(self.prior[:, 1].sum())
        share = self.setting.split.public_fraction
        positives, negatives, ones = positives * share, self.scored - positives * share, round(ones * share)
        if isinstance(metric, F1):  # 2 TP / (predicted + positives)
            slope = (ones + positives) / 2
            return answer * slope, slope
        slope = 2 / (1 / positives + 1 / negatives)  # 1/2 + (TP/P - FP/N)/2 of 0/1 predictions
        return (answer - 0.5) * slope + ones * slope / (2 * negatives), slope

    def _ladder(self, policy: Ladder, answer: float, *, changed: bool) -> tuple[float, float, float]:
        low, high = self.setting.metric.bounds
        lower = self.setting.metric.lower_is_better
        share = (answer - low) / (high - low) if lower else (high - answer) / (high - low)
        loss = share * self.scored * self.menu.span
        step = policy.step * self.scored * self.menu.span
        return (loss - step / 2, loss + step / 2, 0.0) if changed else (loss - step, math.inf, 0.0)

    def _thresholdout(self, policy: Thresholdout, answer: float, *, changed: bool) -> tuple[float, float, float]:
        low, high = self.setting.metric.term_bounds
        middle = self._sum(answer, 0)[0]
        noise = 2 / policy.epsilon * (high - low)
        if changed:
            return middle, middle, noise
        reach = policy.threshold * (high - low) * self.scored
        return middle - reach, middle + reach, 4 * noise


def menu_of(metric: Metric, classes: int) -> tuple[Floats, Floats, int | None]:
    """Return predictions, what each costs with each label, and which of them costs the same with all.

    Examples
    --------
    >>> predictions, costs, neutral = menu_of(Brier(), 2)
    >>> predictions, costs[neutral]
    (array([0. , 1. , 0.5]), array([0.25, 0.25]))
    """
    if isinstance(metric, F1 | Auc) and classes == 2:
        return np.array([0.0, 1.0]), np.array([[0.0, 0.0], [0.0, 1.0]]), 0
    if isinstance(metric, Accuracy):
        return np.arange(classes, dtype=np.float64), np.eye(classes), None
    if not isinstance(metric, LogLoss | Brier | Mae):
        raise InvalidInput(f"metric must be one that an attack is known for, got {metric.name}")
    rows = np.concatenate([np.eye(classes), np.full((1, classes), 1 / classes)])
    predictions = rows[:, 1] if classes == 2 else rows
    table = np.array(
        [[metric.measure([label], [given]).terms[0] for label in range(classes)] for given in predictions.tolist()]
    )
    table[classes] = table[classes].mean()  # equal but for the last bit
    return predictions, table, classes
