"""Bounds that hold despite rounding: multipliers from a float solver, checked in integer arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import vstack

from tacit.bags.attacks.propagation import tighten
from tacit.bags.attacks.system import TotalsSystem

__all__ = ["dual_multipliers", "refuted", "upper_bound"]

_SCALES = (1 << 32, 1 << 20)  # multipliers are rounded to such a fraction: the finest whose sums fit
_SAFE = 2.0**61  # no sum of products may come near the end of int64

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def upper_bound(system: TotalsSystem, objective: Ints, multipliers: Floats) -> int | None:
    """Return a number that objective'x exceeds for no solution, from any multipliers of the constraints.

    objective'x = m'(A x) + (objective - A'm)'x <= sum of m_b high_b (or low_b where m_b < 0) + the largest value of the
    second term over the bounds. Good multipliers make it tight, bad ones only weak: they are rounded to fractions
    and the sum is computed in integers. None if these would overflow.

    References
    ----------
    Neumaier and Shcherbina (2004), safe bounds in linear and mixed-integer programming.
    """
    for scale in _SCALES:
        m = np.round(np.asarray(multipliers) * scale)
        if _reach(system, np.asarray(objective * float(scale), dtype=np.float64), m) < _SAFE:
            return _exact_bound(system, objective * scale, m.astype(np.int64)) // scale  # objective'x is whole
    return None


def _reach(system: TotalsSystem, objective: Floats, m: Floats) -> float:
    greatest = np.maximum(np.abs(system.lower), np.abs(system.upper))
    of_totals = np.abs(m) @ np.maximum(np.abs(system.low), np.abs(system.high))
    return float(of_totals + np.abs(objective - system.incidence.T @ m) @ greatest)


def _exact_bound(system: TotalsSystem, objective: Ints, m: Ints) -> int:
    rest = objective - system.incidence.T @ m
    of_totals = np.where(m > 0, m * system.high, m * system.low).sum()
    return int(of_totals + np.where(rest > 0, rest * system.upper, rest * system.lower).sum())


def dual_multipliers(system: TotalsSystem, objective: Ints) -> Floats | None:
    """Return the multipliers that make :func:`upper_bound` tightest, by linear programming; None if it fails."""
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


def refuted(system: TotalsSystem, *, nodes: int) -> bool:
    """Return whether a search in integer arithmetic proves that there is no solution, within ``nodes`` steps."""
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
