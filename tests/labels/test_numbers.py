"""Regression on released numbers: no worse than the mean, near the clean fit, and what a pull to the mean costs."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tacit.labels.fitting.likelihood import NoSignalWarning
from tacit.labels.fitting.numbers import CalibratedFit, stretch_outputs
from tacit.labels.learners.regressor import LabelPrivateRegressor
from tacit.labels.mechanisms import RandomizedResponseOnBins
from tacit.labels.mechanisms.estimate import estimate_prior
from tacit.privacy.errors import InvalidInput


def costs(rows=6000, seed=0):
    """Zero in a fifth of the rows, and a heavy tail: the largest is some twenty deviations above the mean."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 8))
    y = np.exp(6 + 0.6 * X[:, 0] - 0.4 * X[:, 1] + 0.3 * X[:, 2] + 0.9 * rng.normal(size=rows))
    return X, y * (rng.random(rows) < 0.8)


def r2(predicted, truth):
    return 1 - np.mean((predicted - truth) ** 2) / truth.var()


@pytest.mark.parametrize(("epsilon", "least"), [(0.5, -0.05), (1.0, 0.02), (3.0, 0.05)])
def test_skewed_costs_with_a_wide_bound_are_not_worse_than_their_mean(epsilon, least):
    X, y = costs()
    top = float(y.max())
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSignalWarning)
        for seed in range(5):
            model = LabelPrivateRegressor(epsilon=epsilon, bounds=(0.0, top), random_state=seed)
            found.append(r2(model.fit(X[:4500], y[:4500]).predict(X[4500:]), y[4500:]))
        plain = LabelPrivateRegressor(
            epsilon=epsilon, bounds=(0.0, top), levels=5, mechanism="unbiased", random_state=0
        )
        control = r2(Ridge().fit(X[:4500], plain.fit(X[:4500], y[:4500]).release_.labels).predict(X[4500:]), y[4500:])
    assert min(found) > least
    assert np.mean(found) > control + 0.05, "control: least squares on unbiased numbers"


def test_a_linear_signal_is_nearly_as_good_as_without_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 8))
    y = np.clip(50 + 10 * (X[:, 0] - 0.6 * X[:, 1]) + 8 * rng.normal(size=6000), 0, 100)
    model = LabelPrivateRegressor(epsilon=1.0, bounds=(0, 100), random_state=0).fit(X[:4500], y[:4500])
    assert r2(Ridge().fit(X[:4500], y[:4500]).predict(X[4500:]), y[4500:]) < 0.7
    assert r2(model.predict(X[4500:]), y[4500:]) > 0.6
    pulled = Ridge().fit(X[:4500], model.release_.labels.to_numpy()).predict(X[4500:])
    assert r2(pulled, y[4500:]) < 0.3, "control: the pull to the mean left in"


def test_features_without_information_predict_the_mean_and_say_so():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(2000, 30)), rng.uniform(0, 10, 2000)
    with pytest.warns(NoSignalWarning, match="mean of all"):
        model = LabelPrivateRegressor(epsilon=0.5, bounds=(0, 10), random_state=2).fit(X, y)
    assert model.shrinkage_ == 0
    assert np.ptp(model.predict(X)) == 0
    assert abs(model.predict(X)[0] - 5) < 1


def test_few_rows_spend_nothing_on_the_prior():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.clip(5 + 2 * X[:, 0], 0, 10)
    few = LabelPrivateRegressor(epsilon=2.0, bounds=(0, 10), random_state=0).fit(X, y)
    assert few.release_.asked.prior == (1 / 20,) * 20
    many = LabelPrivateRegressor(epsilon=2.0, bounds=(0, 10), random_state=0).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert many.release_.asked.prior is None
    assert str(few.guarantee_) == str(many.guarantee_) == "epsilon 2 for one label"


def test_outputs_are_stretched_by_what_the_bins_pull():
    values = np.arange(11.0)
    prior = np.exp(-((values - 5) ** 2) / 8)
    bins = RandomizedResponseOnBins(epsilon=1.0, values=values, prior=prior / prior.sum())
    T = bins.transition()
    stretched = stretch_outputs(bins.outputs, values=values, transition=T, prior=bins.prior)
    center = bins.prior @ values
    np.testing.assert_allclose(bins.prior @ T @ stretched, center, atol=1e-9)
    slopes = [bins.prior @ ((values - center) * (T @ out)) / (bins.prior @ (values - center) ** 2)
              for out in (stretched, bins.outputs)]  # fmt: skip
    assert slopes[0] == pytest.approx(1, abs=0.15)  # the two outermost values count as their neighbors
    assert slopes[1] < 0.5
    np.testing.assert_array_equal(
        stretch_outputs(values, values=values, transition=np.eye(11), prior=bins.prior), values
    )
    same = stretch_outputs(np.array([5.0]), values=values, transition=np.ones((11, 1)), prior=bins.prior)
    np.testing.assert_allclose(same, center)


def test_numbers_that_only_noise_makes_frequent_are_absent_from_the_prior():
    counts = np.zeros(50, dtype=int)
    counts[:2] = 2000
    priors = [estimate_prior(counts, epsilon=0.2, rng=np.random.default_rng(s), clear=clear)
              for s in range(20) for clear in (True, False)]  # fmt: skip
    means = np.array([prior @ np.arange(50) for prior in priors])
    assert np.mean(np.abs(means[::2] - 0.5)) < 0.5 * np.mean(np.abs(means[1::2] - 0.5))
    np.testing.assert_allclose([prior.sum() for prior in priors], 1)
    nothing = estimate_prior(np.ones(4, dtype=int), epsilon=0.1, rng=np.random.default_rng(0), clear=True)
    np.testing.assert_allclose(nothing, 0.25)


def test_frames_weights_and_pipelines_reach_the_regressor():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=3000), "city": rng.choice(["Oslo", "Rome"], 3000)})
    y = np.clip(5 + 2 * (frame["city"] == "Rome") + frame["size"], 0, 10).to_numpy()
    columns = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
    model = LabelPrivateRegressor(make_pipeline(columns, Ridge()), epsilon=2, bounds=(0, 10), random_state=0)
    assert r2(model.fit(frame, y).predict(frame), y) > 0.8
    twice = np.concatenate([y, 10 - y])
    weights = np.repeat([1.0, 0.0], 3000)
    X = np.tile(frame[["size"]].to_numpy(), (2, 1))
    weighted = LabelPrivateRegressor(epsilon=2, bounds=(0, 10), random_state=0).fit(X, twice, sample_weight=weights)
    assert weighted.predict([[1.0]]) - weighted.predict([[-1.0]]) > 1


def test_the_share_that_is_kept_is_the_slope_on_rows_not_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    signal = X[:, 0] + 3 * rng.normal(size=4000)
    fit = CalibratedFit.of(Ridge(), X, signal, None, rng=rng)
    assert 0.9 < fit.share <= 1
    assert fit.predict(X).mean() == pytest.approx(signal.mean())


def test_a_mechanism_of_classes_is_refused():
    with pytest.raises(InvalidInput, match="mechanism must release numbers"):
        LabelPrivateRegressor(mechanism="rr", random_state=0).fit([[0.0], [1.0]], [0.0, 1.0])
