"""Choosing between learners: at no cost by released labels, by name by clean ones."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import make_blobs
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from tacit.labels import Plan, protect
from tacit.labels.learners.choose import choose_learner
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.privacy import Guarantee, InvalidInput, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.payment import Payment


def release_labels(labels, *, epsilon=1.0, rng, **asked):
    """Release a column of labels."""
    return protect(pa.table({"y": labels}), Plan(label="y", epsilon=epsilon, **asked), rng=rng)


X, Y = make_blobs(1200, centers=3, n_features=4, cluster_std=2.0, random_state=0)
BAD, GOOD = (LabelPrivateClassifier(base, random_state=0) for base in (DummyClassifier(), GaussianNB()))


def released(labels=Y[:900], *, epsilon=2.0, **asked):
    return release_labels(labels, epsilon=epsilon, rng=np.random.default_rng(0), **asked)


RELEASE = released()


@pytest.mark.parametrize("clean", [None, (X[900:], Y[900:])], ids=["released", "clean"])
def test_the_better_learner_wins(clean):
    choice = choose_learner([BAD, GOOD], X[:900], RELEASE, clean=clean, rng=np.random.default_rng(1))
    assert choice.place == 1
    score, truth = choice.scores[1], choice.model.score(X[900:], Y[900:])
    assert abs(score.value - truth) < 5 * (score.high - score.low) / 3.92 + 0.03
    assert choice.scores[0].value < 0.6, "control"
    assert choice.model.release_ is RELEASE


def test_rows_without_a_released_label_do_not_judge():
    labels = [None if i % 2 else label for i, label in enumerate(Y[:900].tolist())]
    release = released(labels, epsilon=9.0, missing="public")
    choice = choose_learner([GOOD], X[:900], release, rng=np.random.default_rng(1))
    assert choice.scores[0].value == pytest.approx(choice.model.score(X[900:], Y[900:]), abs=0.1)


def test_clean_labels_are_asked_for_by_name_and_recorded():
    plain = choose_learner([GOOD], X[:900], RELEASE, rng=np.random.default_rng(1))
    assert plain.guarantee == RELEASE.guarantee
    clean = choose_learner([GOOD], X[:900], RELEASE, clean=(X[900:], Y[900:]), rng=np.random.default_rng(1))
    (said,) = set(clean.guarantee.assumptions) - set(RELEASE.guarantee.assumptions)
    assert said == "300 clean validation labels chose the model, and are outside this guarantee"
    assert clean.model.guarantee_ == clean.guarantee


def test_nothing_is_charged(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(Y[:900], name="blobs", budget=Guarantee(unit=Unit.LABEL, epsilon=2.0))
    paying = LabelPrivateClassifier(GaussianNB(), payment=Payment(ledger=ledger), random_state=0)
    choose_learner([paying, paying], X[:900], RELEASE, rng=np.random.default_rng(1))
    assert ledger.statement("blobs").entries == ()


def test_bad_input():
    by_prior = released(epsilon=1.0, mechanism="prior", classes=["0", "1", "2"], prior=[0.8, 0.1, 0.1])
    rng = np.random.default_rng(0)
    cases = {
        "learners must be at least one": lambda: choose_learner([], X, RELEASE, rng=np.random.default_rng(0)),
        "one label for each of the 1200 rows": lambda: choose_learner([GOOD], X, RELEASE, rng=np.random.default_rng(0)),
        "hold_out must be": lambda: choose_learner([GOOD], X[:900], RELEASE, hold_out=0.0, rng=rng),
        "with an unbiased accuracy, got prior": lambda: choose_learner([GOOD], X[:900], by_prior, rng=rng),
    }
    for message, call in cases.items():
        with pytest.raises(InvalidInput, match=message):
            call()
