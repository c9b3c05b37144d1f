"""The curve against scikit-learn's, and its points' intervals."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from tacit.leak import FPR_GRID, FixedThreshold, RocCurve, clopper_pearson, leak_from_scores
from tacit.leak.roc import roc_from_sorted
from tacit.privacy import InvalidInput


def their_tpr(members, nonmembers, allowed):
    truth = np.repeat([1, 0], [len(members), len(nonmembers)])
    fpr, tpr, _ = roc_curve(truth, np.concatenate([members, nonmembers]), drop_intermediate=False)
    return tpr[np.searchsorted(fpr, allowed + 1e-12, "right") - 1]


def curve_of(members, nonmembers, *, level=0.95):
    return roc_from_sorted(np.sort(members), np.sort(nonmembers), level=level)


def pairs():
    rng = np.random.default_rng(5)
    yield rng.normal(1, 1, 3000), rng.normal(0, 1, 5000)
    yield rng.integers(0, 5, 200).astype(float), rng.integers(0, 4, 300).astype(float)  # many ties
    yield np.array([1.0]), np.array([1.0])
    yield rng.normal(-2, 1, 40), rng.normal(0, 1, 30)  # worse than chance
    yield np.array([np.inf, 1.0, -np.inf]), np.array([np.inf, 0.0, -np.inf])


@pytest.mark.parametrize("index", range(5))
def test_agrees_with_scikit_learn(index):
    members, nonmembers = list(pairs())[index]
    roc = curve_of(members, nonmembers)
    finite = [np.nan_to_num(s, posinf=1e9, neginf=-1e9) for s in (members, nonmembers)]
    truth = np.repeat([1, 0], [len(members), len(nonmembers)])
    assert roc.auc == pytest.approx(roc_auc_score(truth, np.concatenate(finite)), abs=1e-12)
    np.testing.assert_allclose(roc.tpr, their_tpr(*finite, FPR_GRID), atol=1e-12)


def test_grid_reaches_below_one_percent():
    assert FPR_GRID[0] == 0
    assert FPR_GRID[-1] == 1
    assert np.all(np.diff(FPR_GRID) > 0)
    assert np.sum((FPR_GRID > 0) & (FPR_GRID < 0.01)) == 60
    assert {1e-3, 1e-2} <= {round(float(f), 12) for f in FPR_GRID}


def test_points_at_low_rates():
    members, nonmembers = next(pairs())
    roc = curve_of(members, nonmembers, level=0.9)
    bar = np.sort(nonmembers)[-6]  # 5 of 5,000 may be accused at 0.1%
    point = roc.at_0_1_percent
    assert point.attained == 5 / 5000
    assert point.tpr == np.mean(members > bar)
    assert point.interval == clopper_pearson(int((members > bar).sum()), 3000, level=0.9)
    assert roc.at_1_percent.tpr > point.tpr


def test_interval_covers_the_rate_at_its_threshold():
    # members U(0, 1), non-members U(0, 1): given the threshold t that the non-members set, the rate is 1 - t
    rng, held = np.random.default_rng(6), 0
    for _ in range(1000):
        members, nonmembers = rng.random(80), rng.random(200)
        held += curve_of(members, nonmembers, level=0.9).at_1_percent.interval.low <= 1 - np.sort(nonmembers)[-3]
    assert held >= 900


def test_json_round_trip_and_freezing():
    roc = curve_of([3.0, 1.0], [2.0, 0.0])
    assert RocCurve.from_json(json.loads(json.dumps(roc.to_json()))) == roc
    assert roc != curve_of([3.0, 2.5], [2.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        roc.tpr[0] = 1.0


@pytest.mark.parametrize(
    ("members", "nonmembers", "words"),
    [
        ([], [1.0], "members must have at least one score, got none"),
        ([1.0], [], "nonmembers must have at least one score, got none"),
        ([1.0, np.nan], [1.0], "members must not contain NaN, got 1 among 2 scores: drop those rows"),
        ([[1.0]], [1.0], "members must be one score per row"),
        (["high"], [1.0], "members must be a list of numbers, got list"),
        (None, [1.0], "members must be"),
    ],
)
def test_refuses(members, nonmembers, words):
    with pytest.raises(InvalidInput, match=words):
        leak_from_scores(members, nonmembers, threshold=FixedThreshold(0.0))
