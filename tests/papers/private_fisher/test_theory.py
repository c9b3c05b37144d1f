"""The best number of features, the full rule's error, and when selection is right, against simulation."""

import numpy as np
import pytest
from scipy.stats import norm, t

from papers.private_fisher.theory import (
    ReleasedMeans,
    best_features,
    full_rule_error,
    independence_rule_error,
    selection_margin,
)
from tacit.features.learners.fisher import FisherClassifier
from tacit.features.learners.rules import FullCovarianceRule
from tacit.privacy import InvalidInput
from tacit.privacy.noise import gaussian_scale

GAPS = 2 * np.arange(1, 501) ** -0.75


@pytest.mark.parametrize(
    ("noise", "count", "psi", "error"),
    [(0.0, 24, 1.411333, 0.079073), (1.0, 16, 0.959696, 0.168604), (2.0, 9, 0.565263, 0.285948)],
)
def test_best_number_of_features_under_noise_on_all_rows(noise, count, psi, error):
    best = best_features(
        GAPS,
        means=lambda m: ReleasedMeans.of_rows(sigma=1.0, noise=noise, rows=(50, 50), features=m, noisy_test=True),
    )
    assert best.count == count
    assert best.psi == pytest.approx(psi, abs=1e-6)
    assert best.error == pytest.approx(error, abs=1e-6)


def test_best_number_of_features_where_the_budget_is_shared():
    central = gaussian_scale(1.0, delta=1e-5)
    means = best_features(
        GAPS,
        means=lambda m: ReleasedMeans.of_sums(
            sigma=1.0, noise=(2 * m**0.5 / 500 * central,) * 2, rows=(500, 500), features=m
        ),
    )
    assert (means.count, round(means.psi, 6), round(means.error, 6)) == (28, 1.458805, 0.072309)
    local = gaussian_scale(8.0, delta=1e-5)
    rows = best_features(
        GAPS,
        means=lambda m: ReleasedMeans.of_rows(sigma=1.0, noise=2 * m**0.5 * local, rows=(5000, 5000), features=m),
    )
    assert (rows.count, round(rows.error, 6)) == (27, 0.072305)
    noiseless = best_features(
        GAPS, means=lambda m: ReleasedMeans.of_sums(sigma=1.0, noise=(0.0, 0.0), rows=(500, 500), features=m)
    )
    assert noiseless.count == 105


def test_the_classifier_reaches_the_errors_of_the_theory():
    rng = np.random.default_rng(8)
    gaps = np.array([1.2, 0.8, 0.4])
    covariance = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]])
    root = np.linalg.cholesky(covariance)

    def draw(n):
        y = rng.integers(0, 2, n)
        return rng.normal(size=(n, 3)) @ root.T + y[:, None] * gaps, y

    X, y = draw(60_000)
    test, truth = draw(60_000)
    noisy = X + rng.normal(scale=2.0, size=X.shape)
    full = 1 - FisherClassifier(FullCovarianceRule(), noise=2.0).fit(noisy, y).score(test, truth)
    assert full == pytest.approx(full_rule_error(gaps, covariance), abs=0.01)
    forgetful = 1 - FisherClassifier(FullCovarianceRule()).fit(noisy, y).score(test, truth)
    assert forgetful > full + 0.003  # the covariance of noised rows is not that of clean ones


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_selection_margin_bounds_the_failures(noise):
    rng = np.random.default_rng(10)
    gaps, others, n, runs = np.full(5, 0.55), 95, 100, 4000
    margin = selection_margin(gaps, others=others, deviation=1.0, rows=(n, n), noise=noise, level=0.05)
    distances = np.abs(np.append(gaps, np.zeros(others)) + rng.normal(size=(runs, 100)) * np.sqrt(2 / n))
    if noise:
        distances = distances + rng.laplace(scale=noise, size=distances.shape)
    failed = (distances[:, :5].min(axis=1) <= distances[:, 5:].max(axis=1)).mean()
    assert failed <= margin.failure + 4 * np.sqrt(margin.failure / runs) + 1e-9
    assert margin.failure < 12 * failed + 0.02  # the bound is not empty
    wide = selection_margin(gaps + 0.5, others=others, deviation=1.0, rows=(n, n), noise=noise)
    assert wide.consistent
    assert not selection_margin(gaps - 0.45, others=others, deviation=1.0, rows=(n, n), noise=noise).consistent


def test_moderate_deviations_of_the_t_statistic():
    """Lemma 2: P(|T - its center| >= x) is near 2 Q(x), also for data that are not Gaussian."""
    rng = np.random.default_rng(11)
    n, runs, x = 60, 40_000, 2.0
    skewed = rng.exponential(size=(runs, 2 * n)) - 1
    one, two = skewed[:, :n], skewed[:, n:] + 0.0
    T = (one.mean(1) - two.mean(1)) / np.sqrt(one.var(1, ddof=1) / n + two.var(1, ddof=1) / n)
    assert (np.abs(T) >= x).mean() == pytest.approx(2 * norm.sf(x), rel=0.15)
    tiny = rng.exponential(size=(runs, 6)) - 1  # three rows a class: the limit is far
    small = (tiny[:, :3].mean(1) - tiny[:, 3:].mean(1)) / np.sqrt(
        tiny[:, :3].var(1, ddof=1) / 3 + tiny[:, 3:].var(1, ddof=1) / 3
    )
    assert (np.abs(small) >= x).mean() > 1.5 * 2 * norm.sf(x)
    assert 2 * t.sf(x, df=4) > 1.5 * 2 * norm.sf(x)


def test_a_covariance_of_another_shape_is_refused():
    with pytest.raises(InvalidInput, match="covariance must be 2 x 2"):
        full_rule_error([1.0, 2.0], [[1.0]])


@pytest.mark.parametrize("noise", [0.0, 1.5])
@pytest.mark.parametrize("noisy_test", [False, True])
def test_error_of_the_independence_rule_by_simulation(noise, noisy_test):
    """The rule that knows the variances, over many training sets; a fresh row's error has the closed form."""
    rng = np.random.default_rng(7)
    gaps, n, p = np.array([1.0, 0.8, 0.5] + [0.0] * 9), 40, 12
    means = ReleasedMeans.of_rows(sigma=1.0, noise=noise, rows=(n, n), features=p, noisy_test=noisy_test)
    spread = np.sqrt(1 + noise**2)
    first = gaps + rng.normal(size=(20_000, p)) * spread / np.sqrt(n)
    second = rng.normal(size=(20_000, p)) * spread / np.sqrt(n)
    direction, middle = first - second, (first + second) / 2
    test_spread = np.sqrt(means.test_variance[0])
    # given the training set a fresh row of class 1 is on the wrong side with this chance
    distance = ((gaps - middle) * direction).sum(axis=1) / (test_spread * np.linalg.norm(direction, axis=1))
    simulated = norm.sf(distance).mean()
    predicted = independence_rule_error(gaps, means)
    assert simulated == pytest.approx(predicted, abs=0.012)
    without = independence_rule_error(gaps, ReleasedMeans.of_rows(sigma=1.0, noise=0.0, rows=(n, n), features=p))
    if noise:
        assert abs(simulated - without) > 0.02  # a theory that forgets the noise is caught


def test_wrong_shapes_are_refused():
    with pytest.raises(InvalidInput, match="gaps must be one finite number for each of 3 features"):
        independence_rule_error([1.0], ReleasedMeans.of_rows(sigma=1.0, noise=0.0, rows=(5, 5), features=3))
