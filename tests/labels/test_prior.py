import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chisquare

from tacit.labels.mechanisms import PriorRandomizedResponse
from tacit.labels.mechanisms.top_k import best_top_k
from tacit.privacy import InvalidInput
from tacit.privacy.noise import WeightedChoice, max_ratio


def brute_force_k(prior, epsilon):
    """P(output = label) of RRTop-k, written out from its definition."""
    order = np.argsort(-prior, kind="stable")
    chances = []
    for k in range(1, len(prior) + 1):
        keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
        chances.append(sum(prior[label] * keep for label in order[:k]))
    return int(np.argmax(chances)) + 1, max(chances)


def descending(priors):
    return -np.sort(-np.atleast_2d(priors), axis=1)


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_k_is_the_brute_force_argmax(classes, epsilon):
    priors = np.random.default_rng(classes).dirichlet(np.full(classes, 0.3), size=min(1000, 20_000 // classes))
    expected = [brute_force_k(prior, epsilon)[0] for prior in priors]
    assert best_top_k(descending(priors), epsilon=epsilon).tolist() == expected


HALVES = 0.5 ** np.arange(1, 11) / (0.5 ** np.arange(1, 11)).sum()
SKEWED = np.array([0.4, 0.3, 0.1, 0.05, 0.05, 0.02, 0.02, 0.02, 0.02, 0.02])


@pytest.mark.parametrize(
    ("prior", "epsilon", "k", "chance"),
    [
        ([0.7, 0.3], 1.0, 2, 0.731059),
        (HALVES, 0.5, 1, 0.500489),
        (HALVES, 1.0, 2, 0.548830),
        (HALVES, 2.0, 3, 0.689286),
        (SKEWED, 1.0, 2, 0.511741),
        (SKEWED, 2.0, 3, 0.629589),
        (np.full(10, 0.1), 1.0, 10, 0.231969),
    ],
)
def test_pins(prior, epsilon, k, chance):
    """Formula sheet a5; the first row is where google-research/label-dp has k off by one."""
    mechanism = PriorRandomizedResponse(epsilon=epsilon, prior=np.asarray(prior))
    assert best_top_k(descending(mechanism.prior), epsilon=epsilon).tolist() == [k]
    assert float(np.diag(mechanism.transition()) @ mechanism.prior[0]) == pytest.approx(chance, abs=5e-7)


def test_no_epsilon_dp_mechanism_tells_the_truth_more_often():
    """The linear program over all 4 x 4 mechanisms."""
    rng = np.random.default_rng(0)
    K, epsilon = 4, 1.0
    for prior in rng.dirichlet(np.ones(K), size=5):
        rows = []
        for output in range(K):
            for a in range(K):
                for b in range(K):
                    if a != b:
                        row = np.zeros((K, K))
                        row[a, output], row[b, output] = 1, -math.exp(epsilon)
                        rows.append(row.ravel())
        simplex = np.kron(np.eye(K), np.ones(K))
        best = linprog(
            -np.diag(prior).ravel(), A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=simplex, b_eq=np.ones(K)
        )
        ours = PriorRandomizedResponse(epsilon=epsilon, prior=prior)
        assert float(np.diag(ours.transition()) @ prior) == pytest.approx(-best.fun, abs=1e-8)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 20.0])
def test_largest_ratio_is_never_above_epsilon_and_reaches_it(epsilon):
    for prior in np.random.default_rng(3).dirichlet(np.full(5, 0.7), size=20):
        mechanism = PriorRandomizedResponse(epsilon=epsilon, prior=prior)
        k = int(best_top_k(descending(mechanism.prior), epsilon=epsilon)[0])
        top = np.flatnonzero(mechanism.transition()[0] > 0)
        rows = [WeightedChoice.from_fractions([row[o] for o in top]) for row in mechanism.exact_transition()]
        ratio = max(max_ratio(a, b) for a in rows for b in rows)
        log_ratio = math.log(ratio)
        assert log_ratio <= epsilon * (1 + 1e-15)
        assert log_ratio == 0 if k == 1 else log_ratio >= epsilon - 1e-12


def test_draws_follow_each_rows_own_matrix():
    priors = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4], [0.25] * 4])
    which = np.repeat(np.arange(3), 60_000)
    mechanism = PriorRandomizedResponse(epsilon=1.0, prior=priors[which])
    for label in range(4):
        drawn = mechanism.randomize(np.full(len(which), label), rng=np.random.default_rng(label))
        for row in range(3):
            expected = mechanism.transition(row * 60_000)[label]
            counts = np.bincount(drawn[which == row], minlength=4)
            assert (counts[expected == 0] == 0).all()
            if (expected > 0).sum() > 1:
                assert chisquare(counts[expected > 0], 60_000 * expected[expected > 0]).pvalue > 1e-6


def test_one_prior_for_all_rows_and_parts(monkeypatch):
    from tacit.labels.mechanisms import top_k as module

    labels = np.arange(1000) % 3
    whole = PriorRandomizedResponse(epsilon=1.0, prior=np.array([0.4, 0.3, 0.3]))
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 30)
    drawn = whole.randomize(labels, rng=np.random.default_rng(0))
    assert set(drawn) == {0, 1, 2}


def test_likelihood_of_an_epsilon_whose_exponential_overflows():
    mechanism = PriorRandomizedResponse(epsilon=1000.0, prior=np.array([0.5, 0.5]))
    assert mechanism.likelihood(np.array([1, 0])).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_ties_are_broken_by_the_class_order():
    mechanism = PriorRandomizedResponse(epsilon=0.1, prior=np.array([0.2, 0.4, 0.4]))
    assert np.flatnonzero(mechanism.transition()[0]).tolist()[0] == 1


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.6], r"sum to 1, got a sum of 1\.1"),
        ([[0.5, 0.5], [0.9, 0.2]], r"sum to 1, got a sum of 1\.1"),
        ([-0.5, 1.5], "prior must be >= 0"),
        ([math.nan, 1.0], "prior must be >= 0"),
        ([1.0], "at least two classes"),
    ],
)
def test_bad_priors(prior, message):
    with pytest.raises(InvalidInput, match=message):
        PriorRandomizedResponse(epsilon=1.0, prior=np.array(prior))


def test_wrong_number_of_rows():
    mechanism = PriorRandomizedResponse(epsilon=1.0, prior=np.full((3, 2), 0.5))
    with pytest.raises(InvalidInput, match="one for each of 2 labels, got 3"):
        mechanism.randomize(np.array([0, 1]), rng=np.random.default_rng(0))
