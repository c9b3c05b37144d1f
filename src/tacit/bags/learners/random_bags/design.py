"""Rows as a sparse matrix: numbers scaled, words as 0/1 columns; the same columns for rows that come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from tacit.data import numeric_matrix
from tacit.privacy.errors import InvalidInput

__all__ = ["Design", "design_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """How columns become numbers.

    Parameters
    ----------
    numbers
        Numeric columns, each with its mean and scale.
    words
        Other columns, each with the values that have a 0/1 column of their own.
    """

    numbers: tuple[tuple[str, float, float], ...]
    words: tuple[tuple[str, pa.Array], ...]

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [name for name, *_ in self.numbers] + [name for name, _ in self.words]

    def matrix(self, rows: pa.Table) -> sparse.csr_matrix:
        """Return one row per row; a missing number is the mean, an unknown word is 0 in all of its columns."""
        blocks = [sparse.csr_matrix(self._scaled(rows))] if self.numbers else []
        for name, values in self.words:
            code = np.asarray(pc.fill_null(pc.index_in(_words(rows[name]), value_set=values), -1)).astype(np.int64)
            at = np.flatnonzero(code >= 0)
            shape = (rows.num_rows, len(values))
            blocks.append(sparse.csr_matrix((np.ones(len(at)), (at, code[at])), shape=shape))
        stacked: sparse.csr_matrix = sparse.hstack(blocks, format="csr")
        return stacked

    def _scaled(self, rows: pa.Table) -> NDArray[np.float64]:
        names, means, scales = zip(*self.numbers, strict=True)
        scaled = (numeric_matrix(rows, columns=list(names)) - np.array(means)) / np.array(scales)
        return np.where(np.isfinite(scaled), scaled, 0.0)


def design_of(rows: pa.Table, *, columns: Sequence[str], most_values: int = 1000) -> Design:
    """Look at rows, not at labels, and return how to encode them."""
    numbers, words = [], []
    for name in columns:
        kind = rows.schema.field(name).type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            values = numeric_matrix(rows, columns=[name])[:, 0]
            known = values[np.isfinite(values)]
            mean, scale = (float(known.mean()), float(known.std())) if len(known) else (0.0, 1.0)
            numbers.append((name, mean, scale or 1.0))
        else:
            counted = pc.value_counts(_words(rows[name]).drop_null())
            order = np.argsort(-counted.field("counts").to_numpy(), kind="stable")[:most_values]
            words.append((name, counted.field("values").take(pa.array(order))))
    if not numbers and not words:
        raise InvalidInput("must have at least one column to learn from, got none", field="data")
    return Design(numbers=tuple(numbers), words=tuple(words))


def _words(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks().cast(pa.string())
