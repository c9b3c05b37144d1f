"""The least nonzero sum of differences, one a row: peeled from the widest row, then met in the middle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["TooManyOverlaps", "smallest_difference"]

_BOTTOM = 3**13  # combinations of narrow rows held in one sorted list
_TOP = 3**13  # combinations of wide rows that survive pruning
_CLOSE = 2**18  # pairs of combinations whose exact sum is worked out
_WORD = 60  # bits of the rounded sums, so that nothing overflows 64

Integers = NDArray[np.int64]


class TooManyOverlaps(InvalidInput):
    """More combinations of rows nearly cancel than can be searched.

    Examples
    --------
    >>> issubclass(TooManyOverlaps, InvalidInput)
    True
    """


def smallest_difference(rows: Sequence[Sequence[int]]) -> int:
    """Return min |sum_i (r_i[s_i] - r_i[t_i])| over choices s != t of one value from every row.

    Rows are peeled from the widest: if its least step d is at least the total width w of the others, choices that
    differ in it differ by at least d - w, and some by exactly that. Rows that overlap are met in the middle.

    Parameters
    ----------
    rows
        The values of each row, whole numbers.

    Examples
    --------
    >>> smallest_difference([[0, 1], [0, 2], [0, 4]])
    1
    >>> smallest_difference([[0, 3], [0, 5], [0, 6], [0, 7]])
    1
    >>> smallest_difference([[0, 4], [0, 4]])
    0
    """
    ordered = sorted((sorted(row) for row in rows), key=lambda row: row[-1] - row[0])
    widths = [row[-1] - row[0] for row in ordered]
    steps = [min(high - low for low, high in pairwise(row)) for row in ordered]
    best, others = min(steps), sum(widths)
    for top in reversed(range(len(ordered))):
        others -= widths[top]
        if steps[top] < others:
            return _meet(ordered[: top + 1], best) if best else 0
        best = min(best, steps[top] - others)
    return best


def _meet(rows: list[list[int]], best: int) -> int:
    differences = [sorted({a - b for a in row for b in row}) for row in rows]
    shift = max(0, sum(row[-1] for row in differences).bit_length() - _WORD)
    rounded = [_round(row, shift) for row in differences]
    split = _split(differences)
    low, high = differences[:split], differences[split:][::-1]
    bottom = _all_sums(rounded[:split])
    order = np.argsort(bottom, kind="stable")
    reach = int(bottom.max())
    top, chosen = _near_sums(rounded[split:], reach=reach, within=(best >> shift) + 1 + len(rows))
    # "No difference" in both lists is one labeling twice: nothing of that sum is let through.
    nothing = _index_of_zero(low)
    empty = chosen == _index_of_zero(high)
    bottom = bottom[order]
    rest = bottom[order != nothing]
    nearest = min(_nearest(bottom, top[~empty]), _nearest(rest, top[empty]))
    if shift == 0:
        return min(best, nearest)
    window = nearest + 2 * len(rows)  # rounding moves each difference by less than one
    for entry, place in _pairs(bottom, top, window):
        if order[entry] != nothing or not empty[place]:
            value = _sum_at(low, int(order[entry])) + _sum_at(high, int(chosen[place]))
            best = min(best, abs(value))
        if best == 0:
            break
    return best


def _round(row: list[int], shift: int) -> Integers:
    # Towards 0, so that opposite differences stay opposite.
    return np.array([value >> shift if value >= 0 else -(-value >> shift) for value in row], dtype=np.int64)


def _split(differences: list[list[int]]) -> int:
    size, count, half = 1, 0, (len(differences) + 1) // 2
    while count < half and size * len(differences[count]) <= _BOTTOM:
        size *= len(differences[count])
        count += 1
    return count


def _all_sums(rows: list[Integers]) -> Integers:
    sums: Integers = np.zeros(1, dtype=np.int64)
    for row in rows:
        sums = (sums[:, None] + row[None, :]).ravel()
    return sums


def _near_sums(rows: list[Integers], *, reach: int, within: int) -> tuple[Integers, Integers]:
    """Return the sums over ``rows`` that a sum of at most ``reach`` can bring near 0, and their indices."""
    if math.prod(len(row) for row in rows) >= 2**62:
        raise _too_many(f"{len(rows)} of the widest have more combinations than can be numbered")
    sums: Integers = np.zeros(1, dtype=np.int64)
    chosen: Integers = np.zeros(1, dtype=np.int64)
    left = reach + within + sum(int(row[-1]) for row in rows)
    for row in reversed(rows):  # the widest first: it prunes most
        left -= int(row[-1])
        sums = (sums[:, None] + row[None, :]).ravel()
        chosen = (chosen[:, None] * len(row) + np.arange(len(row))[None, :]).ravel()
        keep = np.abs(sums) <= left
        sums, chosen = sums[keep], chosen[keep]
        if len(sums) > _TOP:
            raise _too_many(f"more than {_TOP} combinations of the widest rows nearly cancel")
    return sums, chosen


def _nearest(bottom: Integers, top: Integers) -> int:
    if not (bottom.size and top.size):
        return 2**62
    place = np.searchsorted(bottom, -top)
    return min(int(np.abs(top + bottom[np.clip(place + step, 0, len(bottom) - 1)]).min()) for step in (-1, 0))


def _pairs(bottom: Integers, top: Integers, window: int) -> Iterator[tuple[int, int]]:
    first = np.searchsorted(bottom, -top - window, side="left")
    last = np.searchsorted(bottom, -top + window, side="right")
    if (last - first).sum() > _CLOSE:
        raise _too_many(f"more than {_CLOSE} pairs of labelings differ by less than the sums can be rounded to")
    for place in np.flatnonzero(last > first):
        for entry in range(first[place], last[place]):
            yield entry, int(place)


def _index_of_zero(differences: list[list[int]]) -> int:
    index = 0
    for row in differences:
        index = index * len(row) + row.index(0)
    return index


def _sum_at(differences: list[list[int]], index: int) -> int:
    total = 0
    for row in reversed(differences):
        index, digit = divmod(index, len(row))
        total += row[digit]
    return total


def _too_many(what: str) -> TooManyOverlaps:
    return TooManyOverlaps(
        f"predictions must overlap less for an exact codomain gap, got rows of which {what}; "
        "use fewer rows, or differences that grow like powers of two"
    )
