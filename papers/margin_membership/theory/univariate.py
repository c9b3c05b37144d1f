"""What is proved about networks of one feature at a KKT point of the margin problem, in the form that holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.attacks.univariate.function import PiecewiseLinear, find_margin, merge_neurons
from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput

__all__ = [
    "candidates_as_printed",
    "count_breakpoints",
    "largest_margin_count",
    "move_breakpoint",
    "single_training_point",
]

Floats = NDArray[np.float64]


def single_training_point(network: TwoLayerReLU) -> float:
    """Return the training point of a network of one neuron at a KKT point of one training point: x = w/b.

    (w, b) = v l y (x, 1), so w/b = x always. The printed proof takes the one point where |v (w x + b)| = m, which
    fails at x = 0: there w = 0, and the network is constant.

    References
    ----------
    Paper 004, Theorem 3.1.

    Examples
    --------
    >>> single_training_point(TwoLayerReLU(weights=[[2.0]], biases=[1.0], outputs=[5**0.5]))
    2.0
    >>> single_training_point(TwoLayerReLU(weights=[[0.0]], biases=[1.0], outputs=[1.0]))
    0.0
    """
    if network.weights.shape != (1, 1):
        raise InvalidInput(
            f"network must have one neuron and one feature, got weights of shape {network.weights.shape}"
        )
    if network.biases[0] == 0:
        raise InvalidInput("the bias must not be 0: no network of one neuron at a KKT point of one point has b = 0")
    return float(network.weights[0, 0] / network.biases[0])


def count_breakpoints(network: TwoLayerReLU, points: ArrayLike, *, tolerance: float = 1e-9) -> NDArray[np.int64]:
    """Return how many neurons open to the right, and to the left, break strictly between neighboring points.

    At a KKT point whose training points with l > 0 are the given ones, each count is at most 1: two neurons open to
    the same side that break in the same gap are on at the same points, and so are one. The lemma as printed says so of
    closed gaps, where it fails: at a training point the derivative is free, and two neurons open to the same side may
    break at both ends.

    Parameters
    ----------
    network
        One feature.
    points
        The training points with l > 0.
    tolerance
        A breakpoint that is this close to a point, relative to 1 + |x|, is at the point.

    Returns
    -------
    array
        A row a gap: before the first point, between points, after the last; columns right and left.

    References
    ----------
    Paper 004, Lemma A.1.

    Examples
    --------
    >>> from tacit.models.margin.univariate import fit_least_norm
    >>> count_breakpoints(fit_least_norm([-1.0, 1.0], [-1, 1]).network, [-1.0, 1.0]).tolist()  # both break at a point
    [[0, 0], [0, 0], [0, 0]]
    """
    merged = merge_neurons(network, tolerance=tolerance)
    x = np.sort(np.asarray(points, dtype=np.float64))
    w, b = merged.weights[:, 0], merged.biases
    bent = np.abs(w) > 1e-12 * np.abs(b)
    counts = np.zeros((len(x) + 1, 2), dtype=np.int64)
    for t, right in zip(-b[bent] / w[bent], w[bent] > 0, strict=True):
        if np.abs(x - t).min() > tolerance * (1 + abs(t)):
            counts[np.searchsorted(x, t), 0 if right else 1] += 1
    return counts


def largest_margin_count(points: int) -> int:
    """Return 5n + 2, the most points a network at a KKT point has on its margin, n of them with l > 0.

    It holds where no piece is constant on the margin, and n >= 2. In a gap between two training points at most two
    neurons break, so there are at most three pieces, the outer two with one end on the margin: 1 + 2 + 1 further
    points. Before the first point only a neuron open to the right breaks (one open to the left would be on at no
    point): 1 + 2 further points; and as many after the last. n + 4(n - 1) + 6 in all. Hence at least
    n/(5n + 2) >= 1/6 of all points on the margin are training points, without any windows. The printed 6n counts n - 2
    gaps, where there are n - 1.

    References
    ----------
    Paper 004, Lemma A.2.

    Examples
    --------
    >>> largest_margin_count(4)
    22
    """
    if points < 2:
        raise InvalidInput(f"points must be at least 2, got {points}: a single one is the whole margin, or all is")
    return 5 * points + 2


def candidates_as_printed(function: PiecewiseLinear, *, margin: float = 1.0, tolerance: float = 1e-9) -> Floats:
    """Return the set of Algorithm 1 as printed, with sliding windows: it may hold less than a quarter training points.

    Examples
    --------
    >>> zigzag = PiecewiseLinear(breakpoints=[0.0, 1, 2, 3], values=[2.0, -2, 2, -2], slopes=[4.0, -4, 4, -4, 4])
    >>> len(candidates_as_printed(zigzag))  # one training point between 1 and 2 is in both windows
    6
    """
    t = function.breakpoints
    on = find_margin(function, margin=margin, tolerance=tolerance)
    flat = np.isin(t[:-1], on.flats[:, 0]) & np.isin(t[1:], on.flats[:, 1])
    found: set[float] = set()
    for i in range(len(t) - 2):
        if not flat[i] and not flat[i + 1]:
            found.update(on.points[(on.points >= t[i]) & (on.points <= t[i + 2])].tolist())
        if flat[i] and i < len(t) - 3 and flat[i + 2]:
            found.update(t[i + 1 : i + 3].tolist())
    return np.array(sorted(found))


def move_breakpoint(network: TwoLayerReLU, *, fixed: int, moved: int, whole: int, delta: float) -> TwoLayerReLU:
    """Return the network with one breakpoint moved and the same outputs left and right of both, as in Figure 2.

    With P_j = v_j (w_j, b_j), the neurons ``fixed`` and ``moved`` open to opposite sides and ``whole`` on at all
    points: P_fixed and P_moved change by -delta q, P_whole by delta q, q = v w (1, b'/w') with (w', b') of ``fixed``.
    Outputs at points where exactly one of the two is on stay. Each neuron is then balanced. Half the squared norm,
    sum |P_j|, has slope (u_whole - u_fixed - u_moved).q in delta, u_j = P_j/|P_j|. At a KKT point off kinks u_j = c_j =
    sum_i l_i y_i s_ij (x_i, 1), and the slope is 0: the first two cases of the printed proof never arise there. Its
    third uses v_i w_i = -v_{i-1} w_{i-1}; but between two constant pieces the slope changes by v|w| at each end and the
    neurons open to opposite sides, so v_i w_i = v_{i-1} w_{i-1}.

    What proves the theorem at every KKT point: c_right + c_left = c_whole, all of length 1, with first coordinates of
    c_right and c_left of one sign. So c_whole is halfway between the two, its breakpoint is between theirs, and it is
    off at the points of one side: no neuron is on at all points, against the assumption.

    References
    ----------
    Paper 004, Theorem 3.3 and Figure 2.

    Examples
    --------
    >>> step = TwoLayerReLU(weights=[[1.0], [1.0], [-1.0]], biases=[3.0, -1.0, -1.0], outputs=[1.0, -1.0, 1.0])
    >>> other = move_breakpoint(step, fixed=1, moved=2, whole=0, delta=0.1)
    >>> bool(np.allclose(other([[-2.0], [2.0]]), step([[-2.0], [2.0]]))), other.squared_norm < step.squared_norm
    (True, True)
    """
    P = network.outputs[:, None] * np.column_stack([network.weights[:, 0], network.biases])
    q = P[moved, 0] * np.array([1.0, network.biases[fixed] / network.weights[fixed, 0]])
    P[[fixed, moved]] -= delta * q
    P[whole] += delta * q
    signs, roots = np.sign(network.outputs), np.sqrt(np.linalg.norm(P, axis=1))
    inner = signs[:, None] * P / roots[:, None]
    return TwoLayerReLU(weights=inner[:, :1], biases=inner[:, 1], outputs=signs * roots)
