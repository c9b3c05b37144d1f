"""A bound on the rows of each person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.queries import is_ordered
from tacit.data.rows import read_rows
from tacit.data.view import TableView
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import ibis

__all__ = ["ROWS_PUBLIC", "check_person", "draw_seed", "limit_rows", "limit_table"]

ROWS_PUBLIC = "how many rows each person has is public"
"""The assumption of a guarantee for persons: rows beyond the bound are left out, and the release shows how many."""


def draw_seed(rng: np.random.Generator) -> int:
    """Draw a public seed for :func:`limit_rows`; it reveals nothing about the generator's other draws."""
    return int(rng.integers(2**63))


def check_person(person: pa.Array | pa.ChunkedArray) -> None:
    """Raise if a column cannot identify the person of every row; before a charge, because a later error costs it."""
    if pa.types.is_nested(person.type):
        raise InvalidInput(
            f"must be a column of numbers or strings, got {person.type}; make one column that identifies a person",
            field="person",
        )
    if person.null_count:
        raise InvalidInput(f"must identify the person of every row, got {person.null_count} missing", field="person")


def limit_rows(person: pa.ChunkedArray, *, rows: int, seed: int) -> NDArray[np.int64]:
    """Return the numbers of at most ``rows`` rows of each person, chosen at random by a seed, in ascending order.

    Anyone who has the column finds the same rows again. The seed alone does not reveal how many there are.
    """
    check_person(person)
    whose = person.combine_chunks().dictionary_encode().indices.to_numpy()
    draws = np.random.Philox(key=seed).random_raw(len(whose))  # raw draws stay the same from NumPy to NumPy
    by_person = np.lexsort((draws, whose))
    counts = np.bincount(whose)
    rank = np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(by_person[rank < rows]).astype(np.int64)


def limit_table(
    table: TableView | ibis.Table, *, columns: Sequence[str], person: str, rows: int, seed: int
) -> TableView:
    """Return the columns of a table with at most ``rows`` rows of each person, drawn as by :func:`limit_rows`."""
    if not is_ordered(table):
        raise InvalidInput("requires a table with a row order: a file or a frame", field="person")
    read = read_rows(table, columns=list(dict.fromkeys([*columns, person])))
    used = limit_rows(read[person], rows=rows, seed=seed)
    return TableView.of_arrow(read.select(list(columns)).take(pa.array(used)))
