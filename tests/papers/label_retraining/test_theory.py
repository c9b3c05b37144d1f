"""The mixture with margin: its sampler, exact accuracies, and the simulation that draws no features."""

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, ks_2samp, kstest

from papers.label_retraining.theory import (
    DiscreteMargin,
    MarginMixture,
    UniformMargin,
    expect,
    leading_direction,
    predict,
    retrain,
    simulate_accuracies,
    subgaussian_norm,
    train,
)
from tacit.privacy import InvalidInput

SURE = 1e-6
ON_MARGIN = DiscreteMargin(values=(0.0,))


def oblique(dimension=8, *, flip=0.3, margin=None, positive=0.35):
    """A mean along no axis, and a covariance with eigenvalues from 0.5 to 4 off it."""
    rng = np.random.default_rng(7)
    basis, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
    spread = np.concatenate([[0.0], np.geomspace(0.5, 4.0, dimension - 1)])
    return MarginMixture(
        mean=1.3 * basis[:, 0],
        flip=flip,
        margin=margin or UniformMargin(high=2.0),
        covariance=(basis * spread) @ basis.T,
        positive=positive,
    )


def test_the_sampler_follows_the_model():
    mixture = oblique()
    rows, d = 20_000, mixture.dimension
    sample = mixture.sample(rows, rng=np.random.default_rng(1))
    along = sample.labels * (sample.features @ mixture.mean) / mixture.separation**2
    assert kstest(along - 1, "uniform", args=(0, 2)).pvalue > SURE
    assert kstest(along - 1, "uniform", args=(0, 2.2)).pvalue < SURE, "control: another margin"
    off = sample.features - (sample.features @ mixture.mean)[:, None] * mixture.mean / mixture.separation**2
    squares = np.einsum("ij,jk,ik->", off, np.linalg.pinv(mixture.covariance), off)
    tails = chi2.cdf([squares, squares / 1.05], rows * (d - 1))
    assert SURE / 2 < tails[0] < 1 - SURE / 2
    assert tails[1] < SURE, "control: a covariance 5% larger"
    flipped, positive = int((sample.noisy != sample.labels).sum()), int((sample.labels > 0).sum())
    for count, rate, other in ((flipped, 0.3, 0.32), (positive, 0.35, 0.33)):
        assert binomtest(count, rows, rate).pvalue > SURE
        assert binomtest(count, rows, other).pvalue < SURE, "control: another rate"


def test_every_sample_keeps_the_margin():
    mixture = oblique()
    sample = mixture.sample(5000, rng=np.random.default_rng(2))
    distance = sample.labels * (sample.features @ mixture.mean) / mixture.separation
    assert distance.min() >= mixture.separation
    assert mixture.accuracy(mixture.mean) == pytest.approx(1.0, abs=1e-12)


def test_accuracy_is_that_of_fresh_samples():
    mixture, rng = oblique(), np.random.default_rng(3)
    theta = mixture.mean + 0.3 * rng.normal(size=mixture.dimension)
    fresh = mixture.sample(100_000, rng=rng)
    right = int((predict(fresh.features, theta) == fresh.labels).sum())
    assert 0.6 < mixture.accuracy(theta) < 0.99
    assert binomtest(right, 100_000, mixture.accuracy(theta)).pvalue > SURE
    assert binomtest(right, 100_000, mixture.accuracy(theta + 0.2 * mixture.mean)).pvalue < SURE, "control"


def test_estimators():
    X = np.array([[2.0, 1.0], [-1.0, 3.0], [-4.0, -1.0]])
    theta = train(X, np.array([1.0, -1.0, -1.0]))
    assert theta == pytest.approx([7 / 3, -1 / 3])
    assert list(predict(X, theta)) == [1, -1, -1]
    assert list(retrain(X, np.array([0.0, 1.0]))) == pytest.approx([5 / 3, 5 / 3])
    with pytest.raises(InvalidInput, match="one for each row"):
        train(X, np.ones(2))


def accuracies_by_drawing_features(mixture, *, rows, draws, rng):
    pairs = []
    for _ in range(draws):
        sample = mixture.sample(rows, rng=rng)
        first = train(sample.features, sample.noisy)
        pairs.append([mixture.accuracy(theta) for theta in (first, retrain(sample.features, first))])
    return np.array(pairs)


@pytest.mark.parametrize("margin", [ON_MARGIN, UniformMargin(high=4.0)], ids=["on margin", "uniform"])
def test_the_simulation_has_the_law_of_the_real_thing(margin):
    mixture = MarginMixture.isotropic(dimension=12, separation=0.7, flip=0.35, margin=margin)
    drawn = accuracies_by_drawing_features(mixture, rows=60, draws=3000, rng=np.random.default_rng(4))
    simulated = simulate_accuracies(mixture, rows=60, draws=3000, rng=np.random.default_rng(5))
    wider = MarginMixture.isotropic(dimension=16, separation=0.7, flip=0.35, margin=margin)
    other = simulate_accuracies(wider, rows=60, draws=3000, rng=np.random.default_rng(6))
    for of in ([1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]):  # before, after, and what retraining changed
        assert ks_2samp(drawn @ of, simulated @ of).pvalue > SURE
    assert ks_2samp(drawn[:, 0], other[:, 0]).pvalue < SURE, "control: four more features"
    assert ks_2samp(drawn[:, 1], other[:, 1]).pvalue < SURE


def test_margins():
    rare = DiscreteMargin(values=(0.0, 6.128), probabilities=(0.999, 0.001))
    assert expect(rare, lambda u: u) == pytest.approx(0.006128)
    assert expect(UniformMargin(high=4.0), lambda u: (1 + u) ** 2) == pytest.approx(31 / 3, abs=1e-12)
    drawn = rare.draw(200_000, rng=np.random.default_rng(8))
    assert binomtest(int((drawn > 0).sum()), 200_000, 0.001).pvalue > SURE
    assert binomtest(int((drawn > 0).sum()), 200_000, 0.0015).pvalue < SURE, "control"


def test_the_unit_norm_is_an_assumption():
    # Figure 1's own margin breaks it
    assert subgaussian_norm(UniformMargin(high=4.0)) == pytest.approx(2.0, abs=1e-9)
    assert subgaussian_norm(UniformMargin(high=2.0)) == pytest.approx(1.0, abs=1e-9)
    rare = DiscreteMargin(values=(0.0, 6.128), probabilities=(0.999, 0.001))
    assert subgaussian_norm(rare) == pytest.approx(1.0, abs=1e-4)
    powers = np.linspace(1, 200, 20_000)
    by_hand = max(powers**-0.5 * 6.128 * 0.001 ** (1 / powers))
    assert subgaussian_norm(rare) == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flip": 0.5}, "flip must be in"),
        ({"flip": -0.1}, "flip must be in"),
        ({"mean": [0.0, 0.0]}, "mean must be a vector"),
        ({"mean": [1.0]}, "mean must be a vector"),
        ({"positive": 1.5}, "positive must be in"),
        ({"covariance": np.eye(3)}, "symmetric 2 x 2"),
        ({"covariance": np.eye(2)}, "map the mean to 0"),
        ({"covariance": np.zeros((2, 2))}, "positive off the mean"),
    ],
)
def test_a_bad_mixture_is_refused(change, message):
    settings = {"mean": [1.0, 0.0], "flip": 0.4, "margin": ON_MARGIN}
    MarginMixture(**settings)
    with pytest.raises(InvalidInput, match=message):
        MarginMixture(**settings | change)


@pytest.mark.parametrize(
    "make",
    [
        lambda: UniformMargin(high=0.0),
        lambda: UniformMargin(high=float("nan")),
        lambda: DiscreteMargin(values=(-1.0,)),
        lambda: DiscreteMargin(values=(1.0, 2.0)),
        lambda: DiscreteMargin(values=(1.0, 2.0), probabilities=(0.5, 0.6)),
        lambda: MarginMixture.isotropic(dimension=1, separation=1.0, flip=0.4, margin=ON_MARGIN),
        lambda: MarginMixture.isotropic(dimension=3, separation=0.0, flip=0.4, margin=ON_MARGIN),
        lambda: simulate_accuracies(oblique(), rows=10, draws=1, rng=np.random.default_rng(0)),
        lambda: oblique().sample(0, rng=np.random.default_rng(0)),
    ],
)
def test_bad_input_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_features_alone_reveal_the_mean():
    """Theorem 4.6 is false: 20,000 rows do where it asks for about d/(1-2p)^2 = 250,000."""
    mixture = MarginMixture.isotropic(dimension=100, separation=1.0, flip=0.49, margin=UniformMargin(high=2.0))
    sample = mixture.sample(20_000, rng=np.random.default_rng(9))
    assert mixture.accuracy(leading_direction(sample.features, sample.noisy)) > 0.9995
    trained = simulate_accuracies(mixture, rows=20_000, draws=100, rng=np.random.default_rng(10))[:, 0]
    assert trained.mean() == pytest.approx(0.84, abs=0.02)
    assert abs(0.897 - trained.mean()) < trained.std(), "one training set gave 0.897"
    assert mixture.accuracy(train(sample.features, sample.noisy)) < 0.99


def test_control_a_mean_that_varies_less_is_hidden_from_the_features():
    mixture = MarginMixture.isotropic(dimension=100, separation=0.3, flip=0.49, margin=UniformMargin(high=2.0))
    sample = mixture.sample(20_000, rng=np.random.default_rng(9))
    assert mixture.accuracy(leading_direction(sample.features, sample.noisy)) < 0.7
