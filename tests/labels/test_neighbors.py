"""Votes of neighbors: de-biased, without the row's own label, and worth more than it."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from tacit.labels.fitting.denoise import NoCorrection, NoisyLabels
from tacit.labels.fitting.expect import posterior_targets
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.flattened import FlattenedModelWarning
from tacit.labels.learners.neighbors import (
    NeighborVotes,
    _first_votes,
    choose_count,
    expect_from_neighbors,
    find_neighbors,
)
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy.errors import InvalidInput


def noisy(likelihood):
    return NoisyLabels(given=likelihood.argmax(axis=1), likelihood=likelihood)


@pytest.fixture
def clusters():
    """Ten clusters, one a class, with a tenth of the rows in a wrong one; labels at epsilon 1."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(10), 150)
    place = np.where(rng.random(1500) < 0.1, rng.integers(0, 10, 1500), truth)
    X = 4 * rng.normal(size=(10, 8))[place] + rng.normal(size=(1500, 8))
    rr = RandomizedResponse(epsilon=1.0, classes=10)
    return X, truth, rr.likelihood(rr.randomize(truth, rng=rng))


def test_neighbors_are_those_of_brute_force():
    X = np.random.default_rng(1).normal(size=(40, 3)) + 100.0
    far = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)
    assert np.array_equal(np.sort(find_neighbors(X, count=5)), np.sort(np.argsort(far, axis=1)[:, :5]))


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 1e9), (1e25, 0.0), (1e-25, 0.0)])
def test_neighbors_do_not_depend_on_offset_or_scale(scale, offset):
    """Seconds since 1970 lie near 1e9, where float32 tells only minutes apart; squares of 1e25 overflow it."""
    X = np.random.default_rng(1).integers(0, 1000, size=(200, 3)) * 1.0
    far = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)
    near = find_neighbors(scale * X + offset, count=5)
    assert np.allclose(np.take_along_axis(far, near, axis=1), np.sort(far, axis=1)[:, :5])


def test_one_stray_row_does_not_hide_who_is_near():
    X = np.random.default_rng(1).normal(size=(200, 3))
    X[0] = 1e8
    assert np.array_equal(find_neighbors(X, count=5)[1:], find_neighbors(X[1:], count=5) + 1)


def test_a_row_alone_has_its_own_label():
    alone = NeighborVotes().targets(None, [[0.0]], noisy(np.array([[0.6, 0.2]])), rng=None)
    assert np.allclose(alone, [[0.75, 0.25]])


def test_a_row_is_no_neighbor_of_its_own_even_among_copies():
    near = find_neighbors(np.zeros((30, 2)), count=29)
    assert all(np.array_equal(np.sort(row), np.delete(np.arange(30), i)) for i, row in enumerate(near))


def test_the_first_votes_are_the_debiased_shares_of_randomized_response():
    """Formula sheet a3, when every label was released equally often."""
    K, n = 5, 100
    rr = RandomizedResponse(epsilon=0.7, classes=K)
    given = np.arange(n) % K
    near = np.random.default_rng(2).integers(0, n, size=(n, 12))
    mean = csr_array((np.full(n * 12, 1 / 12), near.ravel(), np.arange(n + 1) * 12), shape=(n, n))
    counts = np.stack([np.bincount(given[row], minlength=K) for row in near])
    shares = np.linalg.solve(rr.transition().T, counts.T).T / 12
    assert np.allclose(_first_votes(mean, rr.likelihood(given)), shares, atol=1e-9)


def test_votes_are_worth_more_than_the_own_label(clusters):
    X, truth, likelihood = clusters
    own = (likelihood.argmax(axis=1) == truth).mean()
    found = (NeighborVotes(count=100, rounds=3).targets(None, X, noisy(likelihood), rng=None).argmax(1) == truth).mean()
    assert own < 0.3
    assert found > 0.85
    strangers = np.random.default_rng(3).integers(0, len(X), size=(len(X), 100))
    told = expect_from_neighbors(strangers, likelihood=likelihood, rounds=3)
    assert (told.argmax(axis=1) == truth).mean() < 0.2, "control: rows that are not near say nothing"


def test_the_own_label_is_left_out(clusters):
    X, _, likelihood = clusters
    near = find_neighbors(X, count=100)
    lonely = np.where(near == 7, (near + 1) % len(near), near)  # nobody hears row 7
    other = likelihood.copy()
    other[7] = np.roll(other[7], 3)
    one, two = (expect_from_neighbors(lonely, likelihood=part, rounds=3)[7] for part in (likelihood, other))
    assert np.allclose(one, two, atol=0.01)  # but for F and the power, which are of all rows
    assert not np.allclose(*(posterior_targets(one[None], part[7:8]) for part in (likelihood, other)), atol=0.01)


def test_mechanisms_may_differ_from_row_to_row(clusters):
    X, truth, likelihood = clusters
    mixed = likelihood.copy()
    mixed[::2] = RandomizedResponse(epsilon=3.0, classes=10).likelihood(truth[::2])
    right = NeighborVotes(count=100, rounds=3).targets(None, X, noisy(mixed), rng=None).argmax(1) == truth
    assert right[1::2].mean() > 0.85


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_release_says_how_many_neighbors_to_hear(epsilon):
    """The count that makes the release likeliest is near the best by the true labels, and differs from 4 to 0.5."""
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(3000, 2))
    truth = (np.floor(6 * X[:, 0]) + np.floor(6 * X[:, 1])).astype(int) % 2  # a chess board: 83 rows a field
    rr = RandomizedResponse(epsilon=epsilon, classes=2)
    likelihood = rr.likelihood(rr.randomize(truth, rng=rng))
    near = find_neighbors(X, count=270)
    right = {
        count: (expect_from_neighbors(near[:, :count], likelihood=likelihood, rounds=0).argmax(1) == truth).mean()
        for count in (270, 90, 30, 10)
    }
    chosen = choose_count(near, likelihood=likelihood)
    assert right[chosen] > max(right.values()) - 0.03
    assert right[270] < right[chosen] - 0.05, "control: all of them are too many"
    assert epsilon < 4 or chosen == 10


def test_a_learner_takes_it_for_denoising():
    X, y = load_digits(return_X_y=True)
    X, test, truth = X[:1200] / 16, X[1200:] / 16, y[1200:]
    accuracy = {}
    for denoise in (NeighborVotes(count=40), NoCorrection()):
        learner = LabelPrivateClassifier(
            LogisticRegression(max_iter=200),
            epsilon=1.0,
            denoise=denoise,
            rounds=0,
            random_state=0,
        )
        accuracy[type(denoise).__name__] = np.mean(learner.fit(X, y[:1200]).predict(test) == truth)
    assert accuracy["NeighborVotes"] > accuracy["NoCorrection"] + 0.05


def test_settings_are_checked(clusters):
    with pytest.raises(InvalidInput, match="count"):
        NeighborVotes(count=0)
    with pytest.raises(InvalidInput, match="rounds"):
        NeighborVotes(rounds=-1)
    with pytest.raises(InvalidInput, match="less than the 3 rows, got 3"):
        find_neighbors(np.zeros((3, 1)), count=3)
    with pytest.raises(InvalidInput, match="one row for each of the 4 rows"):
        expect_from_neighbors(np.zeros((4, 1), int), likelihood=np.ones((3, 2)))


@pytest.mark.parametrize(("scale", "warned"), [(1.0, False), (0.02, True)])
def test_a_penalty_too_strong_for_the_features_is_told(scale, warned):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1500)
    X = scale * (rng.normal(size=(1500, 5)) + 3 * y[:, None])
    learner = LabelPrivateClassifier(LogisticRegression(C=0.01), epsilon=1, denoise=NeighborVotes(), random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        learner.fit(X, y)
    assert any(one.category is FlattenedModelWarning for one in told) is warned
