"""Partial knowledge: if a model is confident, ask how many of a group it got wrong, and split only if any."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, hypergeom

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks.channel import LossChannel
from tacit.scores.attacks.design import Labels, QueryDesign, ScoreQuery, Steps, all_rows
from tacit.scores.attacks.packing import DigitItem, pack, row_item

__all__ = ["PriorDesign", "prior_design"]

_SIZES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorDesign(QueryDesign):
    """Spend the bits where the entropy is: groups of rows that a model is equally sure of, counted and split.

    A group's item is the number of its rows whose label is not the model's guess. A group of s rows with
    error rate q has about s h(q) bits, and its count and the splits of a wrong group take little more; groups
    are as large as makes that cheapest. No label is ever taken from the model: all are read from scores.
    """

    channel: LossChannel
    probabilities: NDArray[np.float64]

    @property
    def expected(self) -> bool:
        """How often the model is wrong decides."""
        return True

    @property
    def identity(self) -> str:
        """The channel and a digest of the probabilities."""
        digest = hashlib.sha256(np.ascontiguousarray(self.probabilities).tobytes()).hexdigest()
        return f"{type(self).__name__} {self.channel!r} {digest}"

    @property
    def bits(self) -> float:
        """Expected bits to ask for, if the model's probabilities are right."""
        wrong = 1 - self.probabilities.max(axis=1)
        later = float(wrong.sum()) * math.log2(max(1, self.channel.loss.classes - 1))
        return later + sum(_group_bits(len(group.rows), _rate(wrong, group.rows)) for group in self._groups(None))

    @property
    def queries(self) -> int:
        """Expected queries: bits over what an answer holds while half of the rows are known."""
        unknown = (self.channel.rows + 1) // 2
        held = 1 + math.floor(math.log2(self.channel.reach(unknown=unknown) / self.channel.unit(unknown=unknown)))
        return math.ceil(self.bits / held)

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries."""
        known = np.full(self.channel.rows, -1, dtype=np.int64)
        left = _OpenGroups(self._groups(order), self.channel.loss.classes)
        while left.tasks:
            unknown = int(np.count_nonzero(known < 0))
            query = pack(left.items(), channel=self.channel, unknown=unknown)
            predictions = query.predictions(self.channel, known=known)
            answer = yield ScoreQuery(predictions, known.copy())
            values = query.read(answer, predictions, channel=self.channel, known=known)
            for row, label in left.tell(query.items, values):
                known[row] = label
        return known

    def _groups(self, order: Labels | None) -> Iterator[_SameGuessGroup]:
        """Yield runs of rows with the same guess and about the same error rate, the most confident first."""
        rows = all_rows(order, rows=self.channel.rows)
        guesses = self.probabilities.argmax(axis=1)
        wrong = 1 - self.probabilities.max(axis=1)
        for guess in range(self.channel.loss.classes):
            alike = rows[guesses[rows] == guess]
            alike = alike[np.argsort(wrong[alike], kind="stable")]
            start = 0
            while start < len(alike):
                size = _best_size(round(float(wrong[alike[start]]), 3))
                yield _SameGuessGroup(tuple(alike[start : start + size].tolist()), guess, None)
                start += size


def prior_design(channel: LossChannel, probabilities: ArrayLike) -> PriorDesign:
    """Return the design for a model's probabilities, checked."""
    given = np.asarray(probabilities, dtype=np.float64)
    shape = (channel.rows, channel.loss.classes)
    if given.shape != shape or not (given >= 0).all() or not np.allclose(given.sum(axis=1), 1):
        raise InvalidInput(f"must be {shape[0]} rows of {shape[1]} numbers >= 0 that sum to 1", field="probabilities")
    if channel.answers.unrounded:  # counts cannot be confirmed bit by bit: leave room for all rounding
        channel = replace(channel, answers=replace(channel.answers, growth=2 * channel.answers.growth))
    return PriorDesign(channel=channel, probabilities=given)


class _SameGuessGroup(NamedTuple):
    """Rows with the same guess, and how many of them are wrong where that is known."""

    rows: tuple[int, ...]
    guess: int
    wrong: int | None


class _OpenGroups:
    """What is still to be asked: counts of groups, counts of half groups, and labels of rows guessed wrong."""

    def __init__(self, groups: Iterator[_SameGuessGroup], classes: int) -> None:
        self.classes = classes
        self.tasks: deque[tuple[DigitItem, _SameGuessGroup, _SameGuessGroup | None]] = deque()
        self.found: list[tuple[int, int]] = []
        for group in groups:
            self.tasks.append((self._count(group, 0, len(group.rows)), group, None))

    def items(self) -> Iterator[DigitItem]:
        return (item for item, _, _ in self.tasks)

    def tell(self, items: tuple[DigitItem, ...], values: list[int]) -> list[tuple[int, int]]:
        """Take the counts and return the rows that are known by them."""
        self.found = []
        for item, value in zip(items, values, strict=True):
            whole, group, rest = self.tasks.popleft()
            if group.wrong is None and rest is None:
                self._settle(group._replace(wrong=self._errors(group, value)))
            elif rest is not None:
                errors = self._errors(group, value)
                self._settle(group._replace(wrong=errors))
                self._settle(rest._replace(wrong=(rest.wrong or 0) - errors))
            else:
                self._label(whole, item, value)
        return self.found

    def _errors(self, group: _SameGuessGroup, value: int) -> int:
        # With two classes the item counts ones, so that the finer side of a probability carries it.
        return len(group.rows) - value if self.classes == 2 and group.guess == 1 else value

    def _settle(self, group: _SameGuessGroup) -> None:
        rows, guess, wrong = group.rows, group.guess, group.wrong or 0
        if wrong == 0:
            self.found += [(row, guess) for row in rows]
        elif wrong == len(rows):
            for row in rows:
                self._other(row, guess)
        else:
            self._split(group, wrong)

    def _other(self, row: int, guess: int) -> None:
        others = tuple(label for label in range(self.classes) if label != guess)
        if len(others) == 1:
            self.found.append((row, others[0]))
        else:
            item = row_item(row, candidates=others, classes=self.classes)
            self.tasks.append((item, _SameGuessGroup((row,), guess, 1), None))

    def _split(self, group: _SameGuessGroup, wrong: int) -> None:
        half = len(group.rows) // 2
        first, second = group._replace(rows=group.rows[:half]), group._replace(rows=group.rows[half:])
        least, most = max(0, wrong - len(second.rows)), min(wrong, half)
        second = second._replace(wrong=wrong)  # of both halves, until the first half's count is known
        self.tasks.append((self._count(first, least, most), first, second))

    def _count(self, group: _SameGuessGroup, least: int, most: int) -> DigitItem:
        if self.classes == 2:
            digits: tuple[int, ...] = (0, 1)
            if group.guess == 1:
                least, most = len(group.rows) - most, len(group.rows) - least
        else:
            digits = tuple(int(label != group.guess) for label in range(self.classes))
        many = (digits,) * len(group.rows)
        return DigitItem(rows=group.rows, digits=many, low=least, radix=most - least + 1)

    def _label(self, whole: DigitItem, item: DigitItem, value: int) -> None:
        row = whole.rows[0]
        still = tuple(label for label in item.candidates if item.digits[0][label] == value)
        if len(still) == 1:
            self.found.append((row, still[0]))
        else:
            again = row_item(row, candidates=still, classes=self.classes)
            self.tasks.append((again, _SameGuessGroup((row,), -1, 1), None))


def _rate(wrong: NDArray[np.float64], rows: tuple[int, ...]) -> float:
    return round(float(wrong[list(rows)].mean()), 3)


@lru_cache(maxsize=2048)
def _best_size(rate: float) -> int:
    return min(_SIZES, key=lambda size: _group_bits(size, rate) / size)


@lru_cache(maxsize=4096)
def _group_bits(size: int, rate: float) -> float:
    """Return the expected bits that the count of a group and its splits take."""
    counts = np.arange(size + 1)
    after = np.array([_split_bits(size, int(c)) for c in counts])
    return math.log2(size + 1) + float(binom.pmf(counts, size, rate) @ after)


@lru_cache(maxsize=8192)
def _split_bits(size: int, wrong: int) -> float:
    if wrong in (0, size):
        return 0.0
    half = size // 2
    least, most = max(0, wrong - (size - half)), min(wrong, half)
    counts = np.arange(least, most + 1)
    after = np.array([_split_bits(half, int(h)) + _split_bits(size - half, wrong - int(h)) for h in counts])
    return math.log2(most - least + 1) + float(hypergeom.pmf(counts, size, wrong, half) @ after)
