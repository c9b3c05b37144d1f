"""Rows and classes that count differently: weights reach every fit, and balancing is by released labels alone."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tacit.labels.fitting.denoise import ForwardCorrection, NoCorrection, NoisyLabels
from tacit.labels.learners.backward import BackwardCorrection
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.regressor import LabelPrivateRegressor
from tacit.labels.mechanisms import RandomizedResponse

RR = RandomizedResponse(epsilon=3.0, classes=2)


def rare(rows=5000, *, seed=0):
    """8% of the labels are 1."""
    rng = np.random.default_rng(seed)
    y = (rng.random(rows) < 0.08).astype(int)
    return rng.normal(size=(rows, 3)) + 1.2 * y[:, None], y


def recall(model, X, y):
    return float(np.mean(model.predict(X)[y == 1]))


LOGISTIC = LogisticRegression(class_weight="balanced")
TREE = DecisionTreeClassifier(max_depth=4, class_weight="balanced", random_state=0)


@pytest.mark.parametrize(
    ("estimator", "denoise"),
    [(LOGISTIC, ForwardCorrection()), (LOGISTIC, BackwardCorrection()), (TREE, ForwardCorrection())],
    ids=["logistic, forward", "logistic, backward", "tree, forward"],
)
def test_balanced_classes_are_balanced_as_on_clean_labels(estimator, denoise):
    """A row stands once for each class: balancing by copies instead of their weights would do nothing."""
    X, y = rare()
    clean = recall(estimator.fit(X, y), X, y)
    plain = estimator.__class__(**{**estimator.get_params(), "class_weight": None})

    def mean_recall(base):
        learners = [LabelPrivateClassifier(base, epsilon=3.0, denoise=denoise, random_state=seed) for seed in range(3)]
        return np.mean([recall(learner.fit(X, y), X, y) for learner in learners])

    found = mean_recall(estimator)
    assert found > clean - 0.15
    assert mean_recall(plain) < found - 0.2, "control: a rare class is rarely predicted"


def test_balancing_does_not_move_the_posteriors():
    """P(label | x) is wanted, not that of a world with equal classes: given labels and targets agree on the shares."""
    X, y = rare()
    given = RR.randomize(y, rng=np.random.default_rng(1))
    noisy = NoisyLabels(given=given, likelihood=RR.likelihood(given))
    for weight in (None, "balanced"):
        learner = LogisticRegression(class_weight=weight)
        targets = ForwardCorrection().targets(learner, X, noisy, rng=np.random.default_rng(2))
        assert targets[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)
    assert given.mean() > y.mean() + 0.03, "control: the released shares themselves are off"


@pytest.mark.parametrize(
    ("denoise", "mechanism"),
    [
        (NoCorrection(), "rr"),
        (ForwardCorrection(), "rr"),
        (BackwardCorrection(), "rr"),
        (ForwardCorrection(), "staged"),
    ],
    ids=str,
)
def test_rows_of_no_weight_do_not_count(denoise, mechanism):
    """Half of the rows are from elsewhere, where the label means the opposite."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = (X[:, 0] > 0).astype(int)
    elsewhere = rng.random(2000) < 0.5
    y[elsewhere] = 1 - y[elsewhere]
    settings = {"epsilon": 3.0, "denoise": denoise, "mechanism": mechanism, "rounds": 1, "random_state": 0}
    model = LabelPrivateClassifier(**settings)
    weighted = model.fit(X, y, sample_weight=np.where(elsewhere, 1e-9, 1.0)).score(X[~elsewhere], y[~elsewhere])
    assert weighted > 0.9
    if mechanism == "rr":
        assert model.fit(X, y).score(X[~elsewhere], y[~elsewhere]) < 0.85, "control"


def test_weights_of_a_regressor():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 1))
    elsewhere = rng.random(4000) < 0.5
    y = np.where(elsewhere, -X[:, 0], X[:, 0])
    model = LabelPrivateRegressor(epsilon=3.0, mechanism="unbiased", levels=5, bounds=(-1.0, 1.0), random_state=0)
    slope = model.fit(X, y, sample_weight=np.where(elsewhere, 1e-9, 1.0))._model.model.coef_[0]
    assert slope == pytest.approx(1.0, abs=0.2)
    assert model.fit(X, y)._model.model.coef_[0] == pytest.approx(0.0, abs=0.2), "control"
