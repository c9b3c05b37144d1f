"""Non-negative least squares against brute force over all supports."""

import itertools

import numpy as np
import pytest

from tacit.models import nonnegative
from tacit.models.margin.stationarity import solve, stationarity_of
from tacit.models.network import TwoLayerReLU
from tacit.models.nonnegative import solve_nonnegative


def _least(columns, target):
    """Try every support."""
    best = np.linalg.norm(target)
    for size in range(1, columns.shape[1] + 1):
        for chosen in itertools.combinations(range(columns.shape[1]), size):
            part = columns[:, chosen]
            x = np.linalg.lstsq(part, target)[0]
            if (x >= 0).all():
                best = min(best, np.linalg.norm(target - part @ x))
    return best


@pytest.mark.parametrize("seed", range(20))
def test_brute_force_finds_nothing_smaller(seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(6, 5)) * 10.0 ** rng.integers(-8, 9, 5)  # lengths of all sizes
    if seed % 3 == 0:
        columns[:, 1] = columns[:, 0]
    target = rng.normal(size=6) * 10.0 ** rng.integers(-6, 7)
    x = solve_nonnegative(columns, target)
    assert (x >= 0).all()
    assert np.linalg.norm(target - columns @ x) == pytest.approx(_least(columns, target), rel=1e-9)


@pytest.mark.parametrize("broken", ["wrong", "circles"])
def test_a_wrong_answer_of_scipy_is_mended(broken, monkeypatch):
    def wrong(columns, target, maxiter):
        if broken == "circles":
            raise RuntimeError("Maximum number of iterations reached.")
        return np.ones(columns.shape[1]), 0.0

    monkeypatch.setattr(nonnegative, "nnls", wrong)
    rng = np.random.default_rng(0)
    columns, target = rng.normal(size=(6, 4)), rng.normal(size=6)
    x = solve_nonnegative(columns, target)
    assert np.linalg.norm(target - columns @ x) == pytest.approx(_least(columns, target), rel=1e-9)


def test_nothing_to_choose_from_is_no_crash():
    assert solve_nonnegative(np.zeros((3, 0)), np.ones(3)).shape == (0,)
    np.testing.assert_array_equal(solve_nonnegative(np.zeros((3, 2)), np.ones(3)), [0, 0])
    np.testing.assert_array_equal(solve_nonnegative(np.eye(2), np.zeros(2)), [0, 0])


def test_the_certificate_of_points_that_no_neuron_sees():
    network = TwoLayerReLU(weights=[[1.0]], biases=[0.0], outputs=[1.0])
    problem = stationarity_of(network, np.array([[-1.0], [-2.0]]), np.array([-1.0, 1.0]), tolerance=0.0)
    assert problem.residual(solve(problem)) == pytest.approx(1.0)
