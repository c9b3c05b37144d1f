"""Label inference: the sheet's numbers, the optimum by linear programming, and the order of the bounds."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from papers.label_bags.theory import bayes_accuracy, published_advantage_limits, randomized_response_channel
from tacit.leak import (
    advantage_limit,
    largest_accuracy,
    largest_advantage,
)
from tacit.privacy import InvalidInput


def optimum(prior, epsilon, delta=0.0):
    """Maximise sum_y p_y M[y, y] over all (epsilon, delta) mechanisms with K outputs (an attack is a post-process)."""
    K, E = len(prior), math.exp(epsilon)
    pairs = [(y, x) for y in range(K) for x in range(K) if x != y]
    width = K * K + len(pairs) * K
    rows, limits = [], []
    for index, (y, x) in enumerate(pairs):
        slack = K * K + index * K
        for z in range(K):
            row = np.zeros(width)
            row[[y * K + z, x * K + z, slack + z]] = 1, -E, -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(width)
        row[slack : slack + K] = 1
        rows.append(row)
        limits.append(delta)
    objective = np.zeros(width)
    objective[[y * K + y for y in range(K)]] = -np.asarray(prior)
    stochastic = np.zeros((K, width))
    for y in range(K):
        stochastic[y, y * K : (y + 1) * K] = 1
    result = linprog(objective, A_ub=np.array(rows), b_ub=limits, A_eq=stochastic, b_eq=np.ones(K))
    return -result.fun


@pytest.mark.parametrize("K", [2, 3, 4])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.5, 0.0), (2.0, 0.0), (0.5, 0.05), (2.0, 0.2)])
def test_optimum_over_all_mechanisms(K, epsilon, delta):
    rng = np.random.default_rng(K)
    for prior in [np.full(K, 1 / K), *rng.dirichlet(np.ones(K), size=4)]:
        ours = largest_accuracy(prior, epsilon=epsilon, delta=delta)
        assert ours == pytest.approx(optimum(prior, epsilon, delta), abs=1e-7)


@pytest.mark.parametrize(("k", "advantage"), [(2, 0.231059), (3, 0.242784), (4, 0.225367)])
def test_pinned_uniform(k, advantage):
    assert largest_advantage(np.full(k, 1 / k), epsilon=1.0) == pytest.approx(advantage, abs=5e-7)


def test_pinned_limits():
    assert advantage_limit(epsilon=1.0) == pytest.approx(0.244919, abs=5e-7)
    assert advantage_limit(epsilon=1.0, classes=10) == pytest.approx(0.242784, abs=5e-7)
    assert advantage_limit(epsilon=1.0, classes=2) == pytest.approx(math.tanh(0.5) / 2, abs=1e-12)
    tighter, looser = published_advantage_limits(epsilon=1.0)
    assert tighter == pytest.approx(0.462117, abs=5e-7)
    assert looser == pytest.approx(0.632121, abs=5e-7)


@pytest.mark.parametrize(
    ("prior", "epsilon", "accuracy"),
    [
        ([0.7, 0.3], 1.0, 0.731059),
        (2.0 ** -np.arange(1, 11) / (1 - 2.0**-10), 0.5, 0.500489),
        (2.0 ** -np.arange(1, 11) / (1 - 2.0**-10), 1.0, 0.548830),
        (2.0 ** -np.arange(1, 11) / (1 - 2.0**-10), 2.0, 0.689286),
        ([0.02, 0.02, 0.4, 0.3, 0.1, 0.05, 0.05, 0.02, 0.02, 0.02], 1.0, 0.511741),
        ([0.02, 0.02, 0.4, 0.3, 0.1, 0.05, 0.05, 0.02, 0.02, 0.02], 2.0, 0.629589),
        (np.full(10, 0.1), 1.0, 0.231969),
    ],
)
def test_pinned_optima(prior, epsilon, accuracy):
    assert largest_accuracy(prior, epsilon=epsilon) == pytest.approx(accuracy, abs=5e-7)


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 900.0])
def test_limits_are_in_order(epsilon, delta):
    rng = np.random.default_rng(1)
    limits = [advantage_limit(epsilon=epsilon, delta=delta, classes=k) for k in (2, 3, 5, 50)]
    assert limits == sorted(limits)
    assert limits[-1] <= advantage_limit(epsilon=epsilon, delta=delta) + 1e-12
    assert advantage_limit(epsilon=epsilon) <= published_advantage_limits(epsilon=epsilon)[0]
    assert published_advantage_limits(epsilon=epsilon)[0] <= published_advantage_limits(epsilon=epsilon)[1]
    reached = max(largest_advantage(p, epsilon=epsilon, delta=delta) for p in rng.dirichlet(np.ones(5), size=500))
    assert 0 < reached <= limits[2] + 1e-12


def test_binary_with_delta():
    expected = 0.05 / 2 + 0.95 * math.tanh(0.5) / 2
    assert advantage_limit(epsilon=1.0, delta=0.05, classes=2) == pytest.approx(expected, abs=1e-12)
    assert largest_advantage([0.5, 0.5], epsilon=1.0, delta=0.05) == pytest.approx(expected, abs=1e-12)


def test_bayes_accuracy_is_what_the_best_attack_gets():
    T, prior = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]]), np.array([0.3, 0.7])
    rng = np.random.default_rng(2)
    label = (rng.random(200_000) < prior[1]).astype(int)
    output = np.array([rng.choice(3, p=T[y], size=200_000) for y in (0, 1)])[label, np.arange(200_000)]
    best = (prior[:, None] * T).argmax(axis=0)
    exact = bayes_accuracy(T, prior)
    deviation = 4.9 * math.sqrt(exact * (1 - exact) / 200_000)  # two-sided 1e-6
    assert abs(np.mean(best[output] == label) - exact) < deviation
    assert abs(np.mean((1 - best)[output] == label) - exact) > deviation
    for attack in np.ndindex(2, 2, 2):
        assert sum(prior[y] * T[y, z] for z, y in enumerate(attack)) <= exact + 1e-12


def test_rows_of_priors_are_averaged():
    T = randomized_response_channel(epsilon=1.0, classes=3)
    priors = np.random.default_rng(3).dirichlet(np.ones(3), size=50)
    assert bayes_accuracy(T, priors) == pytest.approx(np.mean([bayes_accuracy(T, p) for p in priors]), abs=1e-12)
    for measure in (largest_accuracy, largest_advantage):
        each = [measure(p, epsilon=1.0) for p in priors]
        assert measure(priors, epsilon=1.0) == pytest.approx(np.mean(each), abs=1e-12)


def test_no_private_channel_beats_the_optimum():
    T = randomized_response_channel(epsilon=1.0, classes=4)
    for prior in np.random.default_rng(4).dirichlet(np.ones(4), size=200):
        assert bayes_accuracy(T, prior) <= largest_accuracy(prior, epsilon=1.0) + 1e-12
    leaky = randomized_response_channel(epsilon=2.0, classes=4)
    assert bayes_accuracy(leaky, np.full(4, 0.25)) > largest_accuracy(np.full(4, 0.25), epsilon=1.0)


@pytest.mark.parametrize(
    ("transition", "prior", "words"),
    [
        ([[0.5, 0.5], [0.5, 0.6]], [0.5, 0.5], "transition must be probabilities that sum to 1, got a sum of 1.1"),
        ([[0.5, 0.5]], [0.5, 0.5], "transition must have a row for each of two labels"),
        ([[0.5, 0.5], [0.5]], [0.5, 0.5], "transition must be rows of equal length"),
        ([[0.5, 0.5], [0.5, 0.5]], [0.2, 0.3, 0.5], "prior must have one entry for each of the 2 labels, got 3"),
        ([[0.5, 0.5], [0.5, 0.5]], [1.5, -0.5], "prior must be probabilities >= 0"),
        ([[0.5, 0.5], [0.5, 0.5]], [np.nan, 1.0], "prior must be probabilities >= 0"),
        ([[0.5, 0.5], [0.5, 0.5]], [1.0], "prior must be rows of probabilities of two labels or more"),
        ([[0.5, 0.5], [0.5, 0.5]], [], "prior must be rows of probabilities"),
    ],
)
def test_refuses(transition, prior, words):
    with pytest.raises(InvalidInput, match=words):
        bayes_accuracy(transition, prior)


def test_refuses_guarantees():
    with pytest.raises(InvalidInput, match="epsilon must be"):
        largest_accuracy([0.5, 0.5], epsilon=-1.0)
    with pytest.raises(InvalidInput, match="classes must be an integer >= 2"):
        advantage_limit(epsilon=1.0, classes=1)
