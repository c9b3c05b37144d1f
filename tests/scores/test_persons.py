"""Persons of several rows: some are not scored, the guarantee is for the group, and only the owner hears how many."""

import json

import numpy as np
import pyarrow as pa
import pytest

from tacit.privacy import Guarantee, InvalidInput, Ledger, Unit
from tacit.privacy.payment import Payment
from tacit.scores import Plan, Release, attack, protect

WHO = ["a"] * 6 + ["b"] * 3 + [f"c{row}" for row in range(11)]
LABELS = pa.table({"ill": [0, 1] * 10, "who": WHO})
RIGHT = pa.table({"p": [0, 1] * 10})
A_WRONG = pa.table({"p": [1, 0, 1, 0, 1, 0] + [0, 1] * 7})


def score(plan, submission=A_WRONG, seed=0):
    return protect(LABELS, plan, data=submission, rng=np.random.default_rng(seed)).scores[0]


def exact(**fields):
    return Plan(label="ill", epsilon=None, metric="accuracy", policy="exact", **fields)


@pytest.mark.parametrize(("rows", "scored"), [(1, 13), (2, 15), (3, 17), (6, 20), (9, 20)])
def test_rows_beyond_the_bound_are_not_scored(rows, scored):
    plan = exact(person="who", rows_per_person=rows)
    assert score(plan) == pytest.approx(1 - min(rows, 6) / scored)
    assert score(plan, RIGHT) == 1
    assert score(exact()) == pytest.approx(1 - 6 / 20), "control: all rows"


def test_which_rows_are_scored_is_random():
    one_wrong = pa.table({"p": [1] + [1, 0] * 2 + [1] + [0, 1] * 7})
    seen = {score(exact(person="who"), one_wrong, seed) for seed in range(30)}
    assert seen == {1.0, 12 / 13}


def test_the_guarantee_is_for_the_group_and_the_noise_for_the_scored_rows():
    plan = Plan(label="ill", epsilon=1, metric="accuracy", person="who", rows_per_person=2)
    release = protect(LABELS, plan, data=RIGHT, rng=np.random.default_rng(0))
    assert (release.guarantee.epsilon, release.guarantee.rows) == (2.0, 2)
    assert "which rows belong to one person is public" in release.guarantee.assumptions
    assert release.settled["noise_scale"] == pytest.approx(1 / 15)


def test_the_owner_is_told_what_was_left_out_and_the_file_is_not(tmp_path):
    plan = Plan(label="ill", epsilon=1, metric="accuracy", person="who", rows_per_person=2)
    made = protect(LABELS, plan, data=RIGHT, out=tmp_path / "scores.json")
    assert "At most 2 rows per person, 5 rows left out." in made.notes()
    read = Release.read(tmp_path / "scores.json")
    assert "At most 2 rows per person." in read.notes()
    assert "left_out" not in json.dumps(json.loads((tmp_path / "scores.json").read_text()))


def test_the_ledger_pays_for_the_group_once(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    budget = Guarantee(unit=Unit.LABEL, epsilon=5.0).for_group(rows=2)
    ledger.register([0, 1] * 10, name="visits", budget=budget)
    plan = Plan(label="ill", epsilon=1, metric="accuracy", person="who", rows_per_person=2)
    scores = {protect(LABELS, plan, data=RIGHT, payment=Payment(ledger=ledger)).scores for _ in range(3)}
    assert len(scores) == 1
    assert ledger.statement("visits").spent == 2.0
    others = LABELS.set_column(1, "who", [["a"] * 20])
    protect(others, plan, data=RIGHT, payment=Payment(ledger=ledger))
    assert ledger.statement("visits").spent == 4.0, "other persons are another request"


def test_rows_that_are_not_scored_stay_hidden_from_the_attacker():
    rng = np.random.default_rng(0)
    labels = pa.table({"ill": rng.integers(0, 2, 60), "who": [f"p{row // 2}" for row in range(60)]})
    plan = Plan(label="ill", epsilon=None, metric="accuracy", policy="exact", submissions=300, person="who")
    half = attack(protect(labels, plan), truth=labels, rng=np.random.default_rng(1))
    all_rows = Plan(label="ill", epsilon=None, metric="accuracy", policy="exact", submissions=300)
    whole = attack(protect(labels, all_rows), truth=labels, rng=np.random.default_rng(1))
    assert whole.rate == 1
    assert 0.6 < half.rate < 0.95
    with pytest.raises(InvalidInput, match="method must be best if rows of a person are not scored"):
        attack(protect(labels, plan), truth=labels, method="digits")


def test_answers_to_known_submissions_are_weighed_with_rows_that_are_not_scored():
    plan = Plan(label="ill", epsilon=None, metric="accuracy", policy="exact", submissions=2, person="who")
    release = protect(LABELS, plan, data=[RIGHT, A_WRONG])
    leak = attack(release, data=[RIGHT, A_WRONG], truth=LABELS)
    assert leak.after.shape == (20, 2)
    assert np.allclose(leak.after.sum(axis=1), 1)
    assert (leak.after.argmax(axis=1)[9:] == np.array([0, 1] * 10)[9:]).all(), "persons of one row are scored for sure"


@pytest.mark.parametrize(
    ("person", "message"), [("ill", "must not name the private column"), ("nobody", "person must be one of|no column")]
)
def test_wrong_columns_are_refused(person, message):
    with pytest.raises(InvalidInput, match=message):
        protect(LABELS, exact(person=person), data=RIGHT)


def test_a_row_without_a_person_is_refused():
    someone = pa.table({"ill": [0, 1], "who": ["a", None]})
    with pytest.raises(InvalidInput, match="person must identify the person"):
        protect(someone, exact(person="who"), data=pa.table({"p": [0, 1]}))
