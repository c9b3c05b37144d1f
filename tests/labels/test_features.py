"""Features reach the estimator as they were given, weights by class and by row too."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tacit.labels import Plan, protect
from tacit.labels.fitting.denoise import ForwardCorrection, NoCorrection, NoisyLabels
from tacit.labels.fitting.likelihood import LikelihoodRegression
from tacit.labels.fitting.model import fit_soft
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.forgotten import ForgottenClassWarning
from tacit.privacy import Guarantee, InvalidInput, Ledger, Unit
from tacit.privacy.payment import Payment

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
FRAME = pd.DataFrame(X, columns=[f"f{place}" for place in range(30)])
NAMES = np.where(Y, "well", "ill")


def learner(estimator=None, **settings):
    return LabelPrivateClassifier(estimator, **{"epsilon": 3.0, "random_state": 0} | settings)


class Remember(ClassifierMixin, BaseEstimator):
    """Keeps what it was given."""

    def fit(self, X, y, sample_weight=None):
        self.given_, self.weights_, self.classes_ = X, sample_weight, np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_a_frame_stays_a_frame():
    model = learner(Remember(), denoise=NoCorrection(), rounds=0).fit(FRAME, Y)
    given = model._trained.model.estimator.given_
    assert isinstance(given, pd.DataFrame)
    assert list(given.columns) == list(FRAME.columns) == model.feature_names_in_.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(FRAME.rename(columns={"f0": "other"}))


@pytest.mark.parametrize(
    ("estimator", "rows"),
    [
        (None, FRAME),
        (None, pl.DataFrame(FRAME)),
        (None, sp.csr_matrix(X)),
        (None, sp.coo_array(X)),
        (make_pipeline(StandardScaler(), LogisticRegression()), X),
        (
            make_pipeline(
                make_column_transformer((StandardScaler(), ["f0", "f1"]), (OneHotEncoder(), ["city"])),
                LogisticRegression(),
            ),
            FRAME.assign(city=np.where(Y ^ (np.arange(len(Y)) % 5 == 0), "Oslo", "Rome")),
        ),
        (HistGradientBoostingClassifier(max_iter=5), np.where(np.arange(X.size).reshape(X.shape) % 7, X, np.nan)),
        (make_pipeline(TfidfVectorizer(), LogisticRegression()), np.where(Y, "good fine", "bad fine")),
        (make_pipeline(TfidfVectorizer(), LogisticRegression()), np.where(Y, "good fine", "bad fine").tolist()),
    ],
    ids=["pandas", "polars", "csr", "coo", "pipeline", "mixed columns", "gaps", "text", "list of text"],
)
def test_features_of_every_kind(estimator, rows):
    assert learner(estimator).fit(rows, NAMES).score(rows, NAMES) > 0.85


def test_gaps_are_rejected_by_what_cannot_take_them():
    with pytest.raises(ValueError, match="contains NaN"):
        learner().fit(np.where(X > 3, np.nan, X), Y)


def test_class_weights_are_by_class():
    plain, weighted, balanced = (
        learner(LogisticRegression(class_weight=how)).fit(X, NAMES).predict_proba(X)[:, 0].mean()
        for how in (None, {"ill": 9, "well": 1}, "balanced")
    )
    assert weighted > plain + 0.03
    assert balanced > plain
    with pytest.raises(InvalidInput, match="class_weight must name classes among"):
        learner(RandomForestClassifier(5, class_weight={"sick": 2})).fit(X, NAMES)


def test_weights_of_rows_reach_the_last_step_of_a_pipeline():
    half = np.where(X[:, 0] > 0, 1.0, 1e-6)
    pipeline = make_pipeline(StandardScaler(), Remember())
    model = learner(pipeline, denoise=NoCorrection(), rounds=0).fit(X, Y, sample_weight=half)
    np.testing.assert_allclose(model._trained.model.estimator[-1].weights_, half)
    soft = np.array([[0.7, 0.3], [0.1, 0.9]])
    fitted = fit_soft(pipeline, X[:2], soft, rng=np.random.default_rng(0)).estimator[-1]
    np.testing.assert_allclose(fitted.weights_, [0.7, 0.3, 0.1, 0.9])


def test_a_rare_class_is_not_dropped_from_soft_targets():
    targets = np.column_stack([np.full(1000, 0.996), np.full(1000, 0.004)])
    fitted = fit_soft(Remember(), np.zeros((1000, 1)), targets, rng=np.random.default_rng(0)).estimator
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.weights_.sum() == pytest.approx(1000, rel=0.01)


@pytest.mark.parametrize("estimator", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_a_rare_class_keeps_its_probability(estimator):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30_000, 5))
    ill = (rng.random(30_000) < 1 / (1 + np.exp(6.3 - 1.5 * rows[:, 0]))).astype(int)
    assert 0.003 < ill.mean() < 0.007
    with warnings.catch_warnings():
        warnings.simplefilter("error", ForgottenClassWarning)
        chances = learner(estimator).fit(rows, ill).predict_proba(rows)[:, 1]
    assert roc_auc_score(ill, chances) > 0.8
    assert chances.mean() == pytest.approx(ill.mean(), rel=0.5)


def test_a_fit_that_forgets_a_class_says_so():
    release = protect(pa.table({"y": NAMES}), Plan(label="y", epsilon=3), rng=np.random.default_rng(0))

    class Constant(Remember):
        def predict_proba(self, X):
            return np.tile([0.0, 1.0], (len(X), 1))

    with pytest.warns(ForgottenClassWarning, match=r"forgotten 1 of 2 classes: 'ill' \(3\d\.\d+% of the labels\)"):
        learner(Constant(), denoise=NoCorrection(), rounds=0).fit(X, release)


class Refuses(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ValueError("no such columns")


def test_what_cannot_be_trained_is_charged_nothing(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(Y, name="cancer", budget=Guarantee(unit=Unit.LABEL, epsilon=9.0))
    paying = {"payment": Payment(ledger=ledger), "random_state": None}
    with pytest.raises(ValueError, match="no such columns"):
        learner(Refuses(), **paying).fit(FRAME, Y)
    assert ledger.statement("cancer").spent == 0
    staged = learner(mechanism="staged", **paying).fit(FRAME, Y)
    assert ledger.statement("cancer").spent == 3
    assert staged.fit(FRAME, Y).release_.repeated
    assert learner(mechanism="staged", epsilon=2.0, **{**paying}).fit(sp.csr_matrix(X), Y).guarantee_.epsilon == 2


def test_the_default_is_the_likelihood_and_other_estimators_are_judged():
    assert isinstance(learner().fit(X, Y)._trained.model.estimator, LikelihoodRegression)
    asked = learner(LogisticRegression(), denoise=ForwardCorrection(), rounds=0).fit(X, Y)
    assert isinstance(asked._trained.model.estimator, LogisticRegression)
    forest = learner(RandomForestClassifier(20), epsilon=1.0).fit(X, Y)
    assert forest.score(X, Y) > 0.8
    assert forest.temperature_ != 1.0


def test_noisy_labels_are_cut_by_rows():
    noisy = NoisyLabels(given=np.arange(3), likelihood=np.eye(3), sample_weight=np.arange(3.0))
    assert noisy.take(np.array([2])).sample_weight.tolist() == [2.0]
