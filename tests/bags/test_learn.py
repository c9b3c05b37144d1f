"""Learning from a release of bags, through the surface's own door."""

import pickle

import numpy as np
import pyarrow as pa
import pytest

from tacit.bags import Plan, learn, protect
from tacit.privacy import InvalidInput

ROWS = 1500


def visits(seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    age, city = rng.integers(18, 90, rows), rng.choice(["Oslo", "Rome"], rows)
    sick = rng.random(rows) < 1 / (1 + np.exp(-(age - 55) / 6 - np.where(city == "Oslo", 1.0, -1.0)))
    days = np.where(sick, rng.poisson(3, rows), 0).clip(0, 9)
    who = rng.integers(0, rows // 2, rows)
    return pa.table({"age": age, "city": city, "who": who, "ill": np.where(sick, "yes", "no"), "days": days})


BY = {"by": ["city", "age"], "edges": {"age": [30, 50, 70]}}


def release_of(**given):
    return protect(visits(), Plan(**{"label": "ill", "epsilon": 2, **given}), rng=np.random.default_rng(0))


@pytest.mark.parametrize("method", [None, "crosses", "trees"])
def test_partitions_teach(method):
    release = release_of(**BY)
    model = learn(release, data=visits().drop_columns("ill"), test=visits(1), method=method)
    found = model.report_.performance
    assert found.auc.value > 0.85
    assert found.accuracy.value > found.majority + 0.2
    assert model.guarantee_ == release.guarantee
    assert set(model.predict(visits(2))) == {"no", "yes"}
    assert model.learner.score(visits(1), np.asarray(visits(1)["ill"])) == model.report_.accuracy
    assert "outside the guarantee" in str(model.report_)


def test_random_bags_teach_a_linear_model_of_the_features_that_are_named():
    release = release_of(epsilon=None, mechanism="random:size=3,bags=1500")
    model = learn(release, data=visits(), test=visits(1), features=("age", "city"))
    assert model.learner.encoder_.columns() == ("age", "city")
    assert model.report_.performance.auc.value > 0.85
    assert model.report_.to_json()["details"]["risk"] == model.learner.risk_
    with pytest.raises(InvalidInput, match="method must be linear for a release of random bags, got trees"):
        learn(release, data=visits(), method="trees")


def test_random_bags_learn_from_any_column_and_a_stored_model_reads_later_rows_alike():
    def with_odd_columns(table, seed):
        rng, age, rows = np.random.default_rng(seed), np.asarray(table["age"]), len(table)
        columns = {
            "born": np.datetime64("2020-01-01") - (age * 365.25).astype("timedelta64[D]"),
            "weight": pa.array(age.astype(float), mask=rng.random(rows) < 0.3),
            "note": [f"word {n}" for n in rng.integers(0, 200, rows)],
            "id": np.arange(rows) + seed,
        }
        return pa.table({**columns, "city": table["city"], "ill": table["ill"]})

    table, later = with_odd_columns(visits(), 0), with_odd_columns(visits(1), 1)
    plan = Plan(label="ill", epsilon=None, mechanism="random:size=3,bags=1500")
    model = learn(protect(table, plan, rng=np.random.default_rng(0)), data=table, test=later)
    assert model.report_.performance.auc.value > 0.85
    assert [name for name, _ in model.learner.encoder_.left_out] == ["id"]
    stored = pickle.loads(pickle.dumps(model))
    assert (stored.predict_proba(later.slice(7, 1)) == model.predict_proba(later)[7:8]).all()
    assert stored.learner.encoder_ == model.learner.encoder_


def test_rows_that_were_left_out_are_left_out_of_learning():
    release = release_of(**BY, person="who")
    model = learn(release, data=visits(), test=visits(1))
    assert model.report_.rows == release.settled["rows"] < ROWS
    with pytest.raises(InvalidInput, match="data must have the rows of the private table"):
        learn(release, data=visits(rows=10))


@pytest.mark.parametrize("totals", ["poisson", "squared"])
def test_numbers_are_predicted(totals):
    lower = {} if totals == "poisson" else {"lower": 0}
    model = learn(release_of(label="days", totals=totals, upper=9, **lower, **BY), data=visits(), test=visits(1))
    assert model.report_.performance.r2.low > 0.2
    assert model.report_.accuracy is None
    assert "always predicting the mean" in str(model.report_)


def test_a_model_without_utility_says_so():
    release = release_of(epsilon=None, by=["who"], min_size=1)
    flat = learn(release_of(epsilon=0.001, **BY), data=visits(), test=visits(1))
    assert ("Not shown to be better than guessing" in str(flat.report_)) != flat.report_.performance.is_useful
    report = learn(release, data=visits()).report_
    assert report.performance is None
    assert "Not evaluated" in str(report)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "data must be given: the rows that the bags were made from"),
        ({"data": visits(1)}, "data must be the rows that the bags were made from"),
        ({"data": visits(), "features": ("age",)}, "features is for random bags"),
        ({"data": visits(), "method": "forest"}, "method must be one of crosses, trees, linear, got 'forest'"),
        ({"data": visits(), "method": "linear"}, "method must be crosses or trees for a release of partitions"),
        ({"data": visits(), "test": visits(1).drop_columns("ill")}, "test must have the column 'ill'"),
        (
            {"data": visits(), "test": visits(1).drop_columns("ill").rename_columns(["age", "ill", "who", "days"])},
            "test must have only the classes no, yes in its column 'ill'",
        ),
    ],
)
def test_what_does_not_fit_is_refused(given, message):
    with pytest.raises(InvalidInput) as caught:
        learn(release_of(**BY), **given)
    assert message in str(caught.value)
