"""The least stationarity residual of a network, over multipliers and over the derivatives that kinks leave free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.models.network import TwoLayerReLU
from tacit.models.nonnegative import solve_nonnegative
from tacit.models.points import Floats
from tacit.privacy.extras import load_extra

__all__ = ["Stationarity", "solve", "stationarity_of"]

_AT_BOUND = 1e-6  # an interior point this near its bound, relative to the multiplier, is taken to be on it
_NEAR = 1e-3  # only a residual below this is worth the solver's last digits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stationarity:
    """min |target - matrix (l, z)| subject to l >= 0 and 0 <= z_k <= l_(point of k), all relative to |theta|.

    Parameters
    ----------
    matrix
        A column per point, then a column per kink.
    target
        theta, in coordinates of the span of the points (x_i, 1).
    outside
        The part of |theta| outside that span, which no multiplier explains.
    """

    matrix: sparse.csr_array
    target: Floats
    outside: float
    kink_points: NDArray[np.int64]
    points: int

    def residual(self, unknowns: Floats) -> float:
        """Return |theta - G (l, z)| / |theta|."""
        return float(np.hypot(np.linalg.norm(self.target - self.matrix @ unknowns), self.outside))


def stationarity_of(network: TwoLayerReLU, rows: Floats, signs: Floats, *, tolerance: float) -> Stationarity:
    """Set up the equations v_j = sum_i l_i y_i [.]_+ and (w_j, b_j) = v_j sum_i l_i y_i s_ij (x_i, 1).

    Rows that no kink touches are reduced to one per point by an orthogonal factorization, which keeps every residual.
    """
    points = np.column_stack([rows, np.ones(len(rows))])
    neurons = np.column_stack([network.weights, network.biases])
    basis = np.linalg.qr(points.T)[0]
    inside, coordinates = points @ basis, neurons @ basis
    norm = float(np.sqrt(network.squared_norm))
    reach = points @ neurons.T
    lengths = np.linalg.norm(points, axis=1)[:, None] * np.linalg.norm(neurons, axis=1)
    kink = (np.abs(reach) <= tolerance * lengths) & (network.outputs != 0)
    on = signs[:, None] * ((reach > 0) & ~kink)
    columns = (network.outputs * on).T[:, None, :] * inside.T  # neuron x coordinate x point
    kinked = np.flatnonzero(kink.any(axis=0))
    smooth = np.flatnonzero(~kink.any(axis=0))
    known = np.vstack([(signs[:, None] * np.maximum(reach, 0)).T, columns[smooth].reshape(-1, len(rows))])
    wanted = np.concatenate([network.outputs, coordinates[smooth].ravel()])
    reduced = np.asarray(np.linalg.qr(np.column_stack([known, wanted]), mode="r"))
    of_neuron, of_point = np.nonzero(kink[:, kinked].T)
    slopes = (network.outputs[kinked[of_neuron]] * signs[of_point])[:, None] * inside[of_point]
    left = np.vstack([reduced[:, :-1], columns[kinked].reshape(-1, len(rows))])
    right = _placed(slopes, of_neuron, above=len(reduced), neurons=len(kinked))
    return Stationarity(
        matrix=sparse.csr_array(sparse.hstack([sparse.csr_array(left), right]) / norm),
        target=np.concatenate([reduced[:, -1], coordinates[kinked].ravel()]) / norm,
        outside=float(np.linalg.norm(neurons - coordinates @ basis.T)) / norm,
        kink_points=of_point.astype(np.int64),
        points=len(rows),
    )


def _placed(slopes: Floats, of_neuron: NDArray[np.int64], *, above: int, neurons: int) -> sparse.csr_array:
    """Return one column per kink, in the rows of its neuron, below those that no kink touches."""
    kinks, rank = slopes.shape
    rows = above + (of_neuron[:, None] * rank + np.arange(rank)).ravel()
    where = rows, np.repeat(np.arange(kinks), rank)
    return sparse.csr_array((slopes.ravel(), where), shape=(above + neurons * rank, kinks))


def solve(problem: Stationarity) -> Floats:
    """Return the multipliers and free products (l, z) of least residual.

    Non-negative least squares where there is no kink, else a second-order cone program (the norm, not its square, so
    that the solver's tolerance is the residual's), whose active set is then solved once more by least squares.
    """
    if not len(problem.kink_points):
        return solve_nonnegative(problem.matrix.toarray(), problem.target)
    found = _feasible(problem, _cone_program(problem))
    if problem.residual(found) > _NEAR:
        return found
    refined = _feasible(problem, _refined(problem, found))
    return min(found, refined, key=problem.residual)


def _feasible(problem: Stationarity, unknowns: Floats) -> Floats:
    """Clip to the bounds, and give a point that no neuron sees the least multiplier that its kinks allow."""
    l = np.maximum(unknowns[: problem.points], 0)  # noqa: E741
    z = np.clip(unknowns[problem.points :], 0, l[problem.kink_points])
    needed = np.zeros(problem.points)
    np.maximum.at(needed, problem.kink_points, z)
    unseen = abs(problem.matrix[:, : problem.points]).max(axis=0).toarray().ravel() == 0
    return np.concatenate([np.where(unseen, needed, l), z])


def _cone_program(problem: Stationarity) -> Floats:
    """Minimize t subject to |target - matrix (l, z)| <= t and the bounds, over (l, z, t)."""
    clarabel = load_extra("clarabel")
    n, k = problem.points, len(problem.kink_points)
    scale = 1 / float(abs(problem.matrix).max())  # multipliers of order 1 suit the solver
    picks = sparse.csr_array((np.ones(k), (np.arange(k), problem.kink_points)), shape=(k, n))
    lower = sparse.eye_array(n + k, n + k + 1)
    upper = sparse.hstack([picks, -sparse.eye_array(k, k + 1)])
    last = sparse.csr_array(([1.0], ([0], [n + k])), shape=(1, n + k + 1))
    gap = sparse.hstack([-scale * problem.matrix, sparse.csr_array((len(problem.target), 1))])
    rows = sparse.csc_matrix(-sparse.vstack([lower, upper, last, gap]))
    right = np.concatenate([np.zeros(n + 2 * k + 1), problem.target])
    cones = [clarabel.NonnegativeConeT(n + 2 * k), clarabel.SecondOrderConeT(1 + len(problem.target))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cost = np.concatenate([np.zeros(n + k), [1.0]])
    nothing = sparse.csc_matrix((n + k + 1, n + k + 1))
    answer = clarabel.DefaultSolver(nothing, cost, rows, right, cones, settings).solve()
    found = np.nan_to_num(np.asarray(answer.x, dtype=np.float64)[: n + k])
    return np.asarray(scale * found)  # whatever it is, its residual is an upper bound on the least one


def _refined(problem: Stationarity, found: Floats) -> Floats:
    """Solve for the unknowns off their bounds, with those on a bound kept there."""
    n, at = problem.points, problem.kink_points
    l, z = found[:n], found[n:]  # noqa: E741
    kept = l > _AT_BOUND * l.max(initial=0.0)
    low = (z <= _AT_BOUND * l[at]) | ~kept[at]
    high = (z >= (1 - _AT_BOUND) * l[at]) & ~low
    matrix = problem.matrix.toarray()
    columns = matrix[:, :n].copy()
    np.add.at(columns.T, at[high], matrix[:, n:][:, high].T)
    free = ~low & ~high
    unknown = np.linalg.lstsq(np.column_stack([columns[:, kept], matrix[:, n:][:, free]]), problem.target)[0]
    l, z = np.zeros(n), np.zeros(len(at))  # noqa: E741
    l[kept] = unknown[: kept.sum()]
    z[free] = unknown[kept.sum() :]
    z[high] = l[at[high]]
    return np.concatenate([l, z])
