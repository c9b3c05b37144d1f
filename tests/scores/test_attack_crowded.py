"""Crowded designs: always right, and fewer queries than distinct sums allow."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from papers.score_attacks.attacks import TwoColumnLogLoss
from tacit.data import titanic
from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import AttackStopped, CrowdedDesign, LossChannel, infer_labels, plan_attack
from tacit.scores.attacks.crowded import crowded_weights, expected_asks
from tacit.scores.metrics import SKLEARN_FLOOR, Brier, LogLoss, UnboundedLoss
from tacit.scores.policies import Rounded

TITANIC = titanic().codes
ONE_COLUMN = LogLoss(floor=SKLEARN_FLOOR)
TWO_COLUMNS = UnboundedLoss(loss=TwoColumnLogLoss())


def attack(metric, truth, *, decimals=5, score=log_loss):
    planned = plan_attack(metric, rows=len(truth), policy=Rounded(decimals=decimals), design=CrowdedDesign)
    host = lambda p: round(score(truth, p), decimals)  # noqa: E731
    outcome = infer_labels(host, planned)
    np.testing.assert_array_equal(outcome.labels, truth)
    return outcome.queries, planned.queries


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("metric", "most"), [(ONE_COLUMN, 139), (TWO_COLUMNS, 136)])
def test_titanic_at_five_decimals(seed, metric, most):
    """The fixed design takes 143 queries; here one column of probabilities takes fewer, two columns fewer still."""
    queries, _ = attack(metric, np.random.default_rng(seed).permutation(TITANIC))
    assert queries <= most


@pytest.mark.parametrize("rows", [2, 13, 40, 100, 257, 600])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_any_number_of_rows_and_any_labels(rows, share):
    truth = (np.random.default_rng(rows).random(rows) < share).astype(int)
    host = lambda y, p: log_loss(y, p, labels=[0, 1])  # noqa: E731
    attack(ONE_COLUMN, truth, decimals=4, score=host)


def test_another_loss():
    truth = np.random.default_rng(0).permutation(TITANIC)[:500]
    attack(Brier(), truth, score=Brier().score)


def test_expected_queries_are_what_random_labels_take():
    rng = np.random.default_rng(0)
    taken = [attack(TWO_COLUMNS, rng.integers(0, 2, 1000))[0] for _ in range(3)]
    _, expected = attack(TWO_COLUMNS, rng.integers(0, 2, 1000))
    assert abs(np.mean(taken) - expected) <= 1.5


def test_rows_beyond_a_block_take_as_many_matrices_as_they_need():
    planned = plan_attack(ONE_COLUMN, rows=1_000_000, policy=Rounded(decimals=7), design=CrowdedDesign)
    assert planned.labels_per_query < planned.bounds.counting, "no attack beats it, whatever the labels"


def test_distinct_weights_need_no_questions_and_crowded_ones_few():
    assert expected_asks(12, limit=1164) == 0
    assert 0 < expected_asks(13, limit=1633) < 0.5 < expected_asks(14, limit=1633) < 1.2
    weights = crowded_weights(14, limit=1633)
    assert weights.max() <= 1633
    assert weights.min() >= 1
    # The control: equal weights tell the number of ones and nothing else.
    sums = np.bincount([bin(i).count("1") for i in range(2**14)])
    assert (sums * np.ceil(np.log2(sums))).sum() / 2**14 > 8


def test_answers_that_no_labels_give():
    metric = ONE_COLUMN
    planned = plan_attack(metric, rows=300, policy=Rounded(decimals=5), design=CrowdedDesign)
    for host in (lambda _: 0.7, lambda p: round(float(np.abs(p).sum()) % 1, 5)):
        with pytest.raises(AttackStopped, match=r"no labels give|to every query"):
            infer_labels(host, planned)


def test_two_classes_only():
    with pytest.raises(InvalidInput, match="classes must be 2"):
        CrowdedDesign(
            channel=LossChannel.of(LogLoss(classes=3, floor=SKLEARN_FLOOR), rows=5, policy=Rounded(decimals=5))
        )
    with pytest.raises(InvalidInput, match="classes must be 2"):
        TwoColumnLogLoss(classes=3)
