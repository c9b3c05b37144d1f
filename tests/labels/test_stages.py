"""Releases in stages: the release alone says how likely each label is."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from papers.label_retraining.images.retraining import undo_noise
from tacit.data.classes import Classes
from tacit.labels import Plan, protect
from tacit.labels.attacks.guess import guess_labels, guess_labels_with_features
from tacit.labels.fitting.denoise import NoisyLabels
from tacit.labels.fitting.shares import likeliest_shares
from tacit.labels.fitting.unseen import predict_unseen
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.mechanisms import PriorRandomizedResponse, RandomizedResponse, StagedResponse
from tacit.labels.mechanisms.staged import StageLearner
from tacit.labels.releases.release import Release
from tacit.privacy import InvalidInput

K, EPSILON = 4, 1.0


def blobs(rows=600, *, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, rows)
    return np.eye(K)[y] * 2 + rng.normal(size=(rows, K)), y


def staged(stages, *, rows=600, **asked):
    X, y = blobs(rows)
    mechanism = f"staged:stages={stages}"
    return LabelPrivateClassifier(GaussianNB(), epsilon=EPSILON, mechanism=mechanism, random_state=0, **asked).fit(X, y)


def by_hand(label, prior):
    """P(released label | each true label) of one row, by trying every k of RRTop-k."""
    order = sorted(range(K), key=lambda c: (-prior[c], c))
    best = max(range(1, K + 1), key=lambda k: (sum(prior[c] for c in order[:k]) / (1 + (k - 1) / np.e**EPSILON), -k))
    members = order[:best]
    if label not in members:
        return [0.0] * K
    total = np.e**EPSILON + best - 1
    return [(np.e**EPSILON if y == label else 1) / total if y in members else 1 / best for y in range(K)]


@pytest.mark.parametrize("stages", [2, 3])
def test_the_attack_is_bayes_by_brute_force_from_the_file_alone(stages, tmp_path):
    model = staged(stages)
    model.release_.write(tmp_path / "labels.parquet")
    release = Release.read(tmp_path / "labels.parquet")
    rows = release.table.to_pylist()
    assert sum(row["prior"] is None for row in rows) == 600 // stages
    evidence, attack = release.evidence, guess_labels(release)
    rr = RandomizedResponse(epsilon=EPSILON, classes=K).transition()
    given = np.array([row["label"] for row in rows if row["prior"] is None])
    shares = likeliest_shares(rr.T[given], start=np.full(K, 1 / K))
    sizes = set()
    for i, row in enumerate(rows):
        first = row["prior"] is None
        prior = shares if first else np.array(row["prior"])
        likelihood = rr[:, row["label"]] if first else by_hand(row["label"], row["prior"])
        assert evidence.likelihood[i] == pytest.approx(likelihood, abs=1e-6)
        joint = [prior[y] * likelihood[y] for y in range(K)]
        assert attack.guesses[i] == int(np.argmax(joint))
        assert attack.confidence[i] == pytest.approx(max(joint) / sum(joint), abs=1e-4), (
            "shares are searched until they hardly move"
        )
        sizes.add(len({round(p, 9) for p in likelihood}))
    assert len(sizes) > 1, "control: rows went through different channels"


def test_learning_from_the_file_is_learning_from_what_was_randomized(tmp_path):
    model = staged(2)
    model.release_.write(tmp_path / "labels.parquet")
    release = Release.read(tmp_path / "labels.parquet")
    assert release.evidence.likelihood == pytest.approx(model.release_.evidence.likelihood)
    X, y = blobs()
    again = LabelPrivateClassifier(GaussianNB(), random_state=1).fit(X, release)
    assert again.guarantee_ == model.guarantee_
    assert again.score(X, y) > 0.75


def test_the_features_help_the_attack_on_a_release_in_stages():
    X, y = blobs(2000)
    release = staged(2, rows=2000).release_
    alone = guess_labels(release, prior=np.full(K, 1 / K)).leak(y)
    both = guess_labels_with_features(release, X, model=LogisticRegression(), rng=np.random.default_rng(0)).leak(y)
    assert both.rate > alone.rate + 0.1
    assert both.advantage > -0.01


def test_the_features_help_the_attack_on_noised_one_hot_labels():
    X, y = blobs(2000)
    plan = Plan(label="y", epsilon=2, mechanism="laplace")
    release = protect(pa.table({"y": y}), plan, rng=np.random.default_rng(0))
    alone = guess_labels(release).leak(y)
    both = guess_labels_with_features(release, X, model=GaussianNB(), rng=np.random.default_rng(0)).leak(y)
    assert both.rate > alone.rate + 0.1
    model = LabelPrivateClassifier(GaussianNB(), random_state=0).fit(X, release)
    assert model.score(X, y) > 0.75


def test_a_prior_for_all_rows_is_in_the_header():
    prior = [0.4, 0.3, 0.2, 0.1]
    release = staged(2, prior=prior, classes=range(K)).release_
    assert release.settled["prior"] == prior
    first = np.flatnonzero(release.table["stage"].to_numpy() == 0)
    for i in first[:20]:
        label = release.labels[int(i)].as_py()
        assert release.evidence.likelihood[i] == pytest.approx(by_hand(label, prior), abs=1e-9)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"mechanism": "staged", "prior": [0.5, 0.5], "classes": range(K)}, "prior must have 4 numbers, got 2"),
        ({"mechanism": "prior", "prior": [0.25] * 4}, "prior requires classes"),
        ({"mechanism": "unbiased"}, "mechanism must release classes"),
        ({"mechanism": "staged:stages=1"}, "stages must be an integer >= 2"),
    ],
)
def test_mechanisms_that_cannot_be_learned_from(asked, message):
    X, y = blobs()
    with pytest.raises(InvalidInput, match=message):
        LabelPrivateClassifier(GaussianNB(), **asked).fit(X, y)


def right_under(prior, y, epsilon):
    """The chance that RRTop-k under these priors releases the true label, over rows: no draw to add noise."""
    mechanism = PriorRandomizedResponse(epsilon=epsilon, prior=prior)
    return mechanism.likelihood(y)[np.arange(len(y)), y].mean()


def forward_by_hand(model, X, given, transition, unseen):
    """Expectation maximization on all rows, as many times as helps: what a recipient would write."""
    targets = transition.T[given] / transition.T[given].sum(axis=1, keepdims=True)
    for _ in range(3):
        copies, codes = np.nonzero(targets > 0.01)
        model.fit(X[copies], codes, sample_weight=targets[copies, codes])
        joint = model.predict_proba(X) * transition.T[given]
        targets = joint / joint.sum(axis=1, keepdims=True)
    return model.predict_proba(unseen)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_stage_two_has_more_labels_right_than_by_undoing_the_noise_or_by_maximization(epsilon):
    X, y = load_digits(return_X_y=True)
    X, rr = X / 16, RandomizedResponse(epsilon=epsilon, classes=10)
    right = {"ours": [], "as released": [], "undone": [], "by hand": []}
    for seed in range(2):
        rng = np.random.default_rng(seed)
        first = rng.random(len(y)) < 0.5
        given, logistic = rr.randomize(y[first], rng=rng), LogisticRegression(max_iter=40)
        noisy = NoisyLabels(given=given, likelihood=rr.likelihood(given))
        released = logistic.fit(X[first], given).predict_proba(X[~first])
        priors = {
            "as released": released,
            "undone": undo_noise(released, rr.transition()),
            "by hand": forward_by_hand(logistic, X[first], given, rr.transition(), X[~first]),
            "ours": predict_unseen(logistic, X[first], noisy, X[~first], rng=rng),
        }
        for name, prior in priors.items():
            right[name].append(right_under(prior, y[~first], epsilon))
    ours, *others = (np.mean(shares) for shares in right.values())
    assert ours >= max(others), right
    assert np.mean(right["undone"]) > np.mean(right["as released"]) + 0.02, "control: the noise was left in the prior"


def test_a_prior_depends_on_labels_by_what_was_released_alone():
    """Whoever has the features and the released labels computes the priors of the next stage."""
    X, y = blobs(300)
    mechanism = StagedResponse(stages=3).bind(Classes(values=tuple(range(K))), epsilon=EPSILON, prior=None)
    release = mechanism.draw(y, rng=np.random.default_rng(0), learner=StageLearner(X=X, estimator=GaussianNB()))
    first, later = (np.asarray(release["stage"]) == stage for stage in (0, 1))
    noisy = NoisyLabels(
        given=np.asarray(release["label"])[first], likelihood=mechanism.evidence(release).likelihood[first]
    )
    prior = predict_unseen(GaussianNB(), X[first], noisy, X[later], rng=np.random.default_rng(5))
    written = np.array(release["prior"].to_pylist(), dtype=object)[later].tolist()
    assert np.array(written) == pytest.approx(prior.astype(np.float32), abs=0.02), "the file alone gives the prior"
    true = NoisyLabels(given=y[first], likelihood=RandomizedResponse(epsilon=EPSILON, classes=K).likelihood(y[first]))
    other = predict_unseen(GaussianNB(), X[first], true, X[later], rng=np.random.default_rng(5))
    assert np.abs(np.array(written) - other).max() > 0.1, "control: the true labels give another one"
