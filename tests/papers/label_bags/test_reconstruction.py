"""Additive and multiplicative reconstruction advantage: the sheet's numbers and brute force over whole bags."""

import itertools
import math

import numpy as np
import pytest

from papers.label_bags.theory import (
    additive_advantage,
    bag_count_channel,
    multiplicative_advantage,
    randomized_response_channel,
)
from tacit.privacy import InvalidInput


@pytest.mark.parametrize(("p", "advantage"), [(0.5, 0.231059), (0.6, 0.131059), (0.8, 0.0)])
def test_pinned_binary_randomized_response(p, advantage):
    T = randomized_response_channel(epsilon=1.0, classes=2)
    assert additive_advantage(T, [1 - p, p]) == pytest.approx(advantage, abs=5e-7)
    change = multiplicative_advantage(T, [1 - p, p])
    np.testing.assert_allclose(change.values, 1.0, atol=1e-12)  # exactly epsilon for every p and z


def test_pinned_randomized_response():
    ten = randomized_response_channel(epsilon=1.0, classes=10)
    assert ten[0, :2] == pytest.approx([0.231969, 0.085337], abs=5e-7)
    assert additive_advantage(ten, np.full(10, 0.1)) == pytest.approx(0.131969, abs=5e-7)
    p = (np.arange(20_000) + 0.5) / 20_000
    two = randomized_response_channel(epsilon=1.0, classes=2)
    assert additive_advantage(two, np.column_stack([p, 1 - p])) == pytest.approx(0.053388, abs=5e-7)


@pytest.mark.parametrize(("k", "advantage"), [(2, 0.25), (4, 0.1875), (8, 0.136719), (16, 0.098190)])
def test_pinned_bags(k, advantage):
    ours = additive_advantage(bag_count_channel(size=k, rate=0.5), [0.5, 0.5])
    assert ours == pytest.approx(advantage, abs=5e-7)
    assert ours == pytest.approx(math.comb(k, k // 2) / 2 ** (k + 1), abs=1e-12)


def test_pinned_skewed_bag():
    assert additive_advantage(bag_count_channel(size=2, rate=0.3), [0.7, 0.3]) == pytest.approx(0.09, abs=1e-12)


def test_a_bag_of_two_is_not_a_randomized_response():
    bag, coin = bag_count_channel(size=2, rate=0.5), randomized_response_channel(epsilon=math.log(3), classes=2)
    half = [0.5, 0.5]
    assert additive_advantage(bag, half) == pytest.approx(additive_advantage(coin, half), abs=1e-12)
    assert multiplicative_advantage(bag, half).share_above(1e6) == 0.5
    assert multiplicative_advantage(bag, half).largest == math.inf
    assert multiplicative_advantage(coin, half).largest == pytest.approx(math.log(3), abs=1e-12)


@pytest.mark.parametrize(("size", "rate"), [(1, 0.4), (3, 0.3), (5, 0.8)])
def test_bags_by_enumeration(size, rate):
    joint = np.zeros((2, size + 1))
    for labels in itertools.product((0, 1), repeat=size):
        joint[labels[0], sum(labels)] += math.prod(rate if y else 1 - rate for y in labels)
    prior = [1 - rate, rate]
    T = bag_count_channel(size=size, rate=rate)
    np.testing.assert_allclose(T * np.array(prior)[:, None], joint, atol=1e-15)
    assert additive_advantage(T, prior) == pytest.approx(joint.max(axis=0).sum() - max(prior), abs=1e-12)
    posterior = joint / joint.sum(axis=0)
    with np.errstate(divide="ignore"):
        change = np.abs(np.log(posterior / posterior[::-1]) - np.log(np.array(prior) / prior[::-1])[:, None])
    np.testing.assert_allclose(multiplicative_advantage(T, prior).values, change, atol=1e-9)


def test_odds_of_each_label_move_by_epsilon_at_most():
    T = randomized_response_channel(epsilon=1.0, classes=5)
    for prior in np.random.default_rng(0).dirichlet(np.ones(5), size=50):
        change = multiplicative_advantage(T, prior)
        assert change.largest <= 1.0 + 1e-12
        assert change.probabilities.sum() == pytest.approx(1.0)
        assert change.share_above(0.0) > 0


def test_an_output_that_never_happens_counts_nothing():
    change = multiplicative_advantage([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], [0.5, 0.5])
    assert change.largest == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bag_count_channel(size=0, rate=0.5), "size must be an integer >= 1"),
        (lambda: bag_count_channel(size=2, rate=1.5), "rate must be in"),
        (lambda: randomized_response_channel(epsilon=1.0, classes=1), "classes must be an integer >= 2"),
        (lambda: multiplicative_advantage(np.eye(2), [[0.5, 0.5]] * 3), "prior must be one row of 2"),
        (lambda: multiplicative_advantage(np.eye(2), [1.0, 0.0]), "prior must be > 0 for each label"),
    ],
)
def test_refuses(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()
