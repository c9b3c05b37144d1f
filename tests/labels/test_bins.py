import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chisquare

from tacit.labels.mechanisms import RandomizedResponseOnBins
from tacit.privacy import InvalidInput
from tacit.privacy.noise import WeightedChoice, max_log_ratio

VALUES, PRIOR = np.arange(5.0), np.array([0.4, 0.3, 0.15, 0.1, 0.05])


@pytest.mark.parametrize(
    ("epsilon", "starts", "outputs", "error"),
    [
        (1.0, (0, 2), [0.733379, 1.632894], 1.194630),
        (2.0, (0, 1, 2), [0.309369, 1.034285, 2.129533], 0.822665),
        (4.0, (0, 1, 2, 3), None, 0.237308),
    ],
)
def test_pins(epsilon, starts, outputs, error):
    """Formula sheet a8."""
    rr = RandomizedResponseOnBins(epsilon=epsilon, values=VALUES, prior=PRIOR)
    assert rr.best.starts == starts
    assert rr.best.expected_error == pytest.approx(error, abs=5e-7)
    if outputs is not None:
        assert rr.outputs == pytest.approx(outputs, abs=5e-7)


def expected_error(rr):
    matrix = np.array(rr.exact_transition(), dtype=float)
    return float((rr.prior[:, None] * matrix * (rr.outputs[None, :] - VALUES[:, None]) ** 2).sum())


def test_stated_error_is_the_error_of_what_is_sampled():
    rr = RandomizedResponseOnBins(epsilon=1.5, values=VALUES, prior=PRIOR)
    assert expected_error(rr) == pytest.approx(rr.best.expected_error, rel=1e-12)


def brute_force(values, prior, epsilon):
    """Every way to cut the sorted values into bins, each with its best outputs."""
    n, E = len(values), math.exp(epsilon)
    errors = []
    for k in range(1, n + 1):
        for cuts in itertools.combinations(range(1, n), k - 1):
            edges = (0, *cuts, n)
            error = 0.0
            for start, stop in itertools.pairwise(edges):
                weights = prior * np.where((np.arange(n) >= start) & (np.arange(n) < stop), E, 1)
                mean = weights @ values / weights.sum()
                error += weights @ (values - mean) ** 2
            errors.append(error / (E + k - 1))
    return min(errors)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_dynamic_program_equals_brute_force(epsilon):
    rng = np.random.default_rng(0)
    for _ in range(10):
        values = np.sort(rng.normal(size=7) * 10 + 100)
        prior = rng.dirichlet(np.ones(7))
        ours = RandomizedResponseOnBins(epsilon=epsilon, values=values, prior=prior).best.expected_error
        assert ours == pytest.approx(brute_force(values, prior, epsilon), rel=1e-9)


def every_number_of_bins(values, prior, epsilon):
    """The dynamic program without an early end."""
    n, E = len(values), math.exp(epsilon)
    cost = np.full((n + 1, n + 1), np.inf)
    for start, stop in itertools.combinations(range(n + 1), 2):
        weights = prior * np.where((np.arange(n) >= start) & (np.arange(n) < stop), E, 1)
        cost[start, stop] = weights @ (values - weights @ values / weights.sum()) ** 2
    best, errors = np.where(np.arange(n + 1) == 0, 0.0, np.inf), []
    for k in range(1, n + 1):
        best = (best[:, None] + cost).min(axis=0)
        errors.append(best[n] / (E + k - 1))
    return min(errors)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0, 12.0])
def test_no_number_of_bins_beyond_where_the_search_ends_is_better(epsilon):
    rng = np.random.default_rng(1)
    for values, prior in [
        (np.arange(40.0), np.full(40, 1 / 40)),
        (np.sort(rng.exponential(size=40)), rng.dirichlet(np.full(40, 0.3))),
    ]:
        ours = RandomizedResponseOnBins(epsilon=epsilon, values=values, prior=prior).best.expected_error
        assert ours == pytest.approx(every_number_of_bins(values, prior, epsilon), rel=1e-9)


@pytest.mark.parametrize("little", [1e-18, 1e-20, 1e-25])
def test_values_of_nearly_no_mass_do_not_count_against_the_error(little):
    """Sums of such a prior lose it in one moment and not in another."""
    prior = np.array([1.0, little, little, 0.0, 0.0])
    rr = RandomizedResponseOnBins(epsilon=100.0, values=VALUES, prior=prior)
    assert 0 <= rr.best.expected_error <= 1e-15
    assert expected_error(rr) == pytest.approx(0, abs=1e-15)


def test_no_private_randomizer_on_a_fine_grid_is_better():
    epsilon, grid = 1.0, np.linspace(0, 4, 81)
    n, m = len(VALUES), len(grid)
    cost = (PRIOR[:, None] * (grid[None, :] - VALUES[:, None]) ** 2).ravel()
    rows = []
    for o in range(m):
        for a, b in itertools.permutations(range(n), 2):
            row = np.zeros((n, m))
            row[a, o], row[b, o] = 1, -math.exp(epsilon)
            rows.append(row.ravel())
    simplex = np.kron(np.eye(n), np.ones(m))
    best = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=simplex, b_eq=np.ones(n))
    ours = RandomizedResponseOnBins(epsilon=epsilon, values=VALUES, prior=PRIOR).best.expected_error
    assert ours <= best.fun + 1e-9
    assert ours == pytest.approx(best.fun, abs=2e-3)


@pytest.mark.parametrize("epsilon", [40.0, 1000.0, 4096.0])
@pytest.mark.parametrize("prior", [PRIOR, [0.5, 0.0, 0.0, 0.0, 0.5]])
def test_an_epsilon_whose_exponential_overflows_tells_the_label(epsilon, prior):
    rr = RandomizedResponseOnBins(epsilon=epsilon, values=VALUES, prior=prior)
    labels = np.flatnonzero(rr.prior > 0)
    assert rr.emit(labels, rng=np.random.default_rng(0)).to_numpy() == pytest.approx(VALUES[labels], abs=1e-9)
    assert rr.best.expected_error == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_largest_log_ratio_is_epsilon(epsilon):
    rr = RandomizedResponseOnBins(epsilon=epsilon, values=VALUES, prior=PRIOR)
    rows = [WeightedChoice.from_fractions(row) for row in rr.exact_transition()]
    found = max(max_log_ratio(a, b) for a in rows for b in rows)
    assert found == 0 if len(rr.outputs) == 1 else epsilon - 1e-12 <= found <= epsilon


def test_draws_follow_the_transition_matrix():
    rr = RandomizedResponseOnBins(epsilon=1.0, values=VALUES, prior=PRIOR)
    drawn = rr.randomize(np.full(100_000, 3), rng=np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=len(rr.outputs))
    expected = np.array([float(p) for p in rr.exact_transition()[3]])
    assert chisquare(counts, 100_000 * expected).pvalue > 1e-6
    assert chisquare(counts, 100_000 * expected[::-1]).pvalue < 1e-6


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"values": [1.0, 0.0]}, "ascending order"),
        ({"values": [1.0]}, "at least two"),
        ({"values": [0.0, math.inf]}, "finite"),
        ({"prior": [0.5, 0.4]}, "sum to 1"),
        ({"epsilon": -1.0}, "epsilon must be"),
    ],
)
def test_bad_input(fields, message):
    with pytest.raises(InvalidInput, match=message):
        RandomizedResponseOnBins(**{"epsilon": 1.0, "values": [0.0, 1.0], "prior": [0.5, 0.5], **fields})
