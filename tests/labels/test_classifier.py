import math
import pickle

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from tacit.labels import Plan, protect
from tacit.labels.fitting.denoise import ForwardCorrection, NoCorrection
from tacit.labels.learners.backward import BackwardCorrection
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.regressor import LabelPrivateRegressor
from tacit.labels.learners.released import RandomizedLabels, ReleasedLabels
from tacit.labels.learners.retrain import AllRows, ConfidentRows, ConsensusRows, SkipIfCollapsed
from tacit.labels.learners.validate import released_accuracy, score_by_release
from tacit.labels.mechanisms import RandomizedResponse, StagedResponse
from tacit.privacy import Guarantee, InvalidInput, Unit


def release_labels(labels, *, epsilon=1.0, rng, **asked):
    """Release a column of labels."""
    return protect(pa.table({"y": labels}), Plan(label="y", epsilon=epsilon, **asked), rng=rng)


WEIGHTS = "labels are randomized row by row, so two layouts of the same rows draw different labels"
ACCURACY = "it demands an accuracy that a handful of randomized labels cannot give"


def test_classifier_passes_scikit_learns_checks():
    check_estimator(
        LabelPrivateClassifier(random_state=0),
        expected_failed_checks={
            "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
            "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
            "check_classifiers_train": ACCURACY,
        },
    )


def test_regressor_passes_scikit_learns_checks():
    check_estimator(
        LabelPrivateRegressor(random_state=0),
        expected_failed_checks={
            "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
            "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
            "check_regressors_train": ACCURACY,
        },
    )


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(1500, centers=4, n_features=6, cluster_std=3.0, random_state=0)


def rr(epsilon, classes):
    return RandomizedResponse(epsilon=epsilon, classes=classes)


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(max_iter=500), RandomForestClassifier(20), GaussianNB(), KNeighborsClassifier(), LinearSVC()],
    ids=lambda e: type(e).__name__,
)
def test_any_classifier(estimator, blobs):
    X, y = blobs
    model = LabelPrivateClassifier(estimator, epsilon=2.0, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.guarantee_.epsilon == 2.0
    assert model.release_.seeded


def test_labels_are_randomized_once_and_nothing_else_depends_on_them(blobs):
    """Two label columns that randomize to the same released labels give the same model."""
    X, y = blobs
    released = LabelPrivateClassifier(epsilon=1.0, random_state=0).fit(X, y)
    given = released.release_.labels.to_numpy()
    assert 0.3 < np.mean(given == y) < 0.6  # e/(e+3) = .475
    release = release_labels(y, epsilon=1.0, rng=np.random.default_rng(1))
    one = LabelPrivateClassifier(random_state=5).fit(X, release)
    two = LabelPrivateClassifier(random_state=5).fit(X, release)
    assert (one.predict_proba(X) == two.predict_proba(X)).all()
    assert one.release_ is release


def test_denoising_and_consensus_beat_plain_training():
    """Five classes at epsilon 1: 60% of the labels are wrong, the first model is wrong on 13%."""
    X, y = make_blobs(3000, centers=5, n_features=20, cluster_std=6.0, random_state=0)
    scores = {}
    for name, settings in {
        "plain": {"denoise": NoCorrection(), "rounds": 0},
        "full": {"denoise": NoCorrection(), "retrain": AllRows()},
        "consensus": {"denoise": NoCorrection()},
        "default": {},
    }.items():
        models = [
            LabelPrivateClassifier(epsilon=1.0, random_state=seed, **settings).fit(X[::2], y[::2]) for seed in range(4)
        ]
        scores[name] = np.mean([model.score(X[1::2], y[1::2]) for model in models])
    assert scores["consensus"] > scores["full"] + 0.01
    assert scores["full"] > scores["plain"]
    assert scores["default"] > scores["plain"] + 0.005


def test_report_has_the_numbers_of_the_papers_tables(blobs):
    X, y = blobs
    model = LabelPrivateClassifier(epsilon=1.0, denoise=NoCorrection(), random_state=0).fit(X, y)
    report = model.retraining_report(y)
    assert report.given == pytest.approx(np.e / (np.e + 3), abs=0.04)
    assert report.chosen_fraction == pytest.approx(model.consensus_fraction_)
    assert report.chosen > report.predicted > report.given


@pytest.mark.parametrize("stages", [2, 3])
def test_stages_release_every_label_once(blobs, stages):
    X, y = blobs
    model = LabelPrivateClassifier(epsilon=1.0, mechanism=StagedResponse(stages=stages), random_state=0).fit(X, y)
    stage = model.release_.table["stage"].to_numpy()
    assert np.bincount(stage).tolist() == [1500 // stages] * stages
    assert model.guarantee_.epsilon == 1.0
    assert model.release_.labels.null_count == 0
    right = model.release_.labels.to_numpy() == y
    assert right[stage > 0].mean() > right[stage == 0].mean() + 0.05  # the prior makes labels true more often


@pytest.mark.parametrize("retrain", [AllRows(), ConsensusRows(), ConfidentRows(fraction=0.3)])
def test_retraining_chooses_rows(blobs, retrain):
    X, y = blobs
    model = LabelPrivateClassifier(epsilon=2.0, retrain=retrain, rounds=2, random_state=0).fit(X, y)
    fraction = model.retraining_report(y).chosen_fraction
    assert {AllRows: fraction == 1, ConsensusRows: 0.3 < fraction < 0.9, ConfidentRows: fraction == 0.3}[type(retrain)]


@pytest.mark.filterwarnings("ignore:the fitted model has forgotten")
def test_rare_labels_are_not_forgotten():
    """By default a model of rare labels keeps them; retrained on what it predicts it ranks like chance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = (X[:, 0] + rng.normal(size=6000) > 3.0).astype(int)
    assert 0.01 < y.mean() < 0.03
    auc = {}
    ways = {
        "default": {},
        "skipped": {"denoise": ForwardCorrection()},
        "without": {"denoise": ForwardCorrection(), "rounds": 0},
        "consensus": {"denoise": ForwardCorrection(), "retrain": ConsensusRows()},
    }
    for name, settings in ways.items():
        model = LabelPrivateClassifier(epsilon=1.0, random_state=0, **settings).fit(X, y)
        auc[name] = roc_auc_score(y, model.predict_proba(X)[:, 1])
    assert auc["default"] > 0.9
    assert auc["skipped"] == auc["without"] > 0.85
    assert auc["consensus"] < 0.7, "control"


def test_careful_looks_at_half_of_the_classes():
    weak = np.full((100, 4), 0.25)
    weak[:, 0] += 0.01
    given = np.zeros(100, dtype=np.int64)
    assert len(SkipIfCollapsed().choose(weak, given=given)) == 0, "three of four are never predicted"
    one = np.repeat(np.eye(4)[[0, 1, 2]], [34, 33, 33], axis=0) * 0.8 + 0.05
    assert len(SkipIfCollapsed(by=AllRows()).choose(one, given=given)) == 100, "one of four is"
    assert len(SkipIfCollapsed(by=AllRows(), least=0.0).choose(weak, given=given)) == 100
    with pytest.raises(InvalidInput, match="least"):
        SkipIfCollapsed(least=1.5)


def test_text_labels_pipeline_clone_and_pickle(blobs):
    X, y = blobs
    names = np.array(["a", "b", "c", "d"])[y]
    model = make_pipeline(StandardScaler(), LabelPrivateClassifier(epsilon=3.0, random_state=0))
    again = pickle.loads(pickle.dumps(clone(model).fit(X, names)))
    assert set(again.predict(X)) <= set(names)


def test_declared_classes_that_do_not_occur(blobs):
    X, y = blobs
    model = LabelPrivateClassifier(epsilon=3.0, classes=[0, 1, 2, 3, 4], random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (1500, 5)
    assert not any("occur" in assumption for assumption in model.guarantee_.assumptions)


def test_declared_classes_are_sorted_as_scorers_expect():
    """A scorer of ranks takes the last of ``classes_`` for the larger label."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    model = LabelPrivateClassifier(epsilon=4.0, classes=[1, 0], random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert get_scorer("roc_auc")(model, X, y) > 0.9


def test_weights_are_an_assumption_of_the_guarantee(blobs):
    """They go past the mechanism: weights made from the labels would tell them."""
    X, y = blobs
    plain = LabelPrivateClassifier(random_state=0).fit(X, y)
    weighted = LabelPrivateClassifier(random_state=0).fit(X, y, sample_weight=np.ones(len(y)))
    assert set(weighted.guarantee_.assumptions) - set(plain.guarantee_.assumptions) == {
        "row weights are public and were not made from the labels"
    }


def test_a_search_on_one_release_spends_nothing_more(blobs):
    X, y = blobs
    release = release_labels(y, epsilon=2.0, rng=np.random.default_rng(0))
    search = GridSearchCV(LogisticRegression(max_iter=500), {"C": [1e-4, 1.0]}, scoring=score_by_release)
    search.fit(X, ReleasedLabels(release))
    assert search.best_score_ == pytest.approx(search.best_estimator_.score(X, y), abs=0.08)


def test_released_accuracy_pins_and_coverage():
    """Formula sheet (b): K=10, epsilon 1, a=.8, n=10^4: SE .027413."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, 10_000)
    predicted = np.where(rng.random(10_000) < 0.8, truth, (truth + 1) % 10)
    accuracy = np.mean(predicted == truth)
    names = tuple(map(str, range(10)))
    estimates = [
        released_accuracy(predicted, release_labels(truth, epsilon=1.0, classes=names, rng=rng)) for _ in range(100)
    ]
    assert (estimates[0].high - estimates[0].low) / 3.92 == pytest.approx(0.027413, rel=0.05)
    values = np.array([estimate.value for estimate in estimates])
    assert abs(values.mean() - accuracy) < 5 * 0.0274 / 10
    inside = np.mean([e.low < accuracy < e.high for e in estimates])
    assert inside > 0.88


def test_regressor_is_unbiased():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(20_000, 2))
    y = 1 + X @ [1.0, -0.5]
    model = LabelPrivateRegressor(epsilon=1.0, mechanism="unbiased", bounds=(-1.0, 3.0), levels=5, random_state=0).fit(
        X, y
    )
    assert model._model.model.coef_ == pytest.approx([1.0, -0.5], abs=0.15)
    assert model.release_.settled["values"] == [-1.0, 0.0, 1.0, 2.0, 3.0]
    assert not any("least" in assumption for assumption in model.guarantee_.assumptions)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LabelPrivateClassifier(rounds=-1), "rounds must be"),
        (LabelPrivateClassifier(mechanism="staged:stages=0"), "stages must be"),
        (
            LabelPrivateClassifier(denoise=ForwardCorrection(rounds=1), classes=[0, 1]),
            "labels must be among the declared classes",
        ),
        (LabelPrivateRegressor(bounds=(1.0, 1.0)), "bounds must be two finite numbers"),
        (LabelPrivateRegressor(epsilon=-1.0), "epsilon must be"),
        (LabelPrivateRegressor(levels=1), "levels must be"),
    ],
)
def test_bad_settings(model, message, blobs):
    with pytest.raises(InvalidInput, match=message):
        model.fit(*blobs)


class KeepTwoThirds:
    """A mechanism of the user's own: of three classes, keep a label with probability 2/3."""

    matrix = np.full((3, 3), 1 / 6) + np.eye(3) / 2

    def randomize(self, codes, *, rng):
        switched = (codes + rng.integers(1, 3, len(codes))) % 3
        return np.where(rng.random(len(codes)) < 2 / 3, codes, switched)

    def likelihood(self, outputs):
        return self.matrix.T[outputs]


def test_labels_of_a_mechanism_of_ones_own():
    X, y = load_iris(return_X_y=True)
    stated = Guarantee(unit=Unit.LABEL, epsilon=math.log(4))
    names = np.array(["a", "b", "c"])[y]
    labels = RandomizedLabels.draw(names, KeepTwoThirds(), guarantee=stated, rng=np.random.default_rng(0))
    model = LabelPrivateClassifier(random_state=0).fit(X, labels)
    assert model.guarantee_ == stated
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert np.mean(model.predict(X) == names) > 0.85
    with pytest.raises(InvalidInput, match="one label for each of the 10 rows"):
        LabelPrivateClassifier().fit(X[:10], labels)
    with pytest.raises(InvalidInput, match="needs randomized response"):
        LabelPrivateClassifier(denoise=BackwardCorrection()).fit(X, labels)
