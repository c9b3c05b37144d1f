"""From the convex program's answer to the network itself: Newton's method on the equations of the active set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats

__all__ = ["LeastNorm"]

Flags = NDArray[np.bool_]

_STEPS = 40
_PATIENCE = 3  # steps without progress
_READINGS = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastNorm:
    """The network of least norm with margin 1 on a training set of one feature, with the proof that it is.

    Its neurons differ in direction, each balanced: v^2 = w^2 + b^2. The multipliers l are the dual solution, 0 off the
    margin. ``gap`` is (objective of the network scaled to margin 1 - sum of l scaled to dual feasibility) / objective:
    how far, at most, the network is from the least norm. It is computed from network and multipliers alone.
    """

    network: TwoLayerReLU
    multipliers: Floats
    gap: float

    @property
    def objective(self) -> float:
        """Half the squared norm of the parameters."""
        return self.network.squared_norm / 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _GroupedNeurons:
    """Which neurons there are: sign of v, unit direction, the points each is on at, and whether it sits at a kink."""

    signs: Floats
    rays: Floats
    masses: Floats
    on: Flags
    at_kink: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class _NeuronKind:
    """The identity of a neuron: sign of v, the point its kink is at, the other points it is on at."""

    sign: int
    kink: int | None
    on: frozenset[int]
    right: bool


def lift(x: Floats) -> Floats:
    """Return the rows (x_i, 1)."""
    return np.column_stack([x, np.ones_like(x)])


def refine(
    x: Floats, y: Floats, vectors: tuple[Floats, Floats], dual: Floats, *, tolerance: float
) -> Iterator[LeastNorm]:
    """Take what is above the tolerance as active, solve the equations of the active set, certify each answer."""
    active = dual > tolerance * dual.max()
    Z = lift(x)[active] * y[active, None]  # y_i (x_i, 1): labels enter nowhere else
    for found in _readings(_group(x[active], vectors, tolerance=tolerance)):
        neurons = _neurons(x[active], found)
        lam, masses = _newton(Z, neurons, dual[active])
        multipliers = np.zeros(len(x))
        multipliers[active] = np.maximum(lam, 0)
        rays = np.where(neurons.at_kink[:, None], neurons.rays, neurons.signs[:, None] * ((neurons.on * lam) @ Z))
        lengths = np.linalg.norm(rays, axis=1)
        if lengths.min() > 0:
            yield _certify(x, y, multipliers, neurons.signs * masses, rays / lengths[:, None])


def _group(x: Floats, vectors: tuple[Floats, Floats], *, tolerance: float) -> dict[_NeuronKind, Floats]:
    """Merge the vectors that are active on the same points: at the optimum they have one direction."""
    rows = lift(x) / np.hypot(x, 1)[:, None]
    least = tolerance * max(np.linalg.norm(part, axis=1).max() for part in vectors)
    found: dict[_NeuronKind, Floats] = {}
    for sign, part in zip((1, -1), vectors, strict=True):
        for p in part[np.linalg.norm(part, axis=1) > least]:
            heights = rows @ p / np.linalg.norm(p)
            at = int(np.argmin(np.abs(heights)))
            kink = at if abs(heights[at]) < tolerance else None
            on = frozenset(np.flatnonzero(heights > 0).tolist()) - {kink}
            if on:
                kind = _NeuronKind(sign=sign, kink=kink, on=on, right=bool(p[0] > 0))
                found[kind] = found.get(kind, np.zeros(2)) + p
    return found


def _readings(found: dict[_NeuronKind, Floats]) -> Iterator[dict[_NeuronKind, Floats]]:
    """Yield the ways to read neurons at a kink beside others of the same sign next to it: as these, or these as them.

    Inside a pattern's cone g is largest at one direction, so no second one on the cone's edge reaches 1 too: where the
    program's answer has both, it has not distinguished them.
    """
    beside = {kind: other for kind in found if (other := _beside(kind, found)) is not None}
    places = sorted({(kind.sign, kind.kink) for kind in beside})
    for to_kink in islice(product((False, True), repeat=len(places)), _READINGS):
        moved = dict(zip(places, to_kink, strict=True))
        merged: dict[_NeuronKind, Floats] = {}
        renamed = {
            **{kind: other for kind, other in beside.items() if not moved[kind.sign, kind.kink]},
            **{other: kind for kind, other in beside.items() if moved[kind.sign, kind.kink]},
        }
        for kind, p in found.items():
            kept = renamed.get(kind, kind)
            merged[kept] = merged.get(kept, np.zeros(2)) + p
        yield merged


def _beside(kind: _NeuronKind, found: dict[_NeuronKind, Floats]) -> _NeuronKind | None:
    if kind.kink is None:
        return None
    near = (_NeuronKind(sign=kind.sign, kink=None, on=on, right=kind.right) for on in (kind.on, kind.on | {kind.kink}))
    return next((other for other in near if other in found), None)


def _neurons(x: Floats, found: dict[_NeuronKind, Floats]) -> _GroupedNeurons:
    kinds, totals = list(found), np.array(list(found.values()))
    masses = np.linalg.norm(totals, axis=1)
    at_kink = np.array([kind.kink is not None for kind in kinds])
    at = x[[kind.kink or 0 for kind in kinds]]
    across = np.column_stack([np.ones_like(at), -at]) / np.hypot(at, 1)[:, None]
    turned = across * np.sign((across * totals).sum(axis=1))[:, None]
    return _GroupedNeurons(
        signs=np.array([float(kind.sign) for kind in kinds]),
        rays=np.where(at_kink[:, None], turned, totals / masses[:, None]),
        masses=masses,
        on=np.array([[i in kind.on for i in range(len(x))] for kind in kinds]),
        at_kink=at_kink,
    )


def _newton(Z: Floats, neurons: _GroupedNeurons, lam: Floats) -> tuple[Floats, Floats]:
    """Solve |c_j| = 1 (at a kink: sign_j g(u_j) = 1) and y_i Phi(x_i) = 1 for the multipliers and the masses.

    c_j = sum_i l_i y_i s_ij (x_i, 1). Where the answer is not unique, the least step keeps near the given one.
    """
    a, free = neurons.masses, ~neurons.at_kink
    best, stalled = (np.inf, lam, a), 0
    for _ in range(_STEPS):
        c, M = _slopes(Z, neurons, lam)
        unit = np.where(free, ((c**2).sum(axis=1) - 1) / 2, M @ lam - 1)
        error = np.concatenate([a @ M - 1, unit])
        size = float(np.abs(error).max())
        stalled = 0 if size < best[0] else stalled + 1
        if not np.isfinite(size) or stalled > _PATIENCE:
            break
        best = min(best, (size, lam, a), key=lambda found: found[0])
        H = np.einsum("j,ji,jk,ic,kc->ik", a * free, neurons.on, neurons.on, Z, Z)
        J = np.block([[H, M.T], [M, np.zeros((len(a), len(a)))]])
        step = np.linalg.lstsq(J, -error, rcond=1e-14)[0]
        lam, a = lam + step[: len(lam)], a + step[len(lam) :]
    _, lam, a = best
    M = _slopes(Z, neurons, lam)[1]
    for _ in range(2):  # the margins once more, alone: rounding in the joint system is that of its largest entry
        a = a + np.linalg.lstsq(M.T, 1 - a @ M, rcond=None)[0]
    if a.min() < 0:
        a = lsq_linear(M.T, np.ones(len(lam)), bounds=(0, np.inf), method="bvls").x
    return lam, a


def _slopes(Z: Floats, neurons: _GroupedNeurons, lam: Floats) -> tuple[Floats, Floats]:
    """Return sign_j u_j (c_j off kinks), and M_ji = y_i times the output of neuron j of mass 1 at x_i."""
    c = np.where(neurons.at_kink[:, None], neurons.signs[:, None] * neurons.rays, (neurons.on * lam) @ Z)
    return c, neurons.on * (c @ Z.T)


def _certify(x: Floats, y: Floats, lam: Floats, masses: Floats, rays: Floats) -> LeastNorm:
    """Build the network and bound its distance from the least norm by weak duality."""
    keep = masses != 0
    roots, signs = np.sqrt(np.abs(masses[keep])), np.sign(masses[keep])
    network = TwoLayerReLU(
        weights=(roots * rays[keep, 0])[:, None], biases=roots * rays[keep, 1], outputs=roots * signs
    )
    objective = network.squared_norm / 2
    margin = float((y * network(x[:, None])).min())
    lower = float(lam.sum()) / largest_dual_value(x, lam * y)
    gap = (objective / margin - lower) / lower if margin > 0 else np.inf
    return LeastNorm(network=network, multipliers=lam, gap=max(gap, 0.0))


def largest_dual_value(x: Floats, weights: Floats) -> float:
    """Return max |sum_i weights_i [u.(x_i, 1)]_+| over unit vectors u, for sorted x."""
    Z = lift(x)
    terms = weights[:, None] * Z
    right, left = np.cumsum(terms[::-1], axis=0)[::-1], np.cumsum(terms[:-1], axis=0)
    across = np.column_stack([np.ones_like(x), -x]) / np.hypot(x, 1)[:, None]
    rays = [across, -across]
    for c in (right, left):
        lengths = np.linalg.norm(c, axis=1)
        ray = c[lengths > 0] / lengths[lengths > 0, None]
        rays += [ray, -ray]  # where the pattern is another one, the value is that of another ray and does no harm
    return float(np.abs(np.maximum(np.concatenate(rays) @ Z.T, 0) @ weights).max())
