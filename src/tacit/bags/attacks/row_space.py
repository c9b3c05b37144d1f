"""What follows from sums and differences of totals alone: variables in the row space of the incidence matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

from tacit.bags.attacks.certificate import upper_bound
from tacit.bags.attacks.system import TotalsSystem

__all__ = ["combinations", "fix_by_row_space"]

_DENSE = 4_000_000  # entries of a matrix that is inverted in one piece
_MOST_STEPS = 20_000_000_000  # entries visited by the iterations for single variables: about a minute
_TINY = 1e-7

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def combinations(incidence: csr_array) -> tuple[Iterator[tuple[int, Floats]], bool]:
    """Return each variable that a combination of the constraints singles out, with the combination's multipliers.

    incidence' m = e_v to rounding. A variable is singled out if and only if every vector in the null space has a 0
    there, so one vector of no special form, projected into the null space, shows which ones are worth solving for.
    Large matrices are given up after a stated amount of work: what was not reached is not yielded.
    """
    A = incidence.astype(np.float64)
    small = A.shape[0] * A.shape[1] <= _DENSE
    return _all_at_once(A.toarray()) if small else _one_by_one(A), small


def fix_by_row_space(system: TotalsSystem) -> tuple[NDArray[np.bool_], Ints]:
    """Return which variables the row space fixes, and their values, each proved in integer arithmetic."""
    exact = np.flatnonzero(system.low == system.high)
    fixed, value = np.zeros(len(system.lower), dtype=np.bool_), system.lower.copy()
    multipliers = np.zeros(len(system.low))
    for variable, m in combinations(system.incidence[exact])[0]:
        objective = np.zeros_like(value)
        objective[variable] = 1
        multipliers[exact] = m
        high, low = upper_bound(system, objective, multipliers), upper_bound(system, -objective, -multipliers)
        if high is not None and low is not None and high == -low:
            fixed[variable], value[variable] = True, high
    return fixed, value


def _all_at_once(A: Floats) -> Iterator[tuple[int, Floats]]:
    M = np.asarray(np.linalg.pinv(A.T), dtype=np.float64)
    miss = np.abs(A.T @ M - np.eye(A.shape[1])).max(axis=0, initial=0.0)
    for variable in np.flatnonzero(miss < _TINY):
        yield int(variable), M[:, variable]


def _one_by_one(A: csr_array) -> Iterator[tuple[int, Floats]]:
    B, probe = csr_array(A.T), np.sin(np.square(np.arange(1.0, A.shape[1] + 1)))
    near = np.abs(probe - B @ _solve(B, probe)[0]) < 1e-6
    steps = 0.0
    for variable in np.flatnonzero(near):
        one = np.zeros(A.shape[1])
        one[variable] = 1.0
        m, iterations = _solve(B, one)
        if np.abs(B @ m - one).max() < _TINY:
            yield int(variable), m
        steps += 2.0 * iterations * A.nnz
        if steps > _MOST_STEPS:
            return


def _solve(B: csr_array, right: Floats) -> tuple[Floats, int]:
    found = lsqr(B, right, atol=1e-13, btol=1e-13, iter_lim=3000)
    return found[0], int(found[2])
