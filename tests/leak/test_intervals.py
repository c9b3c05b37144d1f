"""Clopper-Pearson limits: the sheet's numbers, exact coverage by enumeration, and what is refused."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from tacit.leak import clopper_pearson, difference_interval
from tacit.leak.intervals import lower_limit, upper_limit
from tacit.privacy import InvalidInput


def test_pinned_limits():
    assert clopper_pearson(90, 100).low == pytest.approx(0.823777, abs=5e-7)
    assert clopper_pearson(10, 100).high == pytest.approx(0.176223, abs=5e-7)
    assert clopper_pearson(500, 1000).low == pytest.approx(0.468549, abs=5e-7)
    assert clopper_pearson(0, 1000).high == pytest.approx(0.003682, abs=5e-7)


@pytest.mark.parametrize(("k", "n"), [(0, 7), (3, 7), (7, 7), (1, 1_000_000), (400_000, 1_000_000)])
def test_agrees_with_scipy(k, n):
    theirs = binomtest(k, n).proportion_ci(confidence_level=0.9, method="exact")
    ours = clopper_pearson(k, n, level=0.9)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


@pytest.mark.parametrize("sides", ["both", "lower", "upper"])
@pytest.mark.parametrize("n", [1, 2, 10, 45])
def test_coverage_by_enumeration(n, sides):
    k = np.arange(n + 1)
    alpha = 0.05 if sides == "both" else 0.1
    low = np.zeros(n + 1) if sides == "upper" else lower_limit(k, n, alpha=alpha)
    high = np.ones(n + 1) if sides == "lower" else upper_limit(k, n, alpha=alpha)
    for rate in np.linspace(0.001, 0.999, 199):
        held = (low <= rate) & (rate <= high)
        assert binom.pmf(np.arange(n + 1), n, rate)[held].sum() >= 0.9 - 1e-9


def test_the_usual_approximation_does_not_cover():
    n = 45
    k = np.arange(n + 1)
    half_width = 1.6448536 * np.sqrt(k / n * (1 - k / n) / n)
    coverage = [
        binom.pmf(k, n, rate)[np.abs(k / n - rate) <= half_width].sum() for rate in np.linspace(0.001, 0.999, 199)
    ]
    assert min(coverage) < 0.5


def test_difference_covers_dependent_counts():
    # the same rows decide both rates: never both right, the worst dependence for a difference
    rng = np.random.default_rng(3)
    outcome = rng.multinomial(60, [0.3, 0.2, 0.5], size=2000)
    held = 0
    for won, lost, _ in outcome:
        interval = difference_interval((int(won), 60), (int(lost), 60), level=0.9)
        held += interval.low <= 0.1 <= interval.high
    assert held >= 0.9 * 2000


def test_the_ends_of_an_interval_are_one_sided_limits_of_half_its_error():
    interval = clopper_pearson(3, 9, level=0.9)
    assert interval.low == pytest.approx(float(lower_limit(3, 9, alpha=0.05)), abs=1e-15)
    assert interval.high == pytest.approx(float(upper_limit(3, 9, alpha=0.05)), abs=1e-15)


@pytest.mark.parametrize(
    ("k", "n", "level", "words"),
    [
        (1, 0, 0.95, "trials must be >= 1, got 0"),
        (-1, 5, 0.95, "successes must be from 0 to trials, got -1 of 5"),
        (6, 5, 0.95, "successes must be from 0 to trials, got 6 of 5"),
        (2.5, 5, 0.95, "successes must be integers, got 2.5"),
        (float("nan"), 5, 0.95, "successes must be integers, got nan"),
        (1, float("inf"), 0.95, "trials must be integers, got inf"),
        ("two", 5, 0.95, "successes must be integers, got 'two'"),
        (2, 5, 1.0, "level must be in"),
        (2, 5, 95, "level must be in"),
        (2, 5, None, "level must be in"),
    ],
)
def test_refuses(k, n, level, words):
    with pytest.raises(InvalidInput, match=words):
        clopper_pearson(k, n, level=level)


def test_limits_of_fractional_counts_lie_between_those_of_integers():
    counts = np.array([0.0, 0.2, 0.6, 1.0, 1.5, 48.5, 49.0, 49.3, 49.6, 50.0])
    for limit in (lower_limit, upper_limit):
        assert (np.diff(limit(counts, 50.0, alpha=0.01)) > 0).all()
