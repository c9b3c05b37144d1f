"""The exact posterior of 0/1 labels in bags that share no row with others and have few rows, by enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import connected_components

from tacit.bags.attacks.system import collapse

__all__ = ["posterior_of_small_components"]

_ROWS = 40  # of a component; in larger ones the convex reconstruction is as good
_STATES = 4096  # counts of ones in all cells of a component
_COMPONENTS = 20_000  # a few seconds; the smallest are taken

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def posterior_of_small_components(
    membership: csr_array, totals: Floats, *, chance: Floats, likelihood: Callable[[Ints, Floats], Floats]
) -> Iterator[tuple[Ints, Floats]]:
    """Yield the rows of each small component, and the probability that their label is 1.

    Rows of a cell are in the same bags, so the totals depend on the count k_c of ones in each cell alone:

    P(k | z) ~ prod_c P(k_c) prod_b P(z_b | sum of k_c in b),   P(y_i = 1 | z) = sum_k P(y_i = 1 | k_c) P(k | z),

    with P(k_c) the law of a sum of independent labels.

    Parameters
    ----------
    chance
        P(label = 1) of each row without the release.
    likelihood
        From the numbers of bags and the distances of their totals (states x bags): the log likelihood of each.
    """
    cells = collapse(membership)
    rows_of = np.split(np.argsort(cells.of_row, kind="stable"), np.cumsum(cells.sizes)[:-1])
    incidence = cells.incidence.tocsc()
    for members in _smallest(cells.incidence, cells.sizes):
        bags = np.unique(incidence[:, members].indices).astype(np.int64)
        counts = np.indices(tuple(cells.sizes[members] + 1)).reshape(len(members), -1)
        laws, given = zip(*(_law_of_count(chance[rows_of[cell]]) for cell in members), strict=True)
        held = (incidence[:, members][bags].toarray() @ counts).T
        weight = likelihood(bags, totals[bags] - held)
        with np.errstate(divide="ignore"):
            weight = weight + sum(np.log(law)[count] for law, count in zip(laws, counts, strict=True))
        if not np.isfinite(weight.max()):  # rows that the prior rules out
            continue
        weight = np.exp(weight - weight.max())
        for cell, count, one in zip(members, counts, given, strict=True):
            yield rows_of[cell], one @ np.bincount(count, weight / weight.sum(), minlength=one.shape[1])


def _smallest(incidence: csr_array, sizes: Ints) -> list[Ints]:
    """The cells of each component that is small enough, those of fewest rows first."""
    graph: Any = block_array([[None, incidence], [incidence.T, None]], format="csr")
    label = connected_components(graph, directed=False)[1][incidence.shape[0] :]
    rows = np.bincount(label, sizes)
    states = np.bincount(label, np.log(sizes + 1.0), minlength=len(rows))
    in_bags = np.bincount(label, np.diff(incidence.tocsc().indptr), minlength=len(rows)) > 0
    fits = np.flatnonzero((states <= np.log(_STATES) + 1e-9) & (rows > 0) & (rows <= _ROWS) & in_bags)
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(label))[:-1])
    return [members[number] for number in fits[np.argsort(rows[fits], kind="stable")][:_COMPONENTS]]


def _law_of_count(chance: Floats) -> tuple[Floats, Floats]:
    """The law of the number of ones among independent labels, and P(label = 1 | that number), labels x counts."""
    before, after = [np.ones(1)], [np.ones(1)]
    for one in chance:
        before.append(np.convolve(before[-1], [1 - one, one]))
    for one in chance[::-1]:
        after.append(np.convolve(after[-1], [1 - one, one]))
    law = before[-1]
    others = np.stack([np.convolve(a, b) for a, b in zip(before[:-1], after[-2::-1], strict=True)])
    ones = np.pad(chance[:, None] * others, ((0, 0), (1, 0)))
    return law, np.divide(ones, law, out=np.zeros_like(ones), where=law > 0)
