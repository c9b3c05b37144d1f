"""A ratio of sums whose lower one is not far from zero, as that of a rare class among noisy released labels."""

import numpy as np
import pytest

from tacit.leak.performance import judge_classes
from tacit.leak.ranking import ranking_area
from tacit.leak.ratio import RatioEstimate

WIDTH = 1.959964


def drawn(rng, *, rows, mean, true=0.8):
    below = rng.normal(mean, 1, rows)
    above = true * below + rng.normal(0, 1, rows)
    return RatioEstimate(above=above.sum(), below=below.sum(), moves_above=above, moves_below=below)


def test_the_interval_covers_a_ratio_whose_lower_sum_is_small():
    """2.5 standard errors from zero; the control is an interval of half the width."""
    rng = np.random.default_rng(0)
    ratios = [drawn(rng, rows=200, mean=0.18) for _ in range(600)]
    covered, half = (
        np.mean([low <= 0.8 <= high for low, high in (ratio.interval(width) for ratio in ratios)])
        for width in (WIDTH, WIDTH / 2)
    )
    assert 0.92 < covered < 0.98
    assert half < 0.9


def test_any_ratio_is_possible_where_the_lower_sum_may_be_zero():
    assert drawn(np.random.default_rng(1), rows=100, mean=0.0).interval(WIDTH) == (-np.inf, np.inf)


def test_far_from_zero_the_interval_is_the_linearized_one():
    ratio = drawn(np.random.default_rng(2), rows=10_000, mean=5.0)
    margin = WIDTH * ratio.error
    assert ratio.interval(WIDTH) == pytest.approx((ratio.value - margin, ratio.value + margin), rel=1e-3)


def test_the_area_is_covered_for_a_rare_class_that_is_judged_only_where_its_count_is_large():
    """140 of 4,000 rows at epsilon 1: about half of the runs find 20 for sure. The control is linearized."""
    rng = np.random.default_rng(3)
    kept = 1 / (1 + np.exp(-1.0))
    truth = np.arange(4000) < 140
    chance = 1 / (1 + np.exp(4 - rng.normal(truth)))
    p = np.stack([1 - chance, chance], axis=1)
    true = ranking_area(chance, truth.astype(float)).value
    exact, linear = [], []
    for _ in range(200):
        rare = (np.where(rng.random(4000) < kept, truth, ~truth) - (1 - kept)) / (2 * kept - 1)
        found = judge_classes(p, np.stack([1 - rare, rare], axis=1), names=["no", "yes"], released=True).auc
        if found is not None:
            area = ranking_area(chance, rare)
            exact.append(found.low <= true <= found.high)
            linear.append(abs(np.clip(area.value, 0, 1) - true) <= WIDTH * area.error)
    assert 60 < len(exact) < 140
    assert np.mean(exact) > 0.9 > np.mean(linear)
