"""``models.learn``: a released model predicts, and is judged honestly."""

import joblib
import numpy as np
import pandas as pd
import pytest

from tacit.models import Plan, Release, learn, protect
from tacit.models.network import TwoLayerReLU
from tacit.privacy import InvalidInput, NoGuarantee

TABLE = pd.DataFrame({"age": [20.0, 70.0, 30.0, 60.0] * 20, "ill": ["no", "yes"] * 40})
PLAIN = Plan(label="ill", epsilon=None, mechanism="plain")


@pytest.fixture(scope="module")
def release():
    return protect(TABLE, PLAIN)


def test_it_predicts_tables_and_matrices_and_is_judged(release):
    model = learn(release, test=TABLE)
    assert model.report_.accuracy == 1.0
    assert (model.report_.performance.rows, model.report_.performance.majority) == (80, 0.5)
    assert model.guarantee_ == release.guarantee
    assert model.predict(TABLE).tolist() == TABLE.ill.tolist()
    assert model.predict(np.array([[10.0], [90.0]])).tolist() == ["no", "yes"]
    np.testing.assert_allclose(model.predict_proba(TABLE).sum(axis=1), 1)
    assert str(model.report_).startswith("Judged by 80 true labels, outside the guarantee")


def test_a_model_that_does_no_better_than_the_majority_class_says_so(release):
    wrong = TABLE.assign(ill=["yes", "no"] * 40)
    assert "Not shown to be better than guessing" in str(learn(release, test=wrong).report_)
    assert "Not evaluated" in str(learn(release).report_)
    assert learn(release).report_.to_json()["performance"] is None


def test_a_loaded_model_is_stored_and_read_back(release, tmp_path):
    joblib.dump(learn(release), tmp_path / "model.joblib")
    assert joblib.load(tmp_path / "model.joblib").predict(TABLE).tolist() == TABLE.ill.tolist()


def test_a_model_from_elsewhere_is_judged_by_the_columns_that_are_named(tmp_path):
    network = TwoLayerReLU(weights=[[1.0], [0.0]], biases=[-50.0, 1.0], outputs=[1.0, -1.0])
    torch = pytest.importorskip("torch")
    torch.save({name: torch.tensor(value) for name, value in network.state.items()}, tmp_path / "model.pt")
    model = learn(Release.read(tmp_path / "model.pt", label="ill"), test=TABLE, features=["age"])
    assert model.report_.accuracy == 1.0
    assert isinstance(model.guarantee_, NoGuarantee)
    with pytest.raises(InvalidInput, match="test must have its label column"):
        learn(tmp_path / "model.pt", test=TABLE)


def test_what_makes_no_sense_is_refused(release):
    with pytest.raises(InvalidInput, match="data must not be given"):
        learn(release, data=TABLE)
    with pytest.raises(InvalidInput, match="features must not be given"):
        learn(release, features=["age"])
    with pytest.raises(InvalidInput, match="method must be one of load"):
        learn(release, method="twins")
    with pytest.raises(InvalidInput, match="test must have the column 'ill'"):
        learn(release, test=TABLE[["age"]])
    with pytest.raises(InvalidInput, match="classes"):
        learn(release, test=TABLE.assign(ill="perhaps"))
