import pickle
from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.privacy import InvalidInput
from tacit.privacy.noise import WeightedChoice, keep_coin, keep_or_switch, max_log_ratio, max_ratio
from tacit.privacy.noise.enclosure import exp_bounds
from tacit.privacy.rounding import exact

EPSILONS = [1e-9, 0.001, 0.1, 0.3, 0.5, 1.0, 1.7, 2.0, 4.0, 8.0, 12.5, 15.999, 16.0, 16.001, 17.0, 33.3, 100.0]
OUTCOMES = [2, 3, 4, 10, 100, 1000]


def rows(choice, K):
    """The mechanism's K rows: label y gives output (y + shift) mod K."""
    weights = np.array(choice.weights, object)
    return [WeightedChoice(weights=tuple(np.roll(weights, y)), bits=choice.bits) for y in range(K)]


def bounds(epsilon):
    return exp_bounds(exact(epsilon), bits=900)


@pytest.mark.parametrize("K", OUTCOMES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_largest_log_ratio_is_epsilon_and_never_more(epsilon, K):
    choice = keep_or_switch(epsilon, outcomes=K)
    assert sum(choice.weights) == 2**choice.bits
    assert len(set(choice.weights[1:])) == 1
    ratio = Fraction(max(choice.weights), min(choice.weights))
    lower, _ = bounds(epsilon)
    assert ratio <= lower
    at_least, _ = exp_bounds(exact(epsilon) - Fraction(1, 10**12), bits=900)
    assert ratio >= at_least


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 5.0, 20.0])
def test_every_pair_of_rows_of_the_mechanism(epsilon, K):
    table = rows(keep_or_switch(epsilon, outcomes=K), K)
    ratios = {max_ratio(a, b) for a in table for b in table if a != b}
    assert len(ratios) == 1
    assert ratios.pop() <= bounds(epsilon)[0]
    (log_ratio,) = {max_log_ratio(a, b) for a in table for b in table if a != b}
    assert epsilon - 1e-12 <= log_ratio <= epsilon


def test_control_rounding_to_the_nearest_violates_the_guarantee():
    broken = 0
    for epsilon in EPSILONS[1:13]:
        for K in OUTCOMES:
            lower, upper = bounds(epsilon)
            other = round(2**64 / (lower + K - 1))
            broken += Fraction(2**64 - (K - 1) * other, other) > upper
    assert broken > 10


@given(st.floats(1e-6, 60, allow_nan=False), st.integers(2, 300))
@settings(deadline=None, max_examples=60)
def test_any_epsilon_and_any_number_of_outcomes(epsilon, K):
    choice = keep_or_switch(epsilon, outcomes=K)
    keep, other = choice.weights[:2]
    assert other <= keep <= bounds(epsilon)[0] * other
    next_row = WeightedChoice(weights=(other, keep) + (other,) * (K - 2), bits=choice.bits)
    assert max_log_ratio(choice, next_row) <= epsilon


def test_64_bits_up_to_16_and_wider_above():
    assert {keep_or_switch(e, outcomes=K).bits for e in (0.01, 1.0, 16.0) for K in (2, 10, 100)} == {64}
    assert [keep_or_switch(e, outcomes=10).bits for e in (16.001, 32.0, 33.0)] == [128, 128, 192]
    assert keep_or_switch(1e-25, outcomes=2).bits == 128


def test_published_probabilities():
    keep, other = keep_or_switch(1.0, outcomes=10).probabilities[:2]
    assert (round(float(keep), 6), round(float(other), 6)) == (0.231969, 0.085337)


def test_one_outcome_is_constant():
    only = keep_or_switch(1.0, outcomes=1)
    assert only.probabilities == (1,)
    assert only.draw(3, rng=np.random.default_rng(0)).tolist() == [0, 0, 0]
    assert max_log_ratio(only, only) == 0.0


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), 4097.0])
def test_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(InvalidInput, match="epsilon must be"):
        keep_or_switch(epsilon, outcomes=2)


@pytest.mark.parametrize("outcomes", [0, -1, 2.5])
def test_outcomes_out_of_range_are_refused(outcomes):
    with pytest.raises(InvalidInput, match="outcomes must be"):
        keep_or_switch(1.0, outcomes=outcomes)


def test_the_coin_is_the_choice():
    choice = keep_or_switch(2.0, outcomes=5)
    assert keep_coin(2.0, outcomes=5).probability == choice.probabilities[0]


class Script:
    """Gives the 16-bit digits of one number the way a choice asks for them, then the next number's."""

    def __init__(self, bits, *numbers):
        self.calls = []
        for number in numbers:
            digits = [number >> shift & 0xFFFF for shift in range(bits - 16, -1, -16)]
            words = [number >> shift & 2**64 - 1 for shift in range(bits - 64, -1, -64)]
            self.calls += [[digits[0]], words]

    def integers(self, low, high, *, size, dtype, endpoint):
        if size == 0:
            return np.zeros(0, dtype=np.uint64)
        words = self.calls.pop(0)
        assert len(words) == size
        return np.array(words, dtype=np.uint64)


@given(st.sampled_from([64, 128]), st.lists(st.integers(0, 2**62), min_size=1, max_size=6), st.data())
def test_a_number_falls_where_the_running_sums_say(bits, parts, data):
    total = sum(parts)
    if total == 0:
        return
    weights = [part * (2**bits // total) // 8 * 8 for part in parts]
    weights[-1] += 2**bits - sum(weights)
    sums = list(accumulate(weights))
    number = data.draw(
        st.one_of(
            st.integers(0, 2**bits - 1),
            st.tuples(st.sampled_from(sums), st.integers(-2, 2)).map(lambda t: (t[0] + t[1]) % 2**bits),
        )
    )
    drawn = WeightedChoice(weights=tuple(weights), bits=bits).draw(1, rng=Script(bits, number))
    assert drawn.tolist() == [bisect_right(sums, number)]


def test_a_number_beyond_the_sum_is_drawn_again():
    choice = WeightedChoice(weights=(5, 7), bits=64)
    assert choice.draw(1, rng=Script(64, 12, 2**64 - 1, 11)).tolist() == [1]
    assert choice.draw(1, rng=Script(64, 12, 4)).tolist() == [0]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any))
@settings(deadline=None)
def test_from_fractions_is_exact(parts):
    shares = tuple(Fraction(part, sum(parts)) for part in parts)
    choice = WeightedChoice.from_fractions(shares)
    assert choice.probabilities == shares
    assert sum(choice.weights) > 2**choice.bits * (1 - Fraction(1, 2**16))


def test_from_fractions_with_long_denominators():
    shares = (Fraction(1, 3**80), 1 - Fraction(1, 3**80))
    choice = WeightedChoice.from_fractions(shares)
    assert choice.probabilities == shares
    assert choice.bits == 192


def test_fractions_must_sum_to_one():
    with pytest.raises(InvalidInput, match="sum to exactly 1, got a sum of 5/6"):
        WeightedChoice.from_fractions([Fraction(1, 2), Fraction(1, 3)])


@pytest.mark.parametrize("weights", [(), (0, 0), (-1, 2), (2**64, 1)])
def test_impossible_weights_are_refused(weights):
    with pytest.raises(InvalidInput, match="weights must be"):
        WeightedChoice(weights=weights)


def test_max_ratio():
    a, b = WeightedChoice(weights=(1, 2, 0)), WeightedChoice(weights=(2, 1, 0))
    assert max_ratio(a, b) == max_ratio(b, a) == 2
    assert max_ratio(a, WeightedChoice(weights=(1, 1, 1))) == float("inf")
    assert max_ratio(a, WeightedChoice(weights=(10, 20, 0))) == 1
    assert max_log_ratio(a, b) == pytest.approx(np.log(2), abs=1e-15)
    assert exact(max_log_ratio(a, b)) > Fraction(69314718055994530941723212145817, 10**32)
    with pytest.raises(InvalidInput, match="as many outcomes, got 3 and 2"):
        max_ratio(a, WeightedChoice(weights=(1, 1)))


def test_the_same_seed_gives_the_same_draws():
    choice = keep_or_switch(1.0, outcomes=4)
    one, two = (choice.draw(1000, rng=np.random.default_rng(5)) for _ in range(2))
    assert (one == two).all()


def test_a_choice_survives_pickling():
    choice = pickle.loads(pickle.dumps(keep_or_switch(1.0, outcomes=4)))
    assert choice == keep_or_switch(1.0, outcomes=4)
    assert choice.draw(3, rng=np.random.default_rng(0)).shape == (3,)
