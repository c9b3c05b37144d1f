"""Text: declared words one by one, or any words by a public hash."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.data.encoder.kinds import words_of
from tacit.data.encoder.rule import Column, ColumnRule, EncodedColumn, Matrix
from tacit.privacy.errors import InvalidInput

__all__ = ["CategoryColumn", "HashedColumn"]


@dataclass(frozen=True, kw_only=True)
class CategoryColumn(ColumnRule):
    """One 0/1 column for each word of a list; a gap, or any other word, is 0 in all of them."""

    kind: ClassVar[str] = "category"

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.words or len(set(self.words)) < len(self.words):
            raise InvalidInput(
                f"must be one or more different words for column {self.name!r}, got {', '.join(self.words) or 'none'}",
                field="categories",
            )

    def _encoded(self) -> tuple[EncodedColumn, ...]:
        return tuple(EncodedColumn(name=f"{self.name}={word}") for word in self.words)

    def _encode(self, column: Column) -> Matrix:
        places = pc.index_in(words_of(column), value_set=pa.array(self.words, pa.string()))
        return _indicators(places, len(self.words))


@dataclass(frozen=True, kw_only=True)
class HashedColumn(ColumnRule):
    """One 0/1 column for each bucket of a public hash, which needs no list of words; a gap is 0 in all of them.

    Words that share a bucket cannot be distinguished.
    """

    kind: ClassVar[str] = "hashed"

    buckets: int

    def _encoded(self) -> tuple[EncodedColumn, ...]:
        return tuple(EncodedColumn(name=f"{self.name}#{bucket}") for bucket in range(self.buckets))

    def _encode(self, column: Column) -> Matrix:
        words = words_of(column).dictionary_encode()
        buckets = [self._bucket(word) for word in words.dictionary.to_pylist()]
        return _indicators(pa.array(buckets, pa.int32()).take(words.indices), self.buckets)

    def _bucket(self, word: str) -> int:
        return int.from_bytes(blake2b(word.encode(), digest_size=8).digest()) % self.buckets


def _indicators(places: pa.Array, width: int) -> Matrix:
    codes = np.asarray(pc.fill_null(places, -1))
    return np.asarray(codes[:, None] == np.arange(width), dtype=np.float64)
