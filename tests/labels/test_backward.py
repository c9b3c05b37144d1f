"""Backward correction: unbiased by enumeration, and refused where negative weights make no sense."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import make_blobs
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from tacit.labels.fitting.denoise import ForwardCorrection, NoCorrection, NoisyLabels
from tacit.labels.fitting.model import fit_soft
from tacit.labels.learners.backward import BackwardCorrection
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy import Guarantee, InvalidInput, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.payment import Payment


def weights_of(given, mechanism, denoise=None):
    noisy = NoisyLabels(given=given, likelihood=mechanism.likelihood(given))
    return (denoise or BackwardCorrection()).targets(None, None, noisy, rng=np.random.default_rng(0))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_expected_loss_is_the_loss_on_the_true_labels(classes, epsilon):
    """All K^3 released columns of three rows, each with its probability, at a model of which nothing is assumed."""
    rr = RandomizedResponse(epsilon=epsilon, classes=classes)
    T, truth = rr.transition(), np.array([0, 1, classes - 1])
    losses = -log_softmax(np.random.default_rng(0).normal(size=(3, classes)), axis=1)
    expected = plain = 0.0
    for column in product(range(classes), repeat=3):
        given = np.array(column)
        chance = float(T[truth, given].prod())
        expected += chance * float((weights_of(given, rr) * losses).sum())
        plain += chance * float((weights_of(given, rr, NoCorrection()) * losses).sum())
    true = float(losses[np.arange(3), truth].sum())
    assert expected == pytest.approx(true, abs=1e-9)
    assert abs(plain - true) > 1e-3, "control: labels as given are biased"


def test_the_backward_loss_of_the_formula_sheet():
    """Formula sheet a10."""
    weights = weights_of(np.arange(3), RandomizedResponse(epsilon=1.0, classes=3))
    assert weights @ -np.log([0.6, 0.3, 0.1]) == pytest.approx([-0.935332, 0.968002, 3.984714], abs=5e-7)


def test_the_weights_are_those_of_the_backward_loss():
    rr = RandomizedResponse(epsilon=1.0, classes=4)
    given, losses = np.arange(4), np.random.default_rng(1).exponential(size=(4, 4))
    weights = weights_of(given, rr)
    backward = losses @ np.linalg.inv(rr.transition()).T
    assert (weights * losses).sum(axis=1) == pytest.approx(np.diag(backward))
    assert weights.sum(axis=1) == pytest.approx(np.ones(4))
    assert (weights[~np.eye(4, dtype=bool)] < 0).all()


def test_trained_on_all_columns_at_once_the_model_is_that_of_the_true_labels():
    """Every released label, weighted by its probability, in one fit: the minimizer too is the clean one."""
    rr, rng = RandomizedResponse(epsilon=1.0, classes=3), np.random.default_rng(2)
    X, truth = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    rows = np.repeat(np.arange(30), 3)
    given = np.tile(np.arange(3), 30)
    chance = rr.transition()[truth[rows], given]
    model = LogisticRegression(tol=1e-10, max_iter=10_000)
    fitted = fit_soft(model, X[rows], weights_of(given, rr), sample_weight=chance, rng=None)
    clean = fit_soft(model, X, np.eye(3)[truth], rng=None)
    assert fitted.probabilities(X) == pytest.approx(clean.probabilities(X), abs=1e-4)
    as_given = fit_soft(model, X[rows], np.eye(3)[given], sample_weight=chance, rng=None)
    assert np.abs(as_given.probabilities(X) - clean.probabilities(X)).max() > 0.05, "control"


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(max_iter=500), HistGradientBoostingClassifier(max_iter=20)],
    ids=["logistic", "trees"],
)
def test_it_learns(estimator):
    X, y = make_blobs(1500, centers=4, n_features=6, cluster_std=3.0, random_state=0)
    model = LabelPrivateClassifier(estimator, epsilon=2.0, denoise=BackwardCorrection(), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.guarantee_.epsilon == 2.0


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (KNeighborsClassifier(), "needs an estimator with sample_weight, got KNeighborsClassifier"),
        (DecisionTreeClassifier(), "makes no probabilities from them"),
        (RandomForestClassifier(5), "estimator must take negative weights, RandomForestClassifier"),
        (AdaBoostClassifier(), "does not: Negative values in data passed to `sample_weight`"),
        (SVC(), "ignores them; use ForwardCorrection"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_estimators_that_cannot_are_refused_before_the_charge(estimator, message, tmp_path):
    X, y = make_blobs(200, centers=3, random_state=0)
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(y, name="blobs", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0))
    with pytest.raises(InvalidInput, match=message):
        LabelPrivateClassifier(estimator, denoise=BackwardCorrection(), payment=Payment(ledger=ledger)).fit(X, y)
    assert ledger.statement("blobs").entries == ()
    LabelPrivateClassifier(estimator, denoise=ForwardCorrection(), payment=Payment(ledger=ledger)).fit(X, y)
    assert len(ledger.statement("blobs").entries) == 1, "control"


@pytest.mark.parametrize("mechanism", ["staged", "prior", "laplace"])
def test_channels_without_an_inverse_are_refused(mechanism):
    X, y = make_blobs(200, centers=3, random_state=0)
    model = LabelPrivateClassifier(denoise=BackwardCorrection(), mechanism=mechanism)
    with pytest.raises(InvalidInput, match="randomized response over all classes"):
        model.fit(X, y)
    assert not hasattr(model, "release_")


def test_rows_that_are_all_alike_are_no_reason_to_refuse():
    """Titanic's first hundred rows are the same passenger but for the label."""
    X = np.repeat([[0.0], [1.0]], 300, axis=0)
    y = (np.random.default_rng(0).random(600) < 0.2 + 0.6 * X[:, 0]).astype(int)
    model = LabelPrivateClassifier(denoise=BackwardCorrection(), epsilon=3.0, random_state=0)
    assert model.fit(X, y).predict([[0.0], [1.0]]).tolist() == [0, 1]
