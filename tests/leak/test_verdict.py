"""Which end of the interval decides, in which direction it errs, and what a small measurement says."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from tacit.leak import (
    FixedThreshold,
    UnionBoundThresholds,
    assert_leak_below,
    leak_from_guesses,
    leak_from_one_run,
    leak_from_scores,
)
from tacit.privacy import Guarantee, InvalidInput, NoGuarantee, Unit


def leak_of(right, trials, *, baseline=0.5, **options):
    """The leak of an attack with so many right guesses."""
    truth = np.ones(trials, dtype=int)
    guesses = (np.arange(trials) < right).astype(int)
    return leak_from_guesses(guesses, truth, baseline=baseline, **options)


def passes(leak, **limits):
    try:
        assert_leak_below(leak, **limits)
    except AssertionError:
        return False
    return True


def chance_to_pass(trials, rate, rule):
    """Exact, over all counts that an attack with this true rate may have."""
    counts = np.arange(trials + 1)
    return sum(p for k, p in zip(counts, binom.pmf(counts, trials, rate), strict=True) if rule(leak_of(int(k), trials)))


TRIALS = 200  # few enough to enumerate


@pytest.mark.parametrize("advantage", [0.05, 0.2, 0.4])
def test_a_leak_at_the_threshold_passes_with_at_most_half_the_error(advantage):
    at_threshold = chance_to_pass(TRIALS, 0.5 + advantage, lambda leak: passes(leak, advantage=advantage))
    assert at_threshold <= 0.025


def test_deciding_by_the_measured_value_or_by_the_lower_end_would_let_such_a_leak_pass():
    by_value = chance_to_pass(TRIALS, 0.7, lambda leak: leak.advantage < 0.2)
    by_lower_end = chance_to_pass(TRIALS, 0.7, lambda leak: leak.advantage_interval.low < 0.2)
    assert by_value > 0.4
    assert by_lower_end > 0.95


def test_a_release_without_a_leak_passes_once_the_measurement_is_large_enough():
    assert chance_to_pass(TRIALS, 0.5, lambda leak: passes(leak, advantage=0.2)) > 0.99
    assert chance_to_pass(TRIALS, 0.5, lambda leak: passes(leak, advantage=0.05)) < 0.3, "too small to decide"


def right_rate(epsilon):
    """Of the best guess of a fair coin from its randomized response: a mechanism that spends its epsilon whole."""
    return math.exp(epsilon) / (1 + math.exp(epsilon))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_guarantee_that_holds_fails_with_at_most_the_error(epsilon):
    kept = Guarantee(unit=Unit.LABEL, epsilon=epsilon)
    assert chance_to_pass(TRIALS, right_rate(epsilon), lambda leak: passes(leak, guarantee=kept)) >= 0.95
    assert chance_to_pass(TRIALS, right_rate(epsilon), lambda leak: passes(leak, epsilon=epsilon)) >= 0.95


def test_a_broken_guarantee_is_found_out_by_enough_trials():
    """And may pass with few: the attack must show it."""
    broken = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    assert chance_to_pass(TRIALS, right_rate(2.0), lambda leak: passes(leak, guarantee=broken)) < 0.01
    assert chance_to_pass(20, right_rate(2.0), lambda leak: passes(leak, guarantee=broken)) > 0.2


def said(leak, **limits):
    with pytest.raises(AssertionError) as failure:
        assert_leak_below(leak, **limits)
    return str(failure.value)


def test_what_a_leak_above_the_threshold_says():
    assert said(leak_of(90, 100), advantage=0.05) == (
        "advantage must be below 0.05, measured 0.4000 with an interval from 0.3238 to 0.4510 at 95% "
        "(Clopper-Pearson, 100 trials): the release leaks more; protect it more, or accept a larger advantage."
    )


def test_a_measurement_too_small_to_decide_fails_and_says_how_many_trials_would():
    assert said(leak_of(100, 200), advantage=0.05).endswith("too few trials to decide; measure about 410.")
    assert passes(leak_of(205, 410), advantage=0.05)
    assert not passes(leak_of(175, 350), advantage=0.05)


def test_a_measurement_too_small_to_decide_with_a_value_above_names_no_number():
    assert "and the measured value is above; measure more, or protect" in said(leak_of(60, 100), advantage=0.05)


def test_what_a_refuted_guarantee_says():
    message = said(leak_of(90, 100), guarantee=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    assert message == (
        "the leak must not exceed epsilon 1 for one label, and epsilon is at least 1.630 (95% confidence, right "
        "guesses of one run), measured by advantage 0.4000 (0.324 to 0.451) in 100 trials: the mechanism, its "
        "guarantee or the attack's two worlds are wrong; look there before you release."
    )
    assert said(leak_of(90, 100), epsilon=1.0).startswith("epsilon must be at most 1, and epsilon is at least 1.630")


def test_a_test_that_could_never_fail_fails():
    """With ten guesses, all right, no more than 1.06 is proved: they cannot test epsilon 2."""
    least = 0.05 ** (1 / 10)  # ten right guesses have a chance of 5% at this rate
    assert leak_of(10, 10).epsilon_lower_bound == pytest.approx(math.log(least / (1 - least)))
    assert said(leak_of(5, 10), epsilon=2.0) == (
        "epsilon 2 cannot be tested with 10 trials: epsilon is at least 0.000 (95% confidence, right guesses of one "
        "run), and with no wrong guess it would be 1.052; measure more trials."
    )
    assert passes(leak_of(5, 10), epsilon=1.0), "control: ten right guesses would have refuted this"


def test_the_same_for_scores_of_members():
    rng = np.random.default_rng(0)
    few, many = (
        leak_from_scores(rng.normal(0, 1, n), rng.normal(0, 1, n), threshold=FixedThreshold(0.0)) for n in (20, 2000)
    )
    assert "cannot be tested with 20 trials" in said(few, epsilon=3.0)
    assert passes(many, epsilon=3.0)


def test_the_same_for_the_best_of_many_thresholds():
    many = UnionBoundThresholds(thresholds=tuple(np.linspace(0, 1, 1001)))
    assert_leak_below(leak_from_scores(np.ones(40), np.ones(40), threshold=FixedThreshold(0.5)), epsilon=2.0)
    assert "cannot be tested with 40 trials" in said(
        leak_from_scores(np.ones(40), np.ones(40), threshold=many), epsilon=2.0
    )


def test_the_same_for_one_run_at_a_delta():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1, 1000)
    few, many = (
        leak_from_one_run(scores[:500], scores[500:], guess_members=n, guess_nonmembers=n, rng=rng, delta=1e-5)
        for n in (5, 200)
    )
    guarantee = Guarantee(unit=Unit.RECORD, epsilon=3.0, delta=1e-5)
    assert "cannot be tested with 10 trials" in said(few, guarantee=guarantee)
    assert passes(many, guarantee=guarantee)


def test_rows_that_were_left_out_count_at_a_delta():
    """Ten right guesses of 20,000 rows prove nothing at a delta of 1e-3: it may have given these ten away."""
    rng = np.random.default_rng(0)
    members, others = rng.normal(10, 1, 10_000), rng.normal(0, 1, 10_000)
    ten = leak_from_one_run(members, others, guess_members=5, guess_nonmembers=5, rng=rng, delta=1e-3)
    assert (ten.right, ten.trials, ten.epsilon_lower_bound) == (10, 10, 0.0)
    guarantee = Guarantee(unit=Unit.RECORD, epsilon=0.3, delta=1e-3)
    assert "cannot be tested with 10 trials" in said(ten, guarantee=guarantee)
    few = leak_from_one_run(members[:5], others[:5], guess_members=5, guess_nonmembers=5, rng=rng, delta=1e-3)
    assert "must not exceed" in said(few, guarantee=guarantee), "control: of ten rows they refute it"


def test_a_bound_from_other_trials_than_the_leaks_is_not_called_too_small():
    """As in an audit, where many canaries prove the epsilon and few rows are guessed."""
    sure = leak_of(500, 1000, level=0.9999)
    assert passes(replace(leak_of(5, 10), bound=sure.bound), epsilon=3.0)


def test_several_limits_are_all_checked():
    leak = leak_of(90, 100)
    assert len(said(leak, advantage=0.05, epsilon=1.0).splitlines()) == 2
    assert len(said(leak, advantage=0.5, epsilon=1.0).splitlines()) == 1
    assert passes(leak, advantage=0.5, epsilon=2.0)


@pytest.mark.parametrize(
    ("limits", "rule"),
    [
        ({}, "one of odds, advantage, epsilon and guarantee must be given"),
        ({"odds": 1.0}, "odds must be a finite number above 1"),
        ({"odds": 10}, "has no change of odds"),
        ({"advantage": 0.0}, "advantage must be in"),
        ({"advantage": math.nan}, "advantage must be in"),
        ({"advantage": 5}, "advantage must be in"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"guarantee": NoGuarantee(reason="exact")}, "guarantee must be a Guarantee, got no guarantee: exact"),
        ({"guarantee": Guarantee(unit=Unit.LABEL, epsilon=1.0, delta=1e-5)}, "measure it again with delta=1e-05"),
    ],
)
def test_wrong_input(limits, rule):
    with pytest.raises(InvalidInput, match=rule):
        assert_leak_below(leak_of(50, 100), **limits)


def test_a_bare_number_is_no_leak():
    with pytest.raises(InvalidInput, match="leak must be a Leak, as every attack returns, got float"):
        assert_leak_below(0.3, advantage=0.05)


def test_a_leak_that_proves_no_epsilon_is_held_against_an_advantage_only():
    truth = np.arange(400) % 2
    leak = leak_from_guesses(np.zeros(400), truth, baseline=np.zeros(400))
    assert passes(leak, advantage=0.05)
    with pytest.raises(InvalidInput, match="can only be compared with an advantage"):
        assert_leak_below(leak, epsilon=1.0)


@pytest.mark.parametrize(
    ("members", "verdict"), [(0.2, None), (0.95, "above the limit"), (0.0, "too few rows to tell")]
)
def test_odds_have_three_outcomes(members, verdict):
    rows = 20 if verdict == "too few rows to tell" else 2000
    inside = np.arange(rows) < rows * members
    outside = np.arange(rows) < rows * 0.05 * (members > 0)
    leak = leak_from_scores(inside.astype(float), outside.astype(float), threshold=FixedThreshold(1.0))
    if verdict is None:
        assert_leak_below(leak, odds=10)
        return
    with pytest.raises(AssertionError, match=f"must change by less than a factor of 10, {verdict}: member: suspicion"):
        assert_leak_below(leak, odds=10)
