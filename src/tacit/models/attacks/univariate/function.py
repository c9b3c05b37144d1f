"""A network of one feature as a piecewise linear function, with its breakpoints and its margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["MarginPoints", "PiecewiseLinear", "find_margin", "merge_neurons", "to_piecewise_linear"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PiecewiseLinear:
    """A continuous piecewise linear function of one number.

    Its slopes are those before the first breakpoint, between breakpoints and after the last, one more than these.
    """

    breakpoints: Floats
    values: Floats
    slopes: Floats

    def __post_init__(self) -> None:
        for name in ("breakpoints", "values", "slopes"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if not len(self.breakpoints) or np.any(np.diff(self.breakpoints) <= 0):
            raise InvalidInput("must be in increasing order, and at least one", field="breakpoints")
        if len(self.values) != len(self.breakpoints) or len(self.slopes) != len(self.breakpoints) + 1:
            raise InvalidInput("must be one per breakpoint, and slopes one more", field="values")

    def __call__(self, x: ArrayLike) -> Floats:
        """Return its values at the given numbers."""
        at = np.asarray(x, dtype=np.float64)
        piece = np.searchsorted(self.breakpoints, at, side="right")
        anchor = np.maximum(piece - 1, 0)
        return np.asarray(self.values[anchor] + self.slopes[piece] * (at - self.breakpoints[anchor]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginPoints:
    """Where |Phi(x)| = m: single points, and intervals on which the function is constant.

    The points include ends of intervals; ``flats`` has both ends of each interval, infinite if it does not end.
    """

    points: Floats
    labels: NDArray[np.int64]
    flats: Floats


def merge_neurons(network: TwoLayerReLU, *, tolerance: float = 1e-9) -> TwoLayerReLU:
    """Return the network of one feature with one balanced neuron for each direction (w, b) and sign of v.

    Neurons of one direction u and one sign of v add up to one: sum_j v_j |(w_j, b_j)| [u.(x, 1)]_+. At a KKT point the
    merged network is one too, with the same function, norm and multipliers. Directions that differ by at most the angle
    ``tolerance`` are one; neurons with at most this share of the largest neuron's |v| |(w, b)| are left out.

    References
    ----------
    Paper 004, Appendix A, proof of Lemma A.1.
    """
    check_one_feature(network)
    inner = np.column_stack([network.weights[:, 0], network.biases])
    masses = np.abs(network.outputs) * np.linalg.norm(inner, axis=1)
    if masses.max() == 0:
        raise InvalidInput("the network must not be zero everywhere: nothing was learned")
    groups = _groups(inner, network.outputs, masses > tolerance * masses.max(), tolerance)
    totals = np.array([(np.abs(network.outputs[group])[:, None] * inner[group]).sum(axis=0) for group in groups])
    signs = np.array([np.sign(network.outputs[group[0]]) for group in groups])
    lengths = np.linalg.norm(totals, axis=1)
    inner = totals / np.sqrt(lengths)[:, None]
    return TwoLayerReLU(weights=inner[:, :1], biases=inner[:, 1], outputs=signs * np.sqrt(lengths))


def _groups(inner: Floats, outputs: Floats, kept: NDArray[np.bool_], tolerance: float) -> list[NDArray[np.intp]]:
    """Cut the circle of directions where two neighbors are further apart than the tolerance, for each sign of v."""
    angles = np.arctan2(inner[:, 1], inner[:, 0])
    groups = []
    for sign in (1, -1):
        chosen = np.flatnonzero(kept & (np.sign(outputs) == sign))
        if len(chosen):
            chosen = chosen[np.argsort(angles[chosen], kind="stable")]
            cuts = np.flatnonzero(np.diff(angles[chosen]) > tolerance) + 1
            parts = np.split(chosen, cuts)
            first, last = angles[parts[0][0]], angles[parts[-1][-1]]
            if len(parts) > 1 and first + 2 * np.pi - last <= tolerance:  # the circle closes
                parts = [np.concatenate([parts[-1], parts[0]]), *parts[1:-1]]
            groups += parts
    return groups


def check_one_feature(network: TwoLayerReLU) -> None:
    """Reject a network of more than one feature."""
    if network.dimension != 1:
        raise InvalidInput(
            f"must have one feature, got {network.dimension}: its margin is then a surface, not a set of points",
            field="network",
        )


def to_piecewise_linear(network: TwoLayerReLU, *, tolerance: float = 1e-9) -> PiecewiseLinear:
    """Return a network of one feature as a function of its breakpoints -b_j/w_j; a constant one gets 0 as breakpoint.

    Breakpoints t and t' are one if |t - t'| <= tolerance sqrt((1 + t^2)(1 + t'^2)): the sine of the angle between
    their neurons.

    References
    ----------
    Paper 004, Eq. (6).
    """
    check_one_feature(network)
    w, b, v = network.weights[:, 0], network.biases, network.outputs
    bent = (np.abs(w) > 1e-12 * np.abs(b)) & (v != 0)  # a neuron with w = 0 is constant
    places = np.sort(-b[bent] / w[bent]) if bent.any() else np.zeros(1)
    sines = np.diff(places) / (np.hypot(places[:-1], 1) * np.hypot(places[1:], 1))
    parts = np.split(places, np.flatnonzero(sines > tolerance) + 1)
    breakpoints = np.array([part.mean() for part in parts])
    tests = np.concatenate([[breakpoints[0] - 1], (breakpoints[1:] + breakpoints[:-1]) / 2, [breakpoints[-1] + 1]])
    slopes = (network.preactivations(tests[:, None]) > 0) @ (v * w)
    slopes[np.abs(slopes) <= 1e-13 * np.abs(v * w).sum()] = 0  # slopes that cancel leave rounding behind
    return PiecewiseLinear(breakpoints=breakpoints, values=network(breakpoints[:, None]), slopes=slopes)


def find_margin(function: PiecewiseLinear, *, margin: float = 1.0, tolerance: float = 1e-9) -> MarginPoints:
    """Return where the function is +m or -m; at a breakpoint it is if its value is within ``tolerance`` m of that.

    References
    ----------
    Paper 004, Assumption 2.1 and Lemma A.2.
    """
    if not margin > 0:
        raise InvalidInput(f"must be > 0, got {margin}", field="margin")
    t, values = function.breakpoints, function.values
    on = np.abs(np.abs(values) - margin) <= tolerance * margin
    found = [(float(x), int(np.sign(value))) for x, value in zip(t[on], values[on], strict=True)]
    lows, highs = np.concatenate([[-np.inf], t]), np.concatenate([t, [np.inf]])
    ends = np.concatenate([[False], on, [False]])
    for i, slope in enumerate(function.slopes):
        anchor = max(i - 1, 0)
        for sign in (1, -1):
            if slope == 0 or any(end and np.sign(value) == sign for end, value in _ends(i, ends, values)):
                continue  # this piece's point on that side of the margin is its end
            x = t[anchor] + (sign * margin - values[anchor]) / slope
            if lows[i] < x < highs[i]:
                found.append((float(x), sign))
    found.sort()
    flat = _flat_pieces(function, on)
    return MarginPoints(
        points=np.array([x for x, _ in found]),
        labels=np.array([sign for _, sign in found], dtype=np.int64),
        flats=np.column_stack([lows[flat], highs[flat]]),
    )


def _flat_pieces(function: PiecewiseLinear, on: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each piece whether the function lies on the margin throughout."""
    same = on[1:] & on[:-1] & (np.sign(function.values[1:]) == np.sign(function.values[:-1]))
    first, last = (bool(on[end] and function.slopes[end] == 0) for end in (0, -1))
    return np.concatenate([[first], same, [last]])


def _ends(piece: int, ends: NDArray[np.bool_], values: Floats) -> list[tuple[bool, float]]:
    """Return, for both ends of a piece, whether it is on the margin, and the value there."""
    padded = np.concatenate([[0.0], values, [0.0]])
    return [(bool(ends[i]), float(padded[i])) for i in (piece, piece + 1)]
