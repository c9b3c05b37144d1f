"""Labels as digits of scores: each query reveals the labels of a few rows, decoded from the largest difference down."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks.channel import LossChannel
from tacit.scores.attacks.design import Labels, QueryDesign, ScoreQuery, Steps, all_rows
from tacit.scores.attacks.packing import DigitItem, PackedQuery, pack, row_item

__all__ = ["DigitDesign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitDesign(QueryDesign):
    """Ask for a few rows in each query, as many as the answer's error allows; the others are neutral.

    With ``settle``, rows whose labels are known are predicted as certain: the score gets smaller and its
    rounding finer, so later queries reveal more; and a host that does not answer by its metric is detected.

    Parameters
    ----------
    settle
        Whether known rows are predicted as certain; without it queries are independent of each other.
    """

    gradual = True

    channel: LossChannel
    settle: bool = True

    @property
    def queries(self) -> int:
        """Queries to every label."""
        return sum(len(cycle) * repeats for cycle, repeats in _runs(self.channel, self.settle))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of labels that each query completes."""
        return tuple(chain.from_iterable(cycle * repeats for cycle, repeats in _runs(self.channel, self.settle)))

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries; labels are known after each."""
        channel = self.channel
        known = np.full(channel.rows, -1, dtype=np.int64)
        left = _OpenRows(all_rows(order, rows=channel.rows).tolist(), channel.loss.classes)
        while left:
            query = _next_query(left, channel, settle=self.settle)
            certain = known if self.settle else np.full_like(known, -1)
            predictions = query.predictions(channel, known=certain)
            answer = yield ScoreQuery(predictions, known.copy())
            values = query.read(answer, predictions, channel=channel, known=certain)
            for row, label in left.tell(query, values):
                known[row] = label
        return known


class _OpenRows:
    """The rows still to be asked; the first may be known to be one of some classes only."""

    def __init__(self, rows: Sequence[int], classes: int) -> None:
        self.rows = rows
        self.done = 0
        self.classes = classes
        self.all = tuple(range(classes))
        self.first, self.first_size = self.all, classes

    def __len__(self) -> int:
        return len(self.rows) - self.done

    def items(self) -> Iterator[DigitItem]:
        first, size = self.first, self.first_size
        for position in range(self.done, len(self.rows)):
            yield row_item(self.rows[position], candidates=first, classes=self.classes, size=size)
            first, size = self.all, self.classes

    def tell(self, query: PackedQuery, values: list[int]) -> Iterator[tuple[int, int]]:
        """Take the items' digits, drop the rows they complete, and yield them with their labels.

        Whether a row is complete depends on the sizes that were planned, never on its label: so a plan knows
        the number of queries beforehand.
        """
        self.first, self.first_size = self.all, self.classes
        for item, value in zip(query.items, values, strict=True):
            still = tuple(c for c in item.candidates if item.digits[0][c] == value)
            size = -(-item.size // item.radix)
            if size > 1:
                self.first, self.first_size = still, size
            else:
                self.done += 1
                yield item.rows[0], still[0]


@lru_cache(maxsize=64)
def _runs(channel: LossChannel, settle: bool) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return the queries' lengths as cycles with their numbers of repeats, so that millions of rows take no longer.

    A query depends on the rows that are left by its unit, which is monotone in them, and on how its first row stands: a
    cycle that is the same at both ends of a stretch is the same all through it.
    """
    runs: list[tuple[tuple[int, ...], int]] = []
    rows = _RowsLeft(left=channel.rows, first=tuple(range(channel.loss.classes)), size=channel.loss.classes)
    while rows.left:
        asked: list[_RowsLeft] = []
        while rows.left and rows.stand not in {earlier.stand for earlier in asked}:
            asked.append(rows)
            rows = rows.after_query(channel, settle=settle)
        lengths = tuple(now.left - later.left for now, later in pairwise([*asked, rows]))
        runs.append((lengths, 1))
        if rows.left:
            start = next(place for place, earlier in enumerate(asked) if earlier.stand == rows.stand)
            cycle = lengths[start:]
            repeats = _repeats(rows, cycle, channel, settle=settle)
            runs.append((cycle, repeats))
            rows = replace(rows, left=rows.left - repeats * sum(cycle))
    return tuple(runs)


@dataclass(frozen=True, slots=True)
class _RowsLeft:
    """How many rows are left, and which classes the first of them may have, out of so many that are planned with."""

    left: int
    first: tuple[int, ...]
    size: int

    @property
    def stand(self) -> tuple[tuple[int, ...], int]:
        return self.first, self.size

    def after_query(self, channel: LossChannel, *, settle: bool) -> _RowsLeft:
        left = _OpenRows(range(self.left), channel.loss.classes)
        left.first, left.first_size = self.stand
        query = _next_query(left, channel, settle=settle)
        done = sum(1 for _ in left.tell(query, [0] * len(query.items)))
        return _RowsLeft(self.left - done, left.first, left.first_size)


def _repeats(rows: _RowsLeft, cycle: tuple[int, ...], channel: LossChannel, *, settle: bool) -> int:
    """Return how often a cycle comes before the first that differs from it."""

    def is_the_same(repeats: int) -> bool:
        now = replace(rows, left=rows.left - repeats * sum(cycle))
        for length in cycle:
            if now.left <= length:  # the rows' end made it so short, and not the unit
                return False
            later = now.after_query(channel, settle=settle)
            if now.left - later.left != length:
                return False
            now = later
        return now.stand == rows.stand

    return bisect_left(range(rows.left // sum(cycle) + 1), True, key=lambda repeats: not is_the_same(repeats))


def _next_query(left: _OpenRows, channel: LossChannel, *, settle: bool) -> PackedQuery:
    unknown = len(left) if settle else channel.rows
    query = pack(left.items(), channel=channel, unknown=unknown)
    if not query.items:
        raise InvalidInput(
            f"answers must reveal one row's label: under {channel.answers} sums of the losses of {channel.rows} rows "
            f"show from {channel.unit(unknown=unknown):.3g} on, and one row of {channel.loss} changes them by at "
            f"most {channel.reach(unknown=unknown):.3g}"
        )
    return query
