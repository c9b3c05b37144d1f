"""One query as a number of mixed radix: each item a digit, as many digits as the answer's error leaves room for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.scores.attack.channel import Channel, largest_step
from tacit.scores.attack.errors import InconsistentAnswer
from tacit.scores.losses.precision import Numbers

__all__ = ["Item", "PackedQuery", "certain_predictions", "group_digits", "pack", "read_digits", "row_item"]

_SLACK = 1 - 1e-12  # differences stay this little below the clip


class Item(NamedTuple):
    """Some rows, the digit of each class of each row, and the values low..low+radix-1 of the digits' sum.

    Examples
    --------
    >>> row_item(3, candidates=(0, 2), classes=3)
    Item(rows=(3,), digits=((0, 1, 1),), low=0, radix=2, candidates=(0, 2), size=2)
    """

    rows: tuple[int, ...]
    digits: tuple[tuple[int, ...], ...]
    low: int
    radix: int
    candidates: tuple[int, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedQuery:
    """Items with their steps: the loss of a row is constant + step * digit.

    Examples
    --------
    >>> from tacit.scores.attack import Exact
    >>> from tacit.scores.losses import sklearn_log_loss
    >>> channel = Channel(loss=sklearn_log_loss(), rows=2, answers=Exact())
    >>> items = [row_item(i, candidates=(0, 1), classes=2) for i in range(2)]
    >>> query = pack(items, channel=channel, unknown=2)
    >>> p = query.predictions(channel, known=np.array([-1, -1]))
    >>> query.read(channel.score(p, np.array([0, 1])), p, channel=channel, known=np.array([-1, -1]))
    [0, 1]
    """

    items: tuple[Item, ...]
    steps: tuple[float, ...]
    unit: float

    def predictions(self, channel: Channel, *, known: NDArray[np.int64]) -> Numbers:
        """Return what to submit: asked rows by their steps, known rows as certain, all others neutral.

        Examples
        --------
        >>> from tacit.scores.attack import Exact
        >>> from tacit.scores.losses import SquaredError
        >>> channel = Channel(loss=SquaredError(), rows=3, answers=Exact())
        >>> query = pack([Item((0,), ((0, 1),), 0, 2)], channel=channel, unknown=2)
        >>> query.predictions(channel, known=np.array([-1, -1, 1])).round(6)
        array([0. , 0.5, 1. ])
        """
        loss, precision = channel.loss, channel.precision
        predictions = loss.neutral(channel.rows, precision=precision)
        sure = np.flatnonzero(known >= 0)
        if sure.size:
            predictions[sure] = certain_predictions(channel, known[sure])
        rows = [row for item in self.items for row in item.rows]
        digits = np.array([digit for item in self.items for digit in item.digits], dtype=np.float64)
        steps = np.repeat(self.steps, [len(item.rows) for item in self.items])
        predictions[rows] = loss.prediction_for(steps[:, None] * digits, precision=precision)
        return predictions

    def read(self, answer: float, predictions: Numbers, *, channel: Channel, known: NDArray[np.int64]) -> list[int]:
        """Return each item's sum of digits, or raise if no labels give this answer.

        What the host's summation rounds away is the same for all labels, up to little: a first reading is
        scored as the host would, and the difference is read again until nothing changes.
        """
        table = channel.loss.row_losses(predictions, precision=channel.precision)
        labels = np.where(known >= 0, known, 0)
        for item in self.items:
            for row, digit in zip(item.rows, item.digits, strict=True):
                labels[row] = digit.index(0)
        base = table[np.arange(channel.rows), labels].tolist()
        steps = [_realised(table, item) for item in self.items]
        lows = (-item.low * step for item, step in zip(self.items, steps, strict=True))
        total = channel.total(answer)
        high = float(total)
        residual = math.fsum([high, float(total - Fraction(high)), *(-x for x in base), *lows])
        values = self._digits(residual, steps)
        for _ in range(3):
            adjusted = self._adjusted(values, answer, predictions, labels, steps, channel)
            again = values if adjusted is None else self._digits(adjusted, steps)
            if again == values:
                break
            values = again
        return [value + item.low for value, item in zip(values, self.items, strict=True)]

    def _digits(self, residual: float, steps: Sequence[float]) -> list[int]:
        values, left = read_digits(residual, steps=steps, radices=[item.radix for item in self.items])
        if abs(left) > self.unit * 0.75:
            raise InconsistentAnswer
        return values

    def _adjusted(
        self,
        values: list[int],
        answer: float,
        predictions: Numbers,
        labels: NDArray[np.int64],
        steps: Sequence[float],
        channel: Channel,
    ) -> float | None:
        if any(len(item.rows) > 1 for item in self.items):
            return None  # counts do not tell which labels to score
        guess = labels.copy()
        for value, item in zip(values, self.items, strict=True):
            guess[item.rows[0]] = item.digits[0].index(value + item.low)
        scored = channel.total(channel.score(predictions, guess))
        error = float(channel.total(answer) - scored)
        return math.fsum([error, *(v * s for v, s in zip(values, steps, strict=True))])


def read_digits(residual: float, *, steps: Sequence[float], radices: Sequence[int]) -> tuple[list[int], float]:
    """Return the digits whose sum with these steps is nearest, least step first, and what they leave over.

    Read from the largest step down: steps are superincreasing, so no digit depends on those below it, and the
    time is linear in the number of digits.

    Examples
    --------
    >>> read_digits(11.1, steps=[1.0, 2.0, 4.0], radices=[2, 2, 3])[0]
    [1, 1, 2]
    """
    below = 0.0
    ladder = []
    for step, radix in zip(steps, radices, strict=True):
        ladder.append((step, radix - 1, (below - step) / 2))
        below += (radix - 1) * step
    values = []
    for step, top, shift in reversed(ladder):
        if residual < shift + step:
            values.append(0)
        else:
            # A digit is as many steps as fit when half of what lies below, and half a step, are left.
            value = 1 if top == 1 else min(int((residual - shift) / step), top)
            residual -= value * step
            values.append(value)
    return values[::-1], residual


def pack(items: Iterable[Item], *, channel: Channel, unknown: int) -> PackedQuery:
    """Return a query of as many leading items as fit; the last may be asked in part.

    The first item has step u; each next one is multiplied by the radix before it, until a row's largest
    difference is reached. Then all steps are stretched to use the whole range.

    Examples
    --------
    >>> from tacit.scores.attack import Rounded
    >>> from tacit.scores.losses import sklearn_log_loss
    >>> channel = Channel(loss=sklearn_log_loss(), rows=2201, answers=Rounded(decimals=5))
    >>> items = [row_item(i, candidates=(0, 1), classes=2) for i in range(100)]
    >>> len(pack(items, channel=channel, unknown=2201).items)
    11
    """
    asked: float | None = None
    offered = _Offered(items)
    while True:
        query = _fill(iter(offered), channel, unknown, asked)
        most = math.fsum(_most(item) * step for item, step in zip(query.items, query.steps, strict=True))
        if most <= (asked or 2 * channel.reach(unknown=unknown)):
            return query
        asked = 1.1 * most  # counts of many rows cost more than digits do: reckon with their rounding


class _Offered:
    """Items that may be looked at again, taken from their source only once."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.source = iter(items)
        self.seen: list[Item] = []

    def __iter__(self) -> Iterator[Item]:
        yield from self.seen
        for item in self.source:
            self.seen.append(item)
            yield item


def _fill(items: Iterator[Item], channel: Channel, unknown: int, asked: float | None) -> PackedQuery:
    unit = channel.unit(unknown=unknown, asked=asked)
    reach = channel.reach(unknown=unknown)
    taken: list[Item] = []
    limits: list[float] = []
    steps: list[float] = []
    step = unit
    for item in items:
        part = _fitting(item, step, channel, reach)
        if part is None:
            break
        taken.append(part)
        limits.append(_limit(part, channel, reach))
        steps.append(step)
        step *= part.radix
        if part.radix < item.radix:
            break
    stretch = min((limit / step for limit, step in zip(limits, steps, strict=True)), default=1.0) * _SLACK
    return PackedQuery(items=tuple(taken), steps=tuple(s * stretch for s in steps), unit=unit * stretch)


def _most(item: Item) -> int:
    return item.low + item.radix - 1


@lru_cache(maxsize=4096)
def group_digits(candidates: tuple[int, ...], *, groups: int, classes: int) -> tuple[int, ...]:
    """Return a digit for each class: candidates in ``groups`` runs of near-equal size, others the last digit.

    Examples
    --------
    >>> group_digits((0, 1, 2, 3, 4), groups=2, classes=6)
    (0, 0, 0, 1, 1, 1)
    """
    digits = [groups - 1] * classes
    for position, label in enumerate(candidates):
        digits[label] = position * groups // len(candidates)
    return tuple(digits)


def row_item(
    row: int, *, candidates: tuple[int, ...], classes: int, groups: int | None = None, size: int | None = None
) -> Item:
    """Return the item that asks which of ``groups`` runs of its candidate classes a row's label is in.

    ``size`` counts alternatives that the plan reckons with; there may be fewer candidates.

    Examples
    --------
    >>> row_item(0, candidates=(0, 1, 2), classes=3, groups=2).digits
    ((0, 0, 1),)
    """
    size = size or len(candidates)
    digits = group_digits(candidates, groups=groups or size, classes=classes)
    return Item(rows=(row,), digits=(digits,), low=0, radix=groups or size, candidates=candidates, size=size)


def certain_predictions(channel: Channel, labels: NDArray[np.int64]) -> Numbers:
    """Return predictions for rows whose label is known: they cost next to nothing.

    Examples
    --------
    >>> from tacit.scores.attack import Exact
    >>> from tacit.scores.losses import SquaredError
    >>> certain_predictions(Channel(loss=SquaredError(), rows=2, answers=Exact()), np.array([1, 0])).round(9)
    array([1., 0.])
    """
    classes = channel.loss.classes
    far = (0,) + (1,) * (classes - 1)
    step = largest_step(channel.loss, far, reach=channel.reach(unknown=0), precision=channel.precision)
    offsets = np.full((len(labels), classes), step * _SLACK)
    offsets[np.arange(len(labels)), labels] = 0.0
    return channel.loss.prediction_for(offsets, precision=channel.precision)


def _fitting(item: Item, step: float, channel: Channel, reach: float) -> Item | None:
    """Return the item, or a coarser one about the same row, that this step leaves room for."""
    if step <= _limit(item, channel, reach):
        return item
    if len(item.rows) > 1 or item.radix == 2:
        return None
    classes = len(item.digits[0])
    for radix in range(item.radix - 1, 1, -1):
        part = row_item(item.rows[0], candidates=item.candidates, classes=classes, groups=radix, size=item.size)
        if step <= _limit(part, channel, reach):
            return part
    return None


def _limit(item: Item, channel: Channel, reach: float) -> float:
    limit = largest_step(channel.loss, item.digits[0], reach=reach, precision=channel.precision)
    return limit if len(item.rows) == 1 else min(limit, reach / _most(item))


def _realised(table: Numbers, item: Item) -> float:
    """Return the step as the host's arithmetic makes it."""
    digits = item.digits[0]
    top = max(digits)
    row = table[item.rows[0]]
    return float((row[digits.index(top)] - row[digits.index(0)]) / top)
