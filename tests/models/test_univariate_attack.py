"""Reconstruction in one dimension: the quarter, the exact points, what cannot be told, and bad input."""

import json

import numpy as np
import pytest

from tacit.models.attacks.univariate.black_box import probe_function
from tacit.models.attacks.univariate.candidates import build_candidates
from tacit.models.attacks.univariate.function import PiecewiseLinear, find_margin, merge_neurons, to_piecewise_linear
from tacit.models.attacks.univariate.level import find_levels
from tacit.models.attacks.univariate.reconstruction import reconstruct_univariate, reconstruction_leak
from tacit.models.attacks.univariate.stationarity import explain_weights
from tacit.models.margin.certificate import kkt
from tacit.models.margin.univariate import fit_least_norm
from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput


def draw_set(seed):
    rng = np.random.default_rng([11, seed])
    n = int(rng.integers(4, 21))
    x = np.sort(rng.normal(size=n))
    while np.diff(x).min() < 1e-3:
        x = np.sort(rng.normal(size=n))
    return x, rng.permutation(np.r_[1, -1, rng.choice([-1, 1], n - 2)])


def share(points, truth):
    return np.mean([np.abs(truth - p).min() <= 1e-6 * (1 + abs(p)) for p in points])


@pytest.mark.parametrize("seed", range(10))
def test_exact_networks_give_their_margin_points_and_a_quarter_of_candidates(seed):
    x, y = draw_set(seed)
    network = fit_least_norm(x, y).network
    on = y * network(x[:, None]) < 1 + 1e-6
    found = reconstruct_univariate(network, margin=1.0)
    assert found.points == pytest.approx(x[on], abs=1e-7)
    assert (found.labels == y[on]).all()
    assert found.trusted
    assert found.multipliers.sum() == pytest.approx(network.squared_norm / 2), "Euler: theta.grad Phi = 2 Phi"
    assert kkt(network, x[on, None], y[on]).residual <= 1e-8
    if len(found.candidates.points):
        assert share(found.candidates.points, x) >= 0.25
        for low, high in found.candidates.windows:
            assert ((x >= low - 1e-9) & (x <= high + 1e-9) & on).any(), "every window holds a training point"
    else:
        assert not found.candidates.enough


def test_candidates_need_three_breakpoints():
    found = reconstruct_univariate(fit_least_norm([-1.0, 1.0], [-1, 1]).network, margin=1.0)
    assert (len(found.candidates.points), found.candidates.enough) == (0, False)
    assert "Fewer than three breakpoints" in str(found)
    assert found.points == pytest.approx([-1, 1])


def test_windows_share_no_breakpoint():
    zigzag = PiecewiseLinear(breakpoints=np.arange(7.0), values=[2, -2, 2, -2, 2, -2, 2], slopes=[4, -4] * 4)
    found = build_candidates(zigzag)
    assert found.windows.tolist() == [[0, 2], [3, 5]]
    assert len(found.points) == 8


def test_a_piece_between_two_flat_ones_gives_its_ends():
    steps = PiecewiseLinear(breakpoints=[0.0, 1, 2, 3], values=[-1.0, -1, 1, 1], slopes=[-1.0, 0, 2, 0, 1])
    found = build_candidates(steps)
    assert found.points.tolist() == [1, 2]
    assert found.windows.tolist() == [[1, 2]]


def test_constant_pieces_on_the_margin_are_said():
    found = reconstruct_univariate(TwoLayerReLU(weights=[[0]], biases=[1], outputs=[1]), margin=1.0)
    assert found.flats.tolist() == [[-np.inf, 0], [0, np.inf]]
    assert not found.trusted
    assert any("constant on the margin" in doubt for doubt in found.doubts)


def test_an_unknown_margin_leaves_other_training_sets():
    """Other points at another margin satisfy the KKT conditions of the same network, to rounding."""
    x, y = draw_set(0)
    network = merge_neurons(fit_least_norm(x, y).network)
    function = to_piecewise_linear(network, tolerance=1e-8)
    levels = find_levels(network, function)
    assert len(levels) > 1
    other = max(levels, key=lambda level: abs(np.log(level)))
    assert abs(np.log(other)) > 1e-3
    on = find_margin(function, margin=other, tolerance=1e-8)
    certificate = kkt(network, on.points[:, None], on.labels)
    assert certificate.residual < 1e-6
    assert certificate.margin == pytest.approx(other)
    assert np.abs(on.points[:, None] - x).min() > 1e-3, "none of them was a training point"
    found = reconstruct_univariate(network)
    assert not found.trusted
    assert "give the margin" in str(found)


def test_the_margin_is_found_where_only_one_explains_the_weights():
    network = fit_least_norm([2.0], [1]).network.scaled(3.0)
    found = reconstruct_univariate(network)
    assert (found.margin, found.points.tolist(), found.trusted) == (pytest.approx(3), pytest.approx([2.0]), True)


def test_a_wide_network_of_unknown_margin_is_merged_first():
    x, y = draw_set(1)
    exact = fit_least_norm(x, y).network
    rng = np.random.default_rng(0)
    copies = {name: np.concatenate([getattr(exact, name)] * 30) for name in ("weights", "biases", "outputs")}
    copies["weights"] = copies["weights"] * (1 + 1e-6 * rng.normal(size=copies["weights"].shape))
    found = reconstruct_univariate(TwoLayerReLU(**copies))
    assert found.tolerance > 1e-8
    assert not found.trusted
    assert json.loads(json.dumps(found.to_json()))["trusted"] is False


def test_a_random_network_is_not_trusted():
    rng = np.random.default_rng(0)
    network = TwoLayerReLU(weights=rng.normal(size=(8, 1)), biases=rng.normal(size=8), outputs=rng.normal(size=8))
    found = reconstruct_univariate(network, margin=0.5)
    assert not found.trusted
    assert found.residual > 0.01
    assert "Not to be trusted" in str(found)


def test_merging_keeps_the_function():
    rng = np.random.default_rng(1)
    base = TwoLayerReLU(weights=rng.normal(size=(6, 1)), biases=rng.normal(size=6), outputs=rng.normal(size=6))
    doubled = TwoLayerReLU(
        weights=np.concatenate([base.weights, 3 * base.weights, base.weights[:1] * 0]),
        biases=np.concatenate([base.biases, 3 * base.biases, [0.0]]),
        outputs=np.concatenate([base.outputs, 0.5 * base.outputs, [1.0]]),
    )
    merged = merge_neurons(doubled)
    at = np.linspace(-3, 3, 50)[:, None]
    assert merged.width == 6
    assert merged(at) == pytest.approx(doubled(at))
    assert merged.outputs**2 == pytest.approx(merged.weights[:, 0] ** 2 + merged.biases**2)
    assert to_piecewise_linear(merged)(at[:, 0]) == pytest.approx(doubled(at))


def test_margin_points_are_those_of_a_fine_grid():
    x, y = draw_set(3)
    network = fit_least_norm(x, y).network
    found = find_margin(to_piecewise_linear(network), margin=0.7)
    grid = np.linspace(-6, 6, 400_001)
    height = np.abs(network(grid[:, None])) - 0.7
    crossings = grid[:-1][np.sign(height[:-1]) != np.sign(height[1:])]
    inside = found.points[np.abs(found.points) < 6]
    assert len(inside) == len(crossings)
    assert inside == pytest.approx(crossings, abs=4e-5)


@pytest.mark.parametrize("seed", range(6))
def test_outputs_alone_give_the_same_candidates(seed):
    x, y = draw_set(seed)
    network = fit_least_norm(x, y).network
    asked = []

    def ask(at):
        asked.append(len(at))
        return network(at[:, None])

    probed = probe_function(ask, low=-8.0, high=8.0)
    truth = to_piecewise_linear(network)
    inside = truth.breakpoints[np.abs(truth.breakpoints) < 8]
    assert probed.function.breakpoints == pytest.approx(inside, abs=1e-9)
    assert probed.queries == sum(asked)
    assert len(probed.unresolved) == 0
    if len(inside) == len(truth.breakpoints):
        candidates = build_candidates(truth, tolerance=1e-8).points
        assert build_candidates(probed.function, tolerance=1e-6).points == pytest.approx(candidates, abs=1e-6)


def test_probing_says_what_it_cannot_resolve():
    found = probe_function(np.sin, low=0.0, high=0.1, closest=0.3)
    assert len(found.unresolved)


def test_leaving_out_a_needed_point_is_noticed():
    network = fit_least_norm([-1.0, 1.0], [-1, 1]).network
    found = explain_weights(network, np.array([-1.0, 1.0]), np.array([-1, 1]))
    assert found.residual < 1e-12
    assert found.without.min() > 0.1


def test_the_leak_counts_labels_and_chance():
    x, y = draw_set(0)
    found = reconstruct_univariate(fit_least_norm(x, y).network, margin=1.0)
    leak = reconstruction_leak(found, x, y, fresh=np.random.default_rng(0).normal(size=1000))
    assert (leak.rate, leak.baseline) == (1.0, 0.0)
    assert leak.advantage_interval.low > 0.3
    assert reconstruction_leak(found, x, -y, fresh=[0.1]).rate == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reconstruct_univariate(TwoLayerReLU(weights=[[1, 2]], biases=[0], outputs=[1])), "one feature, got 2"),
        (lambda: reconstruct_univariate(TwoLayerReLU(weights=[[1]], biases=[0], outputs=[0])), "zero everywhere"),
        (
            lambda: reconstruct_univariate(TwoLayerReLU(weights=[[1]], biases=[0], outputs=[1]), margin=-1.0),
            "margin must be > 0",
        ),
        (lambda: PiecewiseLinear(breakpoints=[1, 0], values=[0, 0], slopes=[0, 0, 0]), "increasing order"),
        (lambda: PiecewiseLinear(breakpoints=[1], values=[0], slopes=[0]), "slopes one more"),
        (lambda: probe_function(np.abs, low=1.0, high=0.0), "low must be below high"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
