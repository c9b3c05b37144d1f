"""Labels as digits of scores: each query tells the labels of a few rows, read from the largest difference down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.scores.attack.channel import Channel
from tacit.scores.attack.design import Design, all_rows
from tacit.scores.attack.packing import Item, PackedQuery, pack, row_item
from tacit.scores.attack.steps import Labels, Query, Steps

__all__ = ["DigitDesign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitDesign(Design):
    """Ask for a few rows in each query, as many as the answer's error allows; the others are neutral.

    With ``settle``, rows whose labels are known are predicted as certain: the score gets smaller and its
    rounding finer, so later queries tell more; and a host that does not answer by its metric is found out.

    Parameters
    ----------
    channel
        The loss, the rows and the answers.
    settle
        Whether known rows are predicted as certain; without it queries are independent of each other.

    Examples
    --------
    >>> from tacit.scores.attack import Exact
    >>> from tacit.scores.losses import sklearn_log_loss
    >>> design = DigitDesign(channel=Channel(loss=sklearn_log_loss(), rows=2201, answers=Exact()))
    >>> design.queries, design.lengths[0], design.lengths[-2]
    (48, 45, 48)
    """

    channel: Channel
    settle: bool = True

    @property
    def queries(self) -> int:
        """Queries to every label."""
        return len(self.lengths)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of labels that each query completes."""
        return _lengths(self.channel, self.settle)

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries; labels are known after each.

        Examples
        --------
        >>> from tacit.scores.attack import Rounded
        >>> from tacit.scores.losses import sklearn_log_loss
        >>> channel = Channel(loss=sklearn_log_loss(), rows=3, answers=Rounded(decimals=3))
        >>> steps, labels = DigitDesign(channel=channel).steps(), np.array([1, 0, 1])
        >>> query = next(steps)
        >>> try:
        ...     steps.send(round(channel.score(query.predictions, labels), 3))
        ... except StopIteration as end:
        ...     print(end.value)
        [1 0 1]
        """
        channel = self.channel
        known = np.full(channel.rows, -1, dtype=np.int64)
        left = _Left(all_rows(order, rows=channel.rows).tolist(), channel.loss.classes)
        while left:
            query = _next_query(left, channel, settle=self.settle)
            certain = known if self.settle else np.full_like(known, -1)
            predictions = query.predictions(channel, known=certain)
            answer = yield Query(predictions, known.copy())
            values = query.read(answer, predictions, channel=channel, known=certain)
            for row, label in left.tell(query, values):
                known[row] = label
        return known


class _Left:
    """The rows still to be asked; the first may be known to be one of some classes only."""

    def __init__(self, rows: list[int], classes: int) -> None:
        self.rows = rows
        self.done = 0
        self.classes = classes
        self.all = tuple(range(classes))
        self.first, self.first_size = self.all, classes

    def __len__(self) -> int:
        return len(self.rows) - self.done

    def items(self) -> Iterator[Item]:
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
def _lengths(channel: Channel, settle: bool) -> tuple[int, ...]:
    left = _Left(list(range(channel.rows)), channel.loss.classes)
    lengths = []
    while left:
        query = _next_query(left, channel, settle=settle)
        lengths.append(sum(1 for _ in left.tell(query, [0] * len(query.items))))
    return tuple(lengths)


def _next_query(left: _Left, channel: Channel, *, settle: bool) -> PackedQuery:
    unknown = len(left) if settle else channel.rows
    query = pack(left.items(), channel=channel, unknown=unknown)
    if not query.items:
        raise InvalidInput(
            f"answers must tell one row's label: under {channel.answers} sums of the losses of {channel.rows} rows "
            f"show from {channel.unit(unknown=unknown):.3g} on, and one row of {channel.loss} changes them by at "
            f"most {channel.reach(unknown=unknown):.3g}"
        )
    return query
