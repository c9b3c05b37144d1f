"""A leak in a real tracking store, read back."""

import logging
import sys

import pytest

from tacit.leak import Leak, leak_from_guesses, log_leak
from tacit.leak.tracking import leak_metrics
from tacit.privacy import Guarantee, InvalidInput, MissingExtra, NoGuarantee, Unit
from tacit.privacy.guarantee import guarantee_from_json
from tacit.privacy.loss import PureLoss

mlflow = pytest.importorskip("mlflow")

LEAK = leak_from_guesses([1] * 90 + [0] * 10, [1] * 100, baseline=0.5)
GUARANTEE = Guarantee(unit=Unit.LABEL, epsilon=1.0, delta=1e-6, loss=PureLoss(epsilon=1.0))


@pytest.fixture(scope="module")
def tracked(tmp_path_factory):
    """Runs a function inside a run of a SQLite store, and returns what the store then holds."""
    folder = tmp_path_factory.mktemp("mlflow")
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    experiment = mlflow.create_experiment("releases", artifact_location=str(folder / "artifacts"))

    def run(log):
        with mlflow.start_run(experiment_id=experiment) as active:
            log()
        stored = mlflow.get_run(active.info.run_id)
        files = {file.path for file in mlflow.MlflowClient().list_artifacts(active.info.run_id)}
        return stored.data, {name: mlflow.artifacts.load_dict(f"{stored.info.artifact_uri}/{name}") for name in files}

    yield run
    mlflow.set_tracking_uri(before)


def test_a_leak_and_its_guarantee_are_read_back(tracked):
    data, files = tracked(lambda: log_leak(LEAK, guarantee=GUARANTEE, name="labels"))
    assert data.metrics == {
        "labels/rate": 0.9,
        "labels/rate_low": LEAK.interval.low,
        "labels/rate_high": LEAK.interval.high,
        "labels/baseline": 0.5,
        "labels/advantage": LEAK.advantage,
        "labels/advantage_low": LEAK.advantage_interval.low,
        "labels/advantage_high": LEAK.advantage_interval.high,
        "labels/trials": 100.0,
        "labels/epsilon_lower_bound": LEAK.epsilon_lower_bound,
    }
    assert data.params == {
        "labels/guarantee": "epsilon 1, delta 1e-6 for one label",
        "labels/unit": "label",
        "labels/epsilon": "1.0",
        "labels/delta": "1e-06",
        "labels/rows": "1",
        "labels/mechanism": "pure",
    }
    assert Leak.from_json(files["labels.json"]["leak"]) == LEAK
    assert guarantee_from_json(files["labels.json"]["guarantee"]) == GUARANTEE


def test_no_guarantee_is_said_with_its_reason_and_no_bound_is_not_zero(tracked):
    unproved = leak_from_guesses([1, 0], [1, 1], baseline=[0, 0])
    data, files = tracked(lambda: log_leak(unproved, guarantee=NoGuarantee(reason="exact totals")))
    assert data.params == {"leak/guarantee": "no guarantee: exact totals"}
    assert "leak/epsilon_lower_bound" not in data.metrics
    assert files["leak.json"]["guarantee"] == {"none": "exact totals"}


def test_two_leaks_of_one_run_have_names_of_their_own(tracked):
    def both():
        log_leak(LEAK, name="before")
        log_leak(LEAK, guarantee=GUARANTEE, name="after")

    data, files = tracked(both)
    assert set(data.metrics) == set(leak_metrics(LEAK, name="before")) | set(leak_metrics(LEAK, name="after"))
    assert set(files) == {"before.json", "after.json"}


def test_a_second_guarantee_under_one_name_is_refused_by_mlflow(tracked):
    def twice():
        log_leak(LEAK, guarantee=GUARANTEE)
        with pytest.raises(mlflow.MlflowException, match="Changing param values is not allowed"):
            log_leak(LEAK, guarantee=Guarantee(unit=Unit.LABEL, epsilon=2.0))

    data, _ = tracked(twice)
    assert data.params["leak/epsilon"] == "1.0"


def test_without_a_run_nothing_is_logged(tracked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="an MLflow run must be active"):
        log_leak(LEAK)
    assert mlflow.active_run() is None
    assert list(tmp_path.iterdir()) == []


def test_without_mlflow_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtra, match="install it with: pip install mlflow-skinny"):
        log_leak(LEAK)
