"""Rows of persons: how many of each are used."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["limit_rows"]


def limit_rows(person: pa.ChunkedArray, *, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the numbers of at most ``rows`` rows of each person, drawn at random, in ascending order.

    Examples
    --------
    >>> len(limit_rows(pa.chunked_array([["a", "b", "a", "a"]]), rows=2, rng=np.random.default_rng(0)))
    3
    """
    if person.null_count:
        raise InvalidInput(f"must say whose row it is in every row, got {person.null_count} missing", field="person")
    whose = person.combine_chunks().dictionary_encode().indices.to_numpy()
    shuffled = rng.permutation(len(whose))
    by_person = shuffled[np.argsort(whose[shuffled], kind="stable")]
    counts = np.bincount(whose)
    rank = np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(by_person[rank < rows]).astype(np.int64)
