"""More labels than a set of weights can hold for certain: most sums are still distinguished, the rest are asked for.

A block of 2^k queries weighs, for each non-empty set A of bits, some rows with weights times the character
(-1)^|A - x| (plus a constant, where entries of one sign reach further), and |A| more rows as a detecting matrix
with entries 0 and 1 does. The alternating sum of all answers at A, modulo 2^k, reveals the latter; what is left
is 2^k times the weighted sum of the rows of A, exactly, and nothing of other sets is in it. So the weights need
not have distinct sums: each set has a short list of candidates, and a few rows that separate them are asked for
at the end. Rows of the empty set have weights with distinct sums and are read last.
"""

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
from tacit.scores.attacks.joint import weigh
from tacit.scores.attacks.scale import WeighingScale, weighing_scale
from tacit.scores.attacks.weighing import ask_totals, detecting_matrices, matrix_blocks
from tacit.scores.attacks.weights import (
    TABLE_WEIGHTS,
    conway_guy_weights,
    digits_of,
    most_weights,
    subset_of,
    subset_sums,
)

__all__ = ["CrowdedDesign", "crowded_weights", "expected_asks"]

_CROWD = 2  # most weights beyond what is distinct
_TRIES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdedDesign(QueryDesign):
    """Joint decoding with more rows than weights with distinct sums allow; ambiguous rows are asked for last.

    Always right, whatever the labels: only the number of queries depends on them.
    """

    channel: LossChannel

    def __post_init__(self) -> None:
        if self.channel.loss.classes != 2:
            raise InvalidInput(f"must be 2 for a CrowdedDesign, got {self.channel.loss.classes}", field="classes")

    @property
    def expected(self) -> bool:
        """How many rows stay ambiguous depends on the labels."""
        return True

    @property
    def queries(self) -> int:
        """Expected queries for labels that are equally likely."""
        block = self._block
        later = math.ceil(block.asks + self.channel.rows - block.labels)
        return block.queries + _queries(later, self._scale)

    def steps(self, *, order: Labels | None = None) -> Steps:
        """Return the queries."""
        rows, block, scale = all_rows(order, rows=self.channel.rows), self._block, self._scale
        known = np.full(self.channel.rows, -1, dtype=np.int64)
        weights, predict = map(block.weights, range(block.queries)), partial(scale.predictions, rows[: block.labels])
        totals = yield from ask_totals(weights, predict, scale.total, known=known)
        read = block.read(totals)
        known[rows[: block.labels]] = read.labels
        asked = np.concatenate([rows[list(read.asks())], rows[block.labels :]])
        if asked.size:
            known[asked] = yield from self._weigh_all(asked, known)
        known[rows[: block.labels]] = read.settled(known[rows[: block.labels]])
        return known

    @property
    def _scale(self) -> WeighingScale:
        return weighing_scale(self.channel, digits=(0, 1))

    @property
    def _block(self) -> _QueryBlock:
        scale = self._scale
        options = [
            _QueryBlock(bits, labels, scale.low, scale.high) for bits, labels in _shapes(self.channel.rows, scale)
        ]
        return min(options, key=lambda b: b.queries + _queries(math.ceil(b.asks + self.channel.rows - b.labels), scale))

    def _weigh_all(self, rows: Labels, known: Labels) -> Steps:
        found = []
        for matrix, block in matrix_blocks(rows, low=self._scale.low, high=self._scale.high):
            found.append((yield from weigh(self._scale, matrix, block, known)))
        return np.concatenate(found)


@dataclass(frozen=True, slots=True)
class _QueryBlock:
    """2^bits queries for ``labels`` rows: which rows belong to which set, and with which weights."""

    bits: int
    labels: int
    low: int
    high: int

    @property
    def queries(self) -> int:
        return 1 << self.bits

    @property
    def asks(self) -> float:
        """Rows that stay ambiguous, to expect."""
        limit = self.limit
        return sum(expected_asks(heavy, limit=limit) for heavy, _ in self.sizes())

    @property
    def limit(self) -> int:
        return (self.low + self.high) // 2

    def sizes(self) -> list[tuple[int, int]]:
        """Return for each set but the empty one how many rows are weighed by the character, and by 0 and 1."""
        light = [subset.bit_count() for subset in range(1, self.queries)]
        heavy = max(0, self.labels - len(self.certain) - sum(light))
        whole, more = divmod(heavy, len(light))
        return [(whole + (position < more), size) for position, size in enumerate(light)]

    @property
    def certain(self) -> Labels:
        """The weights of the empty set's rows."""
        return most_weights(self.high, most=TABLE_WEIGHTS)[: self.labels]

    def weights(self, query: int) -> Labels:
        """Return the weight of every row of the block in one query."""
        parts = [self.certain]
        for subset, (heavy, size) in enumerate(self.sizes(), start=1):
            sign = _sign(query, subset)
            weights = crowded_weights(heavy, limit=self.limit)
            plus = np.minimum(2 * weights, self.high)  # the side of larger entries first
            parts += [plus if sign > 0 else plus - 2 * weights, _light(query, subset)[:size]]
        return np.concatenate(parts)[: self.labels]

    def read(self, totals: Labels) -> _BlockReading:
        """Return the labels that the totals of all queries reveal."""
        left = totals.copy()
        points = np.arange(self.queries)
        found: list[tuple[int, Labels]] = []
        for subset in range(self.queries - 1, 0, -1):
            size = subset.bit_count()
            signs = 1 - 2 * (np.bitwise_count(points & subset ^ subset).astype(np.int64) & 1)
            total, rest = divmod(int(signs @ left), 1 << (self.bits - size))
            if rest:
                raise InconsistentAnswer
            heavy, low = divmod(total, 1 << size)
            light = digits_of([low], count=size).reshape(-1)
            grid = np.stack([_light(x, subset) for x in range(self.queries)])
            left -= grid @ light + signs * heavy
            found.append((heavy, light))
        if (left != left[0]).any():
            raise InconsistentAnswer
        return _BlockReading.of(self, int(left[0]), found[::-1])


@dataclass(frozen=True, slots=True)
class _BlockReading:
    """Labels of a block as far as known, the candidates of ambiguous sets, and the empty set's total."""

    block: _QueryBlock
    labels: Labels
    lists: tuple[tuple[slice, Labels], ...]
    constant: int

    @classmethod
    def of(cls, block: _QueryBlock, constant: int, found: list[tuple[int, Labels]]) -> _BlockReading:
        labels = np.full(block.labels, -1, dtype=np.int64)
        lists = []
        start = len(block.certain)
        for (heavy, size), (total, light) in zip(block.sizes(), found, strict=True):
            where = slice(start, start + heavy)
            candidates = _candidates(heavy, block.limit, total)
            if not len(candidates):
                raise InconsistentAnswer
            if len(candidates) == 1:
                labels[where] = candidates[0]
            else:
                lists.append((where, candidates))
            labels[start + heavy : start + heavy + size] = light[: max(0, block.labels - start - heavy)]
            start += heavy + size
        return cls(block, labels, tuple(lists), constant)

    def asks(self) -> Iterator[int]:
        """Yield rows whose labels distinguish the candidates of every list."""
        for where, candidates in self.lists:
            yield from (where.start + position for position in _separators(candidates))

    def settled(self, labels: Labels) -> Labels:
        """Return all labels, given those asked for."""
        result = labels.copy()
        for where, candidates in self.lists:
            told = result[where] >= 0
            fits = candidates[(candidates[:, told] == result[where][told]).all(axis=1)]
            if len(fits) != 1:
                raise InconsistentAnswer
            result[where] = fits[0]
        self._settle_certain(result)
        return result

    def _settle_certain(self, result: Labels) -> None:
        block = self.block
        shift, start = 0, len(block.certain)
        for heavy, size in block.sizes():
            weights = crowded_weights(heavy, limit=block.limit)
            constant = np.minimum(2 * weights, block.high) - weights
            shift += int(constant @ result[start : start + heavy])
            start += heavy + size
        try:
            result[: len(block.certain)] = subset_of([self.constant - shift], weights=block.certain)[0]
        except InvalidInput:
            raise InconsistentAnswer from None


@lru_cache(maxsize=64)
def crowded_weights(count: int, *, limit: int) -> Labels:
    """Return ``count`` weights up to ``limit`` whose subset sums are as distinct as a short search makes them."""
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    exact = conway_guy_weights(count)
    if exact[-1] <= limit:
        return exact
    rng = np.random.default_rng(count)  # the design's own: the same weights every time
    best: Labels = np.maximum(1, np.rint(exact * (limit / exact[-1]))).astype(np.int64)
    least = _ambiguity(best)
    for attempt in range(_TRIES):
        moved = best.copy()
        where = rng.integers(0, count, size=1 + attempt % 2)
        moved[where] = np.clip(moved[where] + rng.integers(-24, 25, size=len(where)), 1, limit)
        if (now := _ambiguity(moved)) <= least:
            best, least = moved, now
    return best


@lru_cache(maxsize=64)
def expected_asks(count: int, *, limit: int) -> float:
    """Return how many of ``count`` equally likely labels must be asked for after their sum is known."""
    lists = np.bincount(subset_sums(crowded_weights(count, limit=limit)))
    return float((lists * np.ceil(np.log2(np.maximum(lists, 1)))).sum() / 2**count)


def _shapes(rows: int, scale: WeighingScale) -> Iterator[tuple[int, int]]:
    """Yield numbers of bits with numbers of labels that a block of 2^bits queries may hold."""
    limit = (scale.low + scale.high) // 2
    distinct = len(most_weights(limit, most=TABLE_WEIGHTS - _CROWD))
    certain = len(most_weights(scale.high, most=TABLE_WEIGHTS))
    for bits in range(1, 13):
        sets, light = (1 << bits) - 1, bits << bits >> 1
        for heavy in range(distinct, distinct + _CROWD + 1):
            most = certain + light + heavy * sets
            if heavy == distinct or most - sets < rows:
                yield bits, min(rows, most)
        if certain + light >= rows:
            return


def _queries(labels: int, scale: WeighingScale) -> int:
    return sum(matrix.queries for matrix in detecting_matrices(labels, low=scale.low, high=scale.high))


def _sign(query: int, subset: int) -> int:
    return -1 if (subset & ~query).bit_count() & 1 else 1


@lru_cache(maxsize=1 << 16)
def _light(query: int, subset: int) -> Labels:
    """Return the 0/1 entries of a set's further rows in one query: coefficient 2^i has 2^i ones of positive sign."""
    size = subset.bit_count()
    inside = [bit for bit in range(subset.bit_length()) if subset >> bit & 1]
    rank = sum((query >> bit & 1) << place for place, bit in enumerate(inside))
    ones = _sign(query, subset) > 0
    return np.array([int(ones and rank // 2 < 1 << i) for i in range(size)], dtype=np.int64)


def _ambiguity(weights: Labels) -> float:
    lists = np.bincount(subset_sums(weights))
    lists = lists[lists > 1]
    return float((lists * np.log2(lists)).sum())


@lru_cache(maxsize=8)
def _sorted_sums(count: int, limit: int) -> tuple[Labels, Labels]:
    sums = subset_sums(crowded_weights(count, limit=limit))
    order = np.argsort(sums, kind="stable").astype(np.int64)
    return sums[order], order


def _candidates(count: int, limit: int, total: int) -> Labels:
    sums, order = _sorted_sums(count, limit)
    first, last = np.searchsorted(sums, [total, total + 1])
    return digits_of(order[first:last], count=count)


def _separators(candidates: Labels) -> list[int]:
    """Return positions on which all candidates differ, few of them: the one that splits most evenly first."""
    positions: list[int] = []
    groups = [candidates]
    while groups:
        uneven = np.array([np.abs(2 * group.sum(axis=0) - len(group)) for group in groups])
        position = int(uneven.sum(axis=0).argmin())
        positions.append(position)
        split = [group[group[:, position] == label] for group in groups for label in (0, 1)]
        groups = [group for group in split if len(group) > 1]
    return positions
