"""The encoder: one rule per column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.encoder.numbers import EVERYWHERE, NumberColumn
from tacit.data.encoder.rule import ColumnRule, EncodedColumn, check_distinct
from tacit.data.encoder.words import HashedColumn
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Encoder"]

_BLOCK = 1 << 14  # rows that are dense at a time


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """The rules by which the columns of a table become a matrix of numbers, for these rows and all later ones.

    Parameters
    ----------
    left_out
        Columns that were not used, each with the reason.

    Examples
    --------
    >>> rows = pa.table({"age": [30, None], "city": ["Oslo", "Rome"], "note": ["", ""]})
    >>> encoder = Encoder.fitted(rows)
    >>> encoder.names, encoder.left_out
    (('age', 'age is missing', 'city=Oslo', 'city=Rome'), (('note', 'the same in every row'),))
    >>> encoder.scaled(rows).tolist()
    [[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    >>> encoder == Encoder.from_json(encoder.to_json())
    True
    """

    rules: tuple[ColumnRule, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_distinct(self.names)

    @classmethod
    def declared(
        cls,
        schema: pa.Schema,
        features: Sequence[str],
        *,
        ranges: Mapping[str, tuple[float | date, float | date]],
        categories: Mapping[str, Sequence[str]],
        gaps: Sequence[str] = (),
    ) -> Encoder:
        """Make rules only from names, types and declarations; no row is read.

        Parameters
        ----------
        ranges
            The range of each column of numbers and dates; ``"*"`` for columns without their own.
        categories
            The words of a column, one 0/1 column each; text without them is hashed.
        gaps
            The columns whose missing values get an indicator column; ``"*"`` for all.
        """
        from tacit.data.encoder.declare import declare_rules

        return cls(rules=declare_rules(schema, features, ranges=ranges, categories=categories, gaps=gaps))

    @classmethod
    def fitted(
        cls,
        rows: pa.Table,
        features: Sequence[str] | None = None,
        *,
        chosen: bool = False,
        ranges: Mapping[str, tuple[float | date, float | date]] | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
        most_words: int = 100,
    ) -> Encoder:
        """Make rules from rows whose features are public: from their means, standard deviations and words.

        Ids, names, constants, copies of other columns and columns of no known type are left out, with the reason.

        Parameters
        ----------
        chosen
            Whether a user named the columns; then none is left out.
        ranges, categories
            Declarations about some columns; they take precedence over the rows.
        most_words
            How many words of a column get a column each; with more of them, the column is hashed.
        """
        from tacit.data.encoder.fit import fit_rules

        names = tuple(rows.column_names) if features is None else tuple(features)
        rules, left_out = fit_rules(
            rows, names, chosen=chosen, ranges=ranges or {}, categories=categories or {}, most_words=most_words
        )
        return cls(rules=rules, left_out=left_out)

    @classmethod
    def of_numbers(cls, features: Sequence[str]) -> Encoder:
        """Return the encoder that leaves numbers unchanged."""
        return cls(rules=tuple(NumberColumn(name=name, low=-1.0, high=1.0, reach=EVERYWHERE) for name in features))

    @cached_property
    def encoded(self) -> tuple[EncodedColumn, ...]:
        """The columns of the matrix."""
        return tuple(column for rule in self.rules for column in rule.encoded)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the matrix."""
        return tuple(column.name for column in self.encoded)

    def columns(self, only: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the columns of the table that are read, for all columns of the matrix or for some."""
        return tuple(rule.name for rule in self._rules(only))

    def check(self, columns: Sequence[str], *, only: Sequence[str] | None = None, field: str | None = None) -> None:
        """Raise unless there are columns to read, and all of them are among some."""
        if not self.rules:
            raise InvalidInput(" ".join(["must name a column to use.", *self.notes()]), field="features")
        for name in self.columns(only):
            if name not in columns:
                listed = ", ".join(columns[:20])
                raise InvalidInput(f"must have the feature column {name!r}, its columns are {listed}", field=field)

    def encode(
        self, rows: pa.Table, *, only: Sequence[str] | None = None, field: str | None = None
    ) -> NDArray[np.float64]:
        """Return the matrix, or only some of its columns, in their own units; an error calls the rows ``field``."""
        rules = self._rules(only)
        self.check(rows.column_names, only=only, field=field)
        names = [column.name for rule in rules for column in rule.encoded]
        result = np.empty((rows.num_rows, len(names)))
        start = 0
        for rule in rules:  # into place one by one: never two copies of a large matrix
            end = start + len(rule.encoded)
            result[:, start:end] = rule.encode(rows[rule.name])
            start = end
        return result if only is None or names == list(only) else result[:, [names.index(name) for name in only]]

    def scaled(self, rows: pa.Table, *, field: str | None = None) -> NDArray[np.float64]:
        """Return the matrix, each measured column's range mapped to [-1, 1], values clipped to its reach."""
        return self.scale(self.encode(rows, field=field))

    def sparse(self, rows: pa.Table, *, field: str | None = None) -> csr_matrix:
        """Return :meth:`scaled` as a sparse matrix, a block of rows at a time: a dense one may fit no memory."""
        from scipy import sparse

        blocks = [
            sparse.csr_matrix(self.scaled(rows.slice(start, _BLOCK), field=field))
            for start in range(0, max(rows.num_rows, 1), _BLOCK)
        ]
        stacked: csr_matrix = sparse.vstack(blocks, format="csr")
        return stacked

    def scale(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a matrix in the columns' own units as :meth:`scaled` does."""
        scaled = (matrix - self._middle) / self._half
        for place, column in enumerate(self.encoded):
            if column.measured:
                np.clip(scaled[:, place], -column.reach, column.reach, out=scaled[:, place])
        return np.asarray(scaled)

    def unscale(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a scaled matrix in the columns' own units."""
        return np.asarray(matrix * self._half + self._middle)

    @property
    def _middle(self) -> NDArray[np.float64]:
        return np.array([column.middle for column in self.encoded])

    @property
    def _half(self) -> NDArray[np.float64]:
        return np.array([column.half for column in self.encoded])

    def notes(self) -> list[str]:
        """Return what a reader should know about the columns, one sentence each."""
        notes = [f"Left out: {'; '.join(f'{name} ({why})' for name, why in self.left_out)}."] if self.left_out else []
        hashed = [f"{rule.name} ({rule.buckets} buckets)" for rule in self.rules if isinstance(rule, HashedColumn)]
        if hashed:
            notes.append(f"Text hashed, so that some values share a column: {', '.join(hashed)}.")
        return notes

    def to_json(self) -> dict[str, Any]:
        """Return the rules as plain JSON."""
        from tacit.data.encoder.stored import rules_to_json

        return rules_to_json(self.rules, self.left_out)

    @classmethod
    def from_json(cls, document: object) -> Encoder:
        """Read rules that someone else may have written; raise if they are incomplete or too many."""
        from tacit.data.encoder.stored import rules_from_json

        rules, left_out = rules_from_json(document)
        return cls(rules=rules, left_out=left_out)

    def _rules(self, only: Sequence[str] | None) -> tuple[ColumnRule, ...]:
        if only is None:
            return self.rules
        wanted = set(only)
        return tuple(rule for rule in self.rules if wanted & {column.name for column in rule.encoded})
