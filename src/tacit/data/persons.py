"""Rows of persons: how many of each are used."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["draw_seed", "limit_rows"]


def draw_seed(rng: np.random.Generator) -> int:
    """Draw a public seed for :func:`limit_rows`; it reveals nothing of what else the generator draws."""
    return int(rng.integers(2**63))


def limit_rows(person: pa.ChunkedArray, *, rows: int, seed: int) -> NDArray[np.int64]:
    """Return the numbers of at most ``rows`` rows of each person, chosen at random by a seed, in ascending order.

    Whoever has the column finds the same rows again. Whoever has only the seed does not learn how many there are.

    Examples
    --------
    >>> len(limit_rows(pa.chunked_array([["a", "b", "a", "a"]]), rows=2, seed=0))
    3
    """
    if person.null_count:
        raise InvalidInput(f"must say whose row it is in every row, got {person.null_count} missing", field="person")
    whose = person.combine_chunks().dictionary_encode().indices.to_numpy()
    draws = np.random.Philox(key=seed).random_raw(len(whose))  # raw draws stay the same from NumPy to NumPy
    by_person = np.lexsort((draws, whose))
    counts = np.bincount(whose)
    rank = np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(by_person[rank < rows]).astype(np.int64)
