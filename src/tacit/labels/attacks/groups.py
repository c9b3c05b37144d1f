"""What rows with the same value of a column reveal: several rows of one person are shown by each other's labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.special import softmax

from tacit.labels.attacks.learn_prior import weigh
from tacit.labels.attacks.order import CHANCE, log_likelihood
from tacit.labels.mechanisms.evidence import ReleasedEvidence

__all__ = ["keys_of", "with_groups"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_FEWEST_VALUES, _MOST_ROWS = 20, 20  # of a key: its values, and rows per value; what repeats more often is a category
_ALL = "all columns"


def keys_of(rows: pa.Table) -> dict[str, Codes]:
    """Return the columns that repeat as the key of a person does, and all together, as numbers of their values."""
    return {name: codes for name, codes in _numbered(rows) if _is_key(codes)}


def with_groups(evidence: ReleasedEvidence, prior: Array, keys: Mapping[str, Codes]) -> tuple[str, Array] | None:
    """Return P(label) of each row from the labels released for rows of the same value too, and the column; or None.

    The labels of such rows are taken for one label, so that what was released for the others multiplies. How far that
    goes is weighed by the likelihood of the released labels, which also decides whether it reveals more than ``prior``.
    """
    present = evidence.present
    if not keys or not present.any():
        return None
    rows = np.array(np.broadcast_to(prior, evidence.likelihood.shape))
    known, common = evidence.likelihood[present], rows[present]
    told = np.log(np.maximum(known, 1e-300))
    found = {
        name: softmax(np.log(np.maximum(common, 1e-300)) + _others(codes[present], told), axis=1)
        for name, codes in keys.items()
    }
    name = max(found, key=lambda one: log_likelihood((found[one] + common) / 2, known))
    rows[present] = weigh(found[name], common=common, likelihood=known)
    without = weigh(common, common=common, likelihood=known)  # what calibration alone gains is not the column's
    gain = log_likelihood(rows[present], known) - log_likelihood(without, known)
    # two rows of a value count twice, each by the other's label: so does what they gain by chance
    return (name, rows) if gain > 2 * (CHANCE + np.log(len(keys))) else None


def _others(codes: Codes, told: Array) -> Array:
    """The sums over the other rows of the same value."""
    sums = np.stack([np.bincount(codes, column) for column in told.T], axis=1)
    return np.asarray(sums[codes] - told)


def _numbered(rows: pa.Table) -> Iterator[tuple[str, Codes]]:
    every = np.zeros(rows.num_rows, dtype=np.int64)
    for name in rows.column_names:
        codes = _codes(rows[name])
        if codes is None:
            continue
        yield name, codes
        every = np.unique(every * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    if len(rows.column_names) > 1:
        yield _ALL, every


def _codes(column: pa.ChunkedArray) -> Codes | None:
    try:
        values = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    except pa.ArrowNotImplementedError:  # lists and the like
        return None
    return np.asarray(values.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def _is_key(codes: Codes) -> bool:
    sizes = np.bincount(codes)
    sizes = sizes[sizes > 0]
    return len(sizes) >= _FEWEST_VALUES and 1.0 < len(codes) / len(sizes) <= _MOST_ROWS
