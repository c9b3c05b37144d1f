"""Coins with an exact probability of heads: integer thresholds, and powers of e."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise.digits import BASE_BITS, Rows, below
from tacit.privacy.noise.enclosure import exp_bounds

__all__ = ["MOST_HEADS", "BiasedCoin", "ExpCoin", "exp_digit", "flip_each", "flip_exp"]

MOST_HEADS = 512
"""A longer run of heads would leave int64 in the samplers and raises: at rate 1/2 it has probability e^-256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasedCoin:
    """Heads with probability exactly weight / 2^bits.

    Parameters
    ----------
    weight
        An integer in 0..2^bits.
    bits
        A multiple of 64.
    """

    weight: int
    bits: int = 64

    def __post_init__(self) -> None:
        if self.bits < 64 or self.bits % 64:
            raise InvalidInput(f"must be a multiple of 64, got {self.bits!r}", field="bits")
        if not 0 <= self.weight <= 1 << self.bits:
            raise InvalidInput(f"must be in 0..2^{self.bits}, got {self.weight!r}", field="weight")

    @property
    def probability(self) -> Fraction:
        """The chance of heads."""
        return Fraction(self.weight, 1 << self.bits)

    def flip(self, size: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Flip ``size`` times."""
        if self.weight == 1 << self.bits:
            return np.ones(size, dtype=np.bool_)
        digits = _digits(self)
        return below(size, digit=lambda level, _: digits[level], levels=len(digits), rng=rng)


def flip_each(coins: Sequence[BiasedCoin], which: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Flip ``coins[which[i]]`` for every i."""
    levels = max((coin.bits for coin in coins), default=64) // BASE_BITS
    table = np.zeros((levels, len(coins)), dtype=np.uint16)
    for column, coin in enumerate(coins):
        digits = _digits(coin)
        table[: len(digits), column] = digits

    def digit(level: int, rows: Rows) -> NDArray[np.uint16]:
        digits: NDArray[np.uint16] = table[level].take(which[rows])
        return digits

    result = below(len(which), digit=digit, levels=levels, rng=rng)
    certain = np.array([coin.probability == 1 for coin in coins], dtype=np.bool_)
    return result | certain.take(which) if certain.any() else result


def _digits(coin: BiasedCoin) -> list[int]:
    """The weight in base 2^16, first digit first; all zero for the coin that always shows heads."""
    base = 1 << BASE_BITS
    return [coin.weight >> shift & base - 1 for shift in range(coin.bits - BASE_BITS, -1, -BASE_BITS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpCoin:
    """Heads with probability exactly e^-rate, an endless binary number that is computed as far as needed.

    Parameters
    ----------
    rate
        A rational > 0.
    """

    rate: Fraction

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise InvalidInput(f"must be > 0, got {self.rate!r}", field="rate")

    def flip(self, size: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Flip ``size`` times."""
        return below(size, digit=lambda level, _: exp_digit(self.rate, level), levels=None, rng=rng)

    def count_heads(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Count the heads before the first tails, ``size`` times: P(n) = (1 - e^-rate) e^(-n rate)."""
        heads = np.zeros(size, dtype=np.int64)
        rows = np.arange(size)
        while rows.size:
            rows = rows[self.flip(len(rows), rng=rng)]
            heads[rows] += 1
            if rows.size and heads[rows[0]] == MOST_HEADS:
                raise OverflowError(f"a coin of chance e^-{self.rate} showed heads {MOST_HEADS} times in a row")
        return heads


@lru_cache(maxsize=4096)
def exp_digit(rate: Fraction, level: int) -> int:
    """Return the digit of e^-rate, in base 2^16, with place value 2^(-16 (level + 1)).

    e^-rate is irrational, so some precision always determines the digit.
    """
    shift = BASE_BITS * (level + 1)
    bits = shift + 64
    while True:
        lo, hi = (bound * (1 << shift) for bound in exp_bounds(-rate, bits=bits))
        if lo // 1 == hi // 1:
            return int(lo // 1) % (1 << BASE_BITS)
        bits *= 2


def flip_exp(numerators: NDArray[np.int64], *, denominator: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Show heads with probability exactly e^(-a/b) for each numerator a in 0..b, b = denominator.

    Draw Bernoulli(a/b), Bernoulli(a/2b), Bernoulli(a/3b), ... until the first that fails, the n-th: heads if n is
    odd, which has probability 1 - a/b + (a/b)^2/2! - ... Bernoulli(a/nb) is the meeting of two independent
    events with chances a/b and 1/n, so that no product can overflow.

    References
    ----------
    Canonne, Kamath and Steinke (2020), Algorithm 1; von Neumann (1951).
    """
    result = np.ones(len(numerators), dtype=np.bool_)
    rows = np.arange(len(numerators))
    left = numerators
    n = 1
    while rows.size:
        passed = rng.integers(0, denominator, size=rows.size) < left
        if n > 1:
            passed &= rng.integers(0, n, size=rows.size) == 0
        result[rows[~passed]] = n % 2 == 1
        rows, left = rows[passed], left[passed]
        n += 1
    return result
