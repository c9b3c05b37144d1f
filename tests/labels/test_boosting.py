"""Boosted trees fitted by the likelihood of released labels, with each library."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from tacit.labels.fitting.boosting.class_shift import class_shift
from tacit.labels.fitting.boosting.learner import LikelihoodBoosting, LikelihoodBoostingRegressor
from tacit.labels.fitting.boosting.libraries import library_of
from tacit.labels.fitting.boosting.objective import ReleasedObjective
from tacit.labels.fitting.boosting.rounds import _JudgedTrees, _mixed
from tacit.labels.fitting.boosting.trees import TreeJudge
from tacit.labels.fitting.likelihood import NoSignalWarning
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy.errors import InvalidInput

LIBRARIES = ("scikit-learn", "xgboost", "lightgbm", "catboost")


def make(library, *, regressor=False, **settings):
    kind = "Regressor" if regressor else "Classifier"
    if library == "scikit-learn":
        model = HistGradientBoostingRegressor if regressor else HistGradientBoostingClassifier
        return model(max_iter=15, learning_rate=0.2, **settings)
    module = pytest.importorskip(library)
    if library == "catboost":
        return getattr(module, f"CatBoost{kind}")(iterations=15, learning_rate=0.3, thread_count=1, **settings)
    if library == "xgboost":
        return getattr(module, f"XGB{kind}")(n_estimators=15, learning_rate=0.3, n_jobs=1, **settings)
    return getattr(module, f"LGBM{kind}")(n_estimators=15, learning_rate=0.3, n_jobs=1, verbose=-1, **settings)


def table(*, classes=2, rows=1000, seed=0):
    """Classes that follow from the first feature and the sign of a product, which no line separates."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(rows, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    return (X, y) if classes == 2 else (X, np.where(X[:, 2] > 0.3, 2, y))


def released(y, *, epsilon=2.0, classes=2, seed=1):
    mechanism = RandomizedResponse(epsilon=epsilon, classes=classes)
    return mechanism.likelihood(mechanism.randomize(y, rng=np.random.default_rng(seed)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_two_classes_are_learned_from_labels_under_noise(library):
    X, y = table()
    model = LikelihoodBoosting(make(library), random_state=0).fit_likelihoods(X, released(y))
    fresh, truth = table(seed=5)
    assert model.score(fresh, truth) > 0.85
    chances = model.predict_proba(fresh)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    # shuffled labels say nothing: the same fit must fail, and say so
    with pytest.warns(NoSignalWarning):
        blind = LikelihoodBoosting(make(library), random_state=0).fit_likelihoods(
            X, released(np.random.default_rng(4).permutation(y))
        )
    assert blind.score(fresh, truth) < 0.6


@pytest.mark.parametrize("library", LIBRARIES)
def test_several_classes_are_learned_from_labels_under_noise(library):
    X, y = table(classes=3)
    model = LikelihoodBoosting(make(library), random_state=0).fit_likelihoods(X, released(y, epsilon=3, classes=3))
    fresh, truth = table(classes=3, seed=5)
    assert model.score(fresh, truth) > 0.85
    assert model.predict_proba(fresh).shape == (1000, 3)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_class_that_no_label_names_keeps_its_column(library):
    X, y = table()
    likelihood = np.column_stack([released(y), np.full(len(y), 0.05)])
    model = LikelihoodBoosting(make(library), random_state=0).fit_likelihoods(X, likelihood)
    assert model.predict_proba(X).shape == (1000, 3)
    assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize("library", LIBRARIES)
def test_rare_classes_keep_their_rate_and_their_order(library):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = (rng.random(4000) < 0.16 * (X[:, 0] > 0.5) + 0.01).astype(np.int64)
    model = LikelihoodBoosting(make(library), random_state=0).fit_likelihoods(X, released(y, epsilon=2.0))
    chances = model.predict_proba(X)[:, 1]
    assert abs(chances.mean() - y.mean()) < 0.03  # of released labels, 16% are positive
    assert chances[X[:, 0] > 0.7].mean() > 2 * chances[X[:, 0] < 0.3].mean()


@pytest.mark.parametrize("library", LIBRARIES)
def test_numbers_are_learned_from_their_bins(library):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(2000, 2))
    values = np.array([0.0, 1.0, 2.0, 10.0])
    chance = X[:, 0] ** 3
    places = rng.binomial(3, chance)
    likelihood = released(places, epsilon=2.0, classes=4)
    model = LikelihoodBoostingRegressor(make(library, regressor=True), random_state=0)
    predicted = model.fit_likelihoods(X, likelihood, values=values).predict(X)
    ways = np.array([1, 3, 3, 1])
    truth = np.sum([values[k] * ways[k] * chance**k * (1 - chance) ** (3 - k) for k in range(4)], axis=0)
    assert 1 - np.mean((predicted - truth) ** 2) / truth.var() > 0.8
    plain = likelihood / likelihood.sum(axis=1, keepdims=True) @ values  # the noise not undone
    assert abs(predicted.mean() - truth.mean()) < 0.25 < abs(plain.mean() - truth.mean())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_fitted_model_is_stored_without_labels(library, classes):
    X, y = table(classes=classes)
    likelihood = released(y, classes=classes, epsilon=3.0)
    model = LikelihoodBoosting(make(library), random_state=0).fit_likelihoods(X, likelihood)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    scaled = likelihood / likelihood.max(axis=1, keepdims=True)
    assert scaled[:9].tobytes() in pickle.dumps(scaled)
    assert scaled[:9].tobytes() not in pickle.dumps(model)


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_with_categories_and_gaps_reach_the_estimator(library):
    X, y = table()
    frame = pd.DataFrame({"size": X[:, 0], "sign": pd.Categorical(np.where(X[:, 1] > 0, "up", "down"))})
    frame.loc[::50, "size"] = np.nan
    settings = {"enable_categorical": True} if library == "xgboost" else {}
    options = {"cat_features": ["sign"]} if library == "catboost" else {}
    model = LikelihoodBoosting(make(library, **settings), random_state=0)
    model.fit_likelihoods(frame, released(y, epsilon=3.0), **options)
    assert model.score(frame, y) > 0.9
    assert model.feature_names_in_.tolist() == ["size", "sign"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"size": "height"}))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_sparse_rows_reach_the_estimator(library):
    X, y = table()
    model = LikelihoodBoosting(make(library), random_state=0).fit_likelihoods(
        sp.csr_matrix(X), released(y, epsilon=3.0)
    )
    assert model.score(sp.csr_matrix(X), y) > 0.9


@pytest.mark.parametrize("library", LIBRARIES)
def test_weights_of_zero_leave_rows_out(library):
    X, y = table()
    wrong = np.concatenate([y, 1 - y])
    weights = np.repeat([1.0, 0.0], len(y))
    model = LikelihoodBoosting(make(library), random_state=0)
    likelihood = released(wrong, epsilon=3.0)
    assert model.fit_likelihoods(np.vstack([X, X]), likelihood, sample_weight=weights).score(X, y) > 0.9
    assert clone(model).fit_likelihoods(np.vstack([X, X]), likelihood, sample_weight=1 - weights).score(X, y) < 0.1


def rounds_of(model):
    return max(fitted.n_iter_ for _, fitted in model._trees.fits)


def test_rows_of_an_eval_set_choose_the_rounds():
    X, y = table()
    model = LikelihoodBoosting(make("scikit-learn"), random_state=0)
    known = np.eye(2)[y]
    longer = clone(model).fit_likelihoods(X, released(y), eval_set=[(X, known)])
    against = clone(model).fit_likelihoods(X, released(y), eval_set=[(X, 1 - known)])
    assert rounds_of(longer) > 2 * rounds_of(against)
    with pytest.raises(InvalidInput, match="one pair"):
        clone(model).fit_likelihoods(X, released(y), eval_set=[(X, known)] * 2)


def test_weights_of_classes_move_the_odds_that_are_predicted():
    X, y = table()
    plain = LikelihoodBoosting(make("scikit-learn", random_state=0), random_state=0).fit_likelihoods(X, released(y))
    weighted = LikelihoodBoosting(make("scikit-learn", random_state=0, class_weight={0: 1, 1: 3}), random_state=0)
    odds = [m.predict_proba(X) for m in (plain, weighted.fit_likelihoods(X, released(y)))]
    ratios = [p[:, 1] / p[:, 0] for p in odds]
    np.testing.assert_allclose(ratios[1], 3 * ratios[0])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [1, 1]),
        ({"class_weight": {0: 2.0}}, [2, 1]),
        ({"class_weights": [1, 4]}, [1, 4]),
        ({"scale_pos_weight": 9}, [1, 9]),
        ({"auto_class_weights": "Balanced"}, [0.625, 2.5]),
        ({"auto_class_weights": "SqrtBalanced"}, [0.625**0.5, 2.5**0.5]),
        ({"is_unbalance": True}, [0.625, 2.5]),
    ],
)
def test_each_library_names_class_weights_in_its_own_way(settings, expected):
    class Estimator:
        def get_params(self, deep):
            return settings

    np.testing.assert_allclose(class_shift(Estimator(), [0, 1], shares=np.array([0.8, 0.2])), expected)


def test_class_weights_in_a_list_are_one_for_each_class():
    CatBoost = pytest.importorskip("catboost").CatBoostClassifier
    with pytest.raises(InvalidInput, match="one for each of 3 classes"):
        class_shift(CatBoost(class_weights=[1, 2]), [0, 1, 2], shares=np.full(3, 1 / 3))


def test_few_rows_are_fitted_without_a_choice():
    X, y = table(rows=8)
    assert LikelihoodBoosting(random_state=0).fit_likelihoods(X, released(y)).predict(X).shape == (8,)


def test_clean_labels_are_learned_too():
    X, y = table()
    names = np.array(["no", "yes"])[y]
    assert LikelihoodBoosting(random_state=0).fit(X, names).score(X, names) > 0.95
    with pytest.raises(InvalidInput, match="at least two classes"):
        LikelihoodBoosting().fit(X, np.zeros(len(X), dtype=int))


def test_estimators_of_another_kind_are_refused():
    X, y = table()
    for estimator in (object(), *_unboosted()):
        assert library_of(estimator) is None
    with pytest.raises(InvalidInput, match="must be boosted trees"):
        LikelihoodBoosting(_linear()).fit_likelihoods(X, released(y))
    with pytest.raises(InvalidInput, match="1000 rows"):
        LikelihoodBoosting().fit_likelihoods(X, released(y)[:9])
    with pytest.raises(InvalidInput, match="one number for each of 2"):
        LikelihoodBoostingRegressor().fit_likelihoods(X, released(y), values=[1.0])


def _linear():
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _unboosted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    return (
        xgboost.XGBRFClassifier(),
        xgboost.XGBClassifier(booster="gblinear"),
        lightgbm.LGBMClassifier(boosting_type="rf"),
    )


def test_scores_are_scaled_as_held_out_labels_say():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=2000) * 2
    y = (rng.random(2000) < 1 / (1 + np.exp(-scores))).astype(np.int64)
    coin = RandomizedResponse(epsilon=2.0, classes=2)
    objective = ReleasedObjective.of(coin.likelihood(coin.randomize(y, rng=rng)), None)
    for factor in (0.4, 1.0, 2.0):
        held = TreeJudge(None, objective, 1)
        held.judge(factor * scores)
        held.best_scores = factor * scores
        ((scale, _),) = _mixed([_JudgedTrees(None, np.array(held.losses), [held], None, 1)])
        assert abs(scale * factor - 1) < 0.25
