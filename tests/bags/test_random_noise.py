"""Noise of known variance in random bags: a penalty that follows it, a mean that labels can have, a convex loss."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.integrate import quad
from scipy.stats import norm

from papers.label_bags.bags import draw
from papers.label_bags.theory import BagMeanObjective, PrintedObjective, ProportionLoss
from tacit.bags.learners import EasyLabels, RandomBagModel, UnbiasedObjective
from tacit.bags.learners.random_bags import BagMoments, center_labels, choose_penalty, is_drowned
from tacit.bags.learners.random_bags.noise import L2
from tacit.bags.losses import CategoricalLoss, LogisticLoss, SquaredLoss
from tacit.bags.mechanisms.noise import LaplaceTotalsNoise
from tacit.bags.partition import RandomBags
from tacit.privacy.errors import InvalidInput

OBJECTIVES = [UnbiasedObjective(), PrintedObjective(), BagMeanObjective(), EasyLabels(), ProportionLoss()]


def logits(rows, *, columns, classes, seed, scale=0.5):
    """Normal columns and a label of a multinomial logit; 0/1 for two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    weights = np.random.default_rng(5).normal(scale=scale, size=(columns, classes))
    y = np.argmax(X @ weights + rng.gumbel(size=(rows, classes)), axis=1)
    return pa.table({f"x{i}": X[:, i] for i in range(columns)} | {"y": y})


def loss_over(classes):
    return LogisticLoss() if classes == 2 else CategoricalLoss(classes=classes)


def drawn(table, *, size, bags, epsilon, loss, seed=0, **options):
    noise = None if epsilon is None else LaplaceTotalsNoise(epsilon=epsilon)
    rng = np.random.default_rng(seed)
    return draw(table, size=size, bags=bags, joins=1, label="y", loss=loss, noise=noise, rng=rng, **options)


def blinded(release):
    """The same labels, said to be exact: what was learned from noise before anything followed it."""
    return replace(release, random=replace(release.random, variance=0.0))


def slope(objective, x, bags, moments, w, loss):
    """The derivative in w of the objective of the model f = w x + its best intercept at w = 0."""
    f = loss.link(np.array([[0.5]])) + w * x[:, None]
    labels = objective.labels(bags, moments)
    if isinstance(objective, EasyLabels):
        return np.mean((loss.mean(f)[bags.rows] - labels[:, None, :])[:, :, 0] * x[bags.rows])
    _, of_means = objective.value_and_gradient(loss.mean(f)[bags.rows].mean(axis=1), labels, moments)
    return float(of_means[:, 0] @ (loss.curvature(f)[:, 0] * x)[bags.rows].mean(axis=1))


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_the_added_penalty_is_the_gradients_noise_over_the_curvature(objective):
    """G/(H spread^2), with G and H measured: the variance of the slope over draws of noise, and its change with w."""
    rng = np.random.default_rng(0)
    N, size, n, s = 20_000, 5, 2000, 0.05
    x = rng.normal(size=N)
    rows = rng.permutation(N)[: n * size].reshape(n, size)
    means, moments = np.full((n, 1), 0.5), BagMoments(size=size, rows=N)
    noised = [RandomBags(rows=rows, labels=means + rng.normal(scale=s, size=(n, 1)), variance=s**2) for _ in range(400)]
    G = np.var([slope(objective, x, bags, moments, 0.0, LogisticLoss()) for bags in noised])
    exact = RandomBags(rows=rows, labels=means)
    H = (
        slope(objective, x, exact, moments, 0.05, LogisticLoss())
        - slope(objective, x, exact, moments, -0.05, LogisticLoss())
    ) / 0.1
    even = RandomBags(rows=rows, labels=means, variance=s**2)
    added = choose_penalty(even, objective, moments, LogisticLoss()) - L2
    spread = 1 / 3 if isinstance(objective, EasyLabels | ProportionLoss) else 1
    assert added == pytest.approx(G / (H * spread**2), rel=0.2)


def test_that_ratio_is_the_penalty_of_least_squared_error():
    """By brute force over penalties: (H w + e)/(H + l2) against w."""
    H, G, spread = 0.3, 0.02, 0.5
    grid = np.linspace(0, 2, 4001)
    error = (grid**2 * spread**2 + G) / (H + grid) ** 2
    assert grid[np.argmin(error)] == pytest.approx(G / (H * spread**2), abs=1e-3)


@pytest.mark.parametrize("classes", [2, 31])
def test_noise_that_the_learner_knows_does_not_ruin_the_model(classes):
    """Few bags, strong noise; the control is the penalty as it is without noise."""
    loss = loss_over(classes)
    table, test = (logits(3000, columns=12, classes=classes, seed=seed) for seed in (0, 1))
    truth = test["y"].to_numpy()
    rates = loss.statistic(table["y"].to_numpy()).mean(axis=0)
    constant = loss.value(np.tile(loss.link(rates[None, :]), (len(truth), 1)), truth).mean()
    for seed in range(3 if classes == 2 else 2):
        release = drawn(table, size=10, bags=50, epsilon=0.3, loss=loss, seed=seed)
        model = RandomBagModel().fit(release, table)
        careless = RandomBagModel().fit(blinded(release), table)
        assert model.mean_loss(test, truth) < constant + 0.2
        assert careless.mean_loss(test, truth) > constant + 0.5, "control"
        assert model.objective_ == EasyLabels()


def test_what_bags_say_in_spite_of_noise_is_learned():
    """More bags, the same noise: better than the rate by far, and better than with the penalty without noise."""
    table, test = (logits(10_000, columns=12, classes=2, seed=seed) for seed in (0, 1))
    truth = test["y"].to_numpy()
    release = drawn(table, size=10, bags=300, epsilon=0.3, loss=LogisticLoss())
    loss = RandomBagModel().fit(release, table).mean_loss(test, truth)
    assert loss < 0.6
    assert loss < RandomBagModel().fit(blinded(release), table).mean_loss(test, truth) - 0.02


@pytest.mark.parametrize("classes", [2, 4])
def test_without_noise_nothing_changes(classes):
    loss = loss_over(classes)
    table = logits(800, columns=3, classes=classes, seed=0)
    release = drawn(table, size=4, bags=200, epsilon=None, loss=loss)
    model = RandomBagModel().fit(release, table)
    assert (model.objective_, model.l2_) == (UnbiasedObjective(), 1e-3)
    before = RandomBagModel(UnbiasedObjective(), l2=1e-3).fit(release, table)
    np.testing.assert_array_equal(model.predict_proba(table), before.predict_proba(table))
    assert center_labels(release.random, loss) is release.random
    drawn_labels = drawn(table, size=4, bags=200, epsilon=1.0, loss=loss, bernoulli=True)
    assert RandomBagModel().fit(drawn_labels, table).l2_ == 1e-3


def test_a_penalty_that_is_given_is_taken_as_it_is():
    table = logits(500, columns=3, classes=2, seed=0)
    release = drawn(table, size=10, bags=50, epsilon=0.3, loss=LogisticLoss())
    for l2 in (0.0, 1e-3, 0.7):
        model = RandomBagModel(l2=l2).fit(release, table)
        assert (model.objective_, model.l2_) == (UnbiasedObjective(), l2)
    assert RandomBagModel(BagMeanObjective()).fit(release, table).objective_ == BagMeanObjective()
    for l2 in (-1.0, np.nan):
        with pytest.raises(InvalidInput, match="l2 must be a finite number >= 0, or None"):
            RandomBagModel(l2=l2).fit(release, table)


@pytest.mark.parametrize("mean", [-0.4, 0.02, 0.5, 1.3])
def test_labels_are_moved_to_the_expected_mean(mean):
    """The posterior mean under a flat prior on [0, 1], by quadrature."""
    n, variance = 50, 0.3
    labels = mean + np.random.default_rng(0).normal(size=(n, 1))
    labels += mean - labels.mean()
    bags = RandomBags(rows=np.arange(n)[:, None], labels=labels, variance=variance)
    density = lambda p: norm.pdf(p, loc=mean, scale=np.sqrt(variance / n))  # noqa: E731
    expected = quad(lambda p: p * density(p), 0, 1)[0] / quad(density, 0, 1)[0]
    moved = center_labels(bags, LogisticLoss())
    assert moved.labels.mean() == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(np.diff(moved.labels[:, 0]), np.diff(labels[:, 0]))


def test_means_of_classes_are_probabilities_at_any_noise():
    rng = np.random.default_rng(0)
    for deviation in (1e-9, 0.1, 100.0):
        labels = np.array([0.7, 0.3, 0.0]) + rng.normal(scale=deviation, size=(20, 3))
        bags = RandomBags(rows=np.arange(20)[:, None], labels=labels, variance=deviation**2)
        mean = center_labels(bags, CategoricalLoss(classes=3)).labels.mean(axis=0)
        assert mean.min() >= 0
        assert mean.sum() == pytest.approx(1)
        if deviation < 1e-6:
            np.testing.assert_allclose(mean, [0.7, 0.3, 0.0], atol=1e-6)


def test_soft_labels_are_taken_where_noise_drowns_what_bags_say():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    rows, y = rng.permutation(4000).reshape(400, 10), (x > 0).astype(float)
    moments = BagMoments(size=10, rows=4000)

    def drowned(labels, deviation):
        noised = labels[rows].mean(axis=1)[:, None] + rng.normal(scale=deviation, size=(400, 1))
        bags = RandomBags(rows=rows, labels=noised, variance=deviation**2)
        return is_drowned(sparse.csr_matrix(x[:, None]), bags, moments, LogisticLoss())

    assert not drowned(y, 0.5)
    assert not drowned(rng.permutation(y), 0.1), "less noise than in labels themselves"
    assert drowned(y, 5.0), "more than two logits of noise"
    assert drowned(rng.permutation(y), 0.5), "the same noise, and nothing to hear"


def test_the_unit_of_a_squared_loss_does_not_matter():
    """Labels in cents instead of euros give the same model, a hundred times."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2))
    y = np.clip(x @ [1.0, -0.5] + rng.normal(size=2000), -5, 5)
    predicted = []
    for unit in (1.0, 100.0):
        table = pa.table({"a": x[:, 0], "b": x[:, 1], "y": unit * y})
        loss = SquaredLoss(lower=-5 * unit, upper=5 * unit)
        rows = np.arange(2000).reshape(200, 10)
        noise = np.random.default_rng(1).normal(scale=0.5 * unit, size=(200, 1))
        bags = RandomBags(rows=rows, labels=(unit * y)[rows].mean(axis=1)[:, None] + noise, variance=(0.5 * unit) ** 2)
        release = replace(drawn(table, size=10, bags=200, epsilon=None, loss=loss), random=bags)
        model = RandomBagModel(steps=2000).fit(release, table)
        assert model.l2_ > 2e-3
        predicted.append(model.predict(table) / unit)
    np.testing.assert_allclose(predicted[0], predicted[1], atol=0.01)


def test_noise_before_a_bernoulli_draw_is_not_subtracted_again():
    """A draw of 0 or 1 has the square that it is itself: subtracting the noise's variance made risks below 0."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    y = (x + 0.3 * rng.normal(size=20_000) > 0).astype(int)
    table = pa.table({"x": x, "y": y})
    release = drawn(table, size=4, bags=5000, epsilon=2.0, loss=LogisticLoss(), bernoulli=True)
    model = RandomBagModel().fit(release, table)
    risk = np.mean((model.predict_proba(table)[:, 1] - y) ** 2)
    assert model.risk_ == pytest.approx(risk, abs=0.04)
    again = model.risk_ - BagMoments(size=4, rows=20_000).k * release.random.variance
    assert abs(again - risk) > 0.04, "control"


@pytest.mark.parametrize("mean", [-1e6, 1e6])
def test_a_mean_far_outside_is_moved_no_further_than_the_range(mean):
    bags = RandomBags(rows=np.array([[0], [1]]), labels=np.full((2, 1), mean), variance=1e-3)
    assert 0 <= center_labels(bags, LogisticLoss()).labels.mean() <= 1
