"""Fisher's classifier: scikit-learn's checks, noise and label noise taken out, learning from releases."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.features import (
    Box,
    ClassTotals,
    FeaturePlan,
    FisherClassifier,
    Full,
    Independence,
    NoisedRows,
    PrivateSelection,
    PublicClassRows,
    learn_release,
    protect_features,
)
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.privacy import InvalidInput, InvalidRelease, NoGuarantee
from tacit.privacy.release import Release, read_release


@parametrize_with_checks([FisherClassifier(), FisherClassifier(Full())])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def _classes(rng, rows=20_000, K=3):
    y = rng.integers(0, K, rows)
    return rng.normal(size=(rows, 4)) / 5 + np.eye(4)[y] * 0.6, y


def test_label_noise_is_taken_out():
    rng = np.random.default_rng(0)
    X, y = _classes(rng)
    mechanism = RandomizedResponse(epsilon=0.7, classes=3)
    flipped = mechanism.randomize(y, rng=rng)
    told = FisherClassifier(transition=mechanism.transition()).fit(X, flipped)
    naive = FisherClassifier().fit(X, flipped)
    truth = FisherClassifier().fit(X, y).means_
    assert np.abs(told.means_ - truth).max() < 0.05
    assert np.abs(naive.means_ - truth).max() > 0.2


def test_feature_noise_is_taken_out_of_the_covariance():
    rng = np.random.default_rng(1)
    X, y = _classes(rng)
    noise = np.array([1.0, 0.5, 2.0, 0.1])
    told = FisherClassifier(noise=noise).fit(X + rng.normal(size=X.shape) * noise, y)
    assert np.sqrt(told.metric_.covariance[[0, 1, 3]]) == pytest.approx(np.full(3, 0.2), abs=0.08)


def _table(seed, rows=8000):
    rng = np.random.default_rng(seed)
    X, y = _classes(rng, rows)
    junk = rng.normal(size=(rows, 12)) / 5
    names = {f"x{j}": np.hstack([X, junk])[:, j] for j in range(16)}
    return pa.table({**names, "y": np.array(["a", "b", "c"])[y]})


def _accuracy(release, table, **settings):
    model = learn_release(release, **settings)
    rows = np.column_stack([table[name].to_numpy() for name in release.mechanism["features"]])
    return model.score(rows, np.asarray(table["y"]))


def test_rows_and_totals_teach_the_classifier(tmp_path):
    selection = {
        "box": Box.symmetric(1.0),
        "selection": PrivateSelection(epsilon=1.0, keep=4),
        "class_rows": PublicClassRows(rows=(2600, 2600, 2600)),
    }
    rows = FeaturePlan(**selection, release=NoisedRows(epsilon=8.0, delta=1e-5), labels=RandomizedResponse(epsilon=3.0))
    totals = FeaturePlan(**selection, release=ClassTotals(epsilon=8.0, delta=1e-5))
    rng = np.random.default_rng(3)
    protect_features(_table(1), tmp_path / "rows.parquet", label="y", plan=rows, rng=rng)
    protect_features(_table(1), tmp_path / "totals.json", label="y", plan=totals, rng=rng)
    from_rows = _accuracy(read_release(tmp_path / "rows.parquet"), _table(2))
    from_totals = _accuracy(read_release(tmp_path / "totals.json"), _table(2))
    assert from_totals > 0.95  # the noise is on sums, not on rows
    assert 0.6 < from_rows < from_totals


def _asymmetric(classes, y, rng):
    """A release whose labels, places in ``classes``, were kept with chance 0.9 if the first and 0.6 if the second."""
    X = rng.normal(size=(len(y), 1)) + 2.0 * y[:, None]
    transition = np.array([[0.9, 0.1], [0.4, 0.6]])
    released = (rng.random(len(y)) < transition[y, 1]).astype(int)
    header = {"name": "noised_rows", "features": ["x"], "noise": [0.0], "classes": list(classes)}
    header["labels"] = {"name": "own", "transition": transition.tolist()}
    table = pa.table({"x": X[:, 0], "label": [classes[code] for code in released]})
    release = Release(
        value=table, guarantee=NoGuarantee(reason="a test"), surface="features", mechanism=header, seeded=True
    )
    return release, X


@pytest.mark.parametrize("classes", [("a", "z"), ("z", "a")])
def test_the_transition_is_in_the_order_of_the_releases_classes(classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    release, _ = _asymmetric(classes, y, rng)
    model = learn_release(release)
    assert tuple(model.classes_) == classes
    assert model.means_.ravel() == pytest.approx([0.0, 2.0], abs=0.1)


def test_classes_that_are_fractions_can_be_learned():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 5000)
    release, X = _asymmetric((0.5, 1.0), y, rng)
    assert (learn_release(release).predict(X) == np.array([0.5, 1.0])[y]).mean() > 0.8


def test_a_class_that_no_released_row_has_is_learned_from_the_transition():
    rng = np.random.default_rng(0)
    release, X = _asymmetric(("a", "z"), np.zeros(500, dtype=int), rng)
    kept = np.flatnonzero(np.asarray(release.value["label"]) == "a")
    few = Release(
        value=release.value.take(pa.array(kept)),
        guarantee=release.guarantee,
        surface="features",
        mechanism=release.mechanism,
        seeded=True,
    )
    assert (learn_release(few).predict(X) == "a").mean() > 0.9


def test_totals_agree_with_rows_where_there_is_no_noise():
    rng = np.random.default_rng(4)
    X, y = _classes(rng, 500)
    box = Box(lower=(-2.0,) * 4, upper=(3.0,) * 4)
    unit = (X - box.middle) / box.half
    sums = np.stack([unit[y == k].sum(axis=0) for k in range(3)])
    told = FisherClassifier().fit_totals(
        counts=np.bincount(y),
        sums=sums,
        squares=(unit**2).sum(axis=0),
        lower=box.lower,
        upper=box.upper,
        classes=[0, 1, 2],
    )
    plain = FisherClassifier(Independence()).fit(X, y)
    assert told.predict_proba(X) == pytest.approx(plain.predict_proba(X))


def test_totals_cannot_give_the_full_rule_and_other_surfaces_are_refused():
    with pytest.raises(InvalidInput, match="take the independence rule"):
        FisherClassifier(Full()).fit_totals(
            counts=[5, 5], sums=[[1], [2]], squares=[3], lower=[0], upper=[1], classes=[0, 1]
        )
    other = Release(
        value={"a": 1}, guarantee=NoGuarantee(reason="none"), surface="labels", mechanism={"name": "x"}, seeded=True
    )
    with pytest.raises(InvalidRelease, match="must be of features, got one of labels"):
        learn_release(other)


@pytest.mark.parametrize("rule", [Independence(), Full()])
def test_rows_far_from_zero_lose_no_digits(rule):
    rng = np.random.default_rng(5)
    X, y = _classes(rng, 2000)
    near, far = FisherClassifier(rule).fit(X, y), FisherClassifier(rule).fit(X + 1e7, y)
    assert far.metric_.covariance == pytest.approx(near.metric_.covariance, rel=1e-6)
    assert (far.predict(X + 1e7) == near.predict(X)).mean() > 0.999


@pytest.mark.parametrize("rule", [Independence(), Full()])
def test_variances_lost_in_the_noise_do_not_decide(rule):
    """Twenty equal features under noise ten times their deviation: some variances less the noise's fall below 0."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 8000)
    X = rng.normal(size=(8000, 20)) + y[:, None]
    noisy = X + rng.normal(scale=10.0, size=X.shape)
    told = FisherClassifier(rule, noise=10.0).fit(noisy, y).score(X, y)
    knows = FisherClassifier(Independence()).fit(noisy, y).score(X, y)  # all alike, which here is the truth
    assert told > knows - 0.01
