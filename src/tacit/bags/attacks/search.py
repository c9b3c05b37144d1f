"""All solutions of a small system: which variables have one value in every one of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from tacit.bags.attacks.certificate import dual_multipliers, refuted, upper_bound
from tacit.bags.attacks.propagation import CONTRADICTION
from tacit.bags.attacks.system import TotalsSystem
from tacit.privacy.errors import InvalidInput

__all__ = ["ENUMERATE", "SearchResult", "enumerate_solutions", "search"]

ENUMERATE = 4096
"""Systems with at most this many points within their bounds are enumerated."""

_INFEASIBLE = 2

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


class SearchResult(NamedTuple):
    """What a search proved of each variable: ``fixed`` at ``value``, ``free``, or neither where it gave up."""

    fixed: Mask
    value: Ints
    free: Mask


def search(system: TotalsSystem, *, nodes: int, most_points: int = ENUMERATE) -> SearchResult:
    """Find the variables whose value the constraints determine, among those that would determine a label.

    A solution is a witness; a variable that differs between two witnesses is free. The next witness is the one that
    moves as many of the others as it can. When none moves, the proof is repeated in integer arithmetic: by multipliers,
    else by branching; what neither proves stays undecided.
    """
    width = (system.upper - system.lower + 1).astype(np.float64)
    if np.log2(width).sum() <= np.log2(max(most_points, 1)):
        return enumerate_solutions(system)
    value = _best(system, np.zeros_like(system.lower), nodes=nodes)
    if value is None:
        nothing = np.zeros(len(width), dtype=np.bool_)
        return SearchResult(nothing, system.lower, nothing)
    free = ~_telling(system, value)
    while True:
        aim = np.where(free, 0, np.where(value == system.lower, 1, np.where(value == system.upper, -1, 0)))
        other = _best(system, aim, nodes=nodes) if aim.any() else value
        if other is None:
            return SearchResult(np.zeros_like(free), value, free)
        if aim @ other <= aim @ value:
            return _proved(system, value, free, aim, nodes=nodes)
        free |= other != value


def enumerate_solutions(system: TotalsSystem) -> SearchResult:
    """Do as :func:`search` does, by trying every point."""
    width = system.upper - system.lower + 1
    points = np.stack(np.unravel_index(np.arange(int(width.prod())), tuple(width)), axis=0) + system.lower[:, None]
    totals = system.incidence @ points
    fits = ((totals >= system.low[:, None]) & (totals <= system.high[:, None])).all(axis=0)
    if not fits.any():
        raise InvalidInput(CONTRADICTION)
    least, greatest = points[:, fits].min(axis=1), points[:, fits].max(axis=1)
    return SearchResult(least == greatest, least, least != greatest)


def _best(system: TotalsSystem, aim: Ints, *, nodes: int) -> Ints | None:
    """A solution with the largest aim'x that HiGHS finds in time, checked in integer arithmetic; None without one."""
    found = milp(
        -aim,
        constraints=LinearConstraint(system.incidence, system.low, system.high),
        bounds=Bounds(system.lower, system.upper),
        integrality=np.ones_like(aim),
        options={"node_limit": nodes},
    )
    if found.status == _INFEASIBLE and refuted(system, nodes=nodes):
        raise InvalidInput(CONTRADICTION)
    if found.status != 0 or found.x is None:
        return None
    x = np.round(found.x).astype(np.int64)
    totals = system.incidence @ x
    fits = (totals >= system.low).all() and (totals <= system.high).all()
    inside = (x >= system.lower).all() and (x <= system.upper).all()
    return x if fits and inside else None


def _telling(system: TotalsSystem, value: Ints) -> Mask:
    """Variables that would determine a label if they had this value in every solution."""
    at_low, at_high = value == system.lower, value == system.upper
    return np.asarray((system.ask_low & at_low) | (system.ask_high & at_high) | system.ask_inside)


def _proved(system: TotalsSystem, value: Ints, free: Mask, aim: Ints, *, nodes: int) -> SearchResult:
    fixed, free = np.zeros_like(free), free.copy()
    if aim.any() and _cannot_exceed(system, aim, int(aim @ value)):
        fixed |= aim != 0
    for variable in map(int, np.flatnonzero(~free & ~fixed)):
        up, down = (_moves(system, value, variable, by, nodes=nodes) for by in (1, -1))
        free[variable] = up is True or down is True
        fixed[variable] = up is False and down is False
    return SearchResult(fixed, value, free)


def _moves(system: TotalsSystem, value: Ints, variable: int, by: int, *, nodes: int) -> bool | None:
    """Whether a solution has this variable above (by = 1) or below (-1) its value; None if that stays undecided."""
    aim = np.zeros_like(value)
    aim[variable] = by
    end = system.upper if by > 0 else system.lower
    if value[variable] == end[variable] or _cannot_exceed(system, aim, int(by * value[variable])):
        return False
    lower, upper = system.lower.copy(), system.upper.copy()
    (lower if by > 0 else upper)[variable] = value[variable] + by
    if refuted(system.within(lower, upper), nodes=nodes):
        return False
    other = _best(system, aim, nodes=nodes)
    return True if other is not None and by * (other[variable] - value[variable]) > 0 else None


def _cannot_exceed(system: TotalsSystem, aim: Ints, limit: int) -> bool:
    multipliers = dual_multipliers(system, aim)
    bound = None if multipliers is None else upper_bound(system, aim, multipliers)
    return bound is not None and bound <= limit
