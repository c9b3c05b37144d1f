"""A release that trains a model without tacit: its columns are functions of the released label, and unbiased."""

import numpy as np
import pyarrow as pa
import pytest

from tacit import labels
from tacit.privacy.errors import InvalidInput


def made(mechanism="rr", *, rows=6000, gaps=False, **settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=rows)
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-2 * X)), "yes", "no").astype(object)
    if gaps:
        y[::7] = None
    table = pa.table({"x": X, "ill": pa.array(y.tolist())})
    plan = labels.Plan(
        label="ill", epsilon=1, classes=("no", "yes"), features=("x",), mechanism=mechanism, weights=True, **settings
    )
    return table, labels.protect(table, plan, rng=rng)


@pytest.mark.parametrize("mechanism", ["rr", "laplace"])
def test_weights_estimate_each_label_without_bias(mechanism):
    table, release = made(mechanism)
    truth = np.array(table["ill"].to_pylist()) == "yes"
    weights = np.asarray(release.table["weight_yes"])
    for part in (truth, ~truth):
        error = weights[part].std() / np.sqrt(part.sum())
        assert abs(weights[part].mean() - truth[part].mean()) < 4 * error
    assert abs((2 * truth - 1).mean() - truth.mean()) > 0.01, "control"


def test_columns_say_what_the_released_label_says_and_no_more():
    _, release = made()
    frame = release.table.to_pandas()
    columns = [name for name in frame if name.startswith(("likelihood_", "weight_"))]
    assert columns == ["likelihood_no", "likelihood_yes", "weight_no", "weight_yes"]
    assert (frame.groupby("label")[columns].nunique() == 1).all(axis=None)
    np.testing.assert_allclose(frame[columns[:2]], release.evidence.likelihood)
    assert release.feature_names == ["x"]


def test_a_mechanism_without_an_inverse_has_likelihoods_alone():
    _, release = made("staged:stages=2", rows=400)
    assert [name for name in release.table.column_names if name.startswith("weight_")] == []
    np.testing.assert_allclose(np.asarray(release.table["likelihood_no"]), release.evidence.likelihood[:, 0])
    assert release.feature_names == ["x"]


def test_a_row_without_a_label_has_no_weight():
    _, release = made(gaps=True, rows=70, missing="public")
    frame = release.table.to_pandas()
    assert (frame["label"].isna() == frame["weight_no"].isna()).all()
    assert (frame.loc[frame["label"].isna(), "likelihood_no"] == 1).all()


def test_learners_and_attackers_ignore_the_columns(tmp_path):
    table, release = made()
    labels.protect(table, release.plan, rng=np.random.default_rng(1), out=tmp_path / "ill.parquet")
    read = labels.Release.read(tmp_path / "ill.parquet")
    assert labels.learn(read, rng=np.random.default_rng(0)).report_.accuracy > 0.65
    assert labels.attack(read, truth=table, rng=np.random.default_rng(0)).facts["randomized_as_claimed"]


def test_names_and_numbers_that_it_cannot_have_are_rejected():
    with pytest.raises(InvalidInput, match="weight_kg"):
        labels.Plan(label="ill", epsilon=1, features=("weight_kg",), weights=True)
    with pytest.raises(InvalidInput, match="weights"):
        labels.Plan(label="days", epsilon=1, mechanism="bins", values=(0.0, 1.0), weights=True)
