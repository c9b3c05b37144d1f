"""All labels from one score of enough precision, and fewer from one of less."""

import time

import numpy as np
import pytest

from papers.score_attacks.attacks import labels_from_one_score, precision_for
from tacit.privacy.errors import InvalidInput
from tacit.scores.losses import ClippedCrossEntropy, MachineEpsilon, SquaredError


@pytest.mark.parametrize(
    "loss",
    [ClippedCrossEntropy(), ClippedCrossEntropy(classes=3), SquaredError(), ClippedCrossEntropy(clip=MachineEpsilon())],
)
def test_all_labels_from_one_score(loss):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, loss.classes, 200)
    precision = precision_for(loss, rows=200)
    queries = []

    def host(predictions):
        queries.append(predictions)
        return loss.score(truth, predictions, precision=precision)

    np.testing.assert_array_equal(labels_from_one_score(host, loss, rows=200), truth)
    assert len(queries) == 1


def test_a_thousand_labels_from_one_score_in_ten_seconds():
    truth = np.random.default_rng(0).integers(0, 2, 1000)
    loss = ClippedCrossEntropy()
    precision = precision_for(loss, rows=1000)
    start = time.perf_counter()
    found = labels_from_one_score(lambda p: loss.score(truth, p, precision=precision), loss, rows=1000)
    assert time.perf_counter() - start < 10
    np.testing.assert_array_equal(found, truth)


def test_one_score_of_too_little_precision_tells_less():
    """The control: at half the bits the number is not what the labels wrote."""
    truth = np.random.default_rng(0).integers(0, 2, 200)
    loss = ClippedCrossEntropy()
    half = precision_for(loss, rows=100)
    with half.active():
        try:
            found = labels_from_one_score(lambda p: loss.score(truth, half.array(p), precision=half), loss, rows=200)
        except InvalidInput:
            return
    assert (found != truth).any()
