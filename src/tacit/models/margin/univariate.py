"""The network of least norm on points of one feature: a convex program, then Newton steps to full precision."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.margin.labels import signs_of
from tacit.models.margin.univariate_refinement import LeastNorm, lift, refine
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra

__all__ = ["fit_least_norm"]

# what counts as zero in the convex program's answer, relative to the largest; tried in this order
_TOLERANCES = (1e-6, 1e-5, 1e-7, 1e-4, 1e-8, 1e-3)
_SETTLED = 1e-9  # gap at which the search for the active set ends
_FAILED = 1e-4  # gap above which there is no answer


def fit_least_norm(x: ArrayLike, y: ArrayLike) -> LeastNorm:
    """Return the two-layer ReLU network of least norm with y_i Phi(x_i) >= 1, for points of one feature.

    At balance half the squared norm is sum_j |v_j| |(w_j, b_j)|. A neuron is active on a run of sorted points that
    reaches one end, or on all: with one pair of vectors p_D, q_D for each such pattern D the problem is convex,
    minimize sum_D |p_D| + |q_D| subject to y_i sum_D D_i (p_D - q_D).(x_i, 1) >= 1 and each vector in its pattern's
    cone. Its answer shows which neurons and points are active; Newton's method on
    |sum_i l_i y_i s_ij (x_i, 1)| = 1 for each neuron and y_i Phi(x_i) = 1 for each active point then reaches the
    precision of the machine. ``y`` has two values, of which the larger is +1.

    References
    ----------
    Pilanci and Ergen (2020), Theorem 1; paper 004, Eqs. (1) and (7) to (9).
    """
    points, signs, place = _check_points(x, y)
    vectors, dual = _solve_convex(points, signs)
    best = _refine_best(points, signs, vectors, dual)
    multipliers = np.zeros(len(place))
    multipliers[np.unique(place, return_index=True)[1]] = best.multipliers  # of equal points the first carries it
    return replace(best, multipliers=multipliers)


def _check_points(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return the distinct points sorted, their labels as -1 and 1, and the place of each given point among them."""
    values = np.asarray(x, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise InvalidInput(
            f"must be one finite number per point, got shape {values.shape}: choose one feature", field="x"
        )
    signs = signs_of(y, rows=len(values))
    points, first, place = np.unique(values, return_index=True, return_inverse=True)
    clash = signs != signs[first][place]
    if clash.any():
        raise InvalidInput(
            f"must not contain a point under both labels, got {values[clash][0]} twice: no network fits both", field="x"
        )
    return points, signs[first], place


def _patterns(points: int) -> NDArray[np.bool_]:
    """Return the 2n - 1 non-empty activation patterns of n sorted points: runs to the right end, then to the left."""
    places = np.arange(points)
    return np.array([places >= k for k in range(points)] + [places < k for k in range(1, points)])


def _solve_convex(x: Floats, y: Floats) -> tuple[tuple[Floats, Floats], Floats]:
    """Return p and q of all patterns, and the dual solution."""
    cp = load_extra("cvxpy")
    n, Z, D = len(x), lift(x), _patterns(len(x))
    P, Q = cp.Variable((len(D), 2)), cp.Variable((len(D), 2))
    outputs = sum((P - Q)[:, c] @ (D * Z[:, c]) for c in range(2))
    fits = cp.multiply(y, outputs) >= 1
    # a cone in the plane has two sides: the points at both ends of the pattern, or the two beside its edge
    edges = [(0, 0), (0, n - 1), *((k, k + side) for k in range(1, n) for side in (-1, 0))]
    edges += [(n + k, k + side) for k in range(n - 1) for side in (0, 1)]
    pattern, point = np.array(edges).T
    sides = Z[point] * np.where(D[pattern, point], 1.0, -1.0)[:, None]
    cones = [cp.sum(cp.multiply(V[pattern], sides), axis=1) >= 0 for V in (P, Q)]
    size = cp.sum(cp.norm(P, 2, axis=1)) + cp.sum(cp.norm(Q, 2, axis=1))
    problem = cp.Problem(cp.Minimize(size), [fits, *cones])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # refined and certified afterwards
        with contextlib.suppress(cp.error.SolverError):
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    if P.value is None:
        raise _unsolved(x)
    return (P.value, Q.value), np.maximum(fits.dual_value, 0)


def _refine_best(x: Floats, y: Floats, vectors: tuple[Floats, Floats], dual: Floats) -> LeastNorm:
    best: LeastNorm | None = None
    for tolerance in _TOLERANCES:
        for found in refine(x, y, vectors, dual, tolerance=tolerance):
            best = found if best is None or found.gap < best.gap else best
            if best.gap < _SETTLED:
                return best
    if best is None or best.gap > _FAILED:
        raise _unsolved(x)
    return best


def _unsolved(x: Floats) -> InvalidInput:
    return InvalidInput(
        f"must let the convex program be solved, which fails for points from {x.min():g} to {x.max():g}: center them "
        f"at 0, scale them to about 1, and merge close ones",
        field="x",
    )
