"""Logistic regression by the likelihood of released labels: the right minimum, the right penalty, rare classes."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from tacit.labels.fitting.likelihood import LikelihoodRegression, NoSignalWarning
from tacit.labels.fitting.shares import class_rates, unfold
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy.errors import InvalidInput

RNG = np.random.default_rng


def rows(count, *, rate, seed=0):
    """Ten features, three of which move the odds of a class with about this rate."""
    rng = RNG(seed)
    X = rng.normal(size=(count, 10))
    logits = X[:, :3] @ [1.2, 0.8, -0.6] + np.log(rate / (1 - rate)) - 0.6
    return X, (rng.random(count) < 1 / (1 + np.exp(-logits))).astype(np.int64)


def released(y, *, epsilon, classes=2, seed=0):
    coin = RandomizedResponse(epsilon=epsilon, classes=classes)
    return coin.transition().T[coin.randomize(y, rng=RNG(seed))]


def objective(model, X, likelihood):
    scale = X.std(axis=0)
    evidence = (model.predict_proba(X) * likelihood).sum(axis=1)
    return -np.log(evidence).sum() + model.penalty / 2 * ((model.coef_ * scale) ** 2).sum()


def test_with_clean_labels_it_is_logistic_regression():
    X, y = rows(2000, rate=0.4)
    X = StandardScaler().fit_transform(X)
    ours = LikelihoodRegression(penalty=1.0).fit(X, y)
    theirs = LogisticRegression(C=2.0, tol=1e-8).fit(X, y)  # one slope against two, half the square
    np.testing.assert_allclose(ours.coef_[1] - ours.coef_[0], theirs.coef_[0], rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)


def test_no_step_away_is_likelier():
    X, y = rows(3000, rate=0.3)
    likelihood = released(y, epsilon=1)
    model = LikelihoodRegression(penalty=3.0, max_iter=2000).fit_likelihoods(X, likelihood)
    least, rng = objective(model, X, likelihood), RNG(1)
    for _ in range(30):
        kept = model.coef_.copy()
        model.coef_ = kept + rng.normal(scale=0.03, size=kept.shape)
        assert objective(model, X, likelihood) > least - 0.05
        model.coef_ = kept


def test_scale_and_shift_of_a_feature_change_nothing():
    X, y = rows(1000, rate=0.3)
    likelihood, factors = released(y, epsilon=2), 10.0 ** RNG(0).integers(-3, 4, 10)
    one, other = (
        LikelihoodRegression(random_state=0).fit_likelihoods(Z, likelihood) for Z in (X, X * factors + factors)
    )
    assert one.penalty_ == pytest.approx(other.penalty_)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X * factors + factors), atol=1e-3)


def test_sparse_rows_are_taken():
    X, y = rows(1000, rate=0.3)
    X[np.abs(X) < 1] = 0
    likelihood = released(y, epsilon=2)
    dense = LikelihoodRegression(penalty=1.0).fit_likelihoods(X, likelihood)
    sparse = LikelihoodRegression(penalty=1.0).fit_likelihoods(sp.csr_matrix(X), likelihood)
    np.testing.assert_allclose(dense.predict_proba(X), sparse.predict_proba(sp.csr_matrix(X)), atol=0.01)


@pytest.mark.parametrize(("rate", "epsilon", "auc"), [(0.03, 1.0, 0.83), (0.03, 3.0, 0.84), (0.005, 3.0, 0.83)])
def test_a_rare_class_is_ranked_nearly_as_by_clean_labels(rate, epsilon, auc):
    X, y = rows(40_000, rate=rate)
    later, truth = rows(20_000, rate=rate, seed=1)
    model = LikelihoodRegression(random_state=0).fit_likelihoods(X, released(y, epsilon=epsilon))
    chances = model.predict_proba(later)[:, 1]
    assert roc_auc_score(truth, chances) > auc
    assert chances.mean() == pytest.approx(truth.mean(), rel=0.5)
    uncorrected = LogisticRegression().fit(X, released(y, epsilon=epsilon).argmax(axis=1)).predict_proba(later)[:, 1]
    assert uncorrected.mean() > 1.5 * truth.mean(), "control: without correction the rate is that of the noise"


def test_the_penalty_that_released_labels_choose_is_nearly_the_best():
    X, y = load_digits(return_X_y=True)
    X, later, y, truth = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    likelihood = released(y, epsilon=1, classes=10)
    scores = {
        penalty: LikelihoodRegression(penalty=penalty, random_state=0)
        .fit_likelihoods(X, likelihood)
        .score(later, truth)
        for penalty in (0.01, 1.0, 10.0, 100.0, 1000.0)
    }
    chosen = LikelihoodRegression(random_state=0).fit_likelihoods(X, likelihood).score(later, truth)
    assert chosen > max(scores.values()) - 0.05
    assert chosen > min(scores.values()) + 0.2


def test_where_features_say_nothing_the_fit_says_so():
    def warned(X, y, seed):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            LikelihoodRegression(random_state=seed).fit_likelihoods(X, released(y, epsilon=1, seed=seed))
        return any(issubclass(one.category, NoSignalWarning) for one in caught)

    silent = sum(
        not warned(RNG(seed).normal(size=(2000, 5)), (RNG(seed + 100).random(2000) < 0.2).astype(np.int64), seed)
        for seed in range(10)
    )
    assert silent <= 3
    assert not any(warned(*rows(5000, rate=0.2, seed=seed), seed) for seed in range(3))


def test_balanced_classes_are_balanced():
    X, y = rows(20_000, rate=0.05)
    likelihood = released(y, epsilon=2)
    plain, balanced = (
        LikelihoodRegression(penalty=1.0, class_weight=how).fit_likelihoods(X, likelihood).predict_proba(X)[:, 1].mean()
        for how in (None, "balanced")
    )
    assert plain < 0.1
    assert 0.3 < balanced < 0.7


def test_the_private_classifier_takes_it_and_fits_once():
    X, y = rows(4000, rate=0.3)
    told = []
    learner = LabelPrivateClassifier(
        LikelihoodRegression(), epsilon=3, rounds=0, random_state=0, progress=lambda *at: told.append(at)
    ).fit(X, y)
    assert learner.score(X, y) > 0.7
    assert told == [(0, 1)]
    assert str(learner.guarantee_) == "epsilon 3 for one label"


def test_wrong_input():
    with pytest.raises(InvalidInput, match=r"must have one row for each of the 3 rows of X, got \(2, 2\)"):
        LikelihoodRegression().fit_likelihoods(np.zeros((3, 1)), np.ones((2, 2)))


def test_it_is_an_estimator():
    weighted = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    near = "weights and repeated rows end within 1e-5 of each other, where 1e-7 is demanded"
    check_estimator(LikelihoodRegression(penalty=1.0), expected_failed_checks=dict.fromkeys(weighted, near))
    drawn = "the rows that judge the penalty are drawn from those that are given"
    check_estimator(LikelihoodRegression(), expected_failed_checks=dict.fromkeys(weighted, drawn))


def test_weights_count_as_repeated_rows():
    X, y = rows(600, rate=0.3)
    counts = RNG(0).integers(0, 4, 600)
    one = LikelihoodRegression(penalty=1.0).fit(X, y, sample_weight=counts)
    other = LikelihoodRegression(penalty=1.0).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)


def test_shares_of_many_classes_under_much_noise_are_near_equal_ones():
    coin = RandomizedResponse(epsilon=0.5, classes=20)
    outputs = coin.randomize(np.random.default_rng(0).integers(20, size=1000), rng=np.random.default_rng(1))
    likelihood = coin.likelihood(outputs)
    rates = class_rates(likelihood, np.ones(1000))
    seen, even = np.bincount(outputs, minlength=20)[None] / 1000, np.full(20, 0.05)
    alone = unfold(seen, transition=coin.transition(), start=even, steps=1000)[0]
    assert rates.min() > 0.005
    assert alone.min() < 1e-3, "control: the likeliest shares have none of some classes"
    many = coin.likelihood(coin.randomize(np.zeros(20_000, dtype=int), rng=np.random.default_rng(2)))
    assert class_rates(many, np.ones(20_000))[0] > 0.8
    weights = np.repeat([1.0, 0.0], 10_000)
    halves = np.vstack([many[:10_000], likelihood[:1].repeat(10_000, axis=0)])
    np.testing.assert_allclose(
        class_rates(halves, weights)[0], class_rates(many[:10_000], np.ones(10_000))[0], atol=0.1
    )


def test_intercepts_of_labels_that_say_little_stay_at_the_rates():
    rng, even, coin = RNG(0), np.log(10), RandomizedResponse(epsilon=0.5, classes=10)
    losses, free = [], []
    for seed in range(10):
        X, y = rng.normal(size=(1000, 5)), rng.integers(10, size=1000)
        likelihood = released(y, epsilon=0.5, classes=10, seed=seed)
        model = LikelihoodRegression(penalty=300.0).fit_likelihoods(X, likelihood)
        losses.append(-np.log(model.predict_proba(X)).mean())
        seen = np.bincount(likelihood.argmax(axis=1), minlength=10)[None] / 1000
        shares = unfold(seen, transition=coin.transition(), start=np.full(10, 0.1), steps=1000)[0]
        free.append(-np.log(np.maximum(shares, 1e-3)).mean())
    assert np.mean(losses) < even + 0.1
    assert np.mean(free) > even + 0.3, "control: the likeliest intercepts"


def test_penalties_that_are_as_likely_share_the_fit():
    X, y = rows(3000, rate=0.05, seed=3)
    model = LikelihoodRegression(random_state=0).fit_likelihoods(X, released(y, epsilon=0.5))
    one = LikelihoodRegression(penalty=model.penalty_, shrinkage=model.shrinkage_).fit_likelihoods(
        X, released(y, epsilon=0.5)
    )
    assert 0.1 < model.penalty_ < 300
    assert not np.allclose(model.coef_, one.coef_, rtol=0.02)
