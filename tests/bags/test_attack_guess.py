"""Guessing labels from totals: as good as theory says, never better than the guarantee, and canaries catch a lie."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.stats import binom

from papers.label_bags.bags import curate, draw
from papers.label_bags.theory import additive_advantage, bag_count_channel
from tacit.bags.attacks import (
    NoiseModel,
    audit_canaries,
    determined,
    guess_labels,
    posterior,
    prior_from_features,
)
from tacit.bags.losses import CategoricalLoss, LogisticLoss, PoissonLoss, SquaredLoss
from tacit.bags.mechanisms.consistency import make_consistent
from tacit.bags.mechanisms.noise import GaussianTotalsNoise, LaplaceTotalsNoise
from tacit.bags.partition import BagTotals, KeyColumn, Partition, RandomBags
from tacit.leak import plant_canaries
from tacit.privacy import Guarantee, InvalidInput, NoGuarantee, Unit
from tacit.privacy.noise import DiscreteLaplace

COIN = np.array([[0.0], [1.0]])


def shuffled_bags(labels, *, size, partitions, scale, guarantee, rng, statistic=lambda labels: labels[:, None]):
    """Partitions of the rows into bags of ``size``, with discrete Laplace noise of this scale; 0 for none."""
    n = len(labels)
    columns = {f"p{p}": rng.permutation(n) // size for p in range(partitions)}
    parts = []
    for name, bag in columns.items():
        totals = np.zeros((bag.max() + 1, statistic(labels).shape[1]))
        np.add.at(totals, bag, statistic(labels))
        noise = DiscreteLaplace(scale=scale) if scale else None
        parts.append(
            Partition(
                features=(KeyColumn(name),),
                keys=pa.table({name: np.arange(len(totals))}),
                counts=np.bincount(bag),
                totals=totals if noise is None else totals + noise.draw(totals.shape, rng=rng),
                variance=noise.variance if noise else 0.0,
            )
        )
    release = BagTotals(
        partitions=tuple(parts),
        loss=LogisticLoss() if totals.shape[1] == 1 else CategoricalLoss(classes=totals.shape[1]),
        guarantee=guarantee,
        seeded=True,
        label="y",
        mechanism={"name": "discrete_laplace" if scale else "exact"},
    )
    return release, pa.table(columns)


EXACT = NoGuarantee(reason="exact")
ONE = Guarantee(unit=Unit.LABEL, epsilon=1.0)


@pytest.mark.parametrize(("size", "advantage"), [(2, 0.25), (4, 0.1875), (8, 0.136719)])
def test_one_partition_of_coins_gives_away_what_theory_says(size, advantage):
    rng = np.random.default_rng(size)
    labels = rng.integers(0, 2, 40_000)
    release, table = shuffled_bags(labels, size=size, partitions=1, scale=0, guarantee=EXACT, rng=rng)
    leak = guess_labels(release, table, prior=[0.5, 0.5]).leak(labels, baseline=0.5)
    assert additive_advantage(bag_count_channel(size=size, rate=0.5), [0.5, 0.5]) == pytest.approx(advantage, abs=1e-6)
    # right guesses come in bags: the variance of their number is at most size times a binomial's
    assert leak.advantage == pytest.approx(advantage, abs=5 * np.sqrt(0.25 * size / 40_000))


def test_the_posterior_solves_the_convex_problem():
    rng = np.random.default_rng(0)
    A = (rng.random((7, 4)) < 0.5).astype(float)
    z, prior = A.T @ rng.integers(0, 2, 7) + rng.normal(0, 1, 4), rng.uniform(0.1, 0.9, 7)
    variance = np.array([1.0, 2.0, 0.5, 3.0])

    def primal(q):
        divergence = q * np.log(q / prior) + (1 - q) * np.log((1 - q) / (1 - prior))
        return divergence.sum() + (np.square(z - A.T @ q) / (2 * variance)).sum()

    best = minimize(primal, prior, bounds=[(1e-9, 1 - 1e-9)] * 7, method="L-BFGS-B", options={"ftol": 1e-15})
    q = posterior(
        csr_array(A),
        z[:, None],
        values=COIN,
        prior=np.stack([1 - prior, prior], axis=1),
        noise=NoiseModel.gaussian(variance),
    )
    np.testing.assert_allclose(q[:, 1], best.x, atol=1e-4)
    wrong = posterior(csr_array(A), z[:, None], values=COIN, prior=[0.5, 0.5], noise=NoiseModel.gaussian(4 * variance))
    assert np.abs(wrong[:, 1] - best.x).max() > 0.01


def test_a_bag_of_one_under_laplace_noise_is_bayes():
    noise = DiscreteLaplace(scale=2)
    z = np.array([[-3.0], [0.0], [1.0], [5.0]])
    q = posterior(
        csr_array(np.eye(4)),
        z,
        values=COIN,
        prior=[0.7, 0.3],
        noise=NoiseModel.laplace(np.full(4, noise.variance)),
    )
    joint = np.stack([0.7 * noise.pmf(z[:, 0]), 0.3 * noise.pmf(z[:, 0] - 1)], axis=1)
    np.testing.assert_allclose(q, joint / joint.sum(axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("partitions", [1, 3])
def test_under_laplace_noise_no_odds_move_by_more_than_the_guarantee(partitions):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    release, table = shuffled_bags(labels, size=3, partitions=partitions, scale=partitions, guarantee=ONE, rng=rng)
    found = guess_labels(release, table, prior=[0.5, 0.5])
    moved = np.log(found.confidence / (1 - found.confidence))
    assert moved.max() <= 1 + 1e-9
    assert moved.max() > 0.9
    unsplit, table = shuffled_bags(labels, size=3, partitions=3, scale=1, guarantee=ONE, rng=rng)
    broken = guess_labels(unsplit, table, prior=[0.5, 0.5]).confidence
    assert np.log(broken / (1 - broken)).max() > 1.5


def test_the_advantage_stays_below_the_ceiling():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 5000)
    release, table = shuffled_bags(labels, size=1, partitions=2, scale=2, guarantee=ONE, rng=rng)
    found = guess_labels(release, table, prior=[0.5, 0.5])
    leak = found.leak(labels, baseline=0.5)
    assert found.largest_advantage == pytest.approx(0.231059, abs=1e-6)
    assert 0.05 < leak.advantage_interval.low < found.largest_advantage
    assert not leak.exceeds(ONE)
    exact, table = shuffled_bags(labels, size=1, partitions=2, scale=0, guarantee=ONE, rng=rng)
    assert guess_labels(exact, table, prior=[0.5, 0.5]).leak(labels, baseline=0.5).exceeds(ONE)


def canary_bounds(runs, *, scale, partitions=3, size=1, seed=0, guesses=None):
    rng = np.random.default_rng(seed)
    bounds = []
    for _ in range(runs):
        canaries = plant_canaries(rng.integers(0, 2, 400), classes=2, count=400, rng=rng)
        release, table = shuffled_bags(
            canaries.labels, size=size, partitions=partitions, scale=scale, guarantee=ONE, rng=rng
        )
        bounds.append(audit_canaries(canaries, release, table, guesses=guesses, rng=rng).epsilon_lower_bound)
    return np.array(bounds)


@pytest.mark.parametrize("size", [1, 4])
def test_canaries_prove_more_than_the_guarantee_in_few_runs(size):
    above = int((canary_bounds(60, scale=3, size=size) > 1).sum())
    assert binom.sf(above - 1, 60, 0.05) > 1e-6


def test_canaries_prove_something_where_each_is_alone():
    assert np.median(canary_bounds(9, scale=3)) > 0.2


def test_canaries_catch_an_epsilon_that_was_not_split_and_noise_that_was_forgotten():
    assert (canary_bounds(5, scale=1, guesses=200) > 1).all()
    assert (canary_bounds(5, scale=0) > 3).all()


def test_canaries_among_many_classes():
    rng = np.random.default_rng(0)
    canaries = plant_canaries(rng.integers(0, 3, 300), classes=3, count=300, rng=rng)
    assert (canaries.own != canaries.other).all()
    one_hot = lambda labels: np.eye(3)[labels]  # noqa: E731
    for scale, low, high in ((2, 0.0, 1.0), (0, 3.0, 10.0)):
        release, table = shuffled_bags(
            canaries.labels, size=1, partitions=1, scale=scale, guarantee=ONE, rng=rng, statistic=one_hot
        )
        assert low <= audit_canaries(canaries, release, table, rng=rng).epsilon_lower_bound <= high


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(0)
    city, age = rng.integers(0, 20, 2000), rng.integers(0, 10, 2000)
    ill = (rng.random(2000) < 1 / (1 + np.exp(3 - age / 2 + city / 5))).astype(np.int64)
    return pa.table({"city": city, "age": age, "ill": ill})


def test_real_releases_from_exact_to_noised(visits):
    truth = visits["ill"].to_numpy()
    rng = np.random.default_rng(1)
    rates = []
    for noise in (
        None,
        LaplaceTotalsNoise(epsilon=8.0),
        LaplaceTotalsNoise(epsilon=0.1),
        GaussianTotalsNoise(epsilon=1.0, delta=1e-5),
    ):
        release = curate(visits, by=["city", ("city", "age")], label="ill", loss=LogisticLoss(), noise=noise, rng=rng)
        found = guess_labels(release, visits)
        rates.append(found.leak(truth).rate)
        if noise is None:
            exact = found.with_certain(determined(release, visits))
            assert exact.leak(truth).rate >= rates[0] > found.leak(truth).baseline + 0.02
    assert rates[0] >= rates[1] > rates[2]


def test_consistent_totals_are_read_as_gaussian(visits):
    release = curate(
        visits,
        by=["city", "age"],
        label="ill",
        loss=LogisticLoss(),
        noise=LaplaceTotalsNoise(epsilon=2.0),
        rng=np.random.default_rng(0),
    )
    found = guess_labels(make_consistent(release).release, visits)
    assert found.leak(visits["ill"].to_numpy()).advantage > 0


def test_a_prior_from_features_is_the_rival(visits):
    truth, rng = visits["ill"].to_numpy(), np.random.default_rng(2)
    prior = prior_from_features(visits, truth, classes=2, leave_out=("ill",), rng=rng)
    assert (prior.argmax(axis=1) == truth).mean() > max(truth.mean(), 1 - truth.mean())
    release = curate(visits, by=[("city", "age")], label="ill", loss=LogisticLoss())
    found = guess_labels(release, visits, prior=prior)
    np.testing.assert_array_equal(found.baseline, prior.argmax(axis=1))
    leak = found.leak(truth)
    assert leak.advantage == pytest.approx(0, abs=0.01), "totals of ten rows that look alike change few best guesses"
    assert min(change.advantage for change in leak.changes) > 0, "but they change the odds of either class"
    leaking = prior_from_features(visits, truth, classes=2, rng=rng)
    assert (leaking.argmax(axis=1) == truth).mean() > 0.99


@pytest.mark.parametrize("bernoulli", [False, True], ids=["proportions", "draws"])
def test_random_bags(visits, bernoulli):
    truth = visits["ill"].to_numpy()
    release = draw(visits, size=2, bags=3000, label="ill", loss=LogisticLoss(), rng=np.random.default_rng(0))
    if bernoulli:
        made = release.random
        drawn = (np.random.default_rng(1).random(made.labels.shape) < made.labels).astype(float)
        bags = RandomBags(rows=made.rows, labels=drawn, bernoulli=True)
        release = BagTotals(
            random=bags,
            loss=LogisticLoss(),
            guarantee=EXACT,
            seeded=True,
            label="ill",
            rows=2000,
            mechanism={"name": "m"},
        )
    leak = guess_labels(release, visits).leak(truth)
    assert leak.advantage_interval.low > 0


def test_counts_are_guessed_with_a_declared_greatest(visits):
    days = pa.table({"city": visits["city"], "days": visits["city"].to_numpy() % 3})
    release = curate(days, by=["city"], label="days", loss=PoissonLoss(most=3))
    assert guess_labels(release, days).leak(days["days"].to_numpy()).advantage > 0.2


def test_bad_input_is_refused(visits):
    real = curate(visits, by=["city"], label="age", loss=SquaredLoss(lower=0.0, upper=9.0))
    with pytest.raises(InvalidInput, match="labels are guessed for the log loss"):
        guess_labels(real, visits)
    release = curate(visits, by=["city"], label="ill", loss=LogisticLoss())
    with pytest.raises(InvalidInput, match="prior must be one row of 2 probabilities"):
        guess_labels(release, visits, prior=[[0.2, 0.3, 0.5]])
    with pytest.raises(InvalidInput, match="count must be at most the 3 rows"):
        plant_canaries([0, 1, 0], classes=2, count=4, rng=np.random.default_rng(0))
    few = plant_canaries([0, 1, 0], classes=2, count=3, rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="the 3 rows of the canaries, got 2000"):
        audit_canaries(few, release, visits, rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="labels must be one for each of 2000 rows, got 3"):
        prior_from_features(visits, [0, 1, 0], classes=2, rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="a column besides the label"):
        prior_from_features(visits.select(["ill"]), [0], classes=2, leave_out=("ill",), rng=np.random.default_rng(0))
