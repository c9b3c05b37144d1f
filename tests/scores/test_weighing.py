"""Weights with distinct sums and detecting matrices: against brute force, and just beyond what they can do."""

import itertools

import numpy as np
import pytest

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks.weighing import DetectingMatrix, detecting_matrix
from tacit.scores.attacks.weights import conway_guy_weights, digits_of, most_weights, power_weights, subset_of


def all_sums(weights, radix=2):
    return [
        sum(w * d for w, d in zip(weights, digits, strict=True))
        for digits in itertools.product(range(radix), repeat=len(weights))
    ]


@pytest.mark.parametrize("count", range(1, 15))
def test_conway_guy_sums_are_distinct_and_the_largest_weight_is_small(count):
    weights = conway_guy_weights(count).tolist()
    assert len(set(all_sums(weights))) == 2**count
    assert max(weights) <= 2 ** (count - 1)
    if count >= 4:
        assert max(weights) < 2 ** (count - 1)


def test_a_smaller_largest_weight_collides():
    # Known optima: no set of 3, 4 or 5 positive weights with distinct sums has a largest below 4, 7, 13.
    for count, best in ((3, 4), (4, 7), (5, 13)):
        assert conway_guy_weights(count)[-1] == best
        for weights in itertools.combinations(range(1, best), count):
            assert len(set(all_sums(weights))) < 2**count


@pytest.mark.parametrize("radix", [2, 3, 6])
def test_powers_are_digits(radix):
    weights = power_weights(5, radix=radix)
    digits = np.array(list(itertools.product(range(radix), repeat=5)))
    np.testing.assert_array_equal(digits_of(digits @ weights, count=5, radix=radix), digits)


def test_subsets_are_read_back_and_other_numbers_refused():
    weights = conway_guy_weights(12)
    subsets = digits_of(np.arange(2**12), count=12)
    np.testing.assert_array_equal(subset_of(subsets @ weights, weights=weights), subsets)
    with pytest.raises(InvalidInput, match="subset sums"):
        subset_of([1], weights=weights)
    with pytest.raises(InvalidInput, match="distinct"):
        subset_of([1], weights=np.array([1, 1]))


def test_most_weights_stops_at_the_limit():
    assert len(most_weights(1164)) == 12
    assert len(most_weights(1163)) == 11
    assert len(most_weights(0.5)) == 0
    assert len(most_weights(26, radix=3)) == 3


@pytest.mark.parametrize(
    ("queries", "low", "high", "radix"),
    [
        (1, 0, 1, 2),
        (2, 0, 1, 2),
        (3, 0, 1, 2),
        (4, 0, 1, 2),
        (5, 0, 1, 2),
        (2, 1, 1, 2),
        (3, 1, 1, 2),
        (2, 3, 7, 2),
        (4, 0, 1, 3),
        (3, 2, 2, 3),
        (2, 4, 9, 3),
    ],
)
def test_every_labeling_has_its_own_totals(queries, low, high, radix):
    """Brute force: all labelings give different totals, and each is decoded."""
    labels = _capacity(queries, low, high, radix)
    design = DetectingMatrix(queries=queries, labels=labels, low=low, high=high, radix=radix)
    matrix = design.matrix()
    assert matrix.min() >= -low
    assert matrix.max() <= high
    labelings = np.array(list(itertools.product(range(radix), repeat=labels)))
    totals = labelings @ matrix.T
    assert len(np.unique(totals, axis=0)) == len(labelings)
    for labeling, total in zip(
        labelings[:: max(1, len(labelings) // 200)], totals[:: max(1, len(labelings) // 200)], strict=True
    ):
        np.testing.assert_array_equal(design.decode(total), labeling)
    with pytest.raises(InvalidInput, match="labels must be at most"):
        DetectingMatrix(queries=queries, labels=labels + 1, low=low, high=high, radix=radix)


def _capacity(queries, low, high, radix):
    labels = 1
    while detecting_matrix(labels + 1, low=low, high=high, radix=radix).queries <= queries:
        labels += 1
    return labels


@pytest.mark.parametrize(
    ("labels", "low", "high", "radix"),
    [
        (2201, 1637, 1637, 2),
        (2201, 850, 1633, 2),
        (2201, 0, 1, 2),
        (700, 45, 45, 2),
        (1000, 100, 112, 6),
        (501, 0, 1, 3),
    ],
)
def test_large_designs_decode(labels, low, high, radix):
    design = detecting_matrix(labels, low=low, high=high, radix=radix)
    rng = np.random.default_rng(0)
    for share in (0.5, 0.1, 1.0):
        truth = np.where(rng.random(labels) < share, rng.integers(0, radix, labels), 0)
        np.testing.assert_array_equal(design.decode(design.matrix() @ truth), truth)


def test_numbers_of_queries():
    assert detecting_matrix(2201, low=1637, high=1637).queries == 143
    # The recursion alone, levels 7 and 4 on 12 Conway-Guy weights, takes 144.
    assert 128 * (12 + 7 / 2) + 16 * (12 + 4 / 2) >= 2201 > 128 * (12 + 7 / 2) + 15 * 12
    # 2 N / log2 N is the asymptote for entries 0 and 1.
    queries = detecting_matrix(1024, low=0, high=1).queries
    assert 204.8 < queries < 1.3 * 204.8


def test_totals_that_no_labels_give_are_refused():
    design = detecting_matrix(40, low=0, high=1)
    totals = design.matrix() @ np.ones(40, dtype=int)
    totals[3] += 1
    with pytest.raises(InvalidInput, match="totals must"):
        design.decode(totals)
    with pytest.raises(InvalidInput, match="totals must be"):
        design.decode(totals[:-1])


def test_more_labels_than_a_design_holds_are_split():
    assert detecting_matrix(10**6, low=0, high=1).labels < 10**6
