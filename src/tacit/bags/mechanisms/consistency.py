"""Totals of several partitions made to agree: a projection after the noise, which costs no privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsmr

from tacit.bags.partition import BagTotals, Partition
from tacit.bags.partition.bags import number_keys
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit

__all__ = ["ConsistencyProjection", "ConsistentTotals", "make_consistent", "tie_by_keys", "tie_by_rows"]

_DENSE = 1500  # bags, cells or ties up to which the factors are computed exactly
_ENTRIES = 2e7
_PROBES = 64
_TOLERANCE = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConsistencyProjection:
    """The orthogonal projection of whitened totals on those that can come from one table.

    In units of its standard deviation a vector of totals z has covariance I, and the best linear unbiased estimate of
    its mean is its projection on the space the mean must lie in: the range of ``matrix`` or, where ``ties`` is
    true, what is orthogonal to it.

    References
    ----------
    Hay et al. (2010), Section 3.2 (constrained inference); Aitken (1936) for weighted least squares.
    """

    matrix: sparse.csr_array
    ties: bool

    def apply(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the projection of each column of ``z``."""
        fitted = np.column_stack([self.matrix @ self._solve(column) for column in z.T])
        return z - fitted if self.ties else fitted

    def _solve(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.matrix.shape[1]:
            return np.zeros(0)
        found: NDArray[np.float64] = lsmr(
            self.matrix, column, atol=_TOLERANCE, btol=_TOLERANCE, maxiter=20 * sum(self.matrix.shape)
        )[0]
        return found

    def diagonal(self, *, rng: np.random.Generator | None = None) -> tuple[NDArray[np.float64], bool]:
        """Return what is left of each total's variance, and whether that is exact or an estimate of few draws.

        The estimate is Hutchinson's: the mean of s_i (P s)_i over random signs s, with a standard error of at most
        1/sqrt(64) for one bag, and far less for the mean over a partition.

        References
        ----------
        Hutchinson (1990); Bekas, Kokiopoulou and Saad (2007).
        """
        if min(self.matrix.shape) <= _DENSE and np.prod(self.matrix.shape, dtype=float) <= _ENTRIES:
            return self._exact_diagonal(), True
        signs = (rng or np.random.default_rng(0)).choice([-1.0, 1.0], size=(self.matrix.shape[0], _PROBES))
        return np.clip((signs * self.apply(signs)).mean(axis=1), 0.0, 1.0), False

    def _exact_diagonal(self) -> NDArray[np.float64]:
        whole = self.matrix.toarray()
        basis, sizes, _ = np.linalg.svd(whole, full_matrices=False)
        basis = basis[:, sizes > sizes.max(initial=0.0) * max(whole.shape) * np.finfo(float).eps]
        held = np.asarray((basis**2).sum(axis=1))
        return 1 - held if self.ties else held


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConsistentTotals:
    """A release whose partitions agree, and what that did to the noise.

    Parameters
    ----------
    release
        The release with totals (and noisy counts) that agree.
    factors
        For each partition the mean over its bags of the variance left, as a part of what it was.
    exact
        Whether the factors are exact; else they are estimated from random signs.
    """

    release: BagTotals
    factors: tuple[float, ...]
    exact: bool


def make_consistent(
    release: BagTotals, *, table: object = None, rng: np.random.Generator | None = None
) -> ConsistentTotals:
    """Return the release with totals that could come from one table, by weighted least squares.

    z^ = A (A'WA)^+ A'W z for totals z = A t + noise of cells t, W the inverse variances. The cells are the groups of
    rows that share a bag in every partition; with ``table`` they are read from its features. Without it only what
    the keys tell is used: partitions agree on the sums over the features they share, so on the grand total and,
    where one refines the other, on every coarser bag. Post-processing: it reads the release and
    public features, and costs nothing.

    Parameters
    ----------
    release
        Partitions with noise; exact ones are returned unchanged.
    table
        The public features of the rows; must not be given where features are private (unit record).
    rng
        For the estimate of the factors where there are many bags; not used for the totals.

    References
    ----------
    Hay et al. (2010). Proof: docs/proofs/bags.md.
    """
    parts = release.partitions
    if not parts:
        raise InvalidInput("must have partitions to be made consistent: random bags share no totals", field="release")
    if table is not None and isinstance(release.guarantee, Guarantee) and release.guarantee.unit is Unit.RECORD:
        raise InvalidInput("must not be given for the unit record: its features are private", field="table")
    if len(parts) == 1 or not all(part.variance > 0 for part in parts):
        return ConsistentTotals(release=release, factors=(1.0,) * len(parts), exact=True)
    totals, factors, exact = _reconcile(
        parts, [part.totals for part in parts], [part.variance for part in parts], table, rng
    )
    made = [
        replace(part, totals=total, variance=part.variance * factor)
        for part, total, factor in zip(parts, totals, factors, strict=True)
    ]
    if all(part.count_variance > 0 for part in parts):
        noise = [part.count_variance for part in parts]
        counts, left, _ = _reconcile(parts, [part.counts[:, None] for part in parts], noise, table, rng)
        made = [
            replace(part, counts=count[:, 0], count_variance=part.count_variance * factor)
            for part, count, factor in zip(made, counts, left, strict=True)
        ]
    mechanism = {**release.mechanism, "consistent": {"factors": list(factors), "exact": exact}}
    changed = replace(release, partitions=tuple(made), mechanism=mechanism)
    return ConsistentTotals(release=changed, factors=factors, exact=exact)


def tie_by_rows(partitions: Sequence[Partition], table: object) -> sparse.csr_array:
    """Return which cells each bag holds, one row per bag: cells are rows that are in the same bag everywhere."""
    number = np.unique(np.column_stack([part.assign(table) for part in partitions]), axis=0)
    starts = np.cumsum([0, *map(len, partitions)])
    cell, which = np.nonzero(number >= 0)
    bag = number[cell, which] + starts[which]
    shape = (int(starts[-1]), len(number))
    return sparse.csr_array((np.ones(len(bag)), (bag, cell)), shape=shape)


def tie_by_keys(partitions: Sequence[Partition]) -> sparse.csr_array:
    """Return what must be 0 for totals that agree, one column per tie: sums over shared features, for every pair.

    A partition that left rows out ties to none; one with a bag "other" only by its grand total.
    """
    starts = np.cumsum([0, *map(len, partitions)])
    ties = [
        tie
        for p, q in combinations(range(len(partitions)), 2)
        if (tie := _tie(partitions[p], partitions[q], int(starts[p]), int(starts[q]), int(starts[-1]))) is not None
    ]
    return sparse.hstack(ties, format="csr") if ties else sparse.csr_array((int(starts[-1]), 0))


def _tie(one: Partition, two: Partition, at: int, to: int, bags: int) -> sparse.csr_array | None:
    if one.dropped or two.dropped:
        return None
    whole = one.other is None and two.other is None
    shared = [f.name for f in one.features if f in two.features] if whole else []
    first, second = _numbered(one, two, shared)
    ties = int(max(first.max(), second.max())) + 1
    bag = np.concatenate([at + np.arange(len(first)), to + np.arange(len(second))])
    sign = np.concatenate([np.ones(len(first)), -np.ones(len(second))])
    return sparse.csr_array((sign, (bag, np.concatenate([first, second]))), shape=(bags, ties))


def _numbered(one: Partition, two: Partition, shared: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each bag of two partitions the number of its key on the shared features."""
    if not shared:
        return np.zeros(len(one), dtype=np.int64), np.zeros(len(two), dtype=np.int64)
    import pyarrow as pa

    number = number_keys(pa.concat_tables([one.keys.select(shared), two.keys.select(shared)]))
    return number[: len(one)], number[len(one) :]


def _reconcile(
    parts: Sequence[Partition],
    values: Sequence[NDArray[Any]],
    variances: Sequence[float],
    table: object,
    rng: np.random.Generator | None,
) -> tuple[list[NDArray[np.float64]], tuple[float, ...], bool]:
    deviation = np.repeat(np.sqrt(variances), [len(part) for part in parts])[:, None]
    scale = sparse.diags_array(1 / deviation[:, 0] if table is not None else deviation[:, 0])
    matrix = tie_by_keys(parts) if table is None else tie_by_rows(parts, table)
    projection = ConsistencyProjection(matrix=sparse.csr_array(scale @ matrix), ties=table is None)
    z = np.concatenate([np.asarray(value, dtype=np.float64) for value in values])
    made = projection.apply(z / deviation) * deviation
    left, exact = projection.diagonal(rng=rng)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    factors = tuple(float(share.mean()) if len(share) else 1.0 for share in np.split(left, ends))
    return np.split(made, ends), factors, exact
