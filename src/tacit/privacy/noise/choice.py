"""Exact choice among K outcomes: integer weights out of 2^bits, so that ratios are exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise.coin import BiasedCoin
from tacit.privacy.noise.digits import BASE_BITS, uniform_digits, uniform_words
from tacit.privacy.noise.enclosure import exp_bounds, log_bounds
from tacit.privacy.rounding import check_count, check_epsilon, exact, round_up

__all__ = ["GAP", "MOST_EPSILON", "WeightedChoice", "keep_coin", "keep_or_switch", "max_log_ratio", "max_ratio"]

GAP = Fraction(1, 10**12)
"""How far below epsilon, relative to min(1, epsilon), the largest log ratio may be; it is never above epsilon."""

MOST_EPSILON = 4096
"""Beyond this a threshold would take kilobytes; nothing is hidden there anyway."""

_REDRAWN_BITS = 16  # a choice from fractions is redrawn less than once in 2^16
_CELLS = 1 << BASE_BITS


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedChoice:
    """Outcome i with probability exactly weights[i] / sum(weights).

    A uniform number of ``bits`` bits is compared with the running sums of the weights. Where the weights
    sum to less than 2^bits, a number beyond their sum is drawn again.

    Parameters
    ----------
    weights
        Integers >= 0, not all 0, that sum to at most 2^bits.
    bits
        A multiple of 64.

    Examples
    --------
    >>> WeightedChoice(weights=(2**62, 3 * 2**62)).probabilities
    (Fraction(1, 4), Fraction(3, 4))
    """

    weights: tuple[int, ...]
    bits: int = 64
    _sums: NDArray[np.bytes_] = field(init=False, repr=False, compare=False)
    _first: NDArray[np.int32] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(map(int, self.weights)))
        if self.bits < 64 or self.bits % 64:
            raise InvalidInput(f"must be a multiple of 64, got {self.bits!r}", field="bits")
        if any(weight < 0 for weight in self.weights) or not 0 < sum(self.weights) <= 1 << self.bits:
            raise InvalidInput(
                f"must be integers >= 0 with a sum in 1..2^{self.bits}, got {len(self.weights)} weights "
                f"with least {min(self.weights, default=None)} and sum {sum(self.weights)}",
                field="weights",
            )
        sums = list(accumulate(self.weights))
        object.__setattr__(self, "_sums", _as_bytes([s for s in sums if s < 1 << self.bits], self.bits))
        object.__setattr__(self, "_first", _decided_by_first_digit(sums, self.bits))

    @classmethod
    def from_fractions(cls, probabilities: Sequence[Fraction]) -> WeightedChoice:
        """Return the choice with exactly these probabilities, which must be rational and sum to 1."""
        shares = [Fraction(p) for p in probabilities]
        if any(p < 0 for p in shares) or sum(shares) != 1:
            raise InvalidInput(f"must be >= 0 and sum to exactly 1, got a sum of {sum(shares)}", field="probabilities")
        common = math.lcm(*(p.denominator for p in shares))
        dyadic = common & (common - 1) == 0
        bits = _words(common.bit_length() - 1 if dyadic else common.bit_length() + _REDRAWN_BITS)
        unit = (1 << bits) // common
        return cls(weights=tuple(int(p * common) * unit for p in shares), bits=bits)

    @property
    def probabilities(self) -> tuple[Fraction, ...]:
        """The exact probability of each outcome."""
        total = sum(self.weights)
        return tuple(Fraction(weight, total) for weight in self.weights)

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw ``size`` outcomes as indices into the weights."""
        digits = uniform_digits(size, rng=rng)
        drawn = self._first.take(digits)
        undecided = np.flatnonzero(drawn < 0)
        while undecided.size:
            drawn[undecided] = self._settle(digits[undecided], rng)
            undecided = undecided[drawn[undecided] == len(self.weights)]
            digits[undecided] = uniform_digits(undecided.size, rng=rng)  # beyond the sum of the weights: draw again
        return drawn.astype(np.int64)

    def _settle(self, first: NDArray[np.uint16], rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw the remaining digits and look the complete number up; len(weights) if it is beyond the sum."""
        rest = uniform_words(len(first) * (self.bits // 64), rng=rng).astype(">u8").view(">u2")
        number = rest.reshape(len(first), -1)
        number[:, 0] = first
        keys = np.ascontiguousarray(number).view(self._sums.dtype)[:, 0]
        # bytes compare from the left, as numbers of equal length do
        return np.searchsorted(self._sums, keys, side="right").astype(np.int32)


def keep_or_switch(epsilon: float, *, outcomes: int) -> WeightedChoice:
    """Return K-ary randomized response as a shift: 0 keeps, each of the other K - 1 has equal weight.

    ``(label + shift) % K`` is the randomized label: weight(0) / weight(i) <= e^epsilon exactly and, for K >= 2,
    its logarithm is above epsilon - 1e-12 min(1, epsilon). 64-bit weights suffice up to epsilon 16; wider weights are
    used above, and if many outcomes or a small epsilon require them.

    Parameters
    ----------
    epsilon
        In (0, 4096], read as the decimal it prints.
    outcomes
        K >= 1.

    References
    ----------
    Warner (1965); Kairouz, Oh and Viswanath (2016). Proof: docs/proofs/exact_choice.md.

    Examples
    --------
    >>> shift = keep_or_switch(1.0, outcomes=10)
    >>> [round(float(p), 6) for p in shift.probabilities[:2]]
    [0.231969, 0.085337]
    >>> labels = np.array([3, 3, 7])
    >>> ((labels + shift.draw(3, rng=np.random.default_rng(0))) % 10).shape
    (3,)
    """
    keep, other, bits = _keep_weights(epsilon, outcomes)
    return WeightedChoice(weights=(keep,) + (other,) * (outcomes - 1), bits=bits)


def keep_coin(epsilon: float, *, outcomes: int) -> BiasedCoin:
    """Return the coin that decides whether :func:`keep_or_switch` keeps; a switch draws uniformly among the others."""
    keep, _, bits = _keep_weights(epsilon, outcomes)
    return BiasedCoin(weight=keep, bits=bits)


def _keep_weights(epsilon: float, outcomes: int) -> tuple[int, int, int]:
    number = check_epsilon(epsilon)
    if number > MOST_EPSILON:
        raise InvalidInput(
            f"must be at most {MOST_EPSILON}, got {epsilon!r}; use epsilon none to release without a guarantee",
            field="epsilon",
        )
    return _search_weights(exact(number), check_count(outcomes, name="outcomes"))


@lru_cache(maxsize=4096)
def _search_weights(epsilon: Fraction, K: int) -> tuple[int, int, int]:
    """The weights of keeping and of each other outcome, and their bits."""
    bits = _words(4 * math.ceil(epsilon))
    if K == 1:
        return 1 << bits, 0, bits
    gap = GAP * min(Fraction(1), epsilon)
    while True:
        lower, upper = exp_bounds(epsilon, bits=2 * bits)
        other = math.ceil((1 << bits) / (lower + K - 1))
        keep = (1 << bits) - (K - 1) * other
        # the guarantee, its sharpness (e^-gap < 1 - gap + gap^2/2) and the order; wider weights where one fails
        if other <= keep <= lower * other and keep >= upper * (1 - gap + gap**2 / 2) * other:
            return keep, other, bits
        bits += 64


def max_ratio(first: WeightedChoice, second: WeightedChoice) -> Fraction | float:
    """Return the largest ratio of the probabilities of an outcome, either way, exactly; infinite if one is 0."""
    if len(first.weights) != len(second.weights):
        raise InvalidInput(
            f"both choices must have as many outcomes, got {len(first.weights)} and {len(second.weights)}"
        )
    pairs = {pair for pair in zip(first.weights, second.weights, strict=True) if any(pair)}
    if any(not all(pair) for pair in pairs):
        return math.inf
    scale = Fraction(sum(second.weights), sum(first.weights))
    ratios = [Fraction(a, b) * scale for a, b in pairs]
    return max(max(ratios), 1 / min(ratios))


def max_log_ratio(first: WeightedChoice, second: WeightedChoice) -> float:
    """Return the logarithm of :func:`max_ratio`, rounded up: the epsilon of two rows of a mechanism."""
    ratio = max_ratio(first, second)
    if isinstance(ratio, float) or ratio == 1:
        return ratio if isinstance(ratio, float) else 0.0
    return round_up(log_bounds(ratio, bits=4 * max(first.bits, second.bits))[1])


def _words(bits: int) -> int:
    """The least multiple of 64 that is at least ``bits`` and 64."""
    return 64 * max(1, -(-bits // 64))


def _as_bytes(numbers: list[int], bits: int) -> NDArray[np.bytes_]:
    size = bits // 8
    return np.array([number.to_bytes(size, "big") for number in numbers], dtype=f"S{size}")


def _decided_by_first_digit(sums: list[int], bits: int) -> NDArray[np.int32]:
    """For each first digit the outcome, if all numbers that begin with it have the same; else -1."""
    unit = 1 << (bits - BASE_BITS)
    table = np.full(_CELLS, -1, dtype=np.int32)
    start = 0
    for outcome, end in enumerate(sums):
        table[-(-start // unit) : end // unit] = outcome
        start = end
    return table
