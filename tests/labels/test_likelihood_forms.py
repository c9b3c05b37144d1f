"""Estimators that learn by the likelihood of released labels without being asked to."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit.labels.fitting.boosting.learner import LikelihoodBoosting
from tacit.labels.fitting.denoise import ForwardCorrection, takes_likelihoods
from tacit.labels.fitting.likelihood_forms import likelihood_form
from tacit.labels.learners.classifier import LabelPrivateClassifier


def trees(**settings):
    return HistGradientBoostingClassifier(max_iter=15, learning_rate=0.2, **settings)


@pytest.mark.parametrize(
    "estimator", [RandomForestClassifier(), HistGradientBoostingRegressor(), LogisticRegression(l1_ratio=1)]
)
def test_other_estimators_stay_as_they_are(estimator):
    assert likelihood_form(estimator) is estimator


@pytest.mark.parametrize(
    ("library", "name"),
    [("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier"), ("catboost", "CatBoostClassifier")],
)
def test_trees_of_each_library_have_a_form(library, name):
    estimator = getattr(pytest.importorskip(library), name)()
    form = likelihood_form(make_pipeline(StandardScaler(), estimator))
    assert isinstance(form[-1], LikelihoodBoosting)
    assert form[-1].estimator is estimator
    assert takes_likelihoods(form)


def interactions(rows=1500):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(rows, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def test_trees_learn_by_likelihood_unasked_also_in_a_pipeline():
    X, y = interactions()
    for estimator in (trees(), make_pipeline(StandardScaler(), trees())):
        model = LabelPrivateClassifier(estimator, epsilon=2, random_state=0).fit(X, y)
        fitted = model._trained.model.estimator
        last = fitted[-1] if hasattr(fitted, "steps") else fitted
        assert isinstance(last, LikelihoodBoosting)
        assert model.score(X, y) > 0.85
    asked = LabelPrivateClassifier(trees(), denoise=ForwardCorrection(), rounds=0, random_state=0).fit(X, y)
    assert isinstance(asked._trained.model.estimator, HistGradientBoostingClassifier)


def test_weights_of_named_classes_reach_the_trees():
    X, y = interactions()
    shares = []
    for weights in ({"same": 0.001}, None, {"same": 1000}):
        model = LabelPrivateClassifier(trees(class_weight=weights), epsilon=2, random_state=0).fit(X, y)
        shares.append(np.mean(model.predict(X) == "same"))
    assert shares[0] < 0.3 < shares[1] < 0.7 < shares[2]
