"""A representation that never sees a label, and a learner that reads it: nothing but the mechanism reads the labels."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from tacit.labels import Plan, protect
from tacit.labels.attacks.canary import audit_canaries, plant_canaries
from tacit.labels.learners.choose import choose_learner
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.neighbors import NeighborVotes, find_neighbors
from tacit.labels.learners.network import AffineViews, BarlowTwins, CorruptedViews, TorchClassifier
from tacit.labels.learners.network.twins import twins_loss
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy import Guarantee, InvalidInput, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.payment import Payment


def release_labels(labels, *, epsilon=1.0, rng, **asked):
    """Release a column of labels."""
    return protect(pa.table({"y": labels}), Plan(label="y", epsilon=epsilon, **asked), rng=rng)


torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.reshape(-1, 8, 8)[:1200] / 16, y[:1200]


@pytest.fixture(scope="module")
def fitted(digits):
    return BarlowTwins(dimensions=64, width=128, epochs=10, batch_size=128, random_state=0).fit(digits[0])


def test_scikit_learns_checks():
    check_estimator(BarlowTwins(dimensions=4, width=8, epochs=1, random_state=0))


def test_the_loss_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 30, 4))
    C = np.corrcoef(one.T, other.T)[:4, 4:]
    naive = sum((1 - C[i, i]) ** 2 if i == j else 0.005 * C[i, j] ** 2 for i in range(4) for j in range(4))
    loss = twins_loss(torch.as_tensor(one), torch.as_tensor(other), redundancy=0.005)
    assert float(loss) == pytest.approx(naive, rel=1e-2)  # the loss adds 1e-4 to every deviation


def test_neighbors_are_of_one_class_more_often(digits, fitted):
    X, y = digits

    def purity(rows):
        near = find_neighbors(rows, count=20)
        return (y[near] == y[:, None]).mean()

    untrained = BarlowTwins(dimensions=64, width=128, epochs=1, batch_size=1200, random_state=0).fit(X)
    assert purity(fitted.transform(X)) > purity(untrained.transform(X)) + 0.05, "control: one step"
    assert fitted.losses_[-1] < 0.5 * fitted.losses_[0]


def test_fits_repeat_and_leave_torchs_generator_alone(digits):
    X = digits[0][:200]
    before = torch.random.get_rng_state()
    one, two, other = (BarlowTwins(dimensions=8, epochs=1, random_state=seed).fit_transform(X) for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.allclose(one, other)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_labels_are_not_looked_at(digits):
    X, y = digits[0][:200], digits[1][:200]
    one, two = (
        BarlowTwins(dimensions=8, epochs=1, random_state=0).fit(X, labels).transform(X) for labels in (y, y[::-1])
    )
    assert np.array_equal(one, two)


def test_pickle_shapes_and_progress(digits, fitted):
    X = digits[0]
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(X[:5]), fitted.transform(X[:5]))
    seen = []
    color = np.repeat(X[:40, None], 3, axis=1)
    made = BarlowTwins(dimensions=8, epochs=2, progress=lambda *step: seen.append(step)).fit(color)
    assert seen == [(1, 2), (2, 2)]
    with pytest.raises(ValueError, match=r"shape \(3, 8, 8\)"):
        made.transform(np.zeros((2, 3, 8, 9)))
    with pytest.raises(InvalidInput, match="dimensions"):
        BarlowTwins(dimensions=0).fit(X)


def test_views_change_rows_and_keep_their_marginals():
    torch.manual_seed(0)
    rows = torch.arange(3000.0).reshape(1000, 3)
    seen = CorruptedViews(share=0.3).draw(rows)
    assert (seen != rows).float().mean() == pytest.approx(0.3, abs=0.03)
    assert all(torch.isin(seen[:, column], rows[:, column]).all() for column in range(3))
    with pytest.raises(InvalidInput, match="share"):
        CorruptedViews(share=1.5)
    images = torch.rand(20, 1, 8, 8)
    assert not torch.allclose(AffineViews().draw(images), images, atol=0.05)


def test_fine_tuning_starts_from_the_trained_network(digits, fitted):
    X, y = digits
    started, fresh = (
        TorchClassifier(build, epochs=2, batch_size=64, random_state=0).fit(X[:300], y[:300])
        for build in (fitted.start, clone(fitted).fit(X[:2]).start)
    )
    assert started.score(X[300:], y[300:]) > fresh.score(X[300:], y[300:]) + 0.05
    with pytest.raises(InvalidInput, match="shape"):
        fitted.start((9, 9), 2)


def test_a_learner_does_better_on_it(digits, fitted):
    X, y = digits
    release = release_labels(y[:900], epsilon=2.0, rng=np.random.default_rng(0))

    def score(representation):
        learner = LabelPrivateClassifier(
            LogisticRegression(C=0.01, max_iter=200),
            representation=FrozenEstimator(representation),
            denoise=NeighborVotes(),
            random_state=0,
        )
        return learner.fit(X[:900], release).score(X[900:], y[900:])

    untrained = BarlowTwins(dimensions=64, width=128, epochs=1, batch_size=1200, random_state=0).fit(X)
    assert score(fitted) > score(untrained) + 0.05


def test_any_transformer_may_be_given(digits):
    X, y = digits[0].reshape(1200, -1), digits[1]
    given = make_pipeline(StandardScaler(with_std=False), PCA(16, random_state=0))
    learner = LabelPrivateClassifier(representation=given, epsilon=3.0, random_state=0)
    assert learner.fit(X, y).score(X, y) > 0.8
    assert learner.n_features_in_ == 64


def test_a_student_is_retrained_on_the_features_as_they_are(digits, fitted):
    X, y = digits
    release = release_labels(y[:900], epsilon=3.0, rng=np.random.default_rng(0))
    learner = LabelPrivateClassifier(
        LogisticRegression(C=0.01, max_iter=200),
        representation=FrozenEstimator(fitted),
        denoise=NeighborVotes(),
        student=TorchClassifier(fitted.start, epochs=30, batch_size=64, random_state=0),
        random_state=0,
    )
    model = pickle.loads(pickle.dumps(clone(learner).fit(X[:900], release)))
    head = clone(learner).set_params(student=None).fit(X[:900], release)
    assert model.predict_proba(X[900:]).shape == (300, 10)
    assert model.retraining_report(y[:900]) == head.retraining_report(y[:900]), "the same rows, by the same first model"
    assert model.score(X[900:], y[900:]) > head.score(X[900:], y[900:]) - 0.02
    with pytest.raises(InvalidInput, match="student must have rounds"):
        clone(learner).set_params(rounds=0).fit(X, y)


def test_without_a_consensus_the_first_model_stands_and_reads_the_representation(digits, fitted):
    class Nothing:
        def choose(self, probabilities, *, given):
            return np.empty(0, np.int64)

    X, y = digits
    learner = LabelPrivateClassifier(
        representation=FrozenEstimator(fitted), retrain=Nothing(), student=TorchClassifier(fitted.start), random_state=0
    )
    assert learner.fit(X[:100], y[:100]).predict(X).shape == (1200,)


class Nosy(TransformerMixin, BaseEstimator):
    """Keeps what it is told."""

    def fit(self, X, y=None):
        Nosy.told = y
        return self

    def transform(self, X):
        return X


def test_a_representation_is_not_told_the_labels(digits):
    X, y = digits[0].reshape(1200, -1), digits[1]
    X, y = X[:100], y[:100]
    LabelPrivateClassifier(representation=Nosy(), random_state=0).fit(X, y)
    assert Nosy.told is None
    make_pipeline(Nosy(), LabelPrivateClassifier(random_state=0)).fit(X, y)
    assert np.array_equal(Nosy.told, y), "control: a pipeline tells them"


def test_one_that_needs_labels_is_refused_before_anything_is_charged(digits, tmp_path):
    X, y = digits[0].reshape(1200, -1), digits[1]
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(y, name="digits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    learner = LabelPrivateClassifier(
        representation=LinearDiscriminantAnalysis(), payment=Payment(ledger=ledger), random_state=0
    )
    with pytest.raises((TypeError, ValueError)):
        learner.fit(X, y)
    assert ledger.statement("digits").used == 0


class Linear(torch.nn.Sequential):
    """A student."""

    def __init__(self, shape, classes):
        super().__init__(torch.nn.Flatten(), torch.nn.Linear(int(np.prod(shape)), classes))


def draw_before(self, labels, *, rng):
    """Release what was drawn before, whatever the labels are: two columns of labels, one release."""
    return np.random.default_rng(5).integers(0, 10, len(labels))


def release_all(self, labels, *, rng):
    """The control: release the labels."""
    return np.asarray(labels)


@pytest.mark.parametrize("student", [False, True])
def test_the_model_depends_on_the_labels_through_the_release_alone(digits, student, monkeypatch):
    """The labels' epsilon is the model's: two label columns with the same release give the same model."""
    X, y = digits[0][:300], digits[1][:300]

    def learned(labels, randomize):
        monkeypatch.setattr(RandomizedResponse, "randomize", randomize)
        learner = LabelPrivateClassifier(
            LogisticRegression(C=0.1, max_iter=50),
            epsilon=1.0,
            representation=BarlowTwins(dimensions=16, epochs=1, random_state=0),
            denoise=NeighborVotes(),
            student=TorchClassifier(Linear, epochs=1, random_state=0) if student else None,
            classes=range(10),
            random_state=3,
        )
        return learner.fit(X, labels).predict_proba(X)

    assert np.array_equal(learned(y, draw_before), learned(y[::-1], draw_before))
    told = [learned(labels, release_all) for labels in (y, y[::-1])]
    assert not np.array_equal(*told), "control: labels that are released are read"


def test_the_guarantee_says_what_it_assumes_of_a_representation(digits):
    """One fitted on the labels tells them, and nothing here can see it."""
    X, y = digits[0][:300].reshape(300, -1), digits[1][:300]
    words = "the representation was not made from these labels"
    told = FrozenEstimator(LinearDiscriminantAnalysis().fit(X, y))
    learner = LabelPrivateClassifier(representation=told, random_state=0)
    release = learner.fit(X, y).release_
    assert words in learner.guarantee_.assumptions
    assert words in release.guarantee.assumptions
    plain = release_labels(y, epsilon=1.0, rng=np.random.default_rng(0))
    assert words in learner.fit(X, plain).guarantee_.assumptions
    assert words in choose_learner([learner], X, plain, rng=np.random.default_rng(0)).guarantee.assumptions
    without = LabelPrivateClassifier(random_state=0).fit(X, plain)
    assert words not in without.guarantee_.assumptions


@pytest.mark.parametrize("mechanism", ["rr", "staged"])
def test_canaries_prove_no_more_than_the_guarantee(digits, fitted, mechanism):
    X, y = digits
    rng = np.random.default_rng(0)
    canaries = plant_canaries(y, count=600, rng=rng)
    learner = LabelPrivateClassifier(
        LogisticRegression(C=0.01, max_iter=100),
        representation=FrozenEstimator(fitted),
        denoise=NeighborVotes(),
        epsilon=1.0,
        mechanism=mechanism,
        random_state=0,
    ).fit(X, np.asarray(canaries.labels))
    leak = audit_canaries(canaries, learner.predict_proba(X[canaries.rows]), rng=rng)
    assert not leak.exceeds(learner.guarantee_)
