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

from tacit.scores.attacks.channel import LossChannel, largest_step
from tacit.scores.attacks.errors import InconsistentAnswer
from tacit.scores.losses.precision import Numbers

__all__ = ["DigitItem", "PackedQuery", "certain_predictions", "group_digits", "pack", "read_digits", "row_item"]

_SLACK = 1 - 1e-12  # differences stay this little below the clip
_SHIFTS = (0, 0.5, -0.5, 1, -1, 1.5, -1.5, 2, -2)  # units by which rounding may push a sum


class DigitItem(NamedTuple):
    """Some rows, the digit of each class of each row, and the values low..low+radix-1 of the digits' sum."""

    rows: tuple[int, ...]
    digits: tuple[tuple[int, ...], ...]
    low: int
    radix: int
    candidates: tuple[int, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedQuery:
    """Items with their steps: the loss of a row is constant + step * digit."""

    items: tuple[DigitItem, ...]
    steps: tuple[float, ...]
    unit: float

    def predictions(self, channel: LossChannel, *, known: NDArray[np.int64]) -> Numbers:
        """Return what to submit: asked rows by their steps, known rows as certain, all others neutral."""
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

    def read(self, answer: float, predictions: Numbers, *, channel: LossChannel, known: NDArray[np.int64]) -> list[int]:
        """Return each item's sum of digits, or raise if no labels give this answer.

        Sums of many equal losses are rounded one way. Unrounded answers are therefore compared with what the
        host's own arithmetic makes of each reading near by, not with exact sums.
        """
        table = channel.loss.row_losses(predictions, precision=channel.precision)
        spread = np.arange(channel.rows) % channel.loss.classes  # neutral losses may differ in their last bit
        labels = np.where(known >= 0, known, spread)
        for item in self.items:
            for row, digit in zip(item.rows, item.digits, strict=True):
                labels[row] = digit.index(0)
        base = table[np.arange(channel.rows), labels].tolist()
        levels = [_levels(table, item) for item in self.items]
        total = channel.total(answer)
        high = float(total)
        lows = (-item.low * level[-1] / (item.radix - 1) for item, level in zip(self.items, levels, strict=True))
        residual = math.fsum([high, float(total - Fraction(high)), *(-x for x in base), *lows])
        if channel.answers.unrounded and all(len(item.rows) == 1 for item in self.items):
            values, left = self._rescored(residual, total, predictions, labels, levels, channel)
        else:
            values, left = read_digits(residual, levels=levels)
        if abs(left) > 0.75 * self.unit:
            raise InconsistentAnswer
        return [value + item.low for value, item in zip(values, self.items, strict=True)]

    def _rescored(
        self,
        residual: float,
        total: Fraction,
        predictions: Numbers,
        labels: NDArray[np.int64],
        levels: list[list[float]],
        channel: LossChannel,
    ) -> tuple[list[int], float]:
        """Return the reading near by whose labels, scored as the host scores, come nearest, and what is left."""
        best: tuple[list[int], float] = ([], math.inf)
        guess = labels.copy()
        for shift in _SHIFTS:
            values, _ = read_digits(residual + shift * self.unit, levels=levels)
            for value, item in zip(values, self.items, strict=True):
                guess[item.rows[0]] = _class_of(item, value)
            left = float(total - channel.total(channel.score(guess, predictions)))
            if abs(left) < abs(best[1]):
                best = (values, left)
            if left == 0:
                break
        return best


def read_digits(residual: float, *, levels: Sequence[Sequence[float]]) -> tuple[list[int], float]:
    """Return the digits whose levels add up to what is nearest, lowest first, and what they leave over.

    Read from the largest levels down: they are superincreasing, so no digit depends on those below it, and
    the time is linear in the number of digits.

    Parameters
    ----------
    levels
        For each digit its values at 0, 1, ...; about evenly spaced.
    """
    below = 0.0
    ladder = []
    for level in levels:
        top = len(level) - 1
        step = level[-1] / top
        ladder.append((level, step, top, (below - step) / 2))
        below += level[-1]
    values = []
    for level, step, top, shift in reversed(ladder):
        if residual < shift + step:
            values.append(0)
        else:
            # A digit is as many steps as fit when half of what lies below, and half a step, are left.
            value = 1 if top == 1 else min(int((residual - shift) / step), top)
            residual -= level[value]
            values.append(value)
    return values[::-1], residual


def pack(items: Iterable[DigitItem], *, channel: LossChannel, unknown: int) -> PackedQuery:
    """Return a query of as many leading items as fit; the last may be asked in part.

    The first item has step u; each next one is multiplied by the radix before it, until a row's largest
    difference is reached. Then all steps are stretched to use the whole range.
    """
    asked: float | None = None
    offered = _PeekedItems(items)
    while True:
        query = _fill(iter(offered), channel, unknown, asked)
        most = math.fsum(_most(item) * step for item, step in zip(query.items, query.steps, strict=True))
        if most <= (asked or 2 * channel.reach(unknown=unknown)):
            return query
        asked = 1.1 * most  # counts of many rows cost more than digits do: reckon with their rounding


class _PeekedItems:
    """Items that may be looked at again, taken from their source only once."""

    def __init__(self, items: Iterable[DigitItem]) -> None:
        self.source = iter(items)
        self.seen: list[DigitItem] = []

    def __iter__(self) -> Iterator[DigitItem]:
        yield from self.seen
        for item in self.source:
            self.seen.append(item)
            yield item


def _fill(items: Iterator[DigitItem], channel: LossChannel, unknown: int, asked: float | None) -> PackedQuery:
    unit = channel.unit(unknown=unknown, asked=asked)
    reach = channel.reach(unknown=unknown)
    taken: list[DigitItem] = []
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


def _most(item: DigitItem) -> int:
    return item.low + item.radix - 1


@lru_cache(maxsize=4096)
def group_digits(candidates: tuple[int, ...], *, groups: int, classes: int) -> tuple[int, ...]:
    """Return a digit for each class: candidates in ``groups`` runs of near-equal size, others the last digit."""
    digits = [groups - 1] * classes
    for position, label in enumerate(candidates):
        digits[label] = position * groups // len(candidates)
    return tuple(digits)


def row_item(
    row: int, *, candidates: tuple[int, ...], classes: int, groups: int | None = None, size: int | None = None
) -> DigitItem:
    """Return the item that asks which of ``groups`` runs of its candidate classes a row's label is in.

    ``size`` counts alternatives that the plan reckons with; there may be fewer candidates.
    """
    size = size or len(candidates)
    digits = group_digits(candidates, groups=groups or size, classes=classes)
    return DigitItem(rows=(row,), digits=(digits,), low=0, radix=groups or size, candidates=candidates, size=size)


def certain_predictions(channel: LossChannel, labels: NDArray[np.int64]) -> Numbers:
    """Return predictions for rows whose label is known: they cost next to nothing."""
    classes = channel.loss.classes
    far = (0,) + (1,) * (classes - 1)
    step = largest_step(channel.loss, far, reach=channel.reach(unknown=0), precision=channel.precision)
    offsets = np.full((len(labels), classes), step * _SLACK)
    offsets[np.arange(len(labels)), labels] = 0.0
    return channel.loss.prediction_for(offsets, precision=channel.precision)


def _fitting(item: DigitItem, step: float, channel: LossChannel, reach: float) -> DigitItem | None:
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


def _limit(item: DigitItem, channel: LossChannel, reach: float) -> float:
    limit = largest_step(channel.loss, item.digits[0], reach=reach, precision=channel.precision)
    return limit if len(item.rows) == 1 else min(limit, reach / _most(item))


def _levels(table: Numbers, item: DigitItem) -> list[float]:
    """Return what the digits cost as the host's arithmetic makes it, beyond digit 0."""
    digits, row = item.digits[0], table[item.rows[0]]
    base, top = row[digits.index(0)], max(digits)
    step = float(row[digits.index(top)] - base) / top
    if len(item.rows) > 1:
        return [value * step for value in range(item.radix)]
    return [float(row[digits.index(d)] - base) if d in digits else d * step for d in range(item.radix)]


def _class_of(item: DigitItem, value: int) -> int:
    """Return a class with this digit; where none has it, the reading is off and any will do."""
    digits = item.digits[0]
    return digits.index(value) if value in digits else 0
