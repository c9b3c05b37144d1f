"""Public feature columns as one matrix of numbers, the same for rows that come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data import numeric_matrix
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput

__all__ = ["FeatureEncoder", "NumberColumn", "WordColumn"]

_MOST_WORDS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberColumn:
    """Numbers, truth values: centred and scaled; a missing one becomes the mean.

    Examples
    --------
    >>> NumberColumn(name="age", mean=40.0, scale=10.0).encode(pa.array([50, None])).tolist()
    [[1.0], [0.0]]
    """

    name: str
    mean: float
    scale: float
    width: int = 1

    def encode(self, column: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
        """Return one column."""
        scaled = (_numbers(column, self.name) - self.mean) / self.scale
        return np.where(np.isfinite(scaled), scaled, 0.0)[:, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordColumn:
    """Text: one 0/1 column for each word that was there when the encoder was made; another word is 0 in all.

    Examples
    --------
    >>> WordColumn(name="city", words=("Oslo", "Rome")).encode(pa.array(["Rome", "Bonn"])).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """

    name: str
    words: tuple[str, ...]

    @property
    def width(self) -> int:
        """How many columns it becomes."""
        return len(self.words)

    def encode(self, column: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
        """Return a 0/1 column a word."""
        places = pc.index_in(column.cast(pa.string()), value_set=pa.array(self.words, pa.string()))
        codes = np.asarray(pc.fill_null(places, -1))
        return np.asarray(codes[:, None] == np.arange(self.width), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class FeatureEncoder:
    """How each feature column becomes numbers; made from the training rows' features, which are public.

    Examples
    --------
    >>> rows = pa.table({"age": [30, 50], "city": ["Oslo", "Rome"]})
    >>> encoder = FeatureEncoder.of(rows, columns=["age", "city"])
    >>> encoder.encode(rows).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """

    columns: tuple[NumberColumn | WordColumn, ...]

    @classmethod
    def of(cls, rows: pa.Table, *, columns: Sequence[str]) -> FeatureEncoder:
        """Read means, scales and words off the training rows."""
        if not columns:
            raise InvalidInput("must name at least one column, got none", field="features")
        for name in columns:
            check_present(name, rows.column_names, argument="features")
        return cls(tuple(_column(name, rows[name]) for name in columns))

    def check(self, columns: Sequence[str], *, argument: str) -> None:
        """Raise unless all feature columns are among ``columns``."""
        for column in self.columns:
            if column.name not in columns:
                listed = ", ".join(columns[:20])
                raise InvalidInput(f"{argument} must have the feature column {column.name!r}, its columns are {listed}")

    def encode(self, rows: pa.Table, *, argument: str = "rows") -> NDArray[np.float64]:
        """Return the matrix of some rows; columns that the encoder does not know are left out."""
        self.check(rows.column_names, argument=argument)
        result = np.empty((rows.num_rows, sum(column.width for column in self.columns)))
        start = 0
        for column in self.columns:  # into place one by one: never two copies of a large matrix
            result[:, start : start + column.width] = column.encode(rows[column.name])
            start += column.width
        return result


def _column(name: str, values: pa.ChunkedArray) -> NumberColumn | WordColumn:
    if _is_number(values.type):
        numbers = _numbers(values, name)
        known = numbers[np.isfinite(numbers)]
        scale = float(known.std()) if len(known) else 0.0
        return NumberColumn(name=name, mean=float(known.mean()) if len(known) else 0.0, scale=scale or 1.0)
    if pa.types.is_temporal(values.type) or pa.types.is_nested(values.type):
        raise InvalidInput(f"column {name!r} is {values.type}, neither numbers nor text; leave it out of the features")
    words = values.cast(pa.string()).unique().drop_null()
    if len(words) > _MOST_WORDS:
        raise InvalidInput(
            f"column {name!r} has {len(words)} different words, more than {_MOST_WORDS}; leave it out of the features"
        )
    return WordColumn(name=name, words=tuple(sorted(words.to_pylist())))


def _is_number(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def _numbers(column: pa.Array | pa.ChunkedArray, name: str) -> NDArray[np.float64]:
    if pa.types.is_null(column.type):  # all missing
        return np.full(len(column), np.nan)
    if not _is_number(column.type):
        raise InvalidInput(f"column {name!r} must be numbers, as in the rows trained on, got {column.type}")
    return numeric_matrix(pa.table({name: column}), columns=[name])[:, 0]
