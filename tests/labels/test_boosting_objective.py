"""The likelihood of released labels as a loss, against finite differences and enumeration."""

import numpy as np
import pytest

from tacit.labels.fitting.boosting.objective import ReleasedObjective, information_bound
from tacit.labels.mechanisms import PriorRandomizedResponse, RandomizedResponse, RandomizedResponseOnBins

RNG = np.random.default_rng(0)


def objective(K, *, rows=40, values=None, weights=None, epsilon=1.5):
    rng = np.random.default_rng(1)
    mechanism = RandomizedResponse(epsilon=epsilon, classes=K)
    likelihood = mechanism.likelihood(rng.integers(0, K, rows))
    return ReleasedObjective.of(likelihood, weights, values=values)


@pytest.mark.parametrize(
    ("K", "values", "weighted"), [(2, None, False), (4, None, True), (5, np.array([0.0, 1, 2, 5, 30]), True)]
)
def test_gradients_are_those_of_the_loss(K, values, weighted):
    rng = np.random.default_rng(2)
    weights = rng.random(40) if weighted else None
    loss = objective(K, values=values, weights=weights)
    scores = rng.normal(size=loss.nothing().shape)
    gradient, _ = loss.derivatives(scores)
    step = 1e-6
    for place in np.ndindex(scores.shape):
        moved = [scores.copy(), scores.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        slope = (loss.loss(moved[0]) - loss.loss(moved[1])) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_hessians_are_positive_where_the_exact_one_is_not():
    loss, negative = objective(2, rows=2000), 0
    for score in np.linspace(-4, 4, 17):
        scores = np.full(2000, score)
        p, q = loss.probabilities(scores), loss.posteriors(scores)
        exact = p[:, 1] * p[:, 0] - q[:, 1] * q[:, 0]
        negative += int((exact < 0).sum())
        assert (loss.derivatives(scores)[1] > 0).all()
    assert negative > 0


def _channels():
    for epsilon in (0.3, 1.0, 3.0):
        for K in (2, 3, 6):
            yield RandomizedResponse(epsilon=epsilon, classes=K).transition()
        yield PriorRandomizedResponse(epsilon=epsilon, prior=[0.6, 0.3, 0.1]).transition()
        yield RandomizedResponseOnBins(epsilon=epsilon, values=range(5), prior=[0.4, 0.3, 0.15, 0.1, 0.05]).transition()


def _share(transition, p):
    """The largest share of the Fisher information of a label, by direction of the scores, that its release has."""
    known = np.diag(p) - np.outer(p, p)
    outputs = p @ transition
    used = outputs > 0
    slopes = known @ transition[:, used]  # of P(output) by the score of each label
    seen = slopes / outputs[used] @ slopes.T
    values, vectors = np.linalg.eigh(known)
    root = vectors[:, values > 1e-9] / np.sqrt(values[values > 1e-9])
    return np.linalg.eigvalsh(root.T @ seen @ root).max()


def test_no_release_has_more_information_than_the_bound():
    """The expected Hessian of the released likelihood is at most the bound's share of p(1 - p)."""
    attained = []
    for transition in _channels():
        outputs = transition.T[(transition > 0).any(axis=0)]
        bound = information_bound(outputs)
        K = len(transition)
        tried = [RNG.dirichlet(np.full(K, 0.5)) for _ in range(60)] + [_edge(K, 0, 1), np.full(K, 1 / K)]
        most = max(_share(transition, p) for p in tried)
        assert most <= bound * (1 + 1e-6) + 1e-12
        attained.append(most / bound if bound else 0.0)  # one bin says nothing
    assert max(attained) > 0.999  # a smaller bound would be wrong


def _edge(K, first, second):
    p = np.full(K, 1e-7)
    p[[first, second]] = 0.5
    return p / p.sum()


def test_known_labels_have_all_their_information():
    assert information_bound(np.eye(3)) == 1
    assert information_bound(np.ones((4, 2))) == 0
    assert ReleasedObjective.of(np.ones((4, 2)), None).bound == 1


def test_the_start_is_the_likeliest_share():
    y = np.repeat([0, 1], [19_000, 1_000])
    mechanism = RandomizedResponse(epsilon=1.0, classes=2)
    given = mechanism.randomize(y, rng=np.random.default_rng(0))
    start = np.exp(ReleasedObjective.of(mechanism.likelihood(given), None).start)
    assert start[1] == pytest.approx(0.05, abs=0.02)
    assert given.mean() > 0.28  # what labels unchanged would have it start from


def test_staged_likelihoods_of_each_row_count():
    """Rows of a later stage have their own prior: their likelihood is not that of one channel."""
    rng = np.random.default_rng(0)
    prior = np.array([[0.9, 0.05, 0.05]] * 500 + [[1 / 3] * 3] * 500)
    mechanism = PriorRandomizedResponse(epsilon=1.0, prior=prior)
    likelihood = mechanism.likelihood(mechanism.randomize(rng.integers(0, 3, 1000), rng=rng))
    loss = ReleasedObjective.of(likelihood, None)
    gradient, hessian = loss.derivatives(loss.nothing())
    assert gradient.shape == hessian.shape == (1000, 3)
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-12)
