"""The private choice of feature sets: enumerated, fitted, and better than chance."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from tacit.bags.losses import CategoricalLoss, LogisticLoss, SquaredLoss
from tacit.bags.mechanisms.noise import LaplaceTotalsNoise
from tacit.bags.mechanisms.selection import _FINE, choose_sets, permute_and_flip, score_sets
from tacit.privacy import InvalidInput


def chances(scores, rate):
    """The exact law of permute-and-flip, over all orders."""
    best = max(scores)
    heads = [math.exp(-float(rate) * (best - score)) for score in scores]
    law = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1.0
        for i in order:
            law[i] += left * heads[i]
            left *= 1 - heads[i]
    return law / math.factorial(len(scores))


def worst_ratio(rate, *, offset=None):
    """The largest log ratio of a choice among three sets over all labels of four rows and every change of one."""
    codes = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 0, 0])]
    start = np.full((4, 1), _FINE // 2) if offset is None else offset
    laws = {
        labels: chances(score_sets(np.array(labels)[:, None] * _FINE - start, codes, [0, 0, 0]), rate)
        for labels in itertools.product([0, 1], repeat=4)
    }
    return max(
        np.abs(np.log(laws[one]) - np.log(laws[two])).max()
        for one, two in itertools.combinations(laws, 2)
        if sum(a != b for a, b in zip(one, two, strict=True)) == 1
    )


def test_a_choice_stays_within_epsilon():
    epsilon = 0.8
    assert worst_ratio(Fraction(4, 5) / (2 * _FINE)) <= epsilon + 1e-12
    assert worst_ratio(Fraction(4, 5) / (2 * _FINE)) > epsilon / 4, "control: the labels matter"
    assert worst_ratio(Fraction(4, 1) / (2 * _FINE)) > epsilon, "control: a rate for another epsilon"


def test_later_rounds_stay_within_epsilon_whatever_was_measured_before():
    rng = np.random.default_rng(0)
    for _ in range(20):
        offset = rng.integers(-_FINE, 2 * _FINE, size=(4, 1))
        assert worst_ratio(Fraction(4, 5) / (2 * _FINE), offset=offset) <= 0.8 + 1e-12


@pytest.mark.parametrize("moves", [1, 2], ids=["one_target", "one_hot"])
def test_scores_move_by_at_most_their_sensitivity(moves):
    """Random residuals and bags: one label moves every score by at most L1, and some by exactly that."""
    rng = np.random.default_rng(0)
    largest = 0
    for _ in range(500):
        residuals = rng.integers(-2 * _FINE, 2 * _FINE, size=(6, moves))
        codes = [np.unique(rng.integers(3, size=6), return_inverse=True)[1] for _ in range(4)]
        changed = residuals.copy()
        changed[rng.integers(6)] += np.array([_FINE, -_FINE])[:moves]
        one, two = (score_sets(r, codes, [0] * 4) for r in (residuals, changed))
        largest = max(largest, *(abs(a - b) for a, b in zip(one, two, strict=True)))
    assert largest == moves * _FINE


def test_the_sampler_has_the_exact_law():
    scores, rate = [0, 3, 5, 5, 1], Fraction(1, 3)
    rng = np.random.default_rng(0)
    drawn = np.bincount([permute_and_flip(scores, rate=rate, rng=rng) for _ in range(6000)], minlength=5)
    assert chisquare(drawn, chances(scores, rate) * 6000).pvalue > 1e-6
    assert chisquare(drawn, chances(scores, Fraction(1, 2)) * 6000).pvalue < 1e-6, "control: mis-scaled"


def test_it_is_never_worse_than_the_exponential_mechanism():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.integers(0, 12, size=4)
        weights = np.exp(scores / 3.0)
        assert chances(list(scores), Fraction(1, 3)) @ scores >= weights @ scores / weights.sum() - 1e-12


@pytest.fixture(scope="module")
def frame():
    """The label depends on a and, by another pair of values, on c; b and d are noise, d different in every row."""
    rng = np.random.default_rng(0)
    made = pd.DataFrame({name: rng.integers(3, size=20_000) for name in "abc"})
    made["d"] = np.arange(len(made))
    f = 2.0 * (made["a"] == 1) - 1.0 * (made["c"] == 2)
    made["y"] = (rng.random(len(made)) < 1 / (1 + np.exp(0.5 - f))).astype(int)
    return made


def names(chosen):
    return [tuple(feature.name for feature in one) for one in chosen.sets]


def test_what_tells_most_is_chosen_first(frame):
    made = choose_sets(
        frame,
        candidates=["b", "c", "a"],
        sets=2,
        label="y",
        loss=LogisticLoss(),
        epsilon=1.0,
        rng=np.random.default_rng(0),
    )
    assert names(made) == [("a",), ("c",)]
    assert str(made.guarantee) == "epsilon 1 for one label"


def test_a_set_of_many_bags_pays_for_its_noise(frame):
    given = {"candidates": ["d", "a"], "sets": 1, "label": "y", "loss": LogisticLoss(), "epsilon": 1.0}
    free = choose_sets(frame, **given, rng=np.random.default_rng(0))
    paid = choose_sets(frame, **given, noise=LaplaceTotalsNoise(epsilon=1.0), rng=np.random.default_rng(0))
    assert (names(free), names(paid)) == ([("d",)], [("a",)])


def test_a_tiny_epsilon_chooses_at_random(frame):
    chosen = [
        names(
            choose_sets(
                frame,
                candidates=["b", "a"],
                sets=1,
                label="y",
                loss=LogisticLoss(),
                epsilon=1e-6,
                rng=np.random.default_rng(seed),
            )
        )[0]
        for seed in range(40)
    ]
    assert 5 < chosen.count(("a",)) < 35


def test_pairs_and_classes_can_be_chosen(frame):
    made = choose_sets(
        frame.assign(kind=frame["y"] + (frame["b"] == 0)),
        candidates=list(itertools.combinations("abc", 2)),
        sets=2,
        label="kind",
        loss=CategoricalLoss(classes=3),
        epsilon=5.0,
        rng=np.random.default_rng(0),
    )
    assert len(set(names(made))) == 2


def test_noise_that_cannot_be_drawn_is_refused(frame):
    given = {"candidates": ["a", "b"], "sets": 1, "label": "y", "loss": LogisticLoss()}
    with pytest.raises(InvalidInput, match="scale must be at most"):
        choose_sets(frame, **given, epsilon=1e-15, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sets": 3}, "sets must be at most 2, the number of candidates, got 3"),
        ({"sets": 0}, "sets must be an integer >= 1"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number > 0, got nan"),
        ({"candidates": ["a", "zz"]}, "candidates names no column 'zz'"),
        ({"candidates": ["a", "y"]}, "candidates must not name the label column"),
        ({"loss": SquaredLoss()}, "needs declared labels"),
        ({"label": "d"}, "out of range for the loss"),
    ],
    ids=["many", "none", "epsilon", "column", "label", "range", "labels"],
)
def test_bad_input_is_one_sentence(frame, change, message):
    given = {"candidates": ["a", "b"], "sets": 1, "label": "y", "loss": LogisticLoss(), "epsilon": 1.0, **change}
    with pytest.raises(InvalidInput, match=message):
        choose_sets(frame, **given, rng=np.random.default_rng(0))
