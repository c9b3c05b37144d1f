"""Section 3 and Appendix A: what holds as tests, what is printed wrong as counterexamples."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest

from papers.margin_membership.theory.univariate import (
    candidates_as_printed,
    count_breakpoints,
    largest_margin_count,
    move_breakpoint,
    single_training_point,
)
from tacit.models.attacks.univariate.candidates import build_candidates
from tacit.models.attacks.univariate.function import PiecewiseLinear, find_margin, to_piecewise_linear
from tacit.models.margin.univariate import fit_least_norm
from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput


def draw_set(seed):
    rng = np.random.default_rng([13, seed])
    n = int(rng.integers(4, 21))
    x = np.sort(rng.normal(size=n))
    while np.diff(x).min() < 1e-3:
        x = np.sort(rng.normal(size=n))
    return x, rng.permutation(np.r_[1, -1, rng.choice([-1, 1], n - 2)])


@pytest.fixture(scope="module")
def exact():
    """Networks at a KKT point, with their training points of positive multiplier."""
    found = []
    for seed in range(25):
        x, y = draw_set(seed)
        fit = fit_least_norm(x, y)
        found.append((fit.network, x[fit.multipliers > 1e-9 * fit.multipliers.max()]))
    return found


@pytest.mark.parametrize("x", [-3.0, 0.0, 0.5, 2.0])
def test_theorem_3_1_reads_the_point_off_the_neuron(x):
    network = fit_least_norm([x], [1]).network
    assert single_training_point(network) == pytest.approx(x, abs=1e-9)


def test_theorem_3_1_as_printed_fails_at_zero():
    network = fit_least_norm([0.0], [1]).network
    assert network([[-5.0], [0.0], [7.0]]) == pytest.approx([1, 1, 1]), "no single point is on the margin"


def test_lemma_a1_in_open_gaps(exact):
    for network, points in exact:
        counts = count_breakpoints(network, points, tolerance=1e-8)
        assert counts.max() <= 1
        assert counts[0, 1] == counts[-1, 0] == 0, "a neuron that is on at no point is zero"


def test_lemma_a1_as_printed_fails_in_closed_gaps(exact):
    """Two neurons open to the right break in one closed gap between training points, at different places."""
    found = 0
    for network, points in exact:
        right = network.weights[:, 0] > 0
        t = np.unique((-network.biases / network.weights[:, 0])[right].round(9))
        found += sum(((t >= low - 1e-8) & (t <= high + 1e-8)).sum() > 1 for low, high in pairwise(points))
    assert found > 5


def test_lemma_a2_bounds_the_margin(exact):
    for network, points in exact:
        on = find_margin(to_piecewise_linear(network), tolerance=1e-8)
        assert len(on.flats) == 0
        assert len(points) <= len(on.points) <= largest_margin_count(len(points))


def test_theorem_3_2_every_window_holds_a_training_point(exact):
    windows = 0
    for network, points in exact:
        function = to_piecewise_linear(network)
        t, on = function.breakpoints, find_margin(function, tolerance=1e-8)
        for low, high in zip(t[:-2], t[2:], strict=True):
            windows += 1
            assert ((points >= low - 1e-8) & (points <= high + 1e-8)).any()
            assert ((on.points >= low) & (on.points <= high)).sum() <= 4
    assert windows > 20, "control"


def test_a_window_without_a_training_point_is_no_kkt_point():
    """Control: on a random network, windows without points on the margin do occur."""
    rng = np.random.default_rng(0)
    network = TwoLayerReLU(weights=rng.normal(size=(9, 1)), biases=rng.normal(size=9), outputs=rng.normal(size=9))
    function = to_piecewise_linear(network)
    on = find_margin(function, margin=0.5)
    t = function.breakpoints
    held = [((on.points >= low) & (on.points <= high)).any() for low, high in zip(t[:-2], t[2:], strict=True)]
    assert not all(held)


def test_theorem_3_3_a_neuron_on_everywhere_breaks_between_the_two():
    """c_r + c_l = c_w, all of length 1, with c_r and c_l on one side: the breakpoint of c_w is between theirs."""
    rng = np.random.default_rng(0)
    seen = 0
    for angle in rng.uniform(-np.pi / 2, np.pi / 2, size=400):
        other = angle + 2 * np.pi / 3
        right, left = (np.array([np.cos(a), np.sin(a)]) for a in (angle, other))
        if right[0] * left[0] <= 0:
            continue  # the slopes v^2 c of both have one sign between constant pieces
        whole = right + left
        assert np.linalg.norm(whole) == pytest.approx(1)
        breaks = [-c[1] / c[0] for c in (right, left, whole)]
        assert min(breaks[:2]) < breaks[2] < max(breaks[:2])
        seen += 1
    assert seen > 20


def step_network():
    """-1 before -1, slope 1 between, +1 after 1; training points at -3, -2, 2, 3 are at no breakpoint."""
    return TwoLayerReLU(weights=[[1.0], [1.0], [-1.0]], biases=[4.0, -1.0, -1.0], outputs=[1.0, -1.0, 1.0])


def test_theorem_3_3_printed_sign():
    network = step_network()
    function = to_piecewise_linear(network)
    assert function.slopes[1:].tolist() == [0, 1, 0]
    products = network.outputs * network.weights[:, 0]
    assert products[1] == products[2], "v_i w_i = v_(i-1) w_(i-1), printed with a minus"


def test_figure_2_a_smaller_norm_with_the_same_outputs():
    network, x = step_network(), np.array([[-3.0], [-2.0], [2.0], [3.0]])
    moved = move_breakpoint(network, fixed=1, moved=2, whole=0, delta=1e-6)
    still = move_breakpoint(network, fixed=1, moved=2, whole=0, delta=0.0)
    P = network.outputs[:, None] * np.column_stack([network.weights[:, 0], network.biases])
    u = P / np.linalg.norm(P, axis=1)[:, None]
    q = P[2, 0] * np.array([1.0, network.biases[1] / network.weights[1, 0]])
    slope = (moved.squared_norm - still.squared_norm) / 2 / 1e-6
    assert slope == pytest.approx((u[0] - u[1] - u[2]) @ q, rel=1e-4)
    better = move_breakpoint(network, fixed=1, moved=2, whole=0, delta=-0.2 * np.sign(slope))
    assert better(x) == pytest.approx(network(x))
    assert better.squared_norm < still.squared_norm - 1e-2
    assert to_piecewise_linear(better).breakpoints == pytest.approx(to_piecewise_linear(network).breakpoints, abs=2)


def zigzag(values):
    slopes = np.concatenate([[0.0], np.diff(values), [0.0]])
    return PiecewiseLinear(breakpoints=np.arange(float(len(values))), values=values, slopes=slopes)


def test_theorem_3_4_overlapping_windows_give_a_sixth():
    function = zigzag([2.0, -2.0, 2.0, -2.0])
    printed = candidates_as_printed(function)
    training = {1.25}  # on the margin, and in both windows [0, 2] and [1, 3]: all that Theorem 3.2 promises
    assert len(printed) == 6
    assert len(training & set(printed.tolist())) == 1
    assert len(build_candidates(function).points) == 4


def test_theorem_3_4_a_shared_breakpoint_gives_a_seventh():
    function = zigzag([2.0, -2.0, 1.0, -2.0, 2.0])
    on = find_margin(function)
    windows = [on.points[(on.points >= low) & (on.points <= low + 2)] for low in (0, 2)]
    training = {2.0}  # the breakpoint that both windows [0, 2] and [2, 4] hold
    assert all(training & set(window.tolist()) for window in windows)
    assert len(set(np.concatenate(windows).tolist())) == 7
    assert len(build_candidates(function).points) == 4


def test_theorem_3_4_disjoint_windows_keep_the_quarter(exact):
    for network, points in exact:
        found = build_candidates(to_piecewise_linear(network), tolerance=1e-8)
        right = sum(np.abs(points - p).min() < 1e-6 for p in found.points)
        assert 4 * right >= len(found.points)
        assert right >= len(found.windows)


def test_an_added_linear_neuron_may_be_zero_and_then_enforces_nothing():
    """The remark after Theorem 3.3: at the optimum |sum l y (x, 1)| = 1 only where the linear neuron is not zero."""
    used = []
    for seed in range(8):
        x, y = draw_set(seed)
        n, Z = len(x), np.column_stack([x, np.ones(len(x))])
        D = np.array([np.arange(n) >= k for k in range(n)] + [np.arange(n) < k for k in range(1, n)])
        P, Q, line = cp.Variable((len(D), 2)), cp.Variable((len(D), 2)), cp.Variable(2)
        out = sum((P - Q)[:, c] @ (D * Z[:, c]) for c in range(2)) + Z @ line
        fits = cp.multiply(y, out) >= 1
        cones = [cp.multiply(2 * D - 1, V @ Z.T) >= 0 for V in (P, Q)]
        size = cp.sum(cp.norm(P, 2, axis=1)) + cp.sum(cp.norm(Q, 2, axis=1)) + cp.norm(line)
        cp.Problem(cp.Minimize(size), [fits, *cones]).solve(solver=cp.CLARABEL)
        whole = np.linalg.norm((fits.dual_value * y) @ Z)
        assert whole < 1 + 1e-4
        if np.linalg.norm(line.value) > 1e-3 * size.value:
            assert whole == pytest.approx(1, abs=1e-4)
        used.append(bool(np.linalg.norm(line.value) > 1e-6 * size.value))
    assert not all(used)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: single_training_point(step_network()), "one neuron"),
        (lambda: single_training_point(TwoLayerReLU(weights=[[1]], biases=[0], outputs=[1])), "must not be 0"),
        (lambda: largest_margin_count(1), "at least 2"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
