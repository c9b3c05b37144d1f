"""A model that is too sure is softened until the released labels are likeliest, and never made surer."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from tacit.labels.fitting.denoise import ForwardCorrection
from tacit.labels.fitting.temperature import find_temperature, scale_temperature
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.retrain import AllRows
from tacit.labels.mechanisms import RandomizedResponse


@pytest.fixture
def released():
    """Chances of three classes, and how likely each makes the label that was drawn from them and randomized."""
    rng = np.random.default_rng(0)
    chances = rng.dirichlet([0.6, 0.8, 1.0], size=40_000)
    truth = (rng.random((len(chances), 1)) > chances.cumsum(axis=1)).sum(axis=1)
    mechanism = RandomizedResponse(epsilon=1.0, classes=3)
    return chances, mechanism.likelihood(mechanism.randomize(truth, rng=rng))


def test_the_order_of_classes_stays_and_1_changes_nothing(released):
    chances, _ = released
    assert scale_temperature(chances, temperature=1.0) is chances
    soft = scale_temperature(chances, temperature=3.0)
    assert np.allclose(soft.sum(axis=1), 1.0)
    assert np.array_equal(np.argsort(soft, axis=1), np.argsort(chances, axis=1))
    assert np.allclose(scale_temperature(soft, temperature=1 / 3), chances)
    small = np.geomspace(1e-25, 1e-3, 50)
    assert (np.diff(scale_temperature(np.column_stack([1 - small, small]), temperature=9.0)[:, 1]) > 0).all(), (
        "rows keep theirs"
    )


@pytest.mark.parametrize("sharpened", [1.5, 4.0])
def test_what_was_sharpened_is_found_from_randomized_labels(released, sharpened):
    chances, likelihood = released
    sharp = scale_temperature(chances, temperature=1 / sharpened)
    assert find_temperature(sharp, likelihood) == pytest.approx(sharpened, rel=0.1)
    grid = np.geomspace(1.0, 40.0, 200)
    losses = [-np.log((scale_temperature(sharp, temperature=t) * likelihood).sum(axis=1)).mean() for t in grid]
    assert find_temperature(sharp, likelihood) == pytest.approx(grid[np.argmin(losses)], rel=0.03), "brute force"


def test_chances_that_are_right_stay_and_none_is_made_surer(released):
    chances, likelihood = released
    assert find_temperature(chances, likelihood) == pytest.approx(1.0, abs=0.05)
    flat = scale_temperature(chances, temperature=3.0)
    surer = scale_temperature(flat, temperature=0.5)
    assert find_temperature(flat, likelihood) == pytest.approx(1.0, abs=1e-4)
    fits = [-np.log((p * likelihood).sum(axis=1)).mean() for p in (surer, flat)]
    assert fits[0] < fits[1], "control: the released labels alone would ask for it"


def test_rows_count_by_their_weights(released):
    chances, likelihood = released
    half = np.arange(len(chances)) < len(chances) // 2
    mixed = np.where(half[:, None], chances, scale_temperature(chances, temperature=1 / 5))
    assert find_temperature(mixed, likelihood, sample_weight=half.astype(float)) == pytest.approx(1.0, abs=0.05)
    assert find_temperature(mixed, likelihood, sample_weight=(~half).astype(float)) == pytest.approx(5.0, rel=0.1)


def test_sure_rows_whose_label_says_otherwise_do_not_break_it():
    sure = np.eye(2)[np.zeros(50, dtype=int)]
    assert find_temperature(sure, np.tile([0.0, 1.0], (50, 1))) > 100
    assert np.isfinite(scale_temperature(sure, temperature=7.0)).all()


def test_a_retrained_model_is_as_sure_as_it_may_be():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 4))
    y = (X[:, 0] + 1.5 * rng.normal(size=9000) > 0).astype(int)
    forward = {"denoise": ForwardCorrection(), "random_state": 0}
    model = LabelPrivateClassifier(retrain=AllRows(), **forward).fit(X[:6000], y[:6000])
    plain = LabelPrivateClassifier(rounds=0, **forward).fit(X[:6000], y[:6000])
    assert plain.temperature_ == 1.0 < 2.0 < model.temperature_
    chances = model.predict_proba(X[6000:])
    predicted, model.temperature_ = model.predict(X[6000:]), 1.0
    as_trained = model.predict_proba(X[6000:])
    assert np.array_equal(predicted, model.predict(X[6000:]))
    assert roc_auc_score(y[6000:], chances[:, 1]) == roc_auc_score(y[6000:], as_trained[:, 1])
    assert log_loss(y[6000:], chances) < log_loss(y[6000:], plain.predict_proba(X[6000:])) + 0.02
    assert log_loss(y[6000:], as_trained) > log_loss(y[6000:], chances) + 0.5, "control"
