"""Least squares with multipliers that may not be negative, checked to be the least."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear, nnls

from tacit.models.points import Floats

__all__ = ["solve_nonnegative"]

_PULL = 1e-9  # of a unit column on the residual of a unit target, at the least residual


def solve_nonnegative(columns: Floats, target: Floats) -> Floats:
    """Return x >= 0 of least |columns x - target|; a column of zeros gets 0.

    At the least residual r no column pulls, a_k . r <= 0, and those in use are at right angles to it. SciPy's ``nnls``
    can return other points (its issue 25389), give up, or crash without columns: its answer is checked, and where it
    fails a bounded-variable solver is asked too and the better of the two returned.

    References
    ----------
    Lawson and Hanson (1974), Chapter 23; Stark and Parker (1995) for bounded variables.
    """
    lengths = np.linalg.norm(columns, axis=0)
    size = float(np.linalg.norm(target))
    used = np.flatnonzero(lengths > 0)
    found = np.zeros(len(lengths))
    if len(used) and size > 0:
        found[used] = _solve(columns[:, used] / lengths[used], target / size) * size / lengths[used]
    return found


def _solve(columns: Floats, target: Floats) -> Floats:
    try:
        found = np.asarray(nnls(columns, target, maxiter=100 * columns.shape[1])[0])
    except RuntimeError:  # it went round in circles
        found = np.zeros(columns.shape[1])
    if _is_least(columns, target, found):
        return found
    other = np.clip(lsq_linear(columns, target, bounds=(0, np.inf), method="bvls", tol=1e-14).x, 0, None)
    return min(found, other, key=lambda x: float(np.linalg.norm(target - columns @ x)))


def _is_least(columns: Floats, target: Floats, found: Floats) -> bool:
    pull = columns.T @ (target - columns @ found)
    return bool(pull.max() <= _PULL and np.abs(pull[found > 0]).max(initial=0.0) <= _PULL)
