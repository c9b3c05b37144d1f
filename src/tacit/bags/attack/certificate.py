"""Bounds that hold whatever rounding did: multipliers from a float solver, their arithmetic in whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import vstack

from tacit.bags.attack.propagation import tighten
from tacit.bags.attack.system import System

__all__ = ["dual_multipliers", "refuted", "upper_bound"]

_SCALES = (1 << 32, 1 << 20)  # multipliers are rounded to such a fraction: the finest whose sums fit
_SAFE = 2.0**61  # no sum of products may come near the end of int64

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def upper_bound(system: System, objective: Ints, multipliers: Floats) -> int | None:
    """Return a number that objective'x exceeds for no solution, from any multipliers of the constraints.

    objective'x = m'(A x) + (objective - A'm)'x <= sum of m_b high_b (or low_b where m_b < 0) + the largest value of the
    second term over the bounds. Good multipliers make it tight, bad ones only weak: they are rounded to fractions
    and the sum is made in whole numbers. None where these would overflow.

    References
    ----------
    Neumaier and Shcherbina (2004), safe bounds in linear and mixed-integer programming.

    Examples
    --------
    >>> from tacit.bags.attack.system import collapse, membership_of, system_of
    >>> cells = collapse(membership_of([[0, 0, 1], [0, 0, 0]], bags=[2, 1]))
    >>> system = system_of(cells, low=[[1], [1], [2]], high=[[1], [1], [2]], most=1)
    >>> upper_bound(system, np.array([1, 0]), np.array([0.0, -1.0, 1.0]))
    1
    """
    for scale in _SCALES:
        m = np.round(np.asarray(multipliers) * scale)
        if _reach(system, np.asarray(objective * float(scale), dtype=np.float64), m) < _SAFE:
            return _exact_bound(system, objective * scale, m.astype(np.int64)) // scale  # objective'x is whole
    return None


def _reach(system: System, objective: Floats, m: Floats) -> float:
    greatest = np.maximum(np.abs(system.lower), np.abs(system.upper))
    of_totals = np.abs(m) @ np.maximum(np.abs(system.low), np.abs(system.high))
    return float(of_totals + np.abs(objective - system.incidence.T @ m) @ greatest)


def _exact_bound(system: System, objective: Ints, m: Ints) -> int:
    rest = objective - system.incidence.T @ m
    of_totals = np.where(m > 0, m * system.high, m * system.low).sum()
    return int(of_totals + np.where(rest > 0, rest * system.upper, rest * system.lower).sum())


def dual_multipliers(system: System, objective: Ints) -> Floats | None:
    """Return the multipliers that make :func:`upper_bound` tightest, by linear programming; None if it fails.

    Examples
    --------
    >>> from tacit.bags.attack.system import collapse, membership_of, system_of
    >>> cells = collapse(membership_of([[0, 0, 1], [0, 0, 0]], bags=[2, 1]))
    >>> system = system_of(cells, low=[[1], [1], [2]], high=[[1], [1], [2]], most=1)
    >>> objective = np.array([0, -1])
    >>> upper_bound(system, objective, dual_multipliers(system, objective))
    -1
    """
    same, A = system.low == system.high, system.incidence
    equal, ranged = np.flatnonzero(same), np.flatnonzero(~same)
    given: dict[str, Any] = {"bounds": np.stack([system.lower, system.upper], axis=1)}
    if len(equal):
        given |= {"A_eq": A[equal], "b_eq": system.low[equal]}
    if len(ranged):
        given |= {"A_ub": vstack([A[ranged], -A[ranged]])}
        given |= {"b_ub": np.concatenate([system.high[ranged], -system.low[ranged]])}
    found = linprog(-objective, method="highs", **given)
    if found.status != 0:
        return None
    multipliers = np.zeros(A.shape[0])
    if len(equal):
        multipliers[equal] = -found.eqlin.marginals
    if len(ranged):
        above, below = np.split(found.ineqlin.marginals, 2)
        multipliers[ranged] = below - above
    return multipliers


def refuted(system: System, *, nodes: int) -> bool:
    """Say whether a search in whole numbers proves that there is no solution, within ``nodes`` steps.

    Examples
    --------
    >>> from tacit.bags.attack.system import collapse, membership_of, system_of
    >>> cells = collapse(membership_of([[0, 0, -1], [-1, 0, 0], [0, -1, 0]], bags=[1, 1, 1]))
    >>> triangle = system_of(cells, low=[[1], [1], [1]], high=[[1], [1], [1]], most=1)
    >>> refuted(triangle, nodes=10)
    True
    """
    open_nodes = [system]
    for _ in range(nodes):
        if not open_nodes:
            return True
        node = tighten(open_nodes.pop())
        if node is None:
            continue
        width = node.upper - node.lower
        if not width.any():
            return False  # every variable has one value, and the constraints hold
        narrow = int(np.where(width > 0, width, width.max() + 1).argmin())
        middle = int(node.lower[narrow] + width[narrow] // 2)
        left, right = node.upper.copy(), node.lower.copy()
        left[narrow], right[narrow] = middle, middle + 1
        open_nodes += [node.within(node.lower, left), node.within(right, node.upper)]
    return not open_nodes
