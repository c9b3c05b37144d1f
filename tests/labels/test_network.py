import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator

from benchmarks.labels_accuracy.robust_losses import GeneralizedCrossEntropy, SymmetricCrossEntropy
from tacit.labels.fitting.denoise import ForwardCorrection, LikelihoodTargets, NoCorrection
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.network import (
    Adam,
    ForwardCorrected,
    SoftCrossEntropy,
    TorchClassifier,
)
from tacit.labels.learners.retrain import ConsensusRows
from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy import InvalidInput
from tacit.privacy.errors import TacitError

torch = pytest.importorskip("torch")
BATCHES = "a row repeated and a row weighted fall into other batches"


def linear(shape, classes):
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(int(np.prod(shape)), classes))


def learner(**options):
    settings = {"epochs": 30, "batch_size": 64, "optimizer": Adam(learning_rate=0.05), "random_state": 0}
    return TorchClassifier(linear, **{**settings, **options})


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(600, centers=3, n_features=4, cluster_std=2.0, random_state=0)


@pytest.fixture
def some_rows():
    rng = np.random.default_rng(0)
    return rng.normal(0, 3, (50, 4)), rng.integers(0, 4, 50)


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def rows_of(loss, logits, noisy):
    one_hot = np.eye(logits.shape[1])[noisy]
    return loss.rows(torch.as_tensor(logits), torch.as_tensor(one_hot)).numpy()


def corrected_rows(logits, noisy, *, transition):
    """The corrected loss of rows with these released labels, by the likelihood of each true one."""
    return ForwardCorrected().rows(torch.as_tensor(logits), torch.as_tensor(transition[:, noisy].T.copy())).numpy()


def forward_loss(p, noisy, *, transition):
    return -np.log((p @ transition)[np.arange(len(noisy)), noisy])


def test_losses_are_those_of_their_formulas(some_rows):
    logits, noisy = some_rows
    p = softmax(logits)
    right = p[np.arange(50), noisy]
    T = RandomizedResponse(epsilon=1.0, classes=4).transition()
    for loss, expected in (
        (SoftCrossEntropy(), -np.log(right)),
        (GeneralizedCrossEntropy(q=0.6), (1 - right**0.6) / 0.6),
        (SymmetricCrossEntropy(alpha=0.3, beta=0.8), -0.3 * np.log(right) - 0.8 * np.log(1e-4) * (1 - right)),
    ):
        np.testing.assert_allclose(rows_of(loss, logits, noisy), expected, rtol=1e-9)
    corrected = corrected_rows(logits, noisy, transition=T)
    np.testing.assert_allclose(corrected, forward_loss(p, noisy, transition=T), rtol=1e-9)
    wrong = RandomizedResponse(epsilon=2.0, classes=4).transition()
    mistaken = corrected_rows(logits, noisy, transition=wrong)
    assert not np.allclose(mistaken, forward_loss(p, noisy, transition=T)), "control"


def test_the_forward_loss_of_the_formula_sheet():
    """Formula sheet a10."""
    T = RandomizedResponse(epsilon=1.0, classes=3).transition()
    given = corrected_rows(np.log([[0.6, 0.3, 0.1]]), np.array([1]), transition=T)
    assert given == pytest.approx([1.135709], abs=5e-7)


def test_the_forward_loss_is_least_at_the_true_distribution():
    T, truth = RandomizedResponse(epsilon=1.0, classes=3).transition(), np.array([0.5, 0.3, 0.2])

    def expected(p):
        rows = corrected_rows(np.repeat(np.log(p)[None], 3, axis=0), np.arange(3), transition=T)
        return truth @ T @ rows

    grid = np.random.default_rng(1).dirichlet(np.ones(3), size=3000)
    assert min(expected(p) for p in grid) >= expected(truth) - 1e-12


def test_likelihood_rows_are_forward_correction(some_rows):
    """An asymmetric matrix, so that a transpose would show."""
    logits, noisy = some_rows
    T = np.random.default_rng(1).dirichlet(np.ones(4), 4)
    given = corrected_rows(logits, noisy, transition=T)
    expected = forward_loss(softmax(logits), noisy, transition=T)
    np.testing.assert_allclose(given, expected, rtol=1e-9)
    assert not np.allclose(given, forward_loss(softmax(logits), noisy, transition=T.T / T.T.sum(axis=1, keepdims=True)))


def test_a_sure_and_wrong_model_has_a_finite_loss():
    logits, impossible = torch.tensor([[200.0, -200.0]]), torch.tensor([[0.0, 1.0]])
    loss = ForwardCorrected().rows(logits, impossible)
    assert torch.isfinite(loss).all()
    assert loss > 50


@pytest.mark.slow
def test_passes_scikit_learns_checks():
    check_estimator(
        learner(epochs=40, batch_size=32, optimizer=Adam(learning_rate=0.1)),
        expected_failed_checks={"check_sample_weight_equivalence_on_dense_data": BATCHES},
    )


def test_same_seed_same_network_and_global_generators_untouched(blobs):
    X, y = blobs
    before = torch.get_rng_state()
    one, two, other = (learner(random_state=seed, epochs=2).fit(X, y).predict_proba(X) for seed in (0, 0, 1))
    assert (one == two).all()
    assert (one != other).any()
    assert (torch.get_rng_state() == before).all()


def test_images_soft_targets_and_pickles(blobs):
    X, y = blobs
    images = X.reshape(-1, 1, 2, 2).astype(np.float32)
    hard = learner().fit(images, y)
    soft = learner().fit_targets(images, np.eye(3)[y])
    assert hard.score(images, y) > 0.85
    np.testing.assert_allclose(hard.predict_proba(images), soft.predict_proba(images), atol=1e-6)
    again = pickle.loads(pickle.dumps(hard))
    assert (again.predict(images) == hard.predict(images)).all()
    assert learner().fit_targets(images, np.full((600, 3), 1 / 3)).predict_proba(images).max() < 0.6, "control"


def test_weights_count_and_their_scale_does_not(blobs):
    X, y = blobs
    heavy = np.where(y == 0, 5.0, 1.0)
    plain, weighted, scaled = (learner().fit(X, y, w).predict_proba(X) for w in (None, heavy, 10 * heavy))
    assert weighted[:, 0].mean() > plain[:, 0].mean() + 0.01
    np.testing.assert_allclose(weighted, scaled, atol=1e-4)


def test_warm_start_goes_on_and_a_fresh_one_does_not(blobs):
    X, y = blobs
    warm, fresh = learner(epochs=3, warm_start=True).fit(X, y), learner(epochs=3).fit(X, y)
    warm.fit(X, y)
    first = fresh.losses_[0]
    fresh.fit(X, y)
    assert fresh.losses_[0] == first
    assert warm.losses_[0] < 0.8 * first
    assert warm.fit(X, np.minimum(y, 1)).classes_.tolist() == [0, 1], "other classes: a network of another shape"


def test_progress_is_told_epoch_by_epoch(blobs):
    X, y = blobs
    seen = []
    model = learner(epochs=4, progress=lambda *done: seen.append(done)).fit(X, y)
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert len(model.losses_) == 4
    assert model.score(X, y) > 0.8


def test_few_rows_are_trained_for_as_many_steps(blobs):
    X, y = blobs
    seen = []
    options = {"epochs": 2, "batch_size": 60, "progress": lambda *done: seen.append(done)}
    learner(steps=20, **options).fit(X, y)
    assert seen[-1] == (2, 2)  # ten batches an epoch
    learner(steps=20, **options).fit(X[:120], y[:120])
    assert seen[-1] == (10, 10)
    learner(**options).fit(X[:120], y[:120])
    assert seen[-1] == (2, 2), "control"


def test_learns_through_randomized_labels(blobs):
    """Forward correction by expectation maximization and in the loss; both beat nothing at all by far."""
    X, y = blobs
    for denoise in (ForwardCorrection(), LikelihoodTargets()):
        model = LabelPrivateClassifier(learner(random_state=None), epsilon=2.0, denoise=denoise, random_state=0).fit(
            X, y
        )
        assert model.score(X, y) > 0.85
        assert model.release_.seeded


def test_forward_correction_recovers_probabilities():
    """Where plain training learns the noisy ones: one feature that tells nothing, 90% of class 0."""
    X, y = np.zeros((20_000, 1), np.float32), np.repeat([0, 1], [18_000, 2_000])
    response = RandomizedResponse(epsilon=1.0, classes=2)
    noisy = response.randomize(y, rng=np.random.default_rng(0))
    options = {"epochs": 5, "batch_size": 500}
    corrected = learner(**options).fit_likelihoods(X, response.likelihood(noisy))
    assert corrected.predict_proba(X[:1])[0, 1] == pytest.approx(0.1, abs=0.03)
    assert learner(**options).fit(X, noisy).predict_proba(X[:1])[0, 1] > 0.25, "control: the noisy share is 0.32"


def test_the_default_for_networks_is_the_forward_corrected_loss_and_consensus(blobs):
    """As the benchmark spells it out; and fitting leaves the network's own loss for labels alone."""
    X, y = blobs
    common = {"epsilon": 1.0, "random_state": 0}
    default = LabelPrivateClassifier(learner(random_state=None), **common).fit(X, y)
    spelled = LabelPrivateClassifier(
        learner(random_state=None, loss=ForwardCorrected()),
        denoise=LikelihoodTargets(),
        retrain=ConsensusRows(),
        **common,
    ).fit(X, y)
    np.testing.assert_allclose(default.predict_proba(X), spelled.predict_proba(X), atol=1e-4)
    assert default.estimator.loss is None
    staged = LabelPrivateClassifier(learner(random_state=None), mechanism="staged", **common).fit(X, y)
    assert staged.score(X, y) > 0.7
    em = LabelPrivateClassifier(learner(random_state=None), denoise=ForwardCorrection(), **common).fit(X, y)
    assert not np.allclose(default.predict_proba(X), em.predict_proba(X), atol=1e-2), "control"


def test_retraining_warm_starts_from_the_first_model(blobs):
    X, y = blobs
    common = {"epsilon": 2.0, "denoise": NoCorrection(), "retrain": ConsensusRows()}
    warm, fresh = (
        LabelPrivateClassifier(learner(epochs=2, random_state=None), warm=w, random_state=0, **common).fit(X, y)
        for w in (True, False)
    )
    assert (warm.release_.labels.to_numpy() == fresh.release_.labels.to_numpy()).all()
    assert warm.score(X, y) != fresh.score(X, y)


def test_refusals(blobs, monkeypatch):
    X, y = blobs
    with pytest.raises(InvalidInput, match=r"denoise=LikelihoodTargets\(\) needs an estimator with fit_likelihoods"):
        LabelPrivateClassifier(GaussianNB(), denoise=LikelihoodTargets(), random_state=0).fit(X, y)
    with pytest.raises(InvalidInput, match="q must be in"):
        GeneralizedCrossEntropy(q=0.0)
    with pytest.raises(InvalidInput, match="epochs must be"):
        learner(epochs=0).fit(X, y)
    with pytest.raises(InvalidInput, match="targets must have one row"):
        learner().fit_targets(X, np.eye(3))
    with pytest.raises(InvalidInput, match="warm needs an estimator with warm_start"):
        LabelPrivateClassifier(GaussianNB(), warm=True, random_state=0).fit(X, y)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(TacitError, match=r"pip install 'tacit\[torch\]'"):
        clone(learner()).fit(X, y)
