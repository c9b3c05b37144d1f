"""The private table an audit is about: rows, labels as codes, features as numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.audit.groups import MOST_GROUPS
from tacit.data import Encoder, open_table, read_rows
from tacit.data.amounts import is_amount
from tacit.data.bundled_sets import BUNDLED, bundled_table
from tacit.data.classes import Classes
from tacit.data.column import as_column
from tacit.data.names import check_present
from tacit.data.rows import labelled_rows
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_delta

__all__ = ["AuditedTable", "bundled_source", "check_size", "source_from_file"]

_ROWS = 20_000
_LEAST_ROWS = 20  # half of them train a model, and the other half must be enough to evaluate it
_MOST_CLASSES = 100  # more is an amount or a name, and a model of each takes hours


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditedTable:
    """A table with its private column.

    Parameters
    ----------
    name
        What the report calls it.
    table
        The rows, the label column included.
    features
        The columns that an attacker may know.
    groups
        A public column: the leak is also measured among the rows of each of its values.
    file
        What commands call it; None for a table in memory.
    drawn
        Whether the rows were drawn from a longer table.
    without_label
        How many rows of the table were left out because they have no label.
    """

    name: str
    table: pa.Table
    label: str
    features: tuple[str, ...]
    groups: str | None = None
    file: str | None = None
    drawn: bool = False
    without_label: int = 0

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    @cached_property
    def _encoded(self) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        classes = Classes.of(self.table[self.label])
        return tuple(str(value) for value in classes.values), classes.encode(self.table[self.label])

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels that occur, as words."""
        return self._encoded[0]

    @property
    def has_numbers(self) -> bool:
        """Whether labels are amounts and no classes."""
        return is_amount(self.table[self.label])

    @property
    def codes(self) -> NDArray[np.int64]:
        """The label of each row as its place in ``classes``."""
        return self._encoded[1]

    @cached_property
    def encoder(self) -> Encoder:
        """How the features become numbers."""
        return Encoder.fitted(self.table, self.features)

    @cached_property
    def X(self) -> NDArray[np.float64]:  # noqa: N802 (scikit-learn's name)
        """The features as numbers."""
        return self.encoder.scaled(self.table)

    def check_delta(self, delta: float) -> None:
        """Raise unless delta is below 1/rows: a larger delta may allow a whole record to be released."""
        check_delta(delta, rows=self.rows)


@cache  # for all releases of one table, what is true of its rows is computed once
def bundled_source(name: str) -> AuditedTable:
    """Return a data set that comes with tacit.

    Examples
    --------
    >>> bundled_source("titanic").rows
    2201
    >>> bundled_source("moon")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: bundled must be one of digits, iris, satellite, titanic, got 'moon'
    """
    table = bundled_table(name)
    data = BUNDLED[name]()
    named = f"{data.name}, {len(data):,} rows"
    return AuditedTable(name=named, table=table, label=data.label, features=data.features, file=f"bundled:{name}")


def check_size(source: AuditedTable) -> AuditedTable:
    """Return the table, or raise if it has too few rows or too many labels to be audited."""
    if source.rows < _LEAST_ROWS:
        raise InvalidInput(f"a table must have {_LEAST_ROWS} rows or more to be audited, got {source.rows}")
    if source.has_numbers:
        return source
    if len(source.classes) > _MOST_CLASSES:
        raise InvalidInput(
            f"column {source.label!r} has {len(source.classes):,} labels, more than {_MOST_CLASSES}; "
            "name the column that holds the label, or group its values"
        )
    if np.sort(np.bincount(source.codes))[-2] < 2:
        raise InvalidInput(
            f"column {source.label!r} must have two labels or more of 2 rows or more each, one for each half of the "
            f"table, got {(np.bincount(source.codes) > 1).sum()}"
        )
    return source


def source_from_file(
    place: str | os.PathLike[str],
    *,
    label: str,
    features: Sequence[str] = (),
    groups: str | None = None,
    most_rows: int = _ROWS,
    rows: pa.Table | None = None,
) -> AuditedTable:
    r"""Read the rows with a label of the user's own table; of more than ``most_rows``, so many drawn at random.

    The same rows are drawn each time.

    Parameters
    ----------
    place
        Whatever :func:`tacit.data.open_table` reads by its name: a file, a pattern, a folder, a URL.
    features
        The columns that an attacker may know; default: all others.
    groups
        A public column of 2 to 100 values.
    most_rows
        An attack on this many rows takes seconds, and its interval is narrow.
    rows
        The rows of ``place``, if they were read already.
    """
    every = read_rows(open_table(place)) if rows is None else rows
    rows = labelled_rows(every, label)
    for column in features:
        check_present(column, rows.column_names, argument="features")
    if groups is not None:
        _check_groups(rows, groups, label)
    if label in features:
        raise InvalidInput(f"must not name the label {label!r}", field="features")
    _check_label(rows[label], label)
    file = os.fspath(place)
    called = Path(file).name
    gaps, drawn = every.num_rows - rows.num_rows, rows.num_rows > check_count(most_rows, name="most_rows")
    name = f"{called}, {f'{most_rows:,} of ' * drawn}{rows.num_rows:,} rows{' with a label' * (gaps > 0)}"
    if drawn:
        rows = rows.take(np.sort(np.random.default_rng(0).choice(rows.num_rows, most_rows, replace=False)))
    known = tuple(features) or tuple(column for column in rows.column_names if column != label)
    for column in (label, *known):
        if pa.types.is_nested(rows.schema.field(column).type):
            kind = rows.schema.field(column).type
            raise InvalidInput(f"column {column!r} is {kind}, neither numbers nor text; leave it out of the features")
    if not known:
        raise InvalidInput(f"{called} must have a column beside the label {label!r}, got none")
    source = AuditedTable(
        name=name,
        table=rows,
        label=label,
        features=known,
        groups=groups,
        file=file,
        drawn=drawn,
        without_label=gaps,
    )
    source.encoder.check(known)
    return source


def _check_groups(rows: pa.Table, groups: str, label: str) -> None:
    check_present(groups, rows.column_names, argument="groups")
    if groups == label:
        raise InvalidInput(f"must not name the label {label!r}", field="groups")
    found = 0 if pa.types.is_nested(rows.schema.field(groups).type) else len(rows[groups].unique())
    if not 2 <= found <= MOST_GROUPS:
        raise InvalidInput(f"must name a column of 2 to {MOST_GROUPS} values, {groups!r} has {found:,}", field="groups")


def _check_label(column: pa.ChunkedArray, name: str) -> None:
    if pa.types.is_temporal(column.type):
        raise InvalidInput(f"column {name!r} has dates or times; a label has numbers, text or truth values")
    if pa.types.is_nested(column.type):
        raise InvalidInput(f"column {name!r} is {column.type}; a label has numbers, text or truth values")
    as_column(column, name=name)
    if len(column.unique()) == 1:
        value = column[0].as_py()
        raise InvalidInput(f"column {name!r} has one value, {value!r}, in all rows; a label has two or more")
