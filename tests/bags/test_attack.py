"""Attacking a release of bags, through the surface's own door."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.bags import Plan, attack, protect
from tacit.privacy import InvalidInput

ROWS = 600


def visits(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(18, 90, rows), "city": rng.choice(["Oslo", "Rome"], rows)}
    sick = rng.random(rows) < 0.4
    days = np.where(sick, rng.poisson(3, rows), 0).clip(0, 9)
    return pa.table({**columns, "who": np.arange(rows) // 2, "ill": np.where(sick, "yes", "no"), "days": days})


def release_of(table=None, **given):
    return protect(table or visits(), Plan(**{"label": "ill", "epsilon": None, "by": ["city,age"], **given}))


def features():
    return visits().select(["age", "city", "who"])


def test_small_bags_determine_labels_and_the_truth_agrees():
    leak = attack(release_of(min_size=1), data=features(), truth=visits(), rng=np.random.default_rng(0))
    assert leak.facts["determined"] == leak.facts["determined_right"] > 30
    assert leak.facts["undecided"] == 0
    assert leak.advantage > 0.05
    assert leak.guesses.num_rows == leak.trials == ROWS
    certain = leak.guesses.filter(leak.guesses["determined"])
    assert certain["guess"].to_pylist() == visits()["ill"].take(certain["row"]).to_pylist()
    assert set(certain["confidence"].to_pylist()) == {1.0}
    fewer = attack(release_of(min_size=8), data=features())
    assert fewer.facts["determined"] < leak.facts["determined"]


def test_without_the_truth_only_what_is_certain_is_counted():
    leak = attack(release_of(min_size=1), data=features())
    assert leak.right == leak.facts["determined"]
    assert leak.baseline == 0
    assert leak.advantage_interval.low == leak.advantage_interval.high == leak.rate
    assert leak.facts["expected_rate"] > leak.facts["expected_baseline"]
    assert "labels are determined by the totals" in str(leak)


def test_noise_determines_nothing_and_keeps_its_bound():
    leak = attack(release_of(epsilon=1, by=["city"]), truth=visits(), rng=np.random.default_rng(0))
    assert leak.facts["determined"] == leak.facts["undecided"] == 0
    assert leak.facts["largest_advantage"] < 0.232
    assert leak.advantage_interval.low <= leak.facts["largest_advantage"]


def test_two_releases_are_attacked_one_after_the_other():
    first, second = release_of(by=["city,age"], min_size=1), release_of(by=["who"], min_size=1)
    before = attack(first, data=features()).after
    assert before.shape == (ROWS, 2)
    alone = attack(second, data=features(), truth=visits(), rng=np.random.default_rng(0))
    both = attack(second, data=features(), truth=visits(), before=before)
    assert both.rate > alone.rate
    with pytest.raises(InvalidInput, match=r"before must have the shape \(600, 2\)"):
        attack(second, data=features(), before=before[:5])


def test_beliefs_cover_rows_that_were_left_out():
    release = release_of(by=["city"], person="who")
    leak = attack(release, data=visits(), truth=visits(), rng=np.random.default_rng(0))
    assert leak.trials == ROWS // 2
    assert leak.after.shape == (ROWS, 2)
    np.testing.assert_array_equal(leak.guesses["row"].to_numpy(), release.used_rows(visits()).numbers)


def test_numbers_without_a_short_list_are_determined_or_not():
    given = {"label": "days", "totals": "squared", "lower": 0, "upper": 9, "min_size": 1}
    leak = attack(release_of(**given), data=features(), truth=visits())
    assert leak.after is None
    assert leak.right == leak.facts["determined_right"] > 0
    whole = attack(release_of(**given), data=features(), method="totals:whole=true")
    assert whole.right >= leak.right, "integers in a range are determined more often"


def test_random_bags_are_attacked():
    leak = attack(release_of(by=[], mechanism="random:size=2,bags=900"), data=features(), truth=visits())
    assert leak.facts["determined"] == leak.facts["determined_right"] > 300


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "data must be given: the features of the rows"),
        ({"data": visits(10)}, "data must have the 600 rows"),
        ({"data": visits(seed=1)}, "data must be the rows that the bags were made from"),
        ({"data": features(), "truth": features()}, "truth must have the column 'ill'"),
        ({"data": features(), "method": "totals:limit=-1"}, "method totals: limit must be an integer >= 0"),
        ({"data": features(), "method": "guess"}, "method must be one of totals, got 'guess'"),
    ],
)
def test_what_does_not_fit_is_refused(given, message):
    with pytest.raises(InvalidInput) as caught:
        attack(release_of(min_size=1), **given)
    assert message in str(caught.value)
