"""Leaks from scores: counts, coverage of each way to fix the threshold, ties, and what is refused."""

import math

import numpy as np
import pytest

from tacit.leak import (
    FixedThreshold,
    HeldOut,
    UnionBoundThresholds,
    epsilon_from_rates,
    epsilon_one_run,
    leak_from_one_run,
    leak_from_scores,
)
from tacit.privacy import Guarantee, InvalidInput, Unit

RUNS = 2000
LIMIT = 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


def pair_of_epsilon_log_2(members, nonmembers, rng):
    """Scores in [0, 1]; above 0.8 members are twice as likely, below 0.8 three quarters as likely."""
    inside = np.where(rng.random(members) < 0.4, rng.uniform(0.8, 1, members), rng.uniform(0, 0.8, members))
    return inside, rng.random(nonmembers)


def test_a_fixed_threshold_counts_at_or_above():
    leak = leak_from_scores([1.0, 2.0, 3.0], [0.0, 2.0], threshold=FixedThreshold(2.0))
    assert (leak.right, leak.trials, leak.baseline_right, leak.baseline_trials) == (2, 3, 1, 2)
    assert leak.advantage == pytest.approx(2 / 3 - 1 / 2)
    assert leak.epsilon_lower_bound == epsilon_from_rates(2, 3, 1, 2)


def test_the_sentence():
    rng = np.random.default_rng(0)
    members = np.concatenate([np.ones(90), np.zeros(10)])
    leak = leak_from_scores(rng.permutation(members), 1 - members, threshold=FixedThreshold(0.5), delta=1e-5)
    assert str(leak) == (
        "90.0% of 100 members score 0.5 or more, compared with 10.0% of 100 non-members: "
        "advantage 0.800 (0.624 to 0.912 at 95%), and epsilon is at least 1.542 at delta 1e-05 (95% confidence, "
        "error rates of independent runs).\n"
        "member: suspicion goes from 50% to 90% (81.2% to 95.6%) for a flagged row; the odds "
        "change 9-fold (4.33 to 21.8)."
    )


def test_correction_is_a_union_bound():
    rng = np.random.default_rng(1)
    members, nonmembers = rng.normal(1, 1, 300), rng.normal(0, 1, 300)
    thresholds = (0.0, 1.0, 2.0, 1.0)
    leak = leak_from_scores(members, nonmembers, threshold=UnionBoundThresholds(thresholds=thresholds))
    bounds = [
        epsilon_from_rates(int((members >= t).sum()), 300, int((nonmembers >= t).sum()), 300, level=1 - 0.05 / 3)
        for t in (0.0, 1.0, 2.0)
    ]
    assert leak.epsilon_lower_bound == pytest.approx(max(bounds), abs=1e-9)
    assert "corrected for 3 thresholds" in leak.method
    fixed = leak_from_scores(members, nonmembers, threshold=FixedThreshold(1.0))
    assert leak.interval.high - leak.interval.low > 0
    assert fixed.bound.level == leak.bound.level == leak.interval.level == 0.95


def test_held_out_scores_are_not_measured():
    leak = leak_from_scores(
        np.arange(100.0), np.arange(60.0), threshold=HeldOut(fraction=0.25, rng=np.random.default_rng(2))
    )
    assert (leak.trials, leak.baseline_trials) == (75, 45)


@pytest.mark.parametrize(
    "make", [lambda rng: HeldOut(rng=rng), lambda rng: UnionBoundThresholds(thresholds=np.linspace(0, 1, 21))]
)
def test_coverage_when_the_threshold_is_chosen(make):
    rng, above = np.random.default_rng(3), 0
    for _ in range(RUNS):
        leak = leak_from_scores(*pair_of_epsilon_log_2(100, 5000, rng), threshold=make(rng))
        above += leak.epsilon_lower_bound > math.log(2)
    assert above / RUNS <= LIMIT


def test_control_the_best_of_all_thresholds_breaks_coverage():
    rng, above = np.random.default_rng(4), 0
    for _ in range(RUNS):
        members, nonmembers = (np.sort(s) for s in pair_of_epsilon_log_2(100, 5000, rng))
        found, accused = np.arange(100, 0, -1), 5000 - np.searchsorted(nonmembers, members)
        above += epsilon_from_rates(found, 100, accused, 5000).max() > math.log(2)
    assert above / RUNS > LIMIT


@pytest.mark.parametrize(
    "make", [lambda rng: HeldOut(rng=rng), lambda rng: UnionBoundThresholds(thresholds=np.linspace(0, 1, 21))]
)
def test_power_an_under_noised_control_is_caught(make):
    rng = np.random.default_rng(5)
    members, nonmembers = pair_of_epsilon_log_2(20_000, 20_000, rng)
    leak = leak_from_scores(members, nonmembers, threshold=make(rng))
    assert leak.exceeds(Guarantee(unit=Unit.RECORD, epsilon=0.5))
    assert not leak.exceeds(Guarantee(unit=Unit.RECORD, epsilon=math.log(2)))


def test_one_run_counts_the_extremes():
    rng = np.random.default_rng(6)
    leak = leak_from_one_run(
        [9.0, 8.0, 1.0, 0.0], [7.0, 6.0, 3.0, 2.0], guess_members=3, guess_nonmembers=2, rng=rng, delta=1e-3
    )
    # top three 9, 8, 7: two members; bottom two 0, 1: no non-member
    assert (leak.right, leak.trials, leak.baseline) == (2, 5, 0.5)
    assert leak.epsilon_lower_bound == epsilon_one_run(2, 5, 8, delta=1e-3) == 0


def test_one_run_breaks_ties_at_random():
    rng = np.random.default_rng(7)
    right = [
        leak_from_one_run(np.zeros(500), np.zeros(500), guess_members=50, guess_nonmembers=50, rng=rng).right
        for _ in range(200)
    ]
    # 200 hypergeometric means of 50: a fixed order would give 100 or 0 every time
    assert abs(np.mean(right) - 50) < 5 * math.sqrt(25 / 200)


def test_one_run_coverage_and_power():
    rng, above, caught = np.random.default_rng(8), 0, 0
    for _ in range(RUNS):
        coins = rng.random(400) < 0.5
        outputs = np.where(rng.random(400) < 1 / (1 + math.exp(-1.0)), coins, ~coins) + 0.0
        leak = leak_from_one_run(outputs[coins], outputs[~coins], guess_members=80, guess_nonmembers=80, rng=rng)
        above += leak.epsilon_lower_bound > 1.0
        caught += leak.epsilon_lower_bound > 0.4
    assert above / RUNS <= LIMIT
    assert caught / RUNS > 0.9


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (lambda: FixedThreshold(float("nan")), "value must be a number, got NaN"),
        (lambda: HeldOut(fraction=1.0, rng=np.random.default_rng(0)), "fraction must be in"),
        (lambda: UnionBoundThresholds(thresholds=()), "thresholds must be one number or more"),
        (lambda: UnionBoundThresholds(thresholds=(0.1, float("nan"))), "without NaN"),
    ],
)
def test_refuses_a_threshold(threshold, words):
    with pytest.raises(InvalidInput, match=words):
        threshold()


def test_refuses_scores():
    fixed = FixedThreshold(0.5)
    with pytest.raises(InvalidInput, match="nonmembers must have at least one score"):
        leak_from_scores([1.0], [], threshold=fixed)
    with pytest.raises(InvalidInput, match="members must not contain NaN"):
        leak_from_scores([np.nan], [1.0], threshold=fixed)
    with pytest.raises(InvalidInput, match="members must be enough to split"):
        leak_from_scores([1.0], [1.0, 2.0], threshold=HeldOut(rng=np.random.default_rng(0)))


@pytest.mark.parametrize(("top", "bottom"), [(0, 0), (3, 2)])
def test_one_run_refuses_numbers_of_guesses(top, bottom):
    with pytest.raises(InvalidInput, match="guesses must be from 1 to the 4 rows"):
        leak_from_one_run(
            [1.0, 2.0],
            [1.0, 2.0],
            guess_members=top,
            guess_nonmembers=bottom,
            rng=np.random.default_rng(0),
        )
