"""What follows bag by bag: bounds that each total sets on its cells, and bags that are the rest of a larger one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from tacit.bags.attacks.system import TotalsSystem
from tacit.privacy.errors import InvalidInput

__all__ = ["CONTRADICTION", "nested_differences", "propagate", "tighten"]

CONTRADICTION = "the totals do not fit these rows: no labels have them; give the rows that the bags were made from"

_SWEEPS = 20_000  # bounds that crawl by one a sweep are left to the search

Ints = NDArray[np.int64]


def propagate(system: TotalsSystem) -> TotalsSystem:
    """Return the system with the bounds that its constraints set one by one, to a fixed point.

    For a constraint over the variables S and each v in S:

    low - sum of upper over S without v <= x_v <= high - sum of lower over S without v.

    Bags of one, bags of zeros and bags of ones are the simplest cases. Sound for every integer solution; a fixed point
    does not mean that nothing else follows.
    """
    tightened = tighten(system)
    if tightened is None:
        raise InvalidInput(CONTRADICTION)
    return tightened


def tighten(system: TotalsSystem) -> TotalsSystem | None:
    """Do as :func:`propagate` does, and return None if the bounds cross: no solution then."""
    A, by_variable = system.incidence, system.incidence.T.tocsr()
    lower, upper = system.lower.copy(), system.upper.copy()
    active = np.arange(A.shape[0])
    for _ in range(_SWEEPS):
        changed = _sweep(A[active], system.low[active], system.high[active], lower, upper)
        if changed is None or (lower[changed] > upper[changed]).any():
            return None
        if not len(changed):
            break
        active = np.unique(by_variable[changed].indices)
    return system.within(lower, upper)


def _sweep(rows: csr_array, low: Ints, high: Ints, lower: Ints, upper: Ints) -> Ints | None:
    """Tighten the bounds in place; return the variables that moved, or None if a constraint cannot hold."""
    least, greatest = rows @ lower, rows @ upper
    if (least > high).any() or (greatest < low).any():
        return None
    constraint = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    at = rows.indices
    up, down = (low - greatest)[constraint] + upper[at], (high - least)[constraint] + lower[at]
    raised, lowered = up > lower[at], down < upper[at]
    np.maximum.at(lower, at[raised], up[raised])
    np.minimum.at(upper, at[lowered], down[lowered])
    return np.unique(np.concatenate([at[raised], at[lowered]]))


def nested_differences(
    incidence: csr_array, low: ArrayLike, high: ArrayLike, *, groups: ArrayLike
) -> tuple[csr_array, Ints, Ints]:
    """Return the bags that are left of a bag when bags inside it are taken away, with the totals that follow.

    A bag that was too small to be published is often such a rest: total of all of Rome less the published ages there.
    """
    least, greatest = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
    group, A = np.asarray(groups, dtype=np.int64), incidence.astype(np.int32)
    cells = np.diff(A.indptr)
    common = (A @ A.T).tocoo()
    inner, outer = common.coords
    inside = (common.data == cells[inner]) & (cells[inner] < cells[outer])
    inner, outer = inner[inside].astype(np.int64), outer[inside].astype(np.int64)
    pairs, number = np.unique(outer * (group.max(initial=0) + 1) + group[inner], return_inverse=True)
    wholes = pairs // (group.max(initial=0) + 1)
    shape = (len(pairs), A.shape[0])
    taken = csr_array((np.ones(len(inner), dtype=np.int64), (number, inner)), shape=shape)
    rest = csr_array(incidence[wholes] - taken @ incidence)
    rest.eliminate_zeros()
    left = np.flatnonzero(np.diff(rest.indptr))
    return rest[left], (least[wholes] - taken @ greatest)[left], (greatest[wholes] - taken @ least)[left]
