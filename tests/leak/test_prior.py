from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.leak.prior import feature_prior, temper_prior
from tacit.privacy.errors import InvalidInput


def cells_of(size: int, *, rows: int) -> NDArray[np.float64]:
    return np.repeat(np.arange(rows // size), size)[:, None].astype(np.float64)


def counted(features: NDArray[np.float64], labels: NDArray[np.int64], *, own: bool) -> NDArray[np.float64]:
    """Shares of labels 0 and 1 among equal rows, the row's own label counted or left out."""
    one_hot = np.eye(2)[labels]
    equal = np.unique(features, axis=0, return_inverse=True)[1].ravel()
    totals = np.stack([np.bincount(equal, weights=column) for column in one_hot.T], axis=1)[equal]
    told = totals if own else totals - one_hot
    return told / told.sum(axis=1, keepdims=True)


def right(prior: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    return float((prior.argmax(axis=1) == labels).mean())


def test_coins_in_small_cells_are_not_guessed_from_themselves():
    coins, features = np.random.default_rng(0).integers(0, 2, 4000), cells_of(20, rows=4000)
    assert abs(right(feature_prior(features, coins, classes=2), coins) - 0.5) < 0.03
    assert right(counted(features, coins, own=True), coins) > 0.57  # the control: each row guessed from itself as well


def test_coins_in_large_cells_are_guessed_too_well_by_no_more_than_is_said():
    rng, features = np.random.default_rng(0), cells_of(100, rows=20_000)
    excess = []
    for _ in range(20):
        coins = rng.integers(0, 2, len(features))
        excess.append(right(feature_prior(features, coins, classes=2), coins) - 0.5)
    assert np.mean(excess) == pytest.approx(0.4 * np.sqrt(1 / 100), abs=0.002)


def test_equal_rows_have_one_prior_whatever_their_labels():
    labels = (np.random.default_rng(0).random(2000) < 0.3).astype(np.int64)
    features = cells_of(200, rows=2000)
    prior = feature_prior(features, labels, classes=2)
    for cell in range(10):
        assert len(np.unique(prior[features[:, 0] == cell, 1])) == 1
    left_out = counted(features, labels, own=False)[:, 1]  # the control: its lower value in a cell is the label 1
    mean = counted(features, labels, own=True)[:, 1]
    assert np.array_equal(left_out < mean, labels == 1)


def test_features_must_have_a_row_for_each_label():
    with pytest.raises(InvalidInput, match="features must have a row for each of the 2 labels, got 3"):
        feature_prior(np.zeros((3, 1)), np.array([0, 1]), classes=2)


@pytest.mark.parametrize("classes", [2, 3])
def test_tempered_beliefs_are_as_sure_as_right_and_guess_the_same(classes):
    rng = np.random.default_rng(classes)
    dice = rng.integers(0, classes, 300)
    forest = feature_prior(rng.normal(size=(300, 1)), dice, classes=classes)
    tempered, share = temper_prior(forest, dice), max(1 / classes, right(forest, dice))
    assert forest.max(axis=1).mean() > share + 0.1, "control: trees grown on dice believe themselves"
    assert tempered.max(axis=1).mean() == pytest.approx(share, abs=1e-5)
    np.testing.assert_array_equal(tempered.argmax(axis=1), forest.argmax(axis=1))
    np.testing.assert_allclose(tempered.sum(axis=1), 1.0)


def test_beliefs_that_are_less_sure_than_right_stay():
    prior = np.array([[0.6, 0.4], [0.3, 0.7]])
    assert temper_prior(prior, np.array([0, 1])) is prior
