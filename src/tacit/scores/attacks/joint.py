"""Many labels from many scores at once: a detecting matrix in units of the answer's error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks.channel import LossChannel
from tacit.scores.attacks.design import Labels, QueryDesign, Steps, all_rows
from tacit.scores.attacks.errors import InconsistentAnswer
from tacit.scores.attacks.scale import WeighingScale, weighing_scale
from tacit.scores.attacks.weighing import DetectingMatrix, ask_matrix, detecting_matrices, matrix_blocks

__all__ = ["JointDesign", "cheapest_radices", "weigh"]

_MOST_RADIX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class JointDesign(QueryDesign):
    """Ask for all rows at once with a detecting matrix, digit by digit where there are more than two classes."""

    channel: LossChannel

    @property
    def queries(self) -> int:
        """Queries to every label."""
        return sum(matrix.queries for scale, radix in self._passes() for matrix in _matrices(scale, radix))

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries; labels are known when a matrix is complete."""
        rows = all_rows(order, rows=self.channel.rows)
        found = np.zeros(self.channel.rows, dtype=np.int64)
        known = np.full(self.channel.rows, -1, dtype=np.int64)
        stride = 1
        for scale, radix in self._passes():
            for matrix, block in matrix_blocks(rows, low=scale.low, high=scale.high, radix=radix):
                digits = yield from weigh(scale, matrix, block, known)
                found[block] += stride * digits
                if stride * radix >= self.channel.loss.classes:  # the last digit
                    known[block] = found[block]
            stride *= radix
        if found.max() >= self.channel.loss.classes:
            raise InconsistentAnswer
        return found

    def _passes(self) -> Iterator[tuple[WeighingScale, int]]:
        yield from _scales(self.channel, cheapest_radices(self.channel))


def cheapest_radices(channel: LossChannel) -> tuple[int, ...]:
    """Return radices whose product covers the classes and whose passes take the fewest queries together."""
    options = set(_covers(channel.loss.classes))
    return min(sorted(options), key=lambda radices: _cost(channel, radices))


@lru_cache(maxsize=1024)
def _cost(channel: LossChannel, radices: tuple[int, ...]) -> float:
    try:
        passes = list(_scales(channel, radices))
    except InvalidInput:
        if len(set(radices)) == 1 and radices[0] == 2:
            raise  # binary questions are the easiest: if they fail, everything does
        return math.inf
    return sum(matrix.queries for scale, radix in passes for matrix in _matrices(scale, radix))


def _covers(classes: int, least: int = 2) -> Iterator[tuple[int, ...]]:
    """Yield ascending radices with a product of at least ``classes``, none of which can be spared."""
    if classes == 2:
        yield (2,)
        return
    for radix in [*range(least, min(classes, _MOST_RADIX) + 1), classes]:
        rest = -(-classes // radix)
        if rest == 1:
            yield (radix,)
        else:
            yield from ((radix, *more) for more in _covers(rest, radix) if rest > 1 and more[0] >= radix)


def _scales(channel: LossChannel, radices: tuple[int, ...]) -> Iterator[tuple[WeighingScale, int]]:
    stride = 1
    for radix in radices:
        digits = tuple(label // stride % radix for label in range(channel.loss.classes))
        yield weighing_scale(channel, digits=digits), radix
        stride *= radix


def _matrices(scale: WeighingScale, radix: int) -> Iterator[DetectingMatrix]:
    return detecting_matrices(scale.channel.rows, low=scale.low, high=scale.high, radix=radix)


def weigh(scale: WeighingScale, matrix: DetectingMatrix, rows: Labels, known: Labels) -> Steps:
    """Ask for rows with a detecting matrix and return their digits."""
    return ask_matrix(matrix, partial(scale.predictions, rows), scale.total, known=known)
