"""No echo: a row's own released label must not come back to it through other rows' targets."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from tacit.labels.fitting.denoise import ForwardCorrection, NoisyLabels
from tacit.labels.fitting.expect import expect_outside, posterior_targets
from tacit.labels.fitting.model import cross_fit
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy import InvalidInput

RR = RandomizedResponse(epsilon=1.0, classes=3)
TREE = DecisionTreeClassifier(random_state=0)  # remembers every row
ROWS = 300


def noise(rows=ROWS, *, seed=0):
    """Features that tell nothing, and released labels."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 2)), rng.integers(0, 3, rows)


def start_of(given):
    return posterior_targets(np.full((len(given), 3), 1 / 3), RR.likelihood(given))


def without_echo(X, given, *, rounds, folds=4, estimator=TREE, seed=1):
    likelihood, rng = RR.likelihood(given), np.random.default_rng(seed)
    return expect_outside(
        estimator, X, likelihood=likelihood, start=start_of(given), rounds=rounds, folds=folds, rng=rng
    )


def plain_cross_fitting(X, given, *, rounds, folds=2, seed=1):
    """What comes to mind first, and has the echo: every round predicts each row from the other folds' rows."""
    targets, likelihood, rng = start_of(given), RR.likelihood(given), np.random.default_rng(seed)
    for _ in range(rounds):
        prior = cross_fit(TREE, X, targets, folds=folds, rng=rng)
        targets = posterior_targets(prior, likelihood)
    return prior


def direction(prior):
    """Log-probabilities up to the one power that all rows share."""
    logs = np.log(np.maximum(prior, 1e-12))
    centered = logs - logs.mean(axis=-1, keepdims=True)
    return centered / np.maximum(np.linalg.norm(centered, axis=-1, keepdims=True), 1e-12)


@pytest.mark.parametrize(("rounds", "folds"), [(1, 2), (2, 3), (2, 5), (3, 4)])
@pytest.mark.parametrize("estimator", [TREE, GaussianNB()], ids=["tree", "bayes"])
def test_a_rows_prior_does_not_change_with_its_own_label(rounds, folds, estimator):
    X, given = noise(120)
    before = direction(without_echo(X, given, rounds=rounds, folds=folds, estimator=estimator))
    moved = 0
    for row in (0, 17, 44, 91):
        other = given.copy()
        other[row] = (other[row] + 1) % 3
        after = direction(without_echo(X, other, rounds=rounds, folds=folds, estimator=estimator))
        assert after[row] == pytest.approx(before[row], abs=1e-9)
        moved += np.abs(after - before).max()
    assert moved > 0.1, "control: it does reach other rows"


def test_the_echo_of_plain_cross_fitting_is_seen_by_the_same_test():
    X, given = noise(120)
    before = direction(plain_cross_fitting(X, given, rounds=2))
    changes = []
    for row in range(0, 120, 4):
        other = given.copy()
        other[row] = (other[row] + 1) % 3
        changes.append(np.abs(direction(plain_cross_fitting(X, other, rounds=2))[row] - before[row]).max())
    assert max(changes) > 0.1


def test_on_noise_the_prior_of_the_released_label_is_at_chance():
    """The echo as a number: the prior's guess agrees with the released label more often than 1/3."""
    agree = {without_echo: [], plain_cross_fitting: []}
    for seed in range(6):
        X, given = noise(seed=seed)
        for method, found in agree.items():
            prior = method(X, given, rounds=2, seed=seed)
            found += list(prior[np.arange(ROWS), given] - 1 / 3)
    error = {method: np.std(found) / np.sqrt(len(found)) for method, found in agree.items()}
    assert abs(np.mean(agree[without_echo])) < 4.9 * error[without_echo]
    assert np.mean(agree[plain_cross_fitting]) > 4.9 * error[plain_cross_fitting], "control"


def test_soft_targets_do_not_leave_flat_probabilities():
    """At epsilon 1 the posteriors of ten classes are nearly flat, and models of them too, unless calibrated."""
    X, y = load_digits(return_X_y=True)
    settings = {"epsilon": 2.0, "rounds": 0, "random_state": 0}
    model = LabelPrivateClassifier(LogisticRegression(max_iter=300), **settings).fit(X[:1200] / 16, y[:1200])
    probabilities = model.predict_proba(X[1200:] / 16)
    right = np.mean(probabilities.argmax(axis=1) == y[1200:])
    assert right > 0.75
    assert abs(probabilities.max(axis=1).mean() - right) < 0.15, "as sure as it is right; 0.4 before"


@pytest.mark.parametrize(("rounds", "folds"), [(2, 2), (3, 3)])
def test_more_folds_than_rounds(rounds, folds):
    with pytest.raises(InvalidInput, match=f"folds must be more than the {rounds} rounds, or 1, got {folds}"):
        ForwardCorrection(rounds=rounds, folds=folds)


def test_one_fold_is_in_sample_and_few_rows_keep_their_own_posterior():
    X, given = noise(5)
    likelihood = RR.likelihood(given)
    noisy = NoisyLabels(given=given, likelihood=likelihood)
    alone = ForwardCorrection().targets(TREE, X, noisy, rng=np.random.default_rng(0))
    assert alone == pytest.approx(start_of(given))
    echo = ForwardCorrection(folds=1).targets(
        TREE, X, NoisyLabels(given=given, likelihood=likelihood), rng=np.random.default_rng(0)
    )
    assert (echo[np.arange(5), given] > alone[np.arange(5), given]).all(), "a model that remembers confirms itself"
