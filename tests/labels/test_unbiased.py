import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.labels.mechanisms import OptimalUnbiased
from tacit.privacy import InvalidInput
from tacit.privacy.noise import WeightedChoice, max_log_ratio


def test_two_labels_have_the_closed_form():
    """Formula sheet a9: outputs -1/(E-1) and E/(E-1), error E/(E-1)^2."""
    E = math.exp(1)
    mechanism = OptimalUnbiased(epsilon=1.0, values=[0.0, 1.0], prior=[0.3, 0.7])
    used = np.array(mechanism.exact_transition(), float).max(axis=0) > 1e-6
    assert mechanism.outputs[used] == pytest.approx([-1 / (E - 1), E / (E - 1)], abs=1e-6)
    assert mechanism.best.expected_error == pytest.approx(0.920674, abs=1e-5)


@pytest.mark.parametrize(("step", "error"), [(0.25, 3.901627), (0.5, 3.926033)])
def test_pins(step, error):
    grid = np.arange(-3, 5 + step / 2, step)
    mechanism = OptimalUnbiased(epsilon=1.0, values=[0.0, 1.0, 2.0], prior=[0.5, 0.3, 0.2], grid=grid)
    assert mechanism.best.expected_error == pytest.approx(error, abs=2e-6)
    assert 0 <= mechanism.best.repair_cost < 1e-5


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_exactly_private_and_exactly_unbiased(epsilon):
    values = [0.0, 1.0, 2.5, 4.0]
    mechanism = OptimalUnbiased(epsilon=epsilon, values=values, prior=[0.4, 0.3, 0.2, 0.1])
    matrix = mechanism.exact_transition()
    outputs = [Fraction(o) for o in mechanism.outputs.tolist()]
    for value, row in zip(values, matrix, strict=True):
        assert sum(row) == 1
        assert sum(p * o for p, o in zip(row, outputs, strict=True)) == Fraction(value)
    used = [j for j in range(len(outputs)) if any(row[j] for row in matrix)]
    rows = [WeightedChoice.from_fractions([row[j] for j in used]) for row in matrix]
    found = max(max_log_ratio(a, b) for a in rows for b in rows)
    assert epsilon - 1e-6 <= found <= epsilon


def test_default_grid_beats_debiased_randomized_response():
    """K=3, epsilon 1: 4.418286 for de-biased randomized response, 8 for Laplace."""
    mechanism = OptimalUnbiased(epsilon=1.0, values=[0.0, 1.0, 2.0], prior=[0.5, 0.3, 0.2])
    assert mechanism.best.expected_error < 4.0


def test_draws_are_unbiased():
    mechanism = OptimalUnbiased(epsilon=1.0, values=[0.0, 1.0, 2.0], prior=[0.5, 0.3, 0.2])
    labels = np.repeat([0, 1, 2], 50_000)
    drawn = mechanism.emit(labels, rng=np.random.default_rng(0)).to_numpy()
    for value in (0, 1, 2):
        part = drawn[labels == value]
        assert abs(part.mean() - value) < 5 * part.std() / math.sqrt(len(part))


def test_bad_input():
    with pytest.raises(InvalidInput, match="grid must reach further beyond the values"):
        OptimalUnbiased(epsilon=1.0, values=[0.0, 1.0], prior=[0.5, 0.5], grid=[0.0, 0.5, 1.0]).transition()
    with pytest.raises(InvalidInput, match="at most 30"):
        OptimalUnbiased(epsilon=31.0, values=[0.0, 1.0], prior=[0.5, 0.5])
