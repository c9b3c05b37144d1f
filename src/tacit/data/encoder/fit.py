"""Rules from rows whose features are public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.data.encoder.declare import Range, check_declared, declared_rule
from tacit.data.encoder.kinds import days_of, is_date, is_number, is_word, numbers_of, words_of
from tacit.data.encoder.numbers import DateColumn, NumberColumn
from tacit.data.encoder.rule import ColumnRule, Matrix
from tacit.data.encoder.typical import gap_codes, typical_values
from tacit.data.encoder.words import CategoryColumn, HashedColumn
from tacit.data.encoder.written_numbers import signs_of_numbers
from tacit.data.names import check_present
from tacit.privacy.errors import InvalidInput

__all__ = ["fit_rules"]

_BUCKETS = 0.64  # of a hashed column, for each word that a column could have had without hashing
_FEW_NAMES = 20
_FEW_ROWS = 50  # up to here even measured values may all differ
_PER_NAME = 3  # rows per value of a name, on average, at most
_COLLISIONS = 20  # expected of random integers; ids have none
_REACH = 20.0  # standard deviations
_WIDEST = 2.0**53  # of a range of integers that measure or count something


def fit_rules(
    rows: pa.Table,
    features: Sequence[str],
    *,
    chosen: bool,
    ranges: Mapping[str, Range],
    categories: Mapping[str, Sequence[str]],
    most_words: int,
) -> tuple[tuple[ColumnRule, ...], tuple[tuple[str, str], ...]]:
    """Return the rules, and the columns that are left out with the reason."""
    check_declared(features, ranges=ranges, categories=categories)
    rules: list[ColumnRule] = []
    left_out: list[tuple[str, str]] = []
    seen: dict[object, str] = {}  # a used column for each start
    for name in features:
        column = rows[check_present(name, rows.column_names, argument="features")]
        declared = name in ranges or name in categories
        reason = _reason(column) or _copied(column, rows, seen.setdefault(_start(column), name), name)
        if reason and not declared and not chosen:
            left_out.append((name, reason))
            continue
        gaps = bool(pc.any(pc.is_null(column, nan_is_null=True)).as_py())
        rule = declared_rule(name, column.type, ranges=ranges, categories=categories, gaps=gaps)
        rules.append(rule or _rule(name, column, gaps=gaps, most_words=most_words))
    return tuple(rules), tuple(left_out)


def _rule(name: str, column: pa.ChunkedArray, *, gaps: bool, most_words: int) -> ColumnRule:
    if is_date(column.type):
        return _measured(DateColumn, name, days_of(column, name=name), gaps=gaps)
    if is_number(column.type):
        return _measured(NumberColumn, name, numbers_of(column, name=name), gaps=gaps)
    if not is_word(column.type):
        raise InvalidInput(f"must leave out column {name!r}, which is {column.type}", field="features")
    words = words_of(column).unique().drop_null()
    if not 0 < len(words) <= most_words:
        return HashedColumn(name=name, buckets=round(_BUCKETS * most_words), gaps=gaps)
    return CategoryColumn(name=name, words=tuple(sorted(words.to_pylist())), gaps=gaps)


def _measured(kind: type[NumberColumn], name: str, values: Matrix, *, gaps: bool) -> NumberColumn:
    """Return a rule that neither typing errors nor codes for gaps decide: one value of 1e15 would hide all others."""
    codes = gap_codes(values)
    low, high = _spread(typical_values(values))
    return kind(name=name, low=low, high=high, reach=_REACH, codes=codes, gaps=gaps or bool(codes))


def _spread(values: Matrix) -> tuple[float, float]:
    """Return one standard deviation around the mean, so that scaling standardizes."""
    known = values[np.isfinite(values)].astype(np.float64)
    mean = float(known.mean()) if len(known) else 0.0
    deviation = float(known.std()) if len(known) else 0.0
    if not mean - deviation < mean < mean + deviation:  # a constant, at the precision of floats
        deviation = max(1.0, abs(mean))
    return mean - deviation, mean + deviation


def _reason(column: pa.ChunkedArray) -> str | None:
    """Why a column predicts nothing for other rows, in words; None if it may."""
    kind = column.type
    if not (is_number(kind) or is_date(kind) or is_word(kind) or pa.types.is_boolean(kind)):
        return f"{kind}, neither numbers, truth values, dates nor text"
    values = column.unique()
    if column.null_count == len(column):
        return "no value in any row"
    if len(values) < 2:
        return "the same in every row"
    count, rows = len(values.drop_null()), len(column) - column.null_count
    if is_word(kind) and ((count > _FEW_ROWS and count * _PER_NAME > rows) or count == rows >= _FEW_NAMES):
        if signs := signs_of_numbers(column):
            return f"numbers written as text, with {signs}; write plain numbers to use them"
        return f"{count:,} values in {rows:,} rows: an id, a name or free text"
    if pa.types.is_integer(kind) and count * _PER_NAME > rows > _FEW_ROWS and _range_of(column) > _WIDEST:
        return "an id: integers of more than 53 bits"
    if pa.types.is_integer(kind) and count == rows > _FEW_ROWS and _counts(column.drop_null()):
        return "an id: integers that differ in every row"
    return None


def _start(column: pa.ChunkedArray) -> object:
    """What a column and a copy of it share."""
    return column.type, column.null_count, str(column.slice(0, _FEW_ROWS).to_pylist())


def _copied(column: pa.ChunkedArray, rows: pa.Table, other: str, name: str) -> str | None:
    return f"the same as {other} in every row" if other != name and column.equals(rows[other]) else None


def _range_of(column: pa.ChunkedArray) -> float:
    ends = pc.min_max(column).as_py()
    return float(ends["max"] - ends["min"])


def _counts(column: pa.ChunkedArray) -> bool:
    """Whether distinct integers are in order, or fill their range too well to be drawn at random."""
    numbers = np.asarray(column).astype(np.float64)
    steps = np.diff(numbers)
    pairs = len(numbers) * (len(numbers) - 1) / 2
    return bool((steps > 0).all() or (steps < 0).all() or pairs > _COLLISIONS * np.ptp(numbers))
