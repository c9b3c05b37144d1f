"""The exact posterior of 0/1 labels in bags that share no row with others and have few rows, by enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import connected_components

from tacit.bags.attacks.system import RowCells, collapse

__all__ = ["posterior_of_small_components"]

_ROWS = 40  # of a component; in larger ones the convex reconstruction is as good
_STATES = 4096  # counts of ones in all cells of a component
_COMPONENTS = 20_000  # the smallest are taken
_TOGETHER = 1 << 20  # distances of totals that are weighed at a time

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def posterior_of_small_components(
    membership: csr_array, totals: Floats, *, chance: Floats, likelihood: Callable[[Ints, Floats], Floats]
) -> Iterator[tuple[Ints, Floats]]:
    """Yield the rows of small components, and the probability that their label is 1.

    Rows of a cell are in the same bags, so the totals depend on the count k_c of ones in each cell alone:

    P(k | z) ~ prod_c P(k_c) prod_b P(z_b | sum of k_c in b),   P(y_i = 1 | z) = sum_k P(y_i = 1 | k_c) P(k | z),

    with P(k_c) the law of a sum of independent labels. Components of the same shape are weighed together.

    Parameters
    ----------
    chance
        P(label = 1) of each row without the release.
    likelihood
        From the numbers of bags (components x 1 x bags) and the distances of their totals (components x states x bags):
        the log likelihood of each state.
    """
    cells = collapse(membership)
    rows_of = np.split(np.argsort(cells.of_row, kind="stable"), np.cumsum(cells.sizes)[:-1])
    for inside, members, bags in _alike(cells):
        counts = np.indices(tuple(cells.sizes[members[0]] + 1)).reshape(members.shape[1], -1)
        rows = [np.stack([rows_of[cell] for cell in column]) for column in members.T]
        laws, given = zip(*(_law_of_count(chance[of_cell]) for of_cell in rows), strict=True)
        weight = likelihood(bags[:, None, :], totals[bags][:, None, :] - (inside @ counts).T)
        with np.errstate(divide="ignore"):
            weight = weight + sum(np.log(law)[:, count] for law, count in zip(laws, counts, strict=True))
        possible = np.isfinite(weight.max(axis=1))  # else the prior rules rows out
        weight = np.exp(weight[possible] - weight[possible].max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        for of_cell, count, ones in zip(rows, counts, given, strict=True):
            of_count = weight @ np.eye(ones.shape[2])[count]
            yield of_cell[possible].ravel(), np.einsum("crk,ck->cr", ones[possible], of_count).ravel()


def _alike(cells: RowCells) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Group the small components whose cells have the same sizes and are in the same of their bags.

    Yields the shape (bags x cells), and the cells and bags of each component.
    """
    by_cell, shapes = cells.incidence.tocsc(), dict[bytes, list[tuple[Ints, Ints]]]()
    for members in _smallest(cells.incidence, cells.sizes):
        held = [by_cell.indices[by_cell.indptr[cell] : by_cell.indptr[cell + 1]] for cell in members]
        bags, places = np.unique(np.concatenate(held).astype(np.int64), return_inverse=True)
        shape = np.concatenate([cells.sizes[members], [len(own) for own in held], places])
        shapes.setdefault(shape.tobytes(), []).append((members, bags))
    for found in shapes.values():
        every, in_bags = (np.stack(part) for part in zip(*found, strict=True))
        inside = cells.incidence[in_bags[0]][:, every[0]].toarray()
        step = max(1, _TOGETHER // (int(np.prod(cells.sizes[every[0]] + 1)) * in_bags.shape[1]))
        for start in range(0, len(every), step):
            yield inside, every[start : start + step], in_bags[start : start + step]


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
    """The law of the number of ones among independent labels, and P(label = 1 | that number), for each component.

    From chances (components x labels); the second is components x labels x counts.
    """
    labels = [np.stack([1 - one, one], axis=1) for one in chance.T]
    before, after = [np.ones((len(chance), 1))], [np.ones((len(chance), 1))]
    for first, last in zip(labels, labels[::-1], strict=True):
        before.append(_convolve(before[-1], first))
        after.append(_convolve(after[-1], last))
    law = before[-1]
    others = np.stack([_convolve(a, b) for a, b in zip(before[:-1], after[-2::-1], strict=True)], axis=1)
    ones = np.pad(chance[:, :, None] * others, ((0, 0), (0, 0), (1, 0)))
    return law, np.divide(ones, law[:, None, :], out=np.zeros_like(ones), where=law[:, None, :] > 0)


def _convolve(one: Floats, other: Floats) -> Floats:
    """The convolution of each two lines."""
    short, long = sorted((one, other), key=lambda law: law.shape[1])
    result = np.zeros((len(one), one.shape[1] + other.shape[1] - 1))
    for shift in range(short.shape[1]):
        result[:, shift : shift + long.shape[1]] += short[:, [shift]] * long
    return result
