"""Truth whose rows are in another order than the release: refused where a column tells, and said where none does."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.labels import Plan, attack, protect
from tacit.labels.attacks.alignment import check_order
from tacit.privacy.errors import InvalidInput

ROWS = 2000


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    ages = pa.array([None, *rng.integers(20, 90, ROWS - 1).tolist()])
    return pa.table({"age": ages, "ill": np.where(rng.random(ROWS) < 0.3, "yes", "no")})


@pytest.fixture
def shuffled(people):
    return people.take(pa.array(np.random.default_rng(1).permutation(ROWS)))


def made(people, **parts):
    return protect(people, Plan(label="ill", epsilon=2, **parts), rng=np.random.default_rng(0))


def test_another_order_is_refused_where_a_released_column_tells(people, shuffled):
    release = made(people, features=("age",))
    assert attack(release, truth=people).facts["order_assumed"] is False
    with pytest.raises(InvalidInput, match=r"truth must have its rows in the order of the release: column 'age'"):
        attack(release, truth=shuffled)


def test_another_order_is_refused_where_the_data_tell(people, shuffled):
    release = made(people)
    assert attack(release, data=people.select(["age"]), truth=people).facts["order_assumed"] is False
    with pytest.raises(InvalidInput, match="truth must have its rows in the order of data: column 'age' differs in 1,"):
        attack(release, data=people.select(["age"]), truth=shuffled)


def test_without_a_shared_column_the_order_is_assumed_and_said(people, shuffled):
    release = made(people)
    right, wrong = (attack(release, truth=truth) for truth in (people, shuffled))
    assert right.facts["order_assumed"]
    assert right.facts["randomized_as_claimed"]
    assert not any("matched by place" in note for note in right.notes)
    assert not wrong.facts["randomized_as_claimed"]
    assert any("matched by place" in note for note in wrong.notes)


def test_labels_in_random_order_are_matched_by_columns(people):
    numbered = people.append_column("id", pa.array(range(ROWS)))
    release = made(numbered, features=("id",), shuffle=True)
    assert not attack(release, truth=numbered).facts["order_assumed"]


def test_columns_of_other_types_are_not_compared():
    one, two = pa.table({"x": [1, 2]}), pa.table({"x": ["1", "3"]})
    assert check_order(one, two, against="data") == ()
    gaps = pa.table({"x": [None, float("nan")]})
    assert check_order(gaps, gaps, against="data") == ("x",)
