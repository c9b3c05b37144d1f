"""Leaks from label guesses: abstentions, known and paired baselines, coverage, and what is refused."""

import math

import numpy as np
import pytest

from papers.label_bags.theory import randomized_response_channel
from tacit.leak import ABSTAIN, epsilon_one_run, leak_from_guesses
from tacit.privacy import InvalidInput

RUNS = 2000
LIMIT = 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


def test_known_baseline_and_abstentions():
    leak = leak_from_guesses([0, 1, 2, ABSTAIN], [0, 1, 1, 1], baseline=0.4)
    assert (leak.right, leak.trials) == (2, 3)
    assert leak.advantage == pytest.approx(2 / 3 - 0.4)
    assert leak.advantage_interval.low == pytest.approx(leak.interval.low - 0.4)
    assert leak.baseline_trials is None


def test_the_bound_is_the_one_run_bound():
    truth = np.arange(1000) % 4
    guesses = np.where(np.arange(1000) < 700, truth, (truth + 1) % 4)
    guesses[800:] = ABSTAIN
    leak = leak_from_guesses(guesses, truth, baseline=0.25, delta=1e-6, level=0.9)
    assert leak.epsilon_lower_bound == epsilon_one_run(700, 800, 1000, delta=1e-6, level=0.9, prior=0.25)
    assert (leak.bound.delta, leak.bound.level) == (1e-6, 0.9)


def test_paired_baseline():
    truth = np.zeros(100, dtype=int)
    guesses = np.where(np.arange(100) < 80, 0, 1)
    rival = np.where(np.arange(100) < 60, 0, 1)
    leak = leak_from_guesses(guesses, truth, baseline=rival)
    assert (leak.baseline_right, leak.baseline_trials) == (60, 100)
    assert leak.advantage == pytest.approx(0.2)
    assert 0.05 < leak.advantage_interval.low < 0.2 < leak.advantage_interval.high
    assert leak.bound is None
    assert leak.epsilon_lower_bound == 0
    # the same rates unpaired: 20 rows won and none lost is stronger evidence than 80 against 60
    assert leak.advantage_interval.low > leak.interval.low - 0.6 - 0.11


def test_paired_interval_covers():
    # the true advantage is 0.2: 0.35 of rows only the attack gets right, 0.15 only the rival
    rng, held, short = np.random.default_rng(1), 0, 0
    for _ in range(RUNS):
        case = rng.choice(4, p=[0.3, 0.35, 0.15, 0.2], size=80)
        guesses, rival = np.isin(case, (0, 1)), np.isin(case, (0, 2))
        interval = leak_from_guesses(guesses, np.ones(80, dtype=int), baseline=rival).advantage_interval
        held += interval.low <= 0.2 <= interval.high
        short += interval.low <= 0.5 <= interval.high
    assert held / RUNS >= 0.95
    assert short / RUNS < 0.5  # and it is not so wide that it says nothing


@pytest.mark.parametrize(("classes", "epsilon"), [(2, 1.0), (10, 2.0)])
def test_coverage_of_k_ary_randomized_response(classes, epsilon):
    rng, rows = np.random.default_rng(2), 300
    keep = randomized_response_channel(epsilon=epsilon, classes=classes)[0, 0]
    right = rng.binomial(rows, keep, size=RUNS)
    truth = np.zeros(rows, dtype=int)
    bounds = {
        k: leak_from_guesses(np.arange(rows) >= k, truth, baseline=1 / classes).epsilon_lower_bound
        for k in np.unique(right).tolist()
    }
    assert np.mean([bounds[k] > epsilon for k in right.tolist()]) <= LIMIT
    assert np.mean([bounds[k] > epsilon / 2 for k in right.tolist()]) > 0.95  # half the guarantee would be caught


@pytest.mark.parametrize(
    ("guesses", "truth", "baseline", "words"),
    [
        ([], [], 0.5, "truth must be one class per row"),
        ([0], [0, 1], 0.5, "guesses must have one entry for each of the 2 labels, got 1"),
        ([0, 1], [0, 1], [0], "baseline must have one entry for each of the 2 labels, got 1"),
        ([0, -2], [0, 1], 0.5, "guesses must be classes 0, 1, 2, ... or -1 to abstain"),
        ([0, 1], [0, -1], 0.5, "truth must be classes 0, 1, 2, ..."),
        ([0, np.nan], [0, 1], 0.5, "guesses must not contain NaN or infinity, got 1 among 2 rows"),
        ([0, np.inf], [0, 1], 0.5, "guesses must not contain NaN or infinity, got 1 among 2 rows"),
        (["a", "b"], [0, 1], 0.5, "guesses must be classes"),
        ([0.5, 1], [0, 1], 0.5, "guesses must be classes"),
        ([-1, -1], [0, 1], 0.5, "guesses must have at least one guess"),
        ([0, 1], [0, 1], [0, -1], "baseline must guess every row"),
        ([0, 1], [0, 1], 1.0, "baseline must be a rate in"),
        ([0, 1], [0, 1], "half", "baseline must be a rate in"),
    ],
)
def test_refuses(guesses, truth, baseline, words):
    with pytest.raises(InvalidInput, match=words):
        leak_from_guesses(guesses, truth, baseline=baseline)
