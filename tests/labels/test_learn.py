"""Learning from a release: which rows and columns are used, and how the model is judged."""

import joblib
import numpy as np
import pyarrow as pa
import pytest

from tacit.labels import Plan, learn, protect
from tacit.privacy import InvalidInput

RNG = np.random.default_rng


def visits(rows=3000, *, seed=0):
    rng = RNG(seed)
    age = rng.normal(50, 15, rows)
    ill = np.where(rng.random(rows) < 1 / (1 + np.exp(-(age - 50) / 4)), "yes", "no")
    return pa.table({"id": np.arange(rows), "age": age, "days": 2 * (age > 50) + rng.integers(0, 2, rows), "ill": ill})


def released(table, *, label="ill", epsilon=2, features=("age",), seed=0, **asked):
    return protect(table, Plan(label=label, epsilon=epsilon, features=features, **asked), rng=RNG(seed))


def test_a_test_table_is_judged_by_its_true_labels():
    model = learn(released(visits()), test=visits(1000, seed=1), rng=RNG(0))
    report = model.report_
    assert (report.rows, report.performance.rows, report.performance.released) == (3000, 1000, False)
    truth = visits(1000, seed=1)["ill"].to_numpy()
    assert report.accuracy == np.mean(model.predict(visits(1000, seed=1)) == truth) > 0.85
    assert model.guarantee_ == released(visits()).guarantee


@pytest.mark.parametrize("mechanism", ["rr", "laplace"])
def test_held_out_released_labels_judge_without_bias(mechanism):
    errors = []
    for seed in range(20):
        release = protect(visits(), Plan(label="ill", epsilon=3, features="age", mechanism=mechanism), rng=RNG(seed))
        model = learn(release, method="denoised:retrain=none,denoise=none", rng=RNG(seed))
        truth = np.mean(model.predict(visits(5000, seed=99)) == visits(5000, seed=99)["ill"].to_numpy())
        found = model.report_.performance.accuracy
        errors.append((found.value - truth) / ((found.high - found.low) / (2 * 1.96)))
    assert abs(np.mean(errors)) < 1.2
    assert np.std(errors) < 1.8


def test_an_accuracy_that_no_model_can_have_is_not_shown():
    table = pa.table({"age": np.r_[np.zeros(40), np.ones(40)], "ill": ["no"] * 40 + ["yes"] * 40})
    reports = [learn(released(table, epsilon=1, seed=seed), rng=RNG(seed)).report_ for seed in range(12)]
    found = [report.performance.accuracy for report in reports]
    assert all(0 <= one.low <= one.value <= one.high <= 1 for one in found)
    best = next(report for report in reports if report.accuracy == 1)
    assert "accuracy 100.0% (" in str(best)


@pytest.mark.parametrize("mechanism", ["staged", "prior"])
def test_labels_that_cannot_judge_say_so_and_train_all_rows(mechanism):
    table = visits()
    three = pa.array(np.where(RNG(5).random(3000) < 0.02, "maybe", table["ill"].to_numpy()))
    model = learn(released(table.set_column(3, "ill", three), mechanism=mechanism, epsilon=0.5), rng=RNG(0))
    assert (model.report_.rows, model.report_.accuracy) == (3000, None)
    assert "Not evaluated" in str(model.report_)


def test_a_model_no_better_than_the_majority_class_says_so():
    table = visits()
    rare = pa.table({"age": RNG(3).normal(size=3000), "ill": ["yes"] * 30 + ["no"] * 2970})
    release = released(rare, epsilon=8, classes=("no", "yes"))
    assert "Not shown to be better than guessing" in str(learn(release, test=rare, rng=RNG(0)).report_)
    assert "Not shown" not in str(learn(released(table), test=table, rng=RNG(0)).report_), "control"


@pytest.mark.parametrize("mechanism", ["bins", "unbiased"])
@pytest.mark.parametrize("estimator", ["ridge", "trees"])
def test_numbers_are_learned_by_a_regressor(mechanism, estimator):
    release = released(visits(), label="days", mechanism=mechanism)
    report = learn(release, method=f"regressor:estimator={estimator}", test=visits(1000, seed=1), rng=RNG(0)).report_
    assert report.performance.r2.value > 0.36
    held = learn(release, rng=RNG(0)).report_
    assert (held.rows, held.performance.rows, held.performance.released) == (2400, 600, True)
    with pytest.raises(InvalidInput, match="method must be regressor: the release has numbers"):
        learn(release, method="denoised")


def test_held_out_released_numbers_judge_without_bias():
    errors = []
    for seed in range(20):
        model = learn(released(visits(seed=seed), label="days", mechanism="unbiased", seed=seed), rng=RNG(seed))
        later = visits(5000, seed=99)
        days = later["days"].to_numpy()
        truth = 1 - np.mean((model.predict(later) - days) ** 2) / days.var()
        found = model.report_.performance
        assert "noise taken out" in str(found)
        errors.append((found.r2.value - truth) / ((found.r2.high - found.r2.low) / (2 * 1.96)))
    assert abs(np.mean(errors)) < 1
    assert np.std(errors) < 1.8


def test_rows_without_a_label_neither_train_nor_judge():
    table = visits()
    some = pa.array([None if i % 3 == 0 else label for i, label in enumerate(table["ill"].to_pylist())])
    gaps = table.set_column(3, "ill", some)
    release = released(gaps, missing="public")
    report = learn(release, rng=RNG(0)).report_
    assert report.rows + report.performance.rows == 2000
    assert learn(release, test=gaps, rng=RNG(0)).report_.performance.rows == 2000


def test_the_private_column_and_the_person_are_never_features():
    release = released(visits(), features=())
    model = learn(release, data=visits(), rng=RNG(0))
    assert model.encoder.columns() == ("age", "days")
    assert model.notes == ["Left out: id (an id: integers that differ in every row)."]
    with pytest.raises(InvalidInput, match="features must not name 'ill', which is no feature"):
        learn(release, data=visits(), features=("age", "ill"))
    by_person = released(visits(), features=("id", "age"), person="id")
    assert learn(by_person, rng=RNG(0)).encoder.columns() == ("age",)


def test_rows_without_an_order_are_matched_by_a_column():
    release = released(visits(), features=("id",), shuffle=True, epsilon=5)
    model = learn(release, data=visits().select(["id", "age"]), features=("age",), test=visits(seed=1), rng=RNG(0))
    assert model.report_.accuracy > 0.85
    with pytest.raises(InvalidInput, match="data must share a column with the release"):
        learn(release, data=visits().select(["age"]))
    twice = pa.concat_tables([visits().select(["id", "age"])] * 2)
    with pytest.raises(InvalidInput, match="data must have one row for each row of the release, matched by id"):
        learn(release, data=twice)


def test_fits_are_announced_and_a_model_can_be_stored(tmp_path):
    steps = []
    model = learn(released(visits()), method="denoised:rounds=2", rng=RNG(0), progress=lambda *at: steps.append(at))
    assert steps[0] == (0, 3)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    assert (again.predict(visits()) == model.predict(visits())).all()
    assert again.predict_proba(visits()).shape == (3000, 2)
