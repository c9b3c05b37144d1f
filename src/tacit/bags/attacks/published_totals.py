"""A release as an attacker with the features sees it: which rows are in which bags, and each bag's totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from tacit.bags.attacks.system import membership_of
from tacit.bags.partition import BagTotals, RandomBags
from tacit.data import open_table
from tacit.data.queries import count_rows
from tacit.privacy.errors import InvalidInput

__all__ = ["PublishedTotals", "read_exact", "read_totals"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedTotals:
    """Bags of rows and their totals."""

    membership: csr_array  # rows x bags
    totals: Floats  # bags x targets; for Bernoulli labels of random bags the draw
    variance: Floats  # of the noise in each bag's totals; 0 where they are exact
    groups: NDArray[np.int64]  # the partition of each bag; random bags are groups of their own
    bernoulli: bool  # whether ``totals`` are draws with the bag's means

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows in each bag."""
        return np.asarray(self.membership.sum(axis=0), dtype=np.int64)

    def exact(self) -> PublishedTotals:
        """Return the bags whose totals have no noise."""
        keep = np.flatnonzero(self.variance == 0)
        return replace(
            self,
            membership=csr_array(self.membership[:, keep]),
            totals=self.totals[keep],
            variance=self.variance[keep],
            groups=self.groups[keep],
        )

    def shifted(self, by: float) -> PublishedTotals:
        """Return the totals as they would be with ``by`` added to every label."""
        return replace(self, totals=self.totals + by * self.sizes[:, None])

    def expected_totals(self) -> Floats:
        """Return the totals; for Bernoulli draws an unbiased guess of them."""
        return self.totals * self.sizes[:, None] if self.bernoulli else self.totals

    def whole_bounds(self) -> tuple[Floats, Floats]:
        """Return between which numbers the true totals lie.

        A draw of 1 reveals that the bag contains a one, a draw of 0 that it contains a zero.
        """
        if not self.bernoulli:
            return self.totals, self.totals
        return self.totals, self.totals + self.sizes[:, None] - 1


def read_exact(releases: Sequence[BagTotals], table: object) -> PublishedTotals:
    """Put the rows of ``table`` into the bags of several releases of it whose totals have no noise."""
    parts = [read_totals(release, table).exact() for release in releases]
    if len(parts) == 1:
        return parts[0]
    if any(part.bernoulli for part in parts):
        raise InvalidInput("must be sums: one draw from a bag says little beside other bags", field="release")
    starts = np.cumsum([0, *(int(part.groups.max(initial=-1)) + 1 for part in parts)])
    return PublishedTotals(
        membership=csr_array(hstack([part.membership for part in parts], format="csr")),
        totals=np.vstack([part.totals for part in parts]),
        variance=np.concatenate([part.variance for part in parts]),
        groups=np.concatenate([part.groups + start for part, start in zip(parts, starts, strict=False)]),
        bernoulli=False,
    )


def read_totals(release: BagTotals, table: object) -> PublishedTotals:
    """Put the rows of ``table`` into the bags of a release."""
    if release.random is not None:
        rows = count_rows(open_table(table))
        return _random(release.random, _check_rows(rows, release.rows))
    assigned = [part.assign(table) for part in release.partitions]
    _check_rows(len(assigned[0]), release.rows)
    for part, of_row in zip(release.partitions, assigned, strict=True):
        part.check_counts(np.bincount(of_row[of_row >= 0], minlength=len(part)))
    sizes = [len(part) for part in release.partitions]
    return PublishedTotals(
        membership=membership_of(assigned, bags=sizes),
        totals=np.vstack([part.totals for part in release.partitions]),
        variance=np.repeat([part.variance for part in release.partitions], sizes),
        groups=np.repeat(np.arange(len(sizes)), sizes),
        bernoulli=False,
    )


def _random(bags: RandomBags, rows: int) -> PublishedTotals:
    if bags.rows.size and int(bags.rows.max()) >= rows:
        raise InvalidInput(
            f"must have the {int(bags.rows.max()) + 1} rows that the bags name, got {rows}", field="data"
        )
    count, size = len(bags), bags.size
    bag = np.repeat(np.arange(count), size)
    ones = np.ones(count * size, dtype=np.int64)
    times = 1 if bags.bernoulli else size
    return PublishedTotals(
        membership=csr_array((ones, (bags.rows.ravel(), bag)), shape=(rows, count)),
        totals=_near_whole(bags.labels * times) if bags.variance == 0 else bags.labels * times,
        variance=np.full(count, bags.variance * times**2),
        groups=np.arange(count),
        bernoulli=bags.bernoulli,
    )


def _near_whole(totals: Floats) -> Floats:
    """A share times the size of its bag, without the rounding of the division."""
    whole = np.round(totals)
    return np.where(np.abs(totals - whole) < 1e-6, whole, totals)


def _check_rows(rows: int, stated: int | None) -> int:
    if stated is not None and rows != stated:
        raise InvalidInput(f"must have the {stated} rows that the bags were made from, got {rows}", field="data")
    return rows
