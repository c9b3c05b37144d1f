"""The Leak itself: its JSON, and how it compares with a guarantee."""

import json

import numpy as np
import pytest

from tacit.leak import FixedThreshold, Leak, leak_from_guesses, leak_from_scores
from tacit.privacy import Guarantee, InvalidInput, Unit


def scored(delta=0.0):
    rng = np.random.default_rng(0)
    return leak_from_scores(rng.normal(2, 1, 500), rng.normal(0, 1, 500), threshold=FixedThreshold(1.0), delta=delta)


@pytest.mark.parametrize(
    "leak",
    [
        scored(),
        leak_from_guesses([0, 1, 1], [0, 1, 0], baseline=0.5),
        leak_from_guesses([0, 1, 1], [0, 1, 0], baseline=[0, 0, 0]),
    ],
    ids=["scores", "guesses", "paired"],
)
def test_json_round_trip(leak):
    assert Leak.from_json(json.loads(json.dumps(leak.to_json(), allow_nan=False))) == leak


def test_json_must_be_whole():
    document = scored().to_json()
    del document["trials"]
    with pytest.raises(InvalidInput, match="a leak must have its trials"):
        Leak.from_json(document)


def test_json_of_before_rows_left_out_were_counted_is_read():
    leak = leak_from_guesses([1, -1, 0], [1, 1, 1], baseline=0.5)
    document = leak.to_json()
    assert document.pop("examples") == 3
    assert Leak.from_json(document).examples is None


def test_exceeds_a_guarantee():
    leak = scored()
    bound = leak.epsilon_lower_bound
    assert bound > 1
    assert leak.exceeds(Guarantee(unit=Unit.RECORD, epsilon=1.0))
    assert not leak.exceeds(Guarantee(unit=Unit.RECORD, epsilon=bound))
    assert not leak.exceeds(Guarantee(unit=Unit.RECORD, epsilon=5.0))


def test_exceeds_minds_delta():
    guarantee = Guarantee(unit=Unit.RECORD, epsilon=1.0, delta=1e-5)
    with pytest.raises(InvalidInput, match="measure it again with delta=1e-05"):
        scored(delta=0.0).exceeds(guarantee)
    assert scored(delta=1e-5).exceeds(guarantee)
    # (1, 1e-5) implies (1, 1e-3): a bound at the larger delta refutes both
    assert scored(delta=1e-3).exceeds(guarantee)


def test_exceeds_needs_a_bound():
    with pytest.raises(InvalidInput, match="this leak has no epsilon bound"):
        leak_from_guesses([0], [0], baseline=[0]).exceeds(Guarantee(unit=Unit.LABEL, epsilon=1.0))


def test_the_shown_epsilon_is_cut_not_rounded():
    leak = leak_from_guesses([1] * 100, [1] * 100, baseline=0.5)
    assert leak.epsilon_lower_bound == pytest.approx(3.492965, abs=5e-7)
    assert "at least 3.492 (" in str(leak)


def test_frozen():
    with pytest.raises(AttributeError):
        scored().right = 3
