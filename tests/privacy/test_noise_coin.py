from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from tacit.privacy import InvalidInput
from tacit.privacy.noise import BiasedCoin, ExpCoin, flip_each
from tacit.privacy.noise.coin import MOST_HEADS, exp_digit, flip_exp

LEVEL = 1e-6


class Script:
    """Gives the digits of one number, one at a time."""

    def __init__(self, number, bits):
        self.digits = [number >> shift & 0xFFFF for shift in range(bits - 16, -1, -16)]

    def integers(self, low, high, *, size, dtype, endpoint):
        return np.array([self.digits.pop(0) for _ in range(size)], dtype=np.uint64)


@given(st.sampled_from([64, 128]), st.data())
def test_heads_exactly_when_the_number_is_below_the_weight(bits, data):
    weight = data.draw(st.integers(0, 2**bits - 1))
    number = data.draw(st.one_of(st.integers(0, 2**bits - 1), st.integers(-3, 3).map(lambda d: (weight + d) % 2**bits)))
    assert BiasedCoin(weight=weight, bits=bits).flip(1, rng=Script(number, bits)).tolist() == [number < weight]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4), st.data())
def test_flip_each_looks_the_row_up(weights, data):
    which = data.draw(st.integers(0, len(weights) - 1))
    number = data.draw(st.integers(-2, 2).map(lambda d: (weights[which] + d) % 2**64))
    coins = [BiasedCoin(weight=weight) for weight in weights]
    assert flip_each(coins, np.array([which]), rng=Script(number, 64)).tolist() == [number < weights[which]]


def test_flip_each_mixes_widths_and_certainty():
    coins = [
        BiasedCoin(weight=0),
        BiasedCoin(weight=2**64),
        BiasedCoin(weight=2**128, bits=128),
        BiasedCoin(weight=2**127, bits=128),
    ]
    which = np.repeat(np.arange(4), 1000)
    heads = flip_each(coins, which, rng=np.random.default_rng(0)).reshape(4, 1000).sum(axis=1)
    assert heads[:3].tolist() == [0, 1000, 1000]
    assert 400 < heads[3] < 600


@pytest.mark.parametrize("weight", [2**63, 3 * 2**62, 2**64 // 10])
def test_frequency(weight):
    n = 1_000_000
    heads = int(BiasedCoin(weight=weight).flip(n, rng=np.random.default_rng(1)).sum())
    p = weight / 2**64
    assert binomtest(heads, n, p).pvalue > LEVEL
    assert binomtest(heads, n, p * 1.03).pvalue < LEVEL


@pytest.mark.parametrize(("weight", "bits"), [(-1, 64), (2**64 + 1, 64), (1, 60), (1, 0)])
def test_impossible_coins_are_refused(weight, bits):
    with pytest.raises(InvalidInput):
        BiasedCoin(weight=weight, bits=bits)


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 2), Fraction(7, 3), Fraction(40)])
def test_digits_of_a_power_of_e(rate):
    digits = [exp_digit(rate, level) for level in range(20)]
    value = sum(Fraction(d, 2 ** (16 * (level + 1))) for level, d in enumerate(digits))
    with mpmath.workprec(600):
        true = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        gap = true - mpmath.mpf(value.numerator) / value.denominator
        assert 0 < gap < mpmath.mpf(2) ** -320


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 2), Fraction(1, 100)])
def test_frequency_of_a_power_of_e(rate):
    n = 1_000_000
    heads = int(ExpCoin(rate=rate).flip(n, rng=np.random.default_rng(2)).sum())
    assert binomtest(heads, n, float(np.exp(-float(rate)))).pvalue > LEVEL
    assert binomtest(heads, n, float(np.exp(-float(rate) * 1.2))).pvalue < LEVEL


def test_runs_of_heads_are_geometric():
    runs = ExpCoin(rate=Fraction(1, 2)).count_heads(500_000, rng=np.random.default_rng(3))
    for least in (1, 3, 8):
        assert binomtest(int((runs >= least).sum()), len(runs), float(np.exp(-least / 2))).pvalue > LEVEL
        assert binomtest(int((runs >= least).sum()), len(runs), float(np.exp(-least / 1.8))).pvalue < LEVEL


def test_an_endless_run_raises():
    class Zeros:
        def integers(self, low, high, *, size, dtype, endpoint):
            return np.zeros(size, dtype=np.uint64)

    with pytest.raises(OverflowError, match=str(MOST_HEADS)):
        ExpCoin(rate=Fraction(1)).count_heads(1, rng=Zeros())


def test_rate_must_be_positive():
    with pytest.raises(InvalidInput, match="rate must be > 0"):
        ExpCoin(rate=Fraction(0))


@pytest.mark.parametrize(("a", "b"), [(0, 5), (1, 3), (5, 5), (2**51, 2**52), (123, 1000)])
def test_flip_exp(a, b):
    n = 400_000
    heads = int(flip_exp(np.full(n, a), denominator=b, rng=np.random.default_rng(4)).sum())
    assert binomtest(heads, n, float(np.exp(-a / b))).pvalue > LEVEL
    assert binomtest(heads, n, float(np.exp(-a / b - 0.02))).pvalue < LEVEL


@given(st.integers(1, 2**52), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_flip_exp_of_many_numerators_at_once(b, seed):
    rng = np.random.default_rng(seed)
    numerators = rng.integers(0, b, size=2000, endpoint=True)
    heads = flip_exp(numerators, denominator=b, rng=rng).sum()
    mean = np.exp(-numerators / b)
    assert abs(heads - mean.sum()) < 6 * np.sqrt((mean * (1 - mean)).sum() + 1)
