"""The exact network of one feature: pinned numbers, duality, KKT conditions, and a rival that searches."""

import itertools

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from tacit.models.margin.certificate import kkt
from tacit.models.margin.univariate import fit_least_norm
from tacit.models.margin.univariate_refinement import largest_dual_value
from tacit.privacy.errors import InvalidInput


def naive_residual(network, x, y):
    """|theta - sum l y grad Phi| / |theta| at its least over l >= 0 and derivatives in [0, 1] at kinks."""
    w, b, v = network.weights[:, 0], network.biases, network.outputs
    columns = []
    for point, label in zip(x, y, strict=True):
        height = w * point + b
        bent = np.flatnonzero(np.abs(height) <= 1e-7 * np.hypot(w, b) * np.hypot(point, 1))
        for choice in itertools.product((0.0, 1.0), repeat=len(bent)):
            s = (height > 0).astype(float)
            s[bent] = choice
            columns.append(label * np.concatenate([s * height, v * s * point, v * s]))
    theta = np.concatenate([v, w, b])
    A = np.array(columns).T
    A = A / np.linalg.norm(A, axis=0)
    found = lsq_linear(A, theta, bounds=(0, np.inf), method="bvls", tol=1e-15)
    return np.linalg.norm(A @ found.x - theta) / np.linalg.norm(theta)


def draw_set(rng, *, size=None):
    n = size or int(rng.integers(4, 21))
    x = rng.normal(size=n)
    while np.diff(np.sort(x)).min() < 1e-3:
        x = rng.normal(size=n)
    x = x * rng.choice([0.3, 1.0, 5.0])
    y = rng.permutation(np.r_[1, -1, rng.choice([-1, 1], n - 2)])
    return x, y


@pytest.mark.parametrize(
    ("x", "y", "objective", "multipliers"),
    [
        ([2.0], [1], 1 / np.sqrt(5), [1 / np.sqrt(5)]),
        ([-1.0, 1.0], [-1, 1], np.sqrt(2), [np.sqrt(0.5), np.sqrt(0.5)]),
        ([-2.0, -1.0, 1.0, 3.0], [1, -1, 1, -1], 7.071068, [1.414214, 2.828427, 2.121320, 0.707107]),
    ],
)
def test_pinned_networks(x, y, objective, multipliers):
    fit = fit_least_norm(x, y)
    assert fit.objective == pytest.approx(objective, abs=1e-6)
    assert fit.multipliers == pytest.approx(multipliers, abs=1e-6)
    assert fit.network.squared_norm == pytest.approx(2 * fit.objective)
    assert fit.gap < 1e-12


def test_the_pinned_pair_of_neurons():
    network = fit_least_norm([-1.0, 1.0], [-1, 1]).network
    order = np.argsort(-network.outputs)
    assert network.outputs[order] == pytest.approx([2**-0.25, -(2**-0.25)])
    assert network.weights[order, 0] == pytest.approx([2**-0.75, -(2**-0.75)])
    assert network.biases == pytest.approx([2**-0.75] * 2)


@pytest.mark.parametrize("seed", range(25))
def test_certificates_of_random_sets(seed):
    x, y = draw_set(np.random.default_rng([7, seed]))
    fit = fit_least_norm(x, y)
    margins = y * fit.network(x[:, None])
    assert naive_residual(fit.network, x[margins < 1 + 1e-6], y[margins < 1 + 1e-6]) < 1e-8
    assert margins.min() > 1 - 1e-8
    assert np.abs(margins[fit.multipliers > 0] - 1).max() < 1e-8, "complementary slackness"
    assert fit.multipliers.min() >= 0
    assert fit.gap < 1e-7
    assert fit.network.outputs**2 == pytest.approx(fit.network.weights[:, 0] ** 2 + fit.network.biases**2)
    assert fit.network.squared_norm == pytest.approx(2 * fit.multipliers.sum(), rel=1e-7)


def test_points_of_two_labels_close_together():
    x, y = np.array([-1.0, 0.4, 0.4 + 1e-6, 2.0]), np.array([1, 1, -1, -1])
    fit = fit_least_norm(x, y)
    assert fit.objective > 1e6
    assert fit.gap < 1e-6


def test_the_certificate_bounds_the_dual_on_the_whole_circle():
    rng = np.random.default_rng(3)
    x, weights = np.sort(rng.normal(size=7)), rng.normal(size=7)
    angles = np.linspace(0, 2 * np.pi, 200_001)
    values = np.maximum(np.outer(np.cos(angles), x) + np.sin(angles)[:, None], 0) @ weights
    assert largest_dual_value(x, weights) == pytest.approx(np.abs(values).max(), rel=1e-5)


def test_a_network_away_from_the_optimum_has_a_residual():
    x, y = draw_set(np.random.default_rng(0))
    fit = fit_least_norm(x, y)
    bent = type(fit.network)(weights=1.01 * fit.network.weights, biases=fit.network.biases, outputs=fit.network.outputs)
    assert naive_residual(bent, x, y) > 1e-4, "control"


@pytest.mark.parametrize("seed", range(3))
def test_no_network_found_by_search_has_a_smaller_norm(seed):
    rng = np.random.default_rng([8, seed])
    x, y = draw_set(rng, size=4)
    least = fit_least_norm(x, y).objective
    width = 6

    def constraint(theta):
        w, b, v = theta.reshape(3, width)
        return y * (np.maximum(np.outer(x, w) + b, 0) @ v) - 1

    def slopes(theta):
        w, b, v = theta.reshape(3, width)
        height = np.outer(x, w) + b
        on = height > 0
        return y[:, None] * np.hstack([on * v * x[:, None], on * v, on * height])

    found = [
        minimize(
            lambda theta: theta @ theta / 2,
            2 * rng.normal(size=3 * width),
            jac=lambda theta: theta,
            constraints={"type": "ineq", "fun": constraint, "jac": slopes},
            method="SLSQP",
            options={"maxiter": 300},
        )
        for _ in range(8)
    ]
    values = [result.fun for result in found if constraint(result.x).min() > -1e-6]
    assert values, "control: the search finds networks"
    assert min(values) > least * (1 - 1e-5)
    assert min(values) < least * 1.2, "control: the search comes near"


def test_equal_points_count_once():
    fit = fit_least_norm([1.0, -1.0, 1.0], [1, 0, 1])
    assert fit.multipliers == pytest.approx([np.sqrt(0.5), np.sqrt(0.5), 0])
    assert fit.objective == pytest.approx(np.sqrt(2))


def test_points_of_one_label():
    assert fit_least_norm([0.5, 1.0], [1, 1]).gap < 1e-9
    assert fit_least_norm([0.5, 1.0], [-1, -1]).network([[0.5]])[0] == pytest.approx(-1)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0, 1.0], [1, -1], "under both labels"),
        ([[1.0, 2.0]], [1], "one finite number per point"),
        ([1.0, np.nan], [1, -1], "one finite number per point"),
        ([], [], "one finite number per point"),
        (1e6 + np.array([0.1, 0.2, 0.3, 0.4]), [1, -1, 1, -1], "center them at 0"),
        ([1.0, 2.0], [1], "one label for each"),
        ([1.0, 2.0, 3.0], [0, 1, 2], "two values, got 3"),
    ],
)
def test_bad_input(x, y, message):
    with pytest.raises(InvalidInput, match=message):
        fit_least_norm(x, y)


def test_exact_networks_have_multipliers_on_the_margin_alone():
    """Complementary slackness: l_i = 0 off the margin. The residual alone leaves the multipliers free to lie there."""
    rng, free = np.random.default_rng(0), []
    for points in rng.integers(4, 16, 15):
        x, y = np.sort(rng.uniform(-2, 2, points)), np.arange(points) // 2 % 2 * 2 - 1
        network = fit_least_norm(x, y).network
        certificate = kkt(network, x[:, None], y, slack=1e-6)
        assert certificate.residual < 1e-8
        assert certificate.slackness < 1e-6
        free.append(kkt(network, x[:, None], y).slackness)
    assert max(free) > 0.1, "control: without slack some lie off the margin"
