"""Section 4's distributions: Lemmas D.1 to D.6 by Monte Carlo and exactly, each with a control that must fail."""

import math

import numpy as np
import pytest

from papers.margin_membership.theory import GaussianMixture, Sphere, condition_failure
from papers.margin_membership.theory.orthogonal import measure_orthogonality
from tacit.leak import clopper_pearson
from tacit.privacy import InvalidInput

DRAWS = 20_000


def products(source, rng, *, draws=DRAWS):
    (x, _), (y, _) = (source.draw(draws, rng=rng) for _ in range(2))
    return np.einsum("ij,ij->i", x, y), np.square(x).sum(axis=1)


def seen_at_least(events):
    """A lower confidence limit of the events' probability, wrong once in a million."""
    return clopper_pearson(int(events.sum()), len(events), level=1 - 2e-6).low


def tilted(dimension, norm):
    return norm * np.ones((1, dimension)) / math.sqrt(dimension)


SOURCES = {
    "sphere": Sphere(dimension=60),
    "N(0, I)": GaussianMixture(means=np.zeros((1, 60))),
    "N(mu, I)": GaussianMixture(means=tilted(60, 5.0)),
    "two means": GaussianMixture(means=np.concatenate([tilted(60, 4.0), 3 * np.eye(1, 60)])),
    "+-mu": GaussianMixture.opposed(dimension=60, norm=60**0.4),
    "four": GaussianMixture.crossed(dimension=60, norm=60**0.4),
}


@pytest.mark.parametrize("name", SOURCES)
def test_tails_hold_and_are_not_empty(name):
    source = SOURCES[name]
    overlap, square = products(source, np.random.default_rng(0))
    for limit in (10.0, 20.0, 40.0):
        assert seen_at_least(np.abs(overlap) > limit) <= source.overlap_tail(limit)
    for limit in (40.0, 55.0):
        assert seen_at_least(square < limit) <= source.square_tail(limit)
    # control: the tails of 1.5 times the limit are refuted
    assert seen_at_least(np.abs(overlap) > 20.0) > source.overlap_tail(40.0)


def test_lemma_d1_holds_exactly_and_without_its_logarithm_fails():
    for d in (2, 10, 55, 100, 1000, 10_000, 1_000_000):
        printed = d ** (1 - math.log(d) / 4)
        assert Sphere(dimension=d).overlap_tail(math.sqrt(d) * math.log(d)) <= printed
    assert Sphere(dimension=1000).overlap_tail(math.sqrt(1000)) > 1000 ** (1 - math.log(1000) / 4)
    overlap, _ = products(Sphere(dimension=200), np.random.default_rng(1), draws=5000)
    assert seen_at_least(np.abs(overlap) > math.sqrt(200) * math.log(200)) <= 200 ** (1 - math.log(200) / 4)
    assert seen_at_least(np.abs(overlap) > math.sqrt(200)) > 200 ** (1 - math.log(200) / 2)


def test_remark_d2_the_sample_size_that_the_sphere_allows():
    def tau(d, n):
        return n**2 * d ** (1 - math.log(d) / 4)

    rows = [math.sqrt(d) / math.log(d) ** 2 for d in (1e4, 1e6, 1e8)]
    shares = [n * math.sqrt(d) * math.log(d) / d for d, n in zip((1e4, 1e6, 1e8), rows, strict=True)]
    assert shares[0] > shares[1] > shares[2], "n |x.y| = o(d)"
    assert tau(1e8, rows[2]) < tau(1e6, rows[1]) < 1e-4
    n = math.sqrt(1e6)
    assert n * math.sqrt(1e6) * math.log(1e6) > 1e6, "control: n = sqrt(d) is too many"


@pytest.mark.parametrize("norm_power", [0.0, 0.25, 0.45])
def test_lemma_d3_overlaps_and_norms_of_gaussians(norm_power):
    """With t = d^eps: both failures of Lemma D.3 vanish as d grows, and at |mu|^2 = d they do not."""
    failures = []
    for d in (100, 400, 1600, 6400):
        source = GaussianMixture(means=tilted(d, d**norm_power))
        square = float(d ** (2 * norm_power))
        failures.append(source.overlap_tail(square + d**0.75) + source.square_tail(d + square - d**0.75))
    assert failures[-1] < 1e-3
    assert failures[-1] < failures[0]
    control = GaussianMixture(means=tilted(400, 20.0))
    overlap, _ = products(control, np.random.default_rng(2), draws=2000)
    assert np.mean(np.abs(overlap) > 400**0.75) > 0.99, "control: |mu|^2 = d is not o(d)"


def test_lemma_d5_sample_size():
    """n = o(d)/(|mu|^2 + d^eps) keeps n |x.y| below d; the printed tau = k n should be k n^2, as its proof sets it."""
    rng = np.random.default_rng(3)
    source = GaussianMixture(means=tilted(2000, 2000**0.25))
    overlap, square = products(source, rng, draws=2000)
    n = 2000 / (2000**0.5 + 2000**0.75) / 2
    assert seen_at_least(n * np.abs(overlap) > 2000) == 0
    assert square.min() > 1500
    assert np.mean(2000 / 2000**0.5 * np.abs(overlap) > 2000) > 0.2, "control: n = d/|mu|^2 without d^eps is too many"


def test_lemma_d6_mixtures_average_their_components():
    means = np.concatenate([tilted(200, 3.0), -tilted(200, 5.0)])
    mixture = GaussianMixture(means=means)
    overlap, square = products(mixture, np.random.default_rng(4))
    assert square.mean() == pytest.approx(200 + (9 + 25) / 2, rel=0.01), "E|x|^2"
    assert overlap.mean() == pytest.approx((means.mean(axis=0) ** 2).sum(), abs=1.0), "E x.y = |mean of means|^2"
    assert (means.mean(axis=0) ** 2).sum() < 2, "control: not the mean of |mu|^2, 17"
    worst = max(GaussianMixture(means=mean[None]).overlap_tail(60.0) for mean in means)
    assert mixture.overlap_tail(60.0) <= worst


def test_the_condition_fails_no_more_often_than_bounded():
    rng = np.random.default_rng(5)
    for source in (Sphere(dimension=4000), GaussianMixture.opposed(dimension=4000, norm=3.0)):
        bound = condition_failure(source, rows=6)
        failed = np.array([not measure_orthogonality(source.draw(6, rng=rng)[0]).holds for _ in range(150)])
        assert seen_at_least(failed) <= bound < 0.3
        assert condition_failure(source, rows=12) == 1.0
        assert not measure_orthogonality(source.draw(30, rng=rng)[0]).holds


def test_twenty_points_need_tens_of_thousands_of_dimensions():
    assert condition_failure(Sphere(dimension=400), rows=20) == 1.0
    assert 0.3 < condition_failure(Sphere(dimension=30_000), rows=20) < 0.6
    assert condition_failure(Sphere(dimension=40_000), rows=20) < 0.15


def test_learnable_labels_follow_the_component():
    rng = np.random.default_rng(6)
    X, y = GaussianMixture.opposed(dimension=100, norm=10.0).draw(500, rng=rng)
    assert np.array_equal(np.sign(X[:, 0]), y)
    X, y = GaussianMixture.crossed(dimension=100, norm=12.0).draw(500, rng=rng)
    assert np.array_equal(np.abs(X[:, 0]) > np.abs(X[:, 1]), y > 0)
    coins = GaussianMixture(means=np.zeros((1, 3))).draw(2000, rng=rng)[1]
    assert abs(coins.mean()) < 0.15


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Sphere(dimension=1), "dimension must be an integer >= 2"),
        (lambda: GaussianMixture(means=[1.0, 2.0]), "X must have a row per point"),
        (lambda: GaussianMixture(means=[[1.0]], labels=[0.0]), "labels must be -1 or"),
        (lambda: condition_failure(Sphere(dimension=5), rows=1), "rows must be an integer >= 2"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
