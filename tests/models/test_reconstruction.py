"""Training points from weights: found where they are determined, and a far-off set that fits the same equations."""

import numpy as np
import pytest

from papers.margin_membership.theory import Sphere
from tacit.models.attacks.reconstruction import measure_similarity, reconstruct_points
from tacit.models.margin.certificate import kkt
from tacit.models.network import TwoLayerReLU
from tacit.privacy import InvalidInput


def one_neuron_a_sign(X, y):
    """The network at a KKT point whose neuron of each sign holds that label's points, and is off at the others."""
    lifted = np.c_[X, np.ones(len(X))]
    kernel = lifted @ lifted.T
    rows, outputs = [], []
    for sign in (1, -1):
        mine = y == sign
        sums = np.linalg.solve(kernel[np.ix_(mine, mine)], np.ones(mine.sum()))
        assert (sums > 0).all()
        output = sums.sum() ** 0.25  # v^4 = sum_i v^2 l_i at margin 1
        rows.append(sign / output * sums @ (y[mine, None] * lifted[mine]))
        outputs.append(sign * output)
    neurons = np.array(rows)
    assert np.all((lifted @ neurons.T > 0) == (y[:, None] == np.sign(outputs)))
    return TwoLayerReLU(weights=neurons[:, :-1], biases=neurons[:, -1], outputs=outputs)


def twins(points=4, size=3.0, shared=2.0):
    """Two sets of points, far apart, on which the same network is at a KKT point.

    x_i = size e_i + y_i shared e_0. The second set keeps each label's mean and turns the deviations from it into
    dimensions where no point of the first set lies: no inner product changes, and neither do the sums of the neurons.
    """
    y = np.repeat([1.0, -1.0], points)
    X = np.zeros((2 * points, 1 + 4 * points))
    X[:, 0] = shared * y
    X[:, 1 : 1 + 2 * points] = size * np.eye(2 * points)
    other = X.copy()
    for sign in (1, -1):
        mean = X[y == sign].mean(axis=0)
        other[y == sign] = mean
    other[:, 1 + 2 * points :] = (X - other)[:, 1 : 1 + 2 * points]
    return X, other, y


def test_two_far_apart_sets_satisfy_the_same_kkt_conditions():
    X, other, y = twins()
    network = one_neuron_a_sign(X, y)
    for points in (X, other):
        certificate = kkt(network, points, y)
        assert certificate.residual < 1e-9
        assert np.allclose(certificate.margins, 1.0)
        assert certificate.multipliers.min() > 0
    similarity = measure_similarity(other, X, fresh=X + 1)
    assert similarity.distances.min() > 0.9
    assert similarity.cosines.max() < 0.5
    control = X + 0.3 * np.random.default_rng(0).normal(size=X.shape)
    assert kkt(network, control, y).residual > 0.01, "control: not every set does"


def test_starts_disagree_where_the_points_are_not_determined():
    X, _, y = twins(points=3)
    network = one_neuron_a_sign(X, y)
    found = reconstruct_points(network, points=3, rng=np.random.default_rng(1), starts=3, steps=500)
    assert found.residual < 0.05
    assert measure_similarity(found.points, X, fresh=X + 1).distances.mean() > 0.5, "a small residual, far off"
    assert found.spread > 0.3, "and the starts tell"


def test_points_that_are_determined_are_found():
    """One point a label: w_j is in proportion to x_j, and every start finds both."""
    rng = np.random.default_rng(2)
    first = rng.normal(size=(1, 6)) * 1.5
    X, y = np.concatenate([first, -first + 0.3 * rng.normal(size=(1, 6))]), np.array([1.0, -1.0])
    network = one_neuron_a_sign(X, y)
    found = reconstruct_points(network, points=1, rng=rng, starts=6, steps=600)
    similarity = measure_similarity(found.points, X, fresh=1.5 * rng.normal(size=(200, 6)))
    assert found.residual < 0.05
    assert similarity.distances.max() < 0.15
    assert similarity.cosines.min() > 0.98
    assert similarity.leak(close=0.3).advantage > 0.95
    assert np.array_equal(np.sign(network(found.points)), found.labels)


def test_a_known_radius_is_kept():
    network = TwoLayerReLU(weights=np.eye(3), biases=np.ones(3), outputs=[1.0, -1.0, 1.0])
    found = reconstruct_points(network, points=2, rng=np.random.default_rng(3), radius=2.0, starts=1, steps=5)
    assert np.allclose(np.linalg.norm(found.points, axis=1), 2.0)
    assert np.all(np.diff(found.multipliers) <= 0)
    assert np.isnan(found.spread), "one start has none to agree with"


def test_random_points_are_no_nearer_to_training_points_than_to_fresh_ones():
    rng = np.random.default_rng(4)
    source = Sphere(dimension=10)
    guesses, training, fresh = (source.draw(rows, rng=rng)[0] for rows in (50, 200, 200))
    leak = measure_similarity(guesses, training, fresh=fresh).leak()
    assert leak.advantage_interval.low < 0 < leak.advantage_interval.high
    assert leak.roc.auc == pytest.approx(0.5, abs=0.1)
    assert measure_similarity(training, training, fresh=fresh).leak().roc.auc == 1.0


NETWORK = TwoLayerReLU(weights=[[1.0]], biases=[1.0], outputs=[1.0])
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reconstruct_points(NETWORK, points=0, rng=RNG), "points must be"),
        (lambda: reconstruct_points(NETWORK, points=1, rng=RNG, starts=0), "starts must be"),
        (lambda: reconstruct_points(NETWORK, points=1, rng=RNG, scale=0.0), "scale must be > 0"),
        (lambda: reconstruct_points(NETWORK, points=1, rng=RNG, radius=-1.0), "radius must be > 0"),
        (lambda: reconstruct_points(NETWORK, points=1, rng=RNG, margin_weight=-1.0), "margin_weight must be >= 0"),
        (lambda: measure_similarity([[1.0]], [[1.0, 2.0]], fresh=[[1.0]]), "must have the same columns"),
        (lambda: measure_similarity([[1.0]], [[1.0]], fresh=[[1.0]]).leak(close=0.0), "close must be > 0"),
        (
            lambda: reconstruct_points(
                TwoLayerReLU(weights=[[0.0]], biases=[0.0], outputs=[0.0]), points=1, rng=np.random.default_rng(0)
            ),
            "the network is zero",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
