"""Early stopping: what it does, and where it stops."""

import numpy as np
import pytest

from tacit.models.attacks.outputs import attack_margin
from tacit.models.training.early_stop import TieRule, margin_snapshots, stop_before_ties
from tacit.privacy.errors import InvalidInput

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 100))
    return X, rng.choice([-1.0, 1.0], size=20), rng.normal(size=(1000, 100))


def test_training_to_the_margin_ties_and_stopping_leaves_before(problem):
    X, y, fresh = problem
    rule = TieRule(within=0.1, share=0.25)
    path = list(margin_snapshots(X, y, width=100, rng=np.random.default_rng(1), steps=1500, every=25))
    tied = [rule.tied(y * network(X)) for network in path]
    assert tied[-1] > 0.9, "control: the trained network ties"
    found = stop_before_ties(path, X, y, rule=rule)
    assert found.stopped
    assert found.model is path[found.place]
    assert all(share <= rule.share for share in tied[: found.place + 1])
    assert tied[found.place + 1] > rule.share
    trained, stopped = (attack_margin(network, X, fresh).leak for network in (path[-1], found.model))
    assert trained.roc.at_0_1_percent.tpr > stopped.roc.at_0_1_percent.tpr


def test_snapshots_are_taken_one_at_a_time():
    asked = []

    def train():
        for power in (1.0, 0.5, 0.01, 0.001):
            asked.append(power)
            yield lambda rows, power=power: np.sign(rows[:, 0]) * np.abs(rows[:, 0]) ** power

    X, y = np.array([[-4.0], [-1.0], [2.0], [8.0]]), np.array([-1, -1, 1, 1])
    found = stop_before_ties(train(), X, y, rule=TieRule(within=0.1, share=0.5))
    assert (found.place, asked) == (1, [1.0, 0.5, 0.01])


@pytest.mark.parametrize(
    ("snapshots", "y", "sentence"),
    [
        ([], [-1, 1], "snapshots must have a model"),
        ([lambda rows: rows[:, 0]], [0, 1], r"y must have -1 or \+1"),
        ([lambda rows: rows[:, 0]], [-1, 1], "must begin before the margins tie"),
        ([lambda rows: np.full(len(rows), np.nan)], [-1, 1], "margins must be one finite number per point"),
    ],
)
def test_early_stopping_refuses_in_a_sentence(snapshots, y, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        stop_before_ties(snapshots, [[-1.0], [1.0]], y)


@pytest.mark.parametrize("settings", [{"within": 0.0}, {"within": float("nan")}, {"share": 1.0}, {"share": 0.0}])
def test_tie_rules_are_checked(settings):
    with pytest.raises(InvalidInput):
        TieRule(**settings)
