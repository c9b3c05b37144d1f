"""The attack beside the best one there is: Bayes' rule over all label vectors of a few rows, which can be enumerated.

Both see the same answers of a played host. Instead of the labels that were drawn, the enumerated probabilities of all
labels judge both, so that the difference of the attackers is left and the luck of the labels is not.
"""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from tacit.scores import Plan, attack, protect
from tacit.scores.attacks.played_host import PlayedHost

WORDS = np.array(["no", "perhaps", "yes"])
POINT, ECE = 0.01, 0.02


def log_loss(labels, predictions):
    p = predictions if predictions.ndim == 2 else np.stack([1 - predictions, predictions], axis=1)
    return -np.log(np.clip(p, 0.01, 0.99))[np.arange(len(labels)), labels]


def brier(labels, predictions):
    if predictions.ndim == 1:
        return (predictions - labels) ** 2
    return ((predictions - np.eye(predictions.shape[1])[labels]) ** 2).sum(axis=1)


def accuracy(labels, predictions):
    return (predictions == labels).astype(float)


TERMS = {"log_loss": log_loss, "brier": brier, "accuracy": accuracy}


def enumerated(prior, asked, terms, scale):
    """The probability of each label of each row by Bayes' rule over all label vectors: (rows, classes)."""
    rows, classes = prior.shape
    vectors = np.array(list(product(range(classes), repeat=rows)))
    logs = np.log(prior)[np.arange(rows), vectors].sum(axis=1)
    for predictions, answer in asked:
        table = np.stack([terms(np.full(rows, label), predictions) for label in range(classes)], axis=1)
        logs -= np.abs(table[np.arange(rows), vectors].mean(axis=1) - answer) / scale
    weights = np.exp(logs - logs.max())
    return np.stack([weights @ (vectors == label) for label in range(classes)], axis=1) / weights.sum()


def attacked(metric, *, epsilon, submissions, classes, rows, repetitions, seed, monkeypatch):
    """Beliefs before, ours after, and the enumerated ones after, of all rows of all repetitions."""
    rng = np.random.default_rng(seed)
    asked = []
    submit = PlayedHost.submit

    def recorded(self, predictions):
        text = submit(self, predictions)
        asked.append((np.array(predictions, dtype=float), float(text)))
        return text

    monkeypatch.setattr(PlayedHost, "submit", recorded)
    words = WORDS[:classes]
    plan = Plan(label="ill", epsilon=epsilon, metric=metric, submissions=submissions, classes=tuple(words))
    found = []
    for _ in range(repetitions):
        prior = rng.dirichlet(np.full(classes, 4.0), size=rows)
        labels = (prior.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1)
        table = pa.table({"ill": words[labels]})
        offer = protect(table, plan)
        asked.clear()
        leak = attack(offer, truth=table, before=prior, rng=rng)
        assert len(asked) == leak.facts["submissions"] == submissions
        found.append((prior, leak.after, enumerated(prior, asked, TERMS[metric], offer.settled["noise_scale"])))
    return (np.concatenate(part) for part in zip(*found, strict=True))


def balanced_advantage(prior, after, exact):
    """T - F* of the worst class: rows are flagged whose odds of the class the answers raise."""
    advantages = []
    for label in range(prior.shape[1]):
        flag = after[:, label] > prior[:, label]
        inside, weights = exact[:, label], prior[:, label] / (1 - prior[:, label])
        others = (1 - inside) * weights
        advantages.append(inside[flag].sum() / inside.sum() - others[flag].sum() / others.sum())
    return max(advantages)


def calibration_error(after, exact):
    """How far beliefs are from the true probabilities: the mean over tenths of the belief, by the rows in each."""
    believed, true = after.ravel(), exact.ravel()
    tenth = np.minimum((10 * believed).astype(int), 9)
    return sum(abs((believed - true)[tenth == k].sum()) for k in range(10)) / len(believed)


def check(metric, monkeypatch, **case):
    prior, after, exact = attacked(metric, monkeypatch=monkeypatch, **case)
    best = balanced_advantage(prior, exact, exact)
    assert best > 0.05  # there is something to find
    assert best - balanced_advantage(prior, after, exact) < POINT
    assert calibration_error(after, exact) < ECE
    # controls: an attacker who is twice as sure, and one who has forgotten one answer in five
    sure = after**2 / (after**2).sum(axis=1, keepdims=True)
    assert calibration_error(sure, exact) > ECE or best < 0.2
    kept = np.random.default_rng(0).random(len(prior)) < 0.8
    assert best - balanced_advantage(prior, np.where(kept[:, None], after, prior), exact) > POINT


@pytest.mark.parametrize("metric", TERMS)
def test_a_dozen_rows_are_attacked_as_well_as_can_be(metric, monkeypatch):
    check(metric, monkeypatch, epsilon=3, submissions=10, classes=2, rows=12, repetitions=30, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("metric", TERMS)
@pytest.mark.parametrize(("epsilon", "submissions"), [(1, 10), (3, 10), (10, 10), (10, 40), (30, 100)])
def test_a_dozen_rows_at_every_epsilon(metric, epsilon, submissions, monkeypatch):
    case = {"epsilon": epsilon, "submissions": submissions, "classes": 2, "rows": 12}
    check(metric, monkeypatch, **case, repetitions=300, seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("metric", TERMS)
def test_three_classes(metric, monkeypatch):
    check(metric, monkeypatch, epsilon=5, submissions=20, classes=3, rows=8, repetitions=300, seed=3)


def test_scores_with_little_noise_are_enumerated(monkeypatch):
    """An epsilon of 3 a score: the sum of eleven other rows is far from Gaussian."""
    case = {"epsilon": 30, "submissions": 10, "classes": 2, "rows": 12, "repetitions": 8, "seed": 1}
    prior, after, exact = attacked("accuracy", **case, monkeypatch=monkeypatch)
    assert after == pytest.approx(exact, abs=1e-4)
    monkeypatch.undo()
    monkeypatch.setattr("tacit.scores.attacks.posterior.enumerated_posterior", lambda *_: None)
    prior, after, exact = attacked("accuracy", **case, monkeypatch=monkeypatch)
    lost = balanced_advantage(prior, exact, exact) - balanced_advantage(prior, after, exact)
    assert lost > 0.02, "control: message passing"
