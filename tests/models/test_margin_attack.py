"""Membership at the margin: trained networks at d = 1,000, the corollaries' rules, outputs alone, and bad input."""

import math

import numpy as np
import pytest

from papers.margin_membership.theory import GaussianMixture, Sphere, interpolate_labels
from papers.margin_membership.theory.orthogonal import BoundedMargin, least_margin
from tacit.leak import HeldOut
from tacit.leak.roc import roc_from_sorted
from tacit.models.attacks.margin import KnownMargin
from tacit.models.attacks.outputs import attack_margin, attack_outputs
from tacit.models.attacks.span import attack_weights, find_span
from tacit.models.margin.coverage import MarginCoverage, bound_outputs
from tacit.models.margin.fit import fit_margin
from tacit.models.network import TwoLayerReLU
from tacit.privacy import InvalidInput


@pytest.fixture(scope="module")
def high():
    """20 points in 1,000 dimensions, a network trained on them and polished, and fresh points."""
    rng = np.random.default_rng(0)
    source = Sphere(dimension=1000)
    X, y = source.draw(20, rng=rng)
    return X, y, *source.draw(1000, rng=rng), fit_margin(X, y, width=50, rng=rng, steps=600)


@pytest.fixture(scope="module")
def middle():
    """20 points in 50 dimensions, where nothing is proved."""
    rng = np.random.default_rng(1)
    source = Sphere(dimension=50)
    X, y = source.draw(20, rng=rng)
    return X, y, *source.draw(2000, rng=rng), fit_margin(X, y, width=100, rng=rng, steps=1500)


@pytest.mark.parametrize("kind", ["network", "polished"])
def test_membership_in_a_thousand_dimensions(high, kind):
    X, y, fresh, _, fit = high
    network = getattr(fit, kind)
    found = attack_margin(network, X, fresh, labels=y)
    assert found.leak.roc.auc >= 0.999
    assert found.leak.advantage > 0.99
    assert found.leak.advantage_interval.low > 0.7
    assert found.leak.bound is None, "points of one network prove no epsilon"
    assert found.coverage is MarginCoverage.PROVED
    assert found.margin == pytest.approx(1.0)


def test_what_is_proved_holds_for_the_polished_network(high):
    """Every training point on the margin, every fresh output below its bound; half of the bound is refuted."""
    X, y, fresh, _, fit = high
    bounds = bound_outputs(X, y)
    outputs = np.abs(fit.polished(fresh))
    assert bounds.holds
    assert np.allclose(y * fit.polished(X), 1.0, atol=1e-5)
    assert np.all(outputs <= bounds.fresh(fresh))
    assert np.any(outputs > 0.3 * bounds.fresh(fresh)), "control: the bound is not empty"


def test_a_leaked_point_among_candidates(high):
    """Corollary 4.4: one of ten candidates was trained on, and nothing else is known."""
    X, _, fresh, _, fit = high
    for member in range(20):
        outputs = fit.network(np.concatenate([X[member : member + 1], fresh[10 * member : 10 * member + 9]]))
        rule = KnownMargin.from_leaked(outputs)
        assert np.flatnonzero(rule.score(outputs) >= rule.threshold).tolist() == [0]


def test_a_bounded_margin(high):
    """Corollary 4.5 with the bound that the training loss proves (Remark B.5)."""
    X, y, fresh, _, fit = high
    network = fit.network.scaled(3.0)
    loss = float(np.log1p(np.exp(-y * network(X))).mean())
    leak = attack_outputs(network(X), network(fresh), rule=BoundedMargin(least=least_margin(loss, on_margin=1.0) / 2))
    assert leak.advantage > 0.99


def test_ties_tell_the_margin_to_someone_who_knows_nothing(middle):
    X, _, fresh, _, fit = middle
    for network in (fit.network, fit.polished):
        outputs = np.concatenate([network(X), network(fresh[:100])])
        assert KnownMargin.from_ties(7.0 * outputs).margin == pytest.approx(7.0, rel=0.01)
    rng = np.random.default_rng(2)
    guess = KnownMargin.from_ties(fit.polished(fresh[rng.permutation(2000)[:100]])).margin
    assert abs(guess - 1) > 0.02, "control: without training points there is nothing at the margin"


def test_nearness_to_the_margin_beats_size_and_loss_at_low_false_positive_rates(middle):
    X, y, fresh, labels, fit = middle
    network = fit.polished
    near = attack_outputs(network(X), network(fresh), rule=KnownMargin(margin=1.0)).roc
    size = attack_outputs(network(X), network(fresh), rule=BoundedMargin(least=0.8)).roc
    loss = roc_from_sorted(np.sort(y * network(X)), np.sort(labels * network(fresh)), level=0.95)
    assert near.at_0_1_percent.tpr >= 0.8
    assert max(size.at_0_1_percent.tpr, loss.at_0_1_percent.tpr) <= 0.2
    assert near.auc > max(size.auc, loss.auc)


def test_a_linear_interpolator_ties_its_points_too(middle):
    X, y, fresh, _, _ = middle
    linear = interpolate_labels(X, y)
    assert attack_outputs(linear(X), linear(fresh), rule=KnownMargin(margin=1.0)).roc.auc > 0.999
    assert np.allclose(np.abs(linear(X)), 1.0)


def test_weights_tell_what_outputs_do_not(middle):
    """The span of a gradient-trained network's weights, from small first weights."""
    X, _, fresh, _, fit = middle
    rng = np.random.default_rng(3)
    span = find_span(fit.network)
    assert span.rank == 20, "the weights tell how many points there were"
    assert span.singular_values[20:].max() < 1e-4 * span.singular_values[0], "the rest are the first weights"
    leak = attack_weights(fit.network, X, fresh, rng=rng)
    assert leak.roc.auc > 0.99
    assert leak.roc.at_0_1_percent.tpr >= 0.9
    shuffled = rng.permuted(fit.network.weights, axis=1)
    other = TwoLayerReLU(weights=shuffled, biases=fit.network.biases, outputs=fit.network.outputs)
    assert attack_weights(other, X, fresh, rng=rng, rank=20).roc.auc < 0.75, "control: weights of other points"


def test_outputs_of_another_network_tell_nothing(middle):
    X, _, fresh, _, _ = middle
    rng = np.random.default_rng(4)
    source = Sphere(dimension=50)
    other = fit_margin(*source.draw(20, rng=rng), width=30, rng=rng, steps=300, polish=False).network
    leak = attack_outputs(other(X), other(fresh), rule=KnownMargin(margin=1.0), threshold=HeldOut(rng=rng))
    assert 0.3 < leak.roc.auc < 0.7
    assert leak.advantage_interval.low < 0 < leak.advantage_interval.high


def test_learnable_data_give_their_members_away_too():
    """Appendix C: two opposed Gaussians are learned, and training points still tie."""
    rng = np.random.default_rng(5)
    source = GaussianMixture.opposed(dimension=400, norm=400**0.3)
    X, y = source.draw(20, rng=rng)
    fresh, labels = source.draw(1000, rng=rng)
    network = fit_margin(X, y, width=50, rng=rng, steps=600).polished
    assert np.mean(labels * network(fresh) > 0) > 0.9
    leak = attack_margin(network, X, fresh, labels=y).leak
    assert leak.roc.auc > 0.99
    assert leak.roc.at_0_1_percent.tpr > 0.9


def test_the_member_that_tells_the_margin_is_not_counted():
    """Networks that were trained on nothing give nobody away, however few members there are."""
    rng = np.random.default_rng(0)

    def untrained():
        parts = {"weights": rng.normal(size=(20, 5)), "biases": rng.normal(size=20), "outputs": rng.normal(size=20)}
        return TwoLayerReLU(**parts)

    def advantage(network, rule=None):
        members, fresh = rng.normal(size=(5, 5)), rng.normal(size=(50, 5))
        if rule:  # control: the margin read off a member that is counted
            rule = rule(margin=float(np.abs(network(members)).min()))
        return attack_margin(network, members, fresh, rule=rule).leak.advantage

    assert np.mean([advantage(untrained()) for _ in range(200)]) < 0.05
    assert np.mean([advantage(untrained(), KnownMargin) for _ in range(200)]) > 0.1
    with pytest.raises(InvalidInput, match="2 rows or more, one to find the margin"):
        attack_margin(untrained(), rng.normal(size=(1, 5)), rng.normal(size=(50, 5)))


def any_model(rows):
    return rows[:, 0] + 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: attack_margin(any_model, np.eye(3), np.ones((2, 2))), "must have the same columns, got 3 and 2"),
        (lambda: attack_margin(any_model, np.eye(3), -0.0 + np.eye(3)[:1]), "must not share rows, got 1 in both"),
        (
            lambda: attack_margin(lambda X: np.full(len(X), np.nan), np.eye(2), 2 * np.eye(2)),
            "members must have finite",
        ),
        (lambda: attack_margin(lambda X: [1.0], np.eye(2), 2 * np.eye(2)), "one output per row, got 1 for 2 members"),
        (lambda: attack_margin(any_model, np.eye(3), 2 * np.eye(3), labels=[0, 1, 2]), "y must have two values, got 3"),
        (lambda: attack_margin(lambda X: 0 * X[:, 0], np.eye(2), 2 * np.eye(2)), "the network has no margin on them"),
        (lambda: attack_margin(any_model, [[math.inf]], [[1.0]]), "members must have finite numbers"),
        (lambda: attack_margin(any_model, [["a"]], [[1.0]]), "members must be a table of numbers"),
        (lambda: attack_margin(any_model, [1.0], [[1.0]]), "members must have a row per point"),
        (lambda: attack_outputs([1.0], [[1.0, 2.0]], rule=BoundedMargin(least=1.0)), "nonmembers must have one output"),
        (lambda: attack_outputs(["x"], [1.0], rule=BoundedMargin(least=1.0)), "members must have one output per row"),
        (lambda: KnownMargin(margin=0.0), "margin must be > 0"),
        (lambda: KnownMargin(margin=1.0, tolerance=2.0), "tolerance must be in"),
        (lambda: KnownMargin.from_ties([1.0, 0.0]), "outputs must have 5 that are not 0"),
        (lambda: BoundedMargin(least=-1.0), "least must be > 0"),
        (lambda: find_span(TwoLayerReLU(weights=[[0.0]], biases=[0.0], outputs=[1.0])), "all zero"),
        (lambda: find_span(TwoLayerReLU(weights=[[1.0]], biases=[0.0], outputs=[1.0]), rank=2), "rank must be from 1"),
        (
            lambda: find_span(TwoLayerReLU(weights=[[1.0]], biases=[0.0], outputs=[1.0])).score(np.eye(2)),
            "X must have 1 columns",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
