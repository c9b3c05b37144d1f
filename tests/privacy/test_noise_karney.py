from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from tacit.privacy.noise.karney import _all_heads, _draw_steps, _flip_part, propose_gaussian

LEVEL = 1e-6


def test_steps_follow_the_half_bell():
    k = _draw_steps(400_000, np.random.default_rng(0))
    weights = np.exp(-(np.arange(5) ** 2) / 2)
    observed = np.bincount(np.minimum(k, 4), minlength=5)
    assert chisquare(observed, weights / weights.sum() * len(k)).pvalue > LEVEL
    flatter = np.exp(-(np.arange(5) ** 2) / 2.1)
    assert chisquare(observed, flatter / flatter.sum() * len(k)).pvalue < LEVEL


@pytest.mark.parametrize(("k", "r", "a"), [(0, 3, 7), (1, 6, 7), (2, 1, 2), (5, 2**51, 2**52), (0, 0, 3)])
def test_a_part_has_its_chance(k, r, a):
    n = 200_000
    x = r / a
    heads = int(_flip_part(np.full(n, k), np.full(n, r), a, np.random.default_rng(1)).sum())
    chance = np.exp(-x * (2 * k + x) / (2 * k + 2))
    assert binomtest(heads, n, chance).pvalue > LEVEL
    assert binomtest(heads, n, chance * 0.97).pvalue < LEVEL


def test_all_heads_flips_each_row_as_often_as_it_says():
    times = np.array([0, 1, 3, 2])
    flips = np.zeros(4, dtype=int)

    def flip(rows):
        np.add.at(flips, rows, 1)
        return np.ones(len(rows), dtype=bool)

    assert _all_heads(times, flip).all()
    assert flips.tolist() == times.tolist()


def test_one_tails_is_enough():
    rounds = iter([np.array([True, True, False]), np.array([False, True])])
    assert _all_heads(np.array([2, 2, 2]), lambda rows: next(rounds)).tolist() == [False, True, False]


@pytest.mark.parametrize("scale", [Fraction(1, 50), Fraction(1), Fraction(9, 7), Fraction(2**52)])
def test_enough_candidates_are_accepted(scale):
    assert len(propose_gaussian(10_000, scale=scale, rng=np.random.default_rng(2))) > 1500
