"""Partial knowledge: all labels still come from scores, and a good model saves queries."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

from papers.score_attacks.attacks import prior_design
from tacit.data import iris, titanic
from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import DigitDesign, LossChannel, plan_attack
from tacit.scores.metrics import SKLEARN_FLOOR, LogLoss
from tacit.scores.policies import Exact, Rounded


def run(design, host):
    steps = design.steps()
    query, queries = next(steps), 0
    while True:
        queries += 1
        try:
            query = steps.send(host(query.predictions))
        except StopIteration as end:
            return end.value, queries


def believed(data, order):
    model = RandomForestClassifier(n_estimators=30, random_state=0)
    p = cross_val_predict(model, data.X[order], data.codes[order], cv=5, method="predict_proba")
    p = np.clip(p, 1e-3, None)
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("decimals", [None, 5])
def test_titanic_with_a_model_of_its_features(decimals):
    data = titanic()
    order = np.random.default_rng(0).permutation(len(data))
    truth = data.codes[order]
    answers = Exact() if decimals is None else Rounded(decimals=decimals)
    channel = LossChannel.of(LogLoss(floor=SKLEARN_FLOOR), rows=len(truth), policy=answers)
    design = prior_design(channel, believed(data, order))
    labels, queries = run(
        design, lambda p: log_loss(truth, p) if decimals is None else round(log_loss(truth, p), decimals)
    )
    np.testing.assert_array_equal(labels, truth)
    metric = LogLoss(floor=SKLEARN_FLOOR)
    without = plan_attack(metric, rows=len(truth), policy=answers, design=DigitDesign).queries
    assert queries < 0.9 * without
    assert 0.7 * queries < design.queries < 1.3 * queries


def test_iris_with_a_model():
    data = iris()
    order = np.random.default_rng(0).permutation(150)
    truth = data.codes[order]
    channel = LossChannel.of(LogLoss(classes=3, floor=SKLEARN_FLOOR), rows=150, policy=Rounded(decimals=5))
    labels, queries = run(
        prior_design(channel, believed(data, order)), lambda p: round(log_loss(truth, p, labels=range(3)), 5)
    )
    np.testing.assert_array_equal(labels, truth)
    assert (
        queries
        < 10
        < plan_attack(LogLoss(classes=3, floor=SKLEARN_FLOOR), rows=150, policy=Rounded(decimals=5)).queries
    )


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_random_beliefs(classes):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        belief = rng.dirichlet(np.full(classes, 0.3), size=700)
        truth = np.array([rng.choice(classes, p=p) for p in belief])
        channel = LossChannel.of(LogLoss(classes=classes, floor=SKLEARN_FLOOR), rows=700, policy=Exact())
        labels, _ = run(prior_design(channel, belief), lambda p, y=truth: log_loss(y, p, labels=range(classes)))
        np.testing.assert_array_equal(labels, truth)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_wrong_model_costs_queries_and_no_label(classes):
    """The control: sure of the wrong classes, or of none."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, 200)
    wrong = np.full((200, classes), 0.02 / (classes - 1))
    wrong[np.arange(200), (truth + 1) % classes] = 0.98
    right = np.full((200, classes), 0.02 / (classes - 1))
    right[np.arange(200), truth] = 0.98
    channel = LossChannel.of(LogLoss(classes=classes, floor=SKLEARN_FLOOR), rows=200, policy=Exact())
    host = lambda p: log_loss(truth, p, labels=range(classes))  # noqa: E731
    counts = []
    for belief in (right, np.full((200, classes), 1 / classes), wrong):
        labels, queries = run(prior_design(channel, belief), host)
        np.testing.assert_array_equal(labels, truth)
        counts.append(queries)
    assert counts[0] < counts[1]


def test_probabilities_are_checked():
    channel = LossChannel.of(LogLoss(floor=SKLEARN_FLOOR), rows=2, policy=Exact())
    for wrong in ([[0.5, 0.5]], [[0.5, 0.5], [1.2, -0.2]], [[0.5, 0.6], [0.5, 0.5]]):
        with pytest.raises(InvalidInput, match="probabilities must be 2 rows"):
            prior_design(channel, wrong)
