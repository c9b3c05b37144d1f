"""Solve a system of totals: propagate, split, search what is small, and use the row space of what is large."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_array
from scipy.sparse.csgraph import connected_components

from tacit.bags.attacks.propagation import propagate
from tacit.bags.attacks.row_space import fix_by_row_space
from tacit.bags.attacks.search import ENUMERATE, search
from tacit.bags.attacks.system import TotalsSystem
from tacit.privacy.edge import Progress

__all__ = ["SearchLimits", "SolvedSystem", "solve"]

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """The limits of an exact search, beyond which the answer is "undecided".

    Parameters
    ----------
    variables
        The largest connected component, in variables (cells, or cells x classes), that is searched.
    nodes
        How many steps a branching may take.
    points
        Systems with no more points within their bounds than this are enumerated.
    """

    variables: int = 400
    nodes: int = 1000
    points: int = ENUMERATE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SolvedSystem:
    """Bounds of each variable, and whether they are known to be tight."""

    # lower, upper: equal where the value is fixed
    lower: Ints
    upper: Ints
    decided: Mask  # whether it is decided if the variable determines a label
    # components, searched: connected components that propagation left, and how many of them were searched to the end
    components: int
    searched: int


def solve(
    system: TotalsSystem,
    *,
    effort: SearchLimits | None = None,
    progress: Progress = lambda _a, _b: None,
) -> SolvedSystem:
    """Fix every variable that the constraints fix, as far as ``effort`` goes."""
    limits = effort or SearchLimits()
    known = propagate(system)
    lower, upper = known.lower.copy(), known.upper.copy()
    decided = lower == upper
    waiting = list(_components(known))
    components = searched = done = 0
    while waiting:
        variables, part = waiting.pop()
        if len(variables) > limits.variables:
            smaller = _reduced(part)
            if smaller is not None:
                lower[variables], upper[variables] = smaller.lower, smaller.upper
                decided[variables] = smaller.lower == smaller.upper
                waiting += [(variables[inner], rest) for inner, rest in _components(smaller)]
                continue
        else:
            found = search(part, nodes=limits.nodes, most_points=limits.points)
            lower[variables] = np.where(found.fixed, found.value, lower[variables])
            upper[variables] = np.where(found.fixed, found.value, upper[variables])
            decided[variables] = found.fixed | found.free
            searched += bool(decided[variables].all())
        components, done = components + 1, done + 1
        progress(done, done + len(waiting))
    return SolvedSystem(lower=lower, upper=upper, decided=decided, components=components, searched=searched)


def _components(system: TotalsSystem) -> Iterator[tuple[Ints, TotalsSystem]]:
    """The parts of a system that share no variable with two values."""
    loose = np.flatnonzero(system.lower < system.upper)
    if not len(loose):
        return
    least, greatest = system.incidence @ system.lower, system.incidence @ system.upper
    binding = np.flatnonzero((system.low > least) | (system.high < greatest))
    links = system.incidence[binding][:, loose]
    number, label = connected_components(block_array([[None, links], [links.T, None]], format="csr"), directed=False)
    of_constraint, of_variable = label[: len(binding)], label[len(binding) :]
    for constraints, variables in zip(_grouped(of_constraint, number), _grouped(of_variable, number), strict=True):
        if len(variables):
            yield loose[variables], system.part(loose[variables], binding[constraints])


def _grouped(labels: NDArray[np.int32], number: int) -> list[Ints]:
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=number))[:-1])


def _reduced(part: TotalsSystem) -> TotalsSystem | None:
    """The part with what its row space fixes, propagated; None if that is nothing."""
    fixed, value = fix_by_row_space(part)
    if not fixed.any():
        return None
    return propagate(part.within(np.where(fixed, value, part.lower), np.where(fixed, value, part.upper)))
