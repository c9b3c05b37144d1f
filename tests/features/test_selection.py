"""Selection under noise: enumerated, bounded by brute force, and a control with too little noise."""

from itertools import combinations, product
from math import log

import numpy as np
import pytest

from papers.private_fisher.scores import by_distance
from papers.private_fisher.selection_attack import selection_leak, tied_neighbors
from tacit.features.mechanisms.box import FeatureRanges
from tacit.features.mechanisms.moments import ClassMoments
from tacit.features.mechanisms.scores import MeanDistance, TStatistic
from tacit.features.mechanisms.selection import PrivateSelection, choose_once, selection_scale
from tacit.privacy.noise import DiscreteLaplace


def _one_shot_law(scores, keep, scale):
    """P(set) for every set, by summing over noises; ties go to the earlier feature."""
    reach = int(30 * scale)
    k = np.arange(-reach, reach + 1)
    mass = DiscreteLaplace(scale=scale).pmf(k)
    below = np.concatenate([[0.0], np.cumsum(mass)])  # P(noise < k[0] + i)
    law = {}
    for chosen in combinations(range(len(scores)), keep):
        others = [j for j in range(len(scores)) if j not in chosen]
        total = 0.0
        for worst in chosen:  # the chosen one that ranks last, at noised value v
            values = scores[worst] + k
            chance = mass.copy()
            for j in chosen:
                if j != worst:  # above v, or equal and earlier in the list
                    first = values - scores[j] + (0 if j < worst else 1)
                    chance *= 1 - below[np.clip(first + reach, 0, len(k))]
            for j in others:  # below v, or equal and later in the list
                first = values - scores[j] + (1 if j > worst else 0)
                chance *= below[np.clip(first + reach, 0, len(k))]
            total += chance.sum()
        law[chosen] = total
    return law


def _largest_ratio(scores, moves, law):
    """The largest log ratio over neighbors that move each score by -1, 0 or 1."""
    here = law(scores)
    assert sum(here.values()) == pytest.approx(1, abs=1e-9)
    return max(abs(log(here[s] / there[s])) for move in moves for there in [law(scores + np.array(move))] for s in here)


@pytest.mark.parametrize("scores", [(0, 0, 0), (3, 0, -2), (6, 5, 0)])
def test_one_shot_is_private_on_sets(scores):
    epsilon = 1.0
    scale = selection_scale(features=3, keep=2, sensitivity=1, epsilon=epsilon)
    moves = list(product((-1, 0, 1), repeat=3))
    worst = _largest_ratio(np.array(scores), moves, lambda s: _one_shot_law(s, 2, scale))
    assert worst <= epsilon + 1e-9


def test_one_shot_nearly_spends_its_epsilon_and_half_the_scale_overspends():
    scores, moves = np.array([0, 0, -8]), [(-1, -1, 1), (1, 1, -1)]
    full = _largest_ratio(
        scores, moves, lambda s: _one_shot_law(s, 1, selection_scale(features=3, keep=1, sensitivity=1, epsilon=1.0))
    )
    half = _largest_ratio(
        scores, moves, lambda s: _one_shot_law(s, 1, selection_scale(features=3, keep=1, sensitivity=1, epsilon=2.0))
    )
    assert 0.8 < full <= 1.0 + 1e-9
    assert half > 1.5


@pytest.mark.parametrize(("scale", "pinned"), [(4, 0.9568), (2, 1.9542)])
def test_two_of_four_with_a_pair_far_below(scale, pinned):
    """Formula sheet j3, for continuous noise: a scale of 2m/epsilon keeps epsilon 1, half of it does not."""
    moves = [(-1, -1, 1, 1), (1, 1, -1, -1)]
    worst = _largest_ratio(np.array([0, 0, -40, -40]), moves, lambda s: _one_shot_law(s, 2, scale))
    assert worst == pytest.approx(pinned, abs=1e-3)


def test_two_of_three_need_noise_for_the_one_left_out_alone():
    """2 min(m, d - m): shifting the one that was left out is enough, and no smaller scale would be."""
    scale = selection_scale(features=3, keep=2, sensitivity=1, epsilon=1.0)
    assert scale == 2
    worst = _largest_ratio(np.array([0, -20, -20]), [(-1, 1, 1), (-1, -1, 1)], lambda s: _one_shot_law(s, 2, scale))
    assert 0.9999 < worst <= 1.0 + 1e-9


@pytest.mark.parametrize("score", [MeanDistance(), TStatistic(), TStatistic(floor=0.01)])
def test_one_record_moves_a_score_by_at_most_its_sensitivity(score):
    rng = np.random.default_rng(2)
    sizes = np.array([6, 5])
    worst = 0.0
    for _ in range(3000):
        steps = rng.choice([-1024, -300, 0, 512, 1024], size=(11, 3))
        codes = rng.integers(0, 2, 11)  # class sizes need not be the declared ones
        other, moved = steps.copy(), codes.copy()
        row = rng.integers(11)
        other[row], moved[row] = rng.choice([-1024, 1024], size=3), rng.integers(2)
        pair = [ClassMoments.of(s, c, classes=2) for s, c in ((steps, codes), (other, moved))]
        here, there = (score.scores(m, class_rows=sizes) for m in pair)
        worst = max(worst, np.abs(here - there).max())
        units = [PrivateSelection(epsilon=1.0, keep=1, score=score).units(m, class_rows=sizes) for m in pair]
        assert np.abs(units[0] - units[1]).max() <= 1025
    assert worst <= score.sensitivity(class_rows=sizes) * (1 + 1e-12)
    if isinstance(score, MeanDistance):
        assert worst > 0.99 * score.sensitivity(class_rows=sizes)


def test_the_datas_own_class_sizes_would_not_do():
    """The record that changes its class moves the distance of means by more than 2/min n when n moves too."""
    rows, codes = np.full((200, 1), -1.0), np.repeat([0, 1], 100)
    rows[99], rows[198:] = 1.0, 1.0
    moved = codes.copy()
    moved[99] = 1
    change = abs(by_distance(rows, codes)[0] - by_distance(rows, moved)[0])
    assert change == pytest.approx(0.0394, abs=1e-4)
    assert change > 1.9 * 2 / 99


def test_the_printed_selection_leaks_and_the_private_one_keeps_its_guarantee():
    pair = tied_neighbors(rows=40, features=6)
    sizes = np.array([40, 40])

    def printed(rows, labels, rng):
        return np.argsort(-by_distance(rows, labels))[:1]

    def private(rows, labels, rng):
        moments = ClassMoments.of(FeatureRanges(lower=(-1.0,) * 6, upper=(1.0,) * 6).snap(rows), labels, classes=2)
        return PrivateSelection(epsilon=1.0, keep=1).select(moments, class_rows=sizes, rng=rng)

    def forgetful(rows, labels, rng):  # a tenth of the noise
        moments = ClassMoments.of(FeatureRanges(lower=(-1.0,) * 6, upper=(1.0,) * 6).snap(rows), labels, classes=2)
        return PrivateSelection(epsilon=10.0, keep=1).select(moments, class_rows=sizes, rng=rng)

    rng = np.random.default_rng(3)
    assert selection_leak(printed, pair, runs=300, rng=rng).epsilon_lower_bound > 3
    kept = selection_leak(private, pair, runs=3000, rng=rng)
    assert 0.1 < kept.epsilon_lower_bound <= 1.0
    assert selection_leak(forgetful, pair, runs=3000, rng=rng).epsilon_lower_bound > 1.0


def test_the_choice_is_drawn_with_the_noise_that_was_enumerated():
    scores, runs, rng = np.array([3, 0, -2]), 20_000, np.random.default_rng(4)
    drawn = [tuple(choose_once(scores, keep=2, sensitivity=1, epsilon=1.0, rng=rng)) for _ in range(runs)]
    seen = {chosen: drawn.count(chosen) / runs for chosen in combinations(range(3), 2)}

    def farthest(epsilon):
        law = _one_shot_law(scores, 2, selection_scale(features=3, keep=2, sensitivity=1, epsilon=epsilon))
        return max(abs(seen[chosen] - law[chosen]) for chosen in law)

    assert farthest(1.0) < 6 * 0.5 / runs**0.5 < farthest(2.0)


def test_without_noise_the_best_are_chosen():
    drawn = choose_once(np.array([1, 3, 2]), keep=2, sensitivity=1, epsilon=np.inf, rng=np.random.default_rng(0))
    assert drawn.tolist() == [1, 2]
