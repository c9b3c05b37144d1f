"""Epsilon from error rates: the sheet's numbers, coverage, power, and what a careless threshold does."""

import math

import mpmath
import numpy as np
import pytest

from tacit.leak import epsilon_from_rates
from tacit.leak.intervals import upper_limit
from tacit.privacy import InvalidInput

RUNS = 2000
LIMIT = 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


def randomized_response(epsilon, trials, rng):
    """Counts of 'guessed 1' over ``trials`` runs with secret 1 and ``trials`` with secret 0."""
    keep = 1 / (1 + math.exp(-epsilon))
    return rng.binomial(trials, keep, size=RUNS), rng.binomial(trials, 1 - keep, size=RUNS)


def test_pinned():
    assert epsilon_from_rates(90, 100, 10, 100) == pytest.approx(1.542152, abs=5e-7)
    assert epsilon_from_rates(90, 100, 10, 100, delta=1e-5) == pytest.approx(1.542140, abs=5e-7)
    assert epsilon_from_rates(500, 1000, 0, 1000) == pytest.approx(4.846162, abs=5e-7)


@pytest.mark.parametrize("trials", [10, 1000, 10**5, 10**7, 10**8])
@pytest.mark.parametrize("alpha", [0.4, 0.025, 1e-6, 1e-10, 1e-14])
def test_never_above_the_limits_in_40_digits(trials, alpha):
    """One of one member found, none or one of many non-members accused: limits that are roots of a short equation."""
    level = 1 - 2 * alpha
    with mpmath.workdps(40):
        error = (1 - mpmath.mpf(level)) / 2
        none = -mpmath.expm1(mpmath.log(error) / trials)

        def beyond(p):
            return trials * mpmath.log1p(-p) + mpmath.log1p(trials * p / (1 - p)) - mpmath.log(error)

        one = mpmath.findroot(beyond, (none, min(6 * none, mpmath.mpf("0.999999999"))), solver="anderson")
        for accused, alarm in enumerate((none, one)):
            exactly = max(mpmath.log(error / alarm), mpmath.log((1 - alarm) / (1 - error)), 0)
            bound = epsilon_from_rates(1, 1, accused, trials, level=level)
            assert exactly - (2e-12 + 2e-16 * trials) * (1 + exactly) <= bound <= exactly
            assert abs(upper_limit(accused, trials, alpha=float(error)) / alarm - 1) < 1e-14 + 1e-16 * trials


def test_both_directions_count():
    # many members missed by nobody: the proof is in the rejections
    assert epsilon_from_rates(1000, 1000, 500, 1000) == pytest.approx(epsilon_from_rates(500, 1000, 0, 1000), abs=1e-9)


@pytest.mark.parametrize("counts", [(90, 100, 10, 100), (999_999, 1_000_000, 3, 1_000_000), (30, 31, 1, 30)])
def test_never_above_the_exact_value(counts):
    tp, pos, fp, neg = counts
    with mpmath.workdps(40):
        alpha = (1 - mpmath.mpf(0.95)) / 2

        def quantile(a, b):
            low, high = mpmath.mpf(0), mpmath.mpf(1)
            for _ in range(110):
                middle = (low + high) / 2
                below = mpmath.betainc(a, b, 0, middle, regularized=True) < alpha
                low, high = (middle, high) if below else (low, middle)
            return low

        hit, clear = quantile(tp, pos - tp + 1), quantile(neg - fp, fp + 1)
        exact = max(mpmath.log(hit / (1 - clear)), mpmath.log(clear / (1 - hit)))
        assert 0 < exact - epsilon_from_rates(tp, pos, fp, neg) < 2e-9


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_coverage(epsilon):
    hits, alarms = randomized_response(epsilon, 200, np.random.default_rng(11))
    assert np.mean(epsilon_from_rates(hits, 200, alarms, 200) > epsilon) <= LIMIT


def test_coverage_with_delta():
    # reveals with probability delta, else randomized response: (epsilon, delta) and no better
    epsilon, delta, trials, rng = 0.5, 0.1, 300, np.random.default_rng(12)
    keep = delta + (1 - delta) / (1 + math.exp(-epsilon))
    hits, alarms = rng.binomial(trials, keep, size=RUNS), rng.binomial(trials, 1 - keep, size=RUNS)
    assert np.mean(epsilon_from_rates(hits, trials, alarms, trials, delta=delta) > epsilon) <= LIMIT
    assert np.mean(epsilon_from_rates(hits, trials, alarms, trials, delta=0.0) > epsilon) > 0.2  # delta matters


def test_power_an_under_noised_mechanism_is_caught():
    hits, alarms = randomized_response(2.0, 500, np.random.default_rng(13))
    assert np.mean(epsilon_from_rates(hits, 500, alarms, 500) > 1.0) > 0.99


def nested_tails(members, nonmembers, rng):
    """Counts at 40 thresholds, each with TPR/FPR = 2 exactly: a mechanism of epsilon log 2."""
    edges = np.geomspace(0.2, 0.2 / 2**8, 40)
    outside = np.append(-np.diff(np.append(edges, 0)), 0.8)
    inside = np.append(2 * outside[:-1], 0.6)
    counts = (rng.multinomial(n, p, size=RUNS) for n, p in ((members, inside), (nonmembers, outside)))
    return [np.cumsum(c[:, :-1][:, ::-1], axis=1) for c in counts]


def test_a_threshold_chosen_on_the_same_scores_breaks_coverage():
    found, accused = nested_tails(400, 400_000, np.random.default_rng(14))
    fixed = epsilon_from_rates(found[:, -1], 400, accused[:, -1], 400_000)
    chosen = epsilon_from_rates(found, 400, accused, 400_000).max(axis=1)
    corrected = epsilon_from_rates(found, 400, accused, 400_000, level=1 - 0.05 / 40).max(axis=1)
    assert np.mean(fixed > math.log(2)) <= LIMIT
    assert np.mean(corrected > math.log(2)) <= LIMIT
    assert np.mean(chosen > math.log(2)) > 2 * LIMIT


@pytest.mark.parametrize(
    ("counts", "options", "words"),
    [
        ((1, 0, 0, 10), {}, "positives must be >= 1, got 0"),
        ((1, 10, 0, 0), {}, "negatives must be >= 1, got 0"),
        ((11, 10, 0, 10), {}, "true_positives must be from 0 to positives, got 11 of 10"),
        (([1, 2], [10, 10, 10], 0, 10), {}, "must have one shape"),
        ((1, 10, 0, 10), {"delta": 1.0}, "delta must be in"),
        ((1, 10, 0, 10), {"level": 0}, "level must be in"),
    ],
)
def test_refuses(counts, options, words):
    with pytest.raises(InvalidInput, match=words):
        epsilon_from_rates(*counts, **options)
