"""Whether data sets share rows: keyed samples of rows and of runs of labels, which stay in the ledger.

Of all hashes of a data set the least are kept. Below the least limit of two such samples both are uniform, so the share
of hashes that they have in common estimates the share of rows (Broder 1997, bottom-k sketches). Their HMACs are stored.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.privacy.canonical import decode

__all__ = ["DataSetOverlap", "DataSetSketch", "HashSample", "SketchedRows"]

Hashes = NDArray[np.uint64]

_KEPT = 1024
_LABELS = (64, 8)  # in a row, and the fewest changes of a window that tells something
_RUNS = ((24, 12), (64, 16))  # short windows for rare labels, long ones for many classes
_SAMPLES = ("rows", "labels", "runs")
_MARK = 8  # bytes
_ENOUGH, _SHARE = 5, 0.05  # hashes in common, and their share, of an overlap
_BASE = np.uint64(0x9E3779B97F4A7C15)
_NAN = int(np.float64(np.nan).view(np.uint64))
_NONE = np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetOverlap:
    """Another data set with rows of this one.

    Parameters
    ----------
    share
        About which share of the smaller of the two is in the other.
    """

    data_set: str
    share: float

    def __str__(self) -> str:
        return f"shares rows with {self.data_set}: about {round(100 * self.share)}% of the smaller of the two"


@dataclass(frozen=True, slots=True)
class HashSample:
    """Keyed marks of the least hashes, and the share of all hashes that is at most the largest of them."""

    limit: float = 1.0
    marks: frozenset[bytes] = frozenset()

    def share_with(self, other: HashSample) -> float:
        """Return about which share of the smaller is in the other; 0 if none is seen."""
        limit = min(self.limit, other.limit)
        common = len(self.marks & other.marks)  # each is below both limits
        fewest = min(len(one.marks) * limit / one.limit for one in (self, other))
        return min(1.0, common / fewest) if common >= _ENOUGH and common >= _SHARE * fewest else 0.0

    def to_bytes(self) -> bytes:
        """Return the sample as bytes."""
        return struct.pack("<d", self.limit) + b"".join(sorted(self.marks))

    @classmethod
    def from_bytes(cls, stored: bytes) -> HashSample:
        """Read the sample back."""
        marks = (stored[start : start + _MARK] for start in range(8, len(stored), _MARK))
        return cls(struct.unpack("<d", stored[:8])[0], frozenset(marks))


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetSketch:
    """Samples of rows, of labels in a row, and of runs of equal labels in a row, whatever labels are called.

    Windows count forward and backward alike. Rows that repeat much identify nobody, so they have no marks.
    """

    rows: HashSample = HashSample()
    labels: HashSample = HashSample()
    runs: HashSample = HashSample()

    def share_with(self, other: DataSetSketch) -> float:
        """Return about which share of the smaller is in the other; 0 if none is seen."""
        pairs = (self.rows, other.rows), (self.labels, other.labels), (self.runs, other.runs)
        return max(one.share_with(two) for one, two in pairs)

    def to_columns(self) -> dict[str, bytes]:
        """Return the samples as bytes."""
        return {name: getattr(self, name).to_bytes() for name in _SAMPLES}

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> DataSetSketch:
        """Return the sketch that a row of the ledger has."""
        return cls(**{name: HashSample.from_bytes(bytes(row[name])) for name in _SAMPLES})


class SketchedRows:
    """Sketches rows as they pass."""

    def __init__(self, secret: bytes, *, private: Sequence[str] | None) -> None:
        self._private, self._secret = private, secret
        self._key = np.uint64(int.from_bytes(hmac.digest(secret, b"sketch", "sha256")[:8], "big"))
        self._rows, self._labels, self._runs = _LeastHashes(), _LeastHashes(), _LeastHashes()
        self._count = 0
        self._last_labels = _NONE
        self._last_runs = (_NONE, np.zeros(0, dtype=np.int64))

    def pass_private(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the private columns of each batch; all columns if none is named."""
        for batch in batches:
            names = batch.schema.names
            places = range(len(names)) if self._private is None else [names.index(name) for name in self._private]
            others = [place for place in range(len(names)) if place not in places] or list(places)
            private = batch.select(list(places))
            self._rows.add(self._hashes(batch.select(others)))
            self._add_labels(self._hashes(private))
            self._count += batch.num_rows
            yield private

    def sketch(self) -> DataSetSketch:
        """Return the sketch of all rows so far."""
        identify = 2 * self._rows.distinct > self._count
        return DataSetSketch(
            rows=self._rows.sample(self._secret) if identify else HashSample(),
            labels=self._labels.sample(self._secret),
            runs=self._runs.sample(self._secret),
        )

    def _hashes(self, batch: pa.RecordBatch) -> Hashes:
        """One hash per row, whatever the order and the names of the columns."""
        columns = (_mixed(_words(column, self._key) ^ self._key) for column in batch.columns)
        return _mixed(sum(columns, np.zeros(batch.num_rows, dtype=np.uint64)) ^ self._key)

    def _add_labels(self, labels: Hashes) -> None:
        if not len(labels):
            return
        joined = np.concatenate([self._last_labels, labels])
        self._labels.add(_windows(joined, *_LABELS))
        self._last_labels = joined[1 - _LABELS[0] :]
        values, lengths = _runs(labels, *self._last_runs)
        between = values[:-2] == values[2:]  # a run whose neighbors are known, so not the first and the last
        words = _mixed(lengths[1:-1].astype(np.uint64) * np.uint64(2) + between + self._key)
        for width, changes in _RUNS:
            self._runs.add(_windows(words, width, changes))
        longest = _RUNS[-1][0] + 2
        self._last_runs = values[-longest:], lengths[-longest:]


class _LeastHashes:
    """The least distinct hashes."""

    def __init__(self) -> None:
        self.kept = _NONE

    def add(self, hashes: Hashes) -> None:
        new = hashes[hashes <= self.kept[-1]] if len(self.kept) == _KEPT else hashes
        self.kept = np.unique(np.concatenate([self.kept, new]))[:_KEPT]

    @property
    def distinct(self) -> float:
        """About how many there were."""
        return len(self.kept) / self._limit

    @property
    def _limit(self) -> float:
        return float(f"{float(self.kept[-1]) / 2.0**64:.2g}") if len(self.kept) == _KEPT else 1.0

    def sample(self, secret: bytes) -> HashSample:
        """Return it under the secret: without that, nobody can try out rows, nor learn the key of the hashes."""
        marks = (hmac.digest(secret, b"sketch" + one.tobytes(), "sha256")[:_MARK] for one in self.kept)
        return HashSample(self._limit, frozenset(marks))


def _words(column: pa.Array, key: np.uint64) -> Hashes:
    """The values as words of 64 bits: numbers by value, also in text, and everything else by its text."""
    column = decode(column)
    if pa.types.is_boolean(column.type) or pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        return _bits(numbers)
    try:
        coded = column.cast(pa.large_string(), safe=False).dictionary_encode(null_encoding="encode")
    except pa.ArrowException:  # lists and the like: rows are found by the other columns
        return np.zeros(len(column), dtype=np.uint64)
    words = np.fromiter((_word(value, key) for value in coded.dictionary.to_pylist()), dtype=np.uint64)
    return np.asarray(words[coded.indices.to_numpy(zero_copy_only=False)])


def _word(text: str | None, key: np.uint64) -> int:
    try:
        number = float(text or "nan")
    except ValueError:
        content = str(text).strip().encode()
        return int.from_bytes(hashlib.blake2b(content, digest_size=8, key=key.tobytes()).digest(), "big")
    return _NAN if math.isnan(number) else int.from_bytes(struct.pack("=d", number + 0.0), sys.byteorder)


def _bits(numbers: NDArray[np.float64]) -> Hashes:
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)


def _mixed(words: Hashes) -> Hashes:
    """Mix the bits of words (Steele, Lea and Flood 2014, SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _runs(labels: Hashes, values: Hashes, lengths: NDArray[np.int64]) -> tuple[Hashes, NDArray[np.int64]]:
    """The runs of equal labels, which go on from the last of those before."""
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    new, counts = labels[starts], np.diff(np.append(starts, len(labels)))
    if len(values) and values[-1] == new[0]:
        counts[0] += lengths[-1]
        values, lengths = values[:-1], lengths[:-1]
    return np.concatenate([values, new]), np.concatenate([lengths, counts])


def _windows(words: Hashes, width: int, changes: int) -> Hashes:
    """A hash of every window with enough changes, the same forward and backward."""
    if len(words) < width:
        return _NONE
    powers = _powers(_BASE, len(words))
    inverse = _powers(np.uint64(pow(int(_BASE), -1, 2**64)), len(words))
    forward = _sums(words * powers, width) * inverse[: len(words) - width + 1]
    backward = _sums(words * inverse, width) * powers[width - 1 :]
    changed = _sums(np.append(False, words[1:] != words[:-1]).astype(np.uint64), width)
    return _mixed(_mixed(forward) + _mixed(backward))[changed >= changes]


def _powers(base: np.uint64, count: int) -> Hashes:
    return np.cumprod(np.full(count, base), dtype=np.uint64)


def _sums(words: Hashes, width: int) -> Hashes:
    """Sums of windows, modulo 2^64."""
    total = np.append(np.uint64(0), np.cumsum(words, dtype=np.uint64))
    return np.asarray(total[width:] - total[:-width])
