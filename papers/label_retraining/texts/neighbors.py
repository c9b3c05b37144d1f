"""The nearest training rows of every row: found once for all epsilons and seeds, and kept."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from scipy.sparse import csr_array

from papers.label_retraining.texts.views import Floats, View
from tacit.privacy.files import write_atomically

Array = NDArray[np.float64]
Rows = NDArray[np.int32]
BLOCK = 1024  # rows whose distances to all others are held at a time


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Numbers of training rows, nearest first; a training row is not its own neighbor."""

    train: Rows
    test: Rows


def find_near(view: View, *, count: int, folder: Path | None) -> Near:
    """Return the ``count`` rows at the least angle, as kept in the folder or found now."""
    rows, others = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (view.train, view.test))
    return Near(_kept(rows, rows, count, folder), _kept(others, rows, count, folder))


def _kept(queries: Floats, rows: Floats, count: int, folder: Path | None) -> Rows:
    if folder is None:
        return nearest(queries, rows, count=count)
    folder.mkdir(parents=True, exist_ok=True)
    # rounded: the last digits of an embedding are not the same in every run
    name = hashlib.sha256(queries[:100].astype(np.float16).tobytes() + rows[:100].astype(np.float16).tobytes())
    path = folder / f"near_{len(queries)}_{count}_{name.hexdigest()[:8]}.npy"
    if not path.exists():
        buffer = io.BytesIO()
        np.save(buffer, nearest(queries, rows, count=count))
        with write_atomically(path, force=True) as file:
            file.write(buffer.getvalue())
    return np.asarray(np.load(path), np.int32)


def nearest(queries: Floats, rows: Floats, *, count: int) -> Rows:
    """Return the rows of largest product with each query, largest first; a row of both is not its own neighbor."""
    found = np.empty((len(queries), count), np.int32)
    blocks = range(0, len(queries), BLOCK)
    for start in track(blocks, description="neighbors", console=Console(stderr=True), transient=True):
        far = -(queries[start : start + BLOCK] @ rows.T)
        if queries is rows:
            far[np.arange(len(far)), np.arange(start, start + len(far))] = np.inf
        best = np.argpartition(far, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(far, best, axis=1), axis=1)
        found[start : start + BLOCK] = np.take_along_axis(best, order, axis=1)
    return found


def mean_over(near: Rows, values: Array, *, count: int) -> Array:
    """Return the mean of a row's ``count`` nearest neighbors' values, of all that are known if fewer."""
    count = min(count, near.shape[1])
    n, ends = len(near), np.arange(len(near) + 1) * count
    mean = csr_array((np.full(n * count, 1 / count), near[:, :count].ravel(), ends), shape=(n, len(values)))
    return np.asarray(mean @ values)
