"""Fisher's classifier: scikit-learn's checks, noise and label noise taken out, learning from releases."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.features import Plan, learn, protect
from tacit.features.learners.fisher import FisherClassifier
from tacit.features.learners.rules import FullCovarianceRule, IndependenceRule
from tacit.features.mechanisms.box import FeatureRanges
from tacit.features.mechanisms.noisy_totals import ReleasedTotals
from tacit.privacy import InvalidInput
from tacit.privacy.noise import randomize_codes, response_matrix


@parametrize_with_checks([FisherClassifier(), FisherClassifier(FullCovarianceRule())])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def _classes(rng, rows=20_000, K=3):
    y = rng.integers(0, K, rows)
    return rng.normal(size=(rows, 4)) / 5 + np.eye(4)[y] * 0.6, y


def test_label_noise_is_taken_out():
    rng = np.random.default_rng(0)
    X, y = _classes(rng)
    flipped = randomize_codes(y, epsilon=0.7, classes=3, rng=rng)
    told = FisherClassifier(transition=response_matrix(epsilon=0.7, classes=3)).fit(X, flipped)
    naive = FisherClassifier().fit(X, flipped)
    truth = FisherClassifier().fit(X, y).means_
    assert np.abs(told.means_ - truth).max() < 0.05
    assert np.abs(naive.means_ - truth).max() > 0.2


def test_feature_noise_is_taken_out_of_the_covariance():
    rng = np.random.default_rng(1)
    X, y = _classes(rng)
    noise = np.array([1.0, 0.5, 2.0, 0.1])
    told = FisherClassifier(noise=noise).fit(X + rng.normal(size=X.shape) * noise, y)
    assert np.sqrt(told.inverse_covariance_.covariance[[0, 1, 3]]) == pytest.approx(np.full(3, 0.2), abs=0.08)


def _table(seed, rows=8000):
    rng = np.random.default_rng(seed)
    X, y = _classes(rng, rows)
    junk = rng.normal(size=(rows, 12)) / 5
    names = {f"x{j}": np.hstack([X, junk])[:, j] for j in range(16)}
    return pa.table({**names, "y": np.array(["a", "b", "c"])[y]})


def _plan(mechanism, **changes):
    settings = {"label": "y", "epsilon": 12, "delta": 1e-5, "select": 4, "ranges": {"*": (-1, 1)}}
    return Plan(**{**settings, "mechanism": mechanism, **changes})


def test_rows_and_totals_teach_the_classifier():
    accuracy = {
        mechanism: learn(protect(_table(1), _plan(mechanism)), test=_table(2)).report_.accuracy
        for mechanism in ("rows", "totals")
    }
    assert accuracy["totals"] > 0.95  # the noise is on sums, not on rows
    assert 0.6 < accuracy["rows"] < accuracy["totals"]


def test_without_noise_the_classifier_is_that_of_the_rows():
    table = _table(1)
    clear = {"epsilon": None, "delta": 0, "select": None, "ranges": {"*": (-2, 2)}}
    names = [name for name in table.column_names if name != "y"]
    X = np.column_stack([table[name].to_numpy() for name in names])
    plain = FisherClassifier().fit(X, np.asarray(table["y"]))
    for mechanism in ("rows", "totals"):
        told = learn(protect(table, _plan(mechanism, **clear)))
        assert told.learner.means_ == pytest.approx(plain.means_, abs=2e-3)
        assert (told.predict(X) == plain.predict(X)).mean() > 0.99


def test_the_report_names_the_features_and_who_judged():
    release = protect(_table(1), _plan("rows"), rng=np.random.default_rng(3))
    judged, held = learn(release, test=_table(2)), learn(release, rng=np.random.default_rng(4))
    assert judged.report_.details["features"] == list(release.features)
    assert judged.guarantee_ == release.guarantee
    assert "Judged by 8,000 true labels, outside the guarantee" in str(judged.report_)
    assert "Judged by 1,600 released labels, noise taken out" in str(held.report_)
    unjudged = learn(release, hold_out=0)
    assert unjudged.report_.to_json()["performance"] is None
    assert "Not evaluated" in str(unjudged.report_)


def test_held_out_rows_estimate_the_accuracy_on_noisy_rows():
    """Labels flipped one time in four: the estimate takes that out, agreement alone does not."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40_000)
    table = pa.table({"x": rng.normal(size=40_000) + 3 * y, "y": y})
    plan = Plan(label="y", epsilon=41.1, delta=1e-5, label_epsilon=1.1, ranges={"x": (-3, 6)})
    release = protect(table, plan, rng=rng)
    found = learn(release, rng=rng).report_.performance.accuracy
    model = FisherClassifier(noise=release.settled["noise"][0], noisy_test=True).fit(table.select(["x"]).to_pandas(), y)
    noisy = release.rows.select(["x"]).to_pandas()
    true = (model.predict(noisy) == y).mean()
    assert found.value == pytest.approx(true, abs=found.high - found.low + 0.01)
    assert (model.predict(noisy) == release.rows["y"].to_numpy()).mean() < true - 0.1


def test_a_model_below_the_majority_says_so():
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=3000), "y": (rng.random(3000) < 0.1).astype(int)})
    plan = Plan(label="y", epsilon=0.5, delta=1e-5, ranges={"x": (-3, 3)})
    report = learn(protect(table, plan, rng=rng), test=table).report_
    assert report.performance.majority > 0.85
    assert "Not shown to be better than guessing" in str(report)


def test_some_of_the_released_features_can_be_used():
    for mechanism in ("rows", "totals"):
        release = protect(_table(1), _plan(mechanism), rng=np.random.default_rng(5))
        model = learn(release, features=["x2", "x0"], hold_out=0)
        whole = learn(release, hold_out=0)
        places = [release.features.index(name) for name in ("x2", "x0")]
        assert model.learner.means_ == pytest.approx(whole.learner.means_[:, places])


@pytest.mark.parametrize("declared", [("a", "b", "c"), ("c", "a", "b")])
def test_classes_keep_the_order_of_the_list(declared):
    release = protect(_table(1), _plan("rows", classes=declared), rng=np.random.default_rng(6))
    assert release.classes == declared
    assert learn(release, test=_table(2)).report_.accuracy > 0.6


@pytest.mark.parametrize("classes", [("a", "z"), ("z", "a")])
def test_an_asymmetric_transition_is_in_the_order_of_the_classes(classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    X, transition = rng.normal(size=(20_000, 1)) + 2.0 * y[:, None], np.array([[0.9, 0.1], [0.4, 0.6]])
    released = (rng.random(20_000) < transition[y, 1]).astype(int)
    model = FisherClassifier(transition=transition).fit_codes(X, released, classes=classes)
    assert tuple(model.classes_) == classes
    assert model.means_.ravel() == pytest.approx([0.0, 2.0], abs=0.1)


def test_a_class_that_no_released_row_has_is_learned_from_the_transition():
    X = np.random.default_rng(0).normal(size=(500, 1))
    model = FisherClassifier(transition=[[0.9, 0.1], [0.4, 0.6]])
    model.fit_codes(X, np.zeros(500, dtype=int), classes=("a", "z"))
    assert (model.predict(X) == "a").mean() > 0.9


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"data": _table(2)}, "data must not be given"),
        ({"hold_out": 1.0}, r"hold_out must be in \[0, 1\), got 1.0"),
        ({"features": ["x99"]}, "features names no column 'x99'"),
        ({"method": "trees"}, "method must be one of fisher, got 'trees'"),
        ({"method": "fisher:rule=full"}, "use the independence rule"),
        ({"test": _table(2).drop_columns(["y"])}, "test names no column 'y'"),
    ],
)
def test_bad_input_is_refused(given, sentence):
    release = protect(_table(1), _plan("totals"), rng=np.random.default_rng(7))
    with pytest.raises(InvalidInput, match=sentence):
        learn(release, **given)


def test_totals_agree_with_rows_where_there_is_no_noise():
    rng = np.random.default_rng(4)
    X, y = _classes(rng, 500)
    box = FeatureRanges(lower=(-2.0,) * 4, upper=(3.0,) * 4)
    unit = (X - box.middle) / box.half
    sums = np.stack([unit[y == k].sum(axis=0) for k in range(3)])
    totals = ReleasedTotals(counts=np.bincount(y), sums=sums, squares=(unit**2).sum(axis=0))
    told = FisherClassifier().fit_totals(totals, box=box, classes=[0, 1, 2])
    plain = FisherClassifier(IndependenceRule()).fit(X, y)
    assert told.predict_proba(X) == pytest.approx(plain.predict_proba(X))


@pytest.mark.parametrize("rule", [IndependenceRule(), FullCovarianceRule()])
def test_rows_far_from_zero_lose_no_digits(rule):
    rng = np.random.default_rng(5)
    X, y = _classes(rng, 2000)
    near, far = FisherClassifier(rule).fit(X, y), FisherClassifier(rule).fit(X + 1e7, y)
    assert far.inverse_covariance_.covariance == pytest.approx(near.inverse_covariance_.covariance, rel=1e-6)
    assert (far.predict(X + 1e7) == near.predict(X)).mean() > 0.999


@pytest.mark.parametrize("rule", [IndependenceRule(), FullCovarianceRule()])
def test_variances_lost_in_the_noise_do_not_decide(rule):
    """Twenty equal features under noise ten times their deviation: some variances less the noise's fall below 0."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 8000)
    X = rng.normal(size=(8000, 20)) + y[:, None]
    noisy = X + rng.normal(scale=10.0, size=X.shape)
    told = FisherClassifier(rule, noise=10.0).fit(noisy, y).score(X, y)
    knows = FisherClassifier(IndependenceRule()).fit(noisy, y).score(X, y)  # all alike, which here is the truth
    assert told > knows - 0.01
