"""Releases in stages: the release alone says how likely each label is."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from tacit.labels.releases.evidence import read_evidence

from tacit.labels.attacks.guess import guess_labels, guess_labels_with_features
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.mechanisms.one_hot import LaplaceOneHot
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.privacy import InvalidInput, read_release

K, EPSILON = 4, 1.0


def blobs(rows=600, *, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, rows)
    return np.eye(K)[y] * 2 + rng.normal(size=(rows, K)), y


def staged(stages, *, rows=600, mechanism=None):
    X, y = blobs(rows)
    mechanism = RandomizedResponse(epsilon=EPSILON) if mechanism is None else mechanism
    return LabelPrivateClassifier(GaussianNB(), mechanism=mechanism, stages=stages, random_state=0).fit(X, y)


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
    release = read_release(tmp_path / "labels.parquet")
    rows = release.value.to_pylist()
    assert sum(row["prior"] is None for row in rows) == 600 // stages
    evidence, attack = read_evidence(release), guess_labels(release)
    rr = RandomizedResponse(epsilon=EPSILON, classes=K).transition()
    given = np.array([row["label"] for row in rows if row["prior"] is None])
    shares = np.maximum(np.linalg.solve(rr.T, np.bincount(given, minlength=K)), 0)
    sizes = set()
    for i, row in enumerate(rows):
        first = row["prior"] is None
        prior = shares / shares.sum() if first else np.array(row["prior"])
        likelihood = rr[:, row["label"]] if first else by_hand(row["label"], row["prior"])
        assert evidence.likelihood[i] == pytest.approx(likelihood, abs=1e-6)
        joint = [prior[y] * likelihood[y] for y in range(K)]
        assert attack.guesses[i] == int(np.argmax(joint))
        assert attack.confidence[i] == pytest.approx(max(joint) / sum(joint), abs=1e-5)
        sizes.add(len({round(p, 9) for p in likelihood}))
    assert len(sizes) > 1, "control: rows went through different channels"


def test_learning_from_the_file_is_learning_from_what_was_randomized(tmp_path):
    model = staged(2)
    model.release_.write(tmp_path / "labels.parquet")
    release = read_release(tmp_path / "labels.parquet")
    assert read_evidence(release).likelihood == pytest.approx(read_evidence(model.release_).likelihood)
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
    import pyarrow as pa

    from tacit.privacy import Release

    X, y = blobs(2000)
    mechanism = LaplaceOneHot(epsilon=2.0, classes=K)
    noised = pa.array(mechanism.perturb(y, rng=np.random.default_rng(0)).tolist())
    release = Release(
        value=pa.table({"label": noised}),
        guarantee=mechanism.guarantee(),
        surface="labels",
        mechanism={"name": mechanism.name, "epsilon": 2.0, "classes": list(range(K))},
        seeded=True,
    )
    alone = guess_labels(release).leak(y)
    both = guess_labels_with_features(release, X, model=GaussianNB(), rng=np.random.default_rng(0)).leak(y)
    assert both.rate > alone.rate + 0.1
    model = LabelPrivateClassifier(GaussianNB(), random_state=0).fit(X, release)
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize("stages", [1, 2])
def test_a_prior_for_all_rows_is_in_the_header(stages):
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    release = staged(stages, mechanism=PriorRandomizedResponse(epsilon=EPSILON, prior=prior)).release_
    assert release.mechanism["prior"] == prior.tolist()
    first = np.flatnonzero(release.value["stage"].to_numpy() == 0)
    evidence = read_evidence(release)
    for i in first[:20]:
        label = release.value["label"][int(i)].as_py()
        assert evidence.likelihood[i] == pytest.approx(by_hand(label, prior), abs=1e-9)


def test_a_prior_for_each_row_is_in_the_release():
    prior = np.random.default_rng(3).dirichlet(np.ones(K), 600)
    release = staged(1, mechanism=PriorRandomizedResponse(epsilon=EPSILON, prior=prior)).release_
    evidence = read_evidence(release)
    for i, row in enumerate(release.value.to_pylist()):
        assert evidence.likelihood[i] == pytest.approx(by_hand(row["label"], row["prior"]), abs=1e-6)


@pytest.mark.parametrize(
    ("mechanism", "stages", "message"),
    [
        (PriorRandomizedResponse(epsilon=1.0, prior=np.full((600, K), 0.25)), 2, "one a row with stages=1"),
        (PriorRandomizedResponse(epsilon=1.0, prior=np.full((7, K), 0.25)), 1, "got 7 for 600 rows"),
        (PriorRandomizedResponse(epsilon=1.0, prior=[0.5, 0.5]), 1, "classes must be 2"),
        (LaplaceOneHot(epsilon=1.0), 1, "mechanism must release classes, got LaplaceOneHot"),
    ],
)
def test_mechanisms_that_cannot_be_learned_from(mechanism, stages, message):
    with pytest.raises(InvalidInput, match=message):
        staged(stages, mechanism=mechanism)
