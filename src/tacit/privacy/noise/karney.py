"""Karney's exact sampler of the discrete Gaussian, in integer arithmetic and for many draws at once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise.coin import ExpCoin
from tacit.privacy.noise.digits import uniform_digits

__all__ = ["propose_gaussian"]

_ROOT = ExpCoin(rate=Fraction(1, 2))


def propose_gaussian(count: int, *, scale: Fraction, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the accepted of ``count`` candidates for P(i) proportional to e^(-i^2 / 2 scale^2).

    Draw k >= 0 with P(k) proportional to e^(-k^2/2) and a sign; draw i uniformly in k scales <= i < k + 1 scales;
    accept with probability e^(-((i/scale)^2 - k^2) / 2). With scale = a/b, a and b at most 2^52, and k < 512
    every product stays below 2^62.

    References
    ----------
    Karney (2016), "Sampling exactly from the normal distribution", Algorithm D and Section 3.
    Proof: docs/proofs/discrete_gaussian.md.
    """
    a, b = scale.numerator, scale.denominator
    k = _draw_steps(count, rng)
    negative = uniform_digits(len(k), rng=rng) & 1 == 1
    i = -(-k * a // b) + rng.integers(0, -(-a // b), size=len(k))
    r = i * b - k * a  # i lies x = r/a scales beyond k scales
    kept = (r < a) & ~(negative & (i == 0))  # 0 must not be counted twice
    i, k, r, negative = i[kept], k[kept], r[kept], negative[kept]
    # e^(-x (2k + x) / 2) is the chance of k + 1 heads in a row
    accepted = _all_heads(k + 1, lambda rows: _flip_part(k[rows], r[rows], a, rng))
    signed: NDArray[np.int64] = np.where(negative, -i, i)
    return signed[accepted]


def _draw_steps(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The accepted of ``count`` candidates for k >= 0 with P(k) proportional to e^(-k^2/2)."""
    k = _ROOT.count_heads(count, rng=rng)
    return k[_all_heads(k * (k - 1), lambda rows: _ROOT.flip(len(rows), rng=rng))]


def _all_heads(times: NDArray[np.int64], flip: Callable[[NDArray[np.int64]], NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Whether ``times`` flips of each row's coin all show heads; ``flip`` flips once for each of the rows given."""
    result = np.ones(len(times), dtype=np.bool_)
    rows = np.flatnonzero(times > 0)
    done = 0
    while rows.size:
        heads = flip(rows)
        result[rows[~heads]] = False
        rows = rows[heads]
        done += 1
        rows = rows[times[rows] > done]
    return result


def _flip_part(k: NDArray[np.int64], r: NDArray[np.int64], a: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Heads with probability e^-y, y = x (2k + x) / (2k + 2) < 1, x = r/a, by the alternating series.

    Bernoulli(y/n) is the meeting of three independent events with chances x, (2k + x) / (2k + 2) and 1/n.
    """
    result = np.ones(len(k), dtype=np.bool_)
    rows = np.arange(len(k))
    n = 1
    while rows.size:
        passed = np.flatnonzero(rng.integers(0, a, size=len(rows)) < r[rows])
        if n > 1:
            passed = passed[rng.integers(0, n, size=len(passed)) == 0]
        steps, rest = k[rows[passed]], r[rows[passed]]
        passed = passed[rng.integers(0, (2 * steps + 2) * a) < 2 * steps * a + rest]
        stopped = np.ones(len(rows), dtype=np.bool_)
        stopped[passed] = False
        result[rows[stopped]] = n % 2 == 1
        rows = rows[passed]
        n += 1
    return result
