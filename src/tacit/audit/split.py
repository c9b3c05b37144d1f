"""The rows that an audit protects and the rows that it withholds, chosen so that anyone with the seed can redo it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.audit.source import AuditedTable
from tacit.privacy.trial import Part, Withheld

__all__ = ["RowSplit", "shuffle_rows", "split_rows"]

Places = NDArray[np.int64]

_STREAM = 0x5B117  # apart from a release that is made with the same seed


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSplit:
    """The rows that are protected, what an outsider knows of them, and the rows that nobody uses but the judge."""

    source: AuditedTable
    inside: Places
    outside: Places
    columns: tuple[str, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that have rows."""
        return ("protected", "known", "withheld") if len(self.outside) else ("protected", "known")

    def part(self, name: Part) -> pa.Table:
        """Return the rows of one part."""
        return {"protected": self.protected, "known": self.known, "withheld": self.withheld}[name]

    @cached_property
    def protected(self) -> pa.Table:
        """The rows that are protected."""
        return self.source.table.take(pa.array(self.inside))

    @cached_property
    def withheld(self) -> pa.Table:
        """The rows that were never used."""
        return self.source.table.take(pa.array(self.outside))

    @property
    def known(self) -> pa.Table:
        """What an outsider knows of the protected rows."""
        return self.protected.select(list(self.columns))

    @property
    def left_out(self) -> int:
        """How many rows are in neither part, because their label would be in one part alone."""
        return self.source.rows - len(self.inside) - len(self.outside)


def split_rows(source: AuditedTable, *, withheld: Withheld, seed: int, known: Iterable[str] = ()) -> RowSplit:
    """Divide the rows of a table; no model knows a label that is in one part alone, so that such rows are left out.

    Parameters
    ----------
    withheld
        Half of the rows of each label, one row of each pair, or none.
    seed
        Decides which rows are withheld, and nothing else.
    known
        Columns that an outsider knows beside the features of the table.

    Examples
    --------
    >>> from tacit.audit.source import bundled_source
    >>> rows = split_rows(bundled_source("iris"), withheld="half", seed=0)
    >>> rows.protected.num_rows, rows.withheld.num_rows, rows.known.column_names[:2]
    (75, 75, ['sepal_length', 'sepal_width'])
    """
    inside, outside = _DIVISIONS[withheld](source, np.random.default_rng([seed, _STREAM]))
    if len(outside) and not source.has_numbers:
        both = np.intersect1d(source.codes[inside], source.codes[outside])
        inside, outside = (places[np.isin(source.codes[places], both)] for places in (inside, outside))
    columns = dict.fromkeys(name for name in (*source.features, *known) if name != source.label)
    return RowSplit(source=source, inside=inside, outside=outside, columns=tuple(columns))


def shuffle_rows(source: AuditedTable, *, seed: int) -> Places:
    """Return the places of all rows in random order."""
    return np.random.default_rng([seed, _STREAM]).permutation(source.rows)


def _halves(source: AuditedTable, rng: np.random.Generator) -> tuple[Places, Places]:
    """Half of each label, or of each range of numbers, in the order of the table: an attacker sees that order too."""
    shuffled = rng.permutation(source.rows)
    by_label = shuffled[np.argsort(source.codes[shuffled], kind="stable")]
    return np.sort(by_label[::2]), np.sort(by_label[1::2])


def _pairs(source: AuditedTable, rng: np.random.Generator) -> tuple[Places, Places]:
    """Pairs of rows with one label, or of neighboring numbers, in the same place of both parts; a coin withholds one.

    A row without another of its label to pair it with is in neither part.
    """
    shuffled = rng.permutation(source.rows)
    by_label = shuffled[np.argsort(source.codes[shuffled], kind="stable")]
    if not source.has_numbers:
        counts = np.bincount(source.codes)
        place = np.arange(source.rows) - np.repeat(np.cumsum(counts) - counts, counts)
        by_label = by_label[place < np.repeat(counts - counts % 2, counts)]
    pairs = rng.permutation(by_label[: len(by_label) // 2 * 2].reshape(-1, 2))
    inside, outside = rng.permuted(pairs, axis=1).T
    return inside, outside


def _all(source: AuditedTable, _: np.random.Generator) -> tuple[Places, Places]:
    return np.arange(source.rows), np.arange(0)


_DIVISIONS = {"half": _halves, "pairs": _pairs, "none": _all}
