"""From a trained network to a KKT point: the convex program of its activation patterns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.errors import TacitError
from tacit.privacy.extras import load_extra

__all__ = ["polish_network"]

Patterns = NDArray[np.bool_]

_GONE = 1e-7  # a neuron of this share of the largest |u| is none
_LIGHT = 1e-3  # neurons that carry this share of the norm together are left out
_MOST_ROUNDS = 50


def polish_network(network: TwoLayerReLU, rows: Floats, signs: Floats) -> TwoLayerReLU:
    """Return the least network that has the activation patterns of this one: a KKT point of the margin problem.

    With u = |v| (w, b), a pattern D over the points and a sign s the norm at balance is sum |u|, so the network is

        min sum_p |u_p|  subject to  y_i sum_p s_p D_pi u_p . (x_i, 1) >= 1  and  (2 D_pi - 1) u_p . (x_i, 1) >= 0.

    Its optimum is a KKT point of the network unless a neuron lies against the boundary of its pattern with a
    force no Clarke derivative gives; such a neuron may take the pattern across the boundary too, and the program is
    solved again. It ends, for the optimum falls and there are finitely many patterns.

    References
    ----------
    Pilanci and Ergen (2020), Theorem 1; paper 004, Equation (1).
    """
    points = np.column_stack([rows, np.ones(len(rows))])
    basis = np.linalg.qr(points.T)[0]
    scale = np.linalg.norm(points, axis=1).max()
    inside = points @ basis / scale
    on, side = _patterns_of(network, rows, signs)
    for _ in range(_MOST_ROUNDS):
        neurons, multipliers, walls = _least(inside, signs, on, side)
        crossed = _crossings(neurons, multipliers, walls, signs, on, side)
        kept = np.linalg.norm(neurons, axis=1) > _GONE * np.linalg.norm(neurons, axis=1).max()
        if not len(crossed[0]):
            break
        on, side = _distinct(np.vstack([on[kept], crossed[0]]), np.concatenate([side[kept], crossed[1]]))
    neurons = neurons[kept] / scale
    size = np.sqrt(np.linalg.norm(neurons, axis=1))
    made = neurons @ basis.T / size[:, None]
    polished = TwoLayerReLU(weights=made[:, :-1], biases=made[:, -1], outputs=side[kept] * size)
    return polished.scaled(1 / float((signs * polished(rows)).min()))


def _patterns_of(network: TwoLayerReLU, rows: Floats, signs: Floats) -> tuple[Patterns, Floats]:
    """Return the distinct patterns and signs of the neurons that carry all but a thousandth of the norm.

    Where these alone do not separate the points, of all neurons.
    """
    reach = network.preactivations(rows)
    mass = np.abs(network.outputs) * np.hypot(np.linalg.norm(network.weights, axis=1), network.biases)
    mass[~(reach > 0).any(axis=0)] = 0  # no point activates it
    order = np.argsort(mass)
    light = order[np.cumsum(mass[order]) <= _LIGHT * mass.sum()]
    used = mass > 0
    heavy = used.copy()
    heavy[light] = False
    if (signs * (np.maximum(reach[:, heavy], 0) @ network.outputs[heavy])).min() > 0:
        used = heavy
    return _distinct(reach[:, used].T > 0, np.sign(network.outputs[used]))


def _distinct(on: Patterns, side: Floats) -> tuple[Patterns, Floats]:
    both = np.unique(np.column_stack([on, side > 0]), axis=0)
    return both[:, :-1], np.where(both[:, -1], 1.0, -1.0)


def _least(inside: Floats, signs: Floats, on: Patterns, side: Floats) -> tuple[Floats, Floats, Floats]:
    """Solve the program; return u by pattern, the margins' multipliers and the patterns' (one row per pattern)."""
    clarabel = load_extra("clarabel")
    (p, n), r = on.shape, inside.shape[1]
    margin = ((side[:, None] * on)[:, :, None] * (signs[:, None] * inside)).transpose(1, 0, 2).reshape(n, p * r)
    wall = sparse.block_diag([(2.0 * d - 1)[:, None] * inside for d in on])
    # a cone (t, u) a pattern: rows of t and u in turn
    cone = sparse.csc_array(
        (np.ones(p * (r + 1)), (np.arange(p * (r + 1)), _interleaved(p, r))), shape=(p * (r + 1),) * 2
    )
    rows = -sparse.vstack(
        [
            sparse.hstack([sparse.csr_array(margin), sparse.csr_array((n, p))]),
            sparse.hstack([wall, sparse.csr_array((p * n, p))]),
            cone,
        ],
        format="csc",
    )
    right = np.concatenate([-np.ones(n), np.zeros(p * n + p * (r + 1))])
    cones = [clarabel.NonnegativeConeT(n + p * n)] + [clarabel.SecondOrderConeT(r + 1)] * p
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cost = np.concatenate([np.zeros(p * r), np.ones(p)])
    nothing = sparse.csc_matrix((p * (r + 1), p * (r + 1)))
    answer = clarabel.DefaultSolver(nothing, cost, sparse.csc_matrix(rows), right, cones, settings).solve()
    if not np.isfinite(answer.x).all() or "Infeasible" in str(answer.status):
        raise TacitError(f"the polish found no network on these patterns ({answer.status}): train longer")
    dual = np.asarray(answer.z)
    return np.asarray(answer.x)[: p * r].reshape(p, r), dual[:n], dual[n : n + p * n].reshape(p, n)


def _interleaved(p: int, r: int) -> NDArray[np.int64]:
    """Return the columns of (t_1, u_1, t_2, u_2, ...) among (u, t)."""
    return np.column_stack([p * r + np.arange(p), np.arange(p * r).reshape(p, r)]).ravel()


def _crossings(
    neurons: Floats, multipliers: Floats, walls: Floats, signs: Floats, on: Patterns, side: Floats
) -> tuple[Patterns, Floats]:
    """Return patterns across the walls that press harder than l_i, or press where y_i s = +1."""
    size = np.linalg.norm(neurons, axis=1)
    live = size > _GONE * size.max()
    allowed = np.where(signs * side[:, None] < 0, multipliers, 0.0)
    pressed = live[:, None] & (walls > allowed + 1e-5 * multipliers.max())
    which = pressed.any(axis=1)
    return on[which] ^ pressed[which], side[which]
