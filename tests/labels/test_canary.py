"""PlantedCanaries: how they are planted, that the bound covers, and that a mechanism that keeps too much is caught."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, chisquare
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tacit.labels import Plan, protect
from tacit.labels.attacks.canary import audit_canaries, plant_canaries
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy import Guarantee, InvalidInput, Unit


def release_labels(labels, *, epsilon=1.0, rng, **asked):
    """Release a column of labels."""
    return protect(pa.table({"y": labels}), Plan(label="y", epsilon=epsilon, **asked), rng=rng)


SURE = 1e-6
GUARANTEE = Guarantee(unit=Unit.LABEL, epsilon=1.0)


def test_canaries_are_fair_and_change_nothing_else():
    rng = np.random.default_rng(0)
    labels = rng.choice(["a", "b", "c", "d"], 30_000, p=[0.7, 0.1, 0.1, 0.1])
    canaries = plant_canaries(labels, count=10_000, rng=rng)
    planted = np.asarray(canaries.labels.to_pylist())
    changed = np.flatnonzero(planted != labels)
    assert set(changed) == set(canaries.rows[canaries.flipped])
    assert len(np.unique(canaries.rows)) == 10_000
    assert np.all(canaries.other != canaries.own)
    assert [canaries.classes[code] for code in canaries.own[:50]] == labels[canaries.rows[:50]].tolist()
    assert binomtest(int(canaries.flipped.sum()), 10_000, 0.5).pvalue > SURE
    of_a = canaries.other[canaries.own == 0]
    assert chisquare(np.bincount(of_a, minlength=4)[1:]).pvalue > SURE
    assert binomtest(int((canaries.flipped & (canaries.own == 0)).sum()), len(of_a), 0.5).pvalue > SURE


def test_rows_without_a_label_are_left_alone():
    labels = [None, 1, 0, None, 1] * 20
    canaries = plant_canaries(labels, count=60, rng=np.random.default_rng(1))
    assert canaries.labels.to_pylist()[0::5] == [None] * 20
    with pytest.raises(InvalidInput, match="at most the 60 rows"):
        plant_canaries(labels, count=61, rng=np.random.default_rng(1))


def remembered(canaries, *, epsilon, rng):
    """A model that knows every label it was given, and nothing else: the worst that training can do."""
    K = len(canaries.classes)
    given = np.where(canaries.flipped, canaries.other, canaries.own)
    return np.eye(K)[RandomizedResponse(epsilon=epsilon, classes=K).randomize(given, rng=rng)]


@pytest.mark.parametrize(("classes", "delta", "runs"), [(2, 0.0, 500), (2, 1e-3, 100), (5, 0.0, 500)])
def test_the_bound_covers(classes, delta, runs):
    above = 0
    rng = np.random.default_rng(2)
    labels = np.arange(400) % classes
    for _ in range(runs):
        canaries = plant_canaries(labels, count=200, rng=rng)
        leak = audit_canaries(canaries, remembered(canaries, epsilon=1.0, rng=rng), delta=delta, rng=rng)
        above += leak.epsilon_lower_bound > 1.0
    assert above / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_the_bound_is_not_idle():
    rng, bounds = np.random.default_rng(3), []
    for _ in range(20):
        canaries = plant_canaries(np.arange(4000) % 2, count=4000, rng=rng)
        bounds.append(audit_canaries(canaries, remembered(canaries, epsilon=1.0, rng=rng), rng=rng).epsilon_lower_bound)
    assert 0.85 < np.mean(bounds) < 1.0


@pytest.mark.parametrize("classes", [2, 5])
def test_control_labels_kept_too_often_are_caught(classes):
    rng, caught = np.random.default_rng(4), 0
    for _ in range(50):
        canaries = plant_canaries(np.arange(2000) % classes, count=2000, rng=rng)
        caught += audit_canaries(canaries, remembered(canaries, epsilon=2.0, rng=rng), rng=rng).exceeds(GUARANTEE)
    assert caught >= 48


def test_a_tree_that_remembers():
    rng, above, caught = np.random.default_rng(5), 0, 0
    X, y = rng.normal(size=(1000, 5)), rng.integers(0, 2, 1000)
    for _ in range(10):
        canaries = plant_canaries(y, count=500, rng=rng)
        for epsilon in (1.0, 3.0):
            release = release_labels(canaries.labels, epsilon=epsilon, rng=rng)
            tree = DecisionTreeClassifier(random_state=0).fit(X, np.asarray(release.labels))
            leak = audit_canaries(canaries, tree.predict_proba(X[canaries.rows]), rng=rng)
            above += leak.exceeds(GUARANTEE) and epsilon == 1.0
            caught += leak.exceeds(GUARANTEE) and epsilon == 3.0
    assert above <= 4  # of 10 at 5% each: more with probability 6e-5
    assert caught == 10


def test_a_private_classifier_proves_little():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2000, 3))
    y = (X[:, 0] > 0).astype(int)
    canaries = plant_canaries(y, count=500, rng=rng)
    planted = np.asarray(canaries.labels)
    private = LabelPrivateClassifier(LogisticRegression(), epsilon=1.0, random_state=0)
    leak = audit_canaries(canaries, private.fit(X, planted).predict_proba(X[canaries.rows]), guesses=100, rng=rng)
    assert leak.trials == 100
    assert not leak.exceeds(private.guarantee_)


def test_a_reference_sharpens_the_attack():
    """Scores are mostly about the row, a little about its coin: a model without the coins takes the row off."""
    rng = np.random.default_rng(7)
    canaries = plant_canaries(np.arange(4000) % 2, count=2000, rng=rng)
    row = rng.normal(0, 5, 2000)
    coin = np.where(canaries.flipped, 1.0, -1.0)

    def table(log_odds):
        toward = 1 / (1 + np.exp(-log_odds))
        return np.where(np.arange(2)[None, :] == canaries.other[:, None], toward[:, None], 1 - toward[:, None])

    alone = audit_canaries(canaries, table(row + coin), rng=rng)
    helped = audit_canaries(canaries, table(row + coin), reference=table(row), rng=rng)
    assert alone.rate < 0.65
    assert helped.rate > 0.95


def test_a_model_that_knows_nothing():
    rng = np.random.default_rng(8)
    canaries = plant_canaries(np.arange(1000) % 2, count=1000, rng=rng)
    leak = audit_canaries(canaries, np.full((1000, 2), 0.5), rng=rng)
    assert binomtest(leak.right, leak.trials, 0.5).pvalue > SURE
    assert leak.epsilon_lower_bound < 0.3


def test_bad_input_is_refused():
    rng = np.random.default_rng(9)
    canaries = plant_canaries(np.arange(100) % 2, count=50, rng=rng)
    good = np.full((50, 2), 0.5)
    for table in (good[:10], good[:, :1], np.full((50, 2), np.nan), -good):
        with pytest.raises(InvalidInput, match=r"probabilities must be finite numbers >= 0.*\(50, 2\)"):
            audit_canaries(canaries, table, rng=rng)
    with pytest.raises(InvalidInput, match="reference must be"):
        audit_canaries(canaries, good, reference=good[:1], rng=rng)
    with pytest.raises(InvalidInput, match="guesses must be"):
        audit_canaries(canaries, good, guesses=51, rng=rng)
    with pytest.raises(InvalidInput, match="guesses must be"):
        audit_canaries(canaries, good, guesses=0, rng=rng)
    with pytest.raises(InvalidInput, match="count must be"):
        plant_canaries([0, 1], count=0, rng=rng)
