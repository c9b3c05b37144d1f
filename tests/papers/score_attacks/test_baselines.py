"""The paper's search, its random predictions, and boosting: what digits are compared with."""

import numpy as np
import pytest

from papers.score_attacks.attacks import boosted_labels, exhaustive_labels, random_prediction_labels
from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import DigitDesign, infer_labels, plan_attack
from tacit.scores.losses import ClippedCrossEntropy, LossReduction, MachineEpsilon, SquaredError
from tacit.scores.metrics import Accuracy, UnboundedLoss
from tacit.scores.policies import Bounded


@pytest.mark.parametrize(
    "loss",
    [
        ClippedCrossEntropy(clip=MachineEpsilon()),
        ClippedCrossEntropy(classes=3, clip=MachineEpsilon()),
        SquaredError(reduction=LossReduction.SUM),
    ],
)
def test_the_search_agrees_with_reading_digits(loss):
    """One query of the same design, decoded both ways, under the largest noise it allows."""
    tau, rng = 1e-4, np.random.default_rng(0)
    rows = 8
    for _ in range(20):
        truth = rng.integers(0, loss.classes, rows)
        planned = plan_attack(UnboundedLoss(loss=loss), rows=rows, policy=Bounded(tau=tau), design=DigitDesign)
        assert planned.queries == 1
        asked = []

        def host(predictions, truth=truth, asked=asked):
            score = loss.score(truth, predictions) + rng.uniform(-tau, tau)
            asked.append((predictions, score))
            return score

        outcome = infer_labels(host, planned)
        predictions, score = asked[0]
        np.testing.assert_array_equal(outcome.labels, truth)
        np.testing.assert_array_equal(exhaustive_labels(score, loss, predictions), truth)


def test_the_search_refuses_what_it_cannot_finish():
    with pytest.raises(InvalidInput, match=r"2\^100 labelings"):
        exhaustive_labels(0.5, SquaredError(), np.full(100, 0.5))


def test_random_predictions_fail_under_mild_noise():
    """Footnote 6: exact scores of random predictions tell the labels, noise of 0.1 leaves guessing."""
    loss, rng = ClippedCrossEntropy(), np.random.default_rng(0)
    exact, noisy = [], []
    for _ in range(100):
        truth = rng.integers(0, 2, 10)
        exact.append(
            np.mean(random_prediction_labels(lambda p, y=truth: loss.score(y, p), loss, rows=10, rng=rng) == truth)
        )
        host = lambda p, y=truth: loss.score(y, p) + rng.uniform(-0.1, 0.1)  # noqa: E731
        noisy.append(np.mean(random_prediction_labels(host, loss, rows=10, rng=rng) == truth))
    assert np.mean(exact) > 0.99
    assert np.mean(noisy) < 0.75
    assert np.mean(np.array(noisy) == 1) < 0.1


def test_boosting_climbs_as_it_should_and_the_weighing_finishes():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 1000)
    accuracy = Accuracy()
    host = lambda p: accuracy.score(truth, p)  # noqa: E731
    for queries in (50, 300):
        guesses = boosted_labels(host, rows=1000, queries=queries, rng=rng)
        expected = 0.5 + np.sqrt(queries / (2 * np.pi * 1000))
        assert (guesses == truth).mean() == pytest.approx(expected, abs=6 * np.sqrt(0.25 / 1000))
    planned = plan_attack(accuracy, rows=1000)
    assert planned.queries < 300
    np.testing.assert_array_equal(infer_labels(host, planned).labels, truth)
