"""An audit in a real tracking store, read back."""

import json
import logging

import pytest

from tacit.audit import AuditResult, ReleaseCost, TotalCost, log_audit
from tacit.privacy import Guarantee, NoGuarantee, Unit

mlflow = pytest.importorskip("mlflow")


@pytest.fixture
def store(tmp_path):
    """Where runs are kept: an experiment of a fresh SQLite store."""
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    yield mlflow.create_experiment("audits", artifact_location=str(tmp_path / "artifacts"))
    mlflow.set_tracking_uri(before)


def test_every_release_and_the_totals_are_read_back(store, run_of, finding):
    guarantee = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    exact = finding(NoGuarantee(reason="exact"), [1] * 8, [1] * 8, surface="scores")
    first = finding(guarantee, [1, 0] * 50, [1] * 100, setting="the first")
    second = finding(guarantee, [1] * 100, [1] * 100, setting="the second")
    totals = (
        TotalCost(data="made up", guarantee=guarantee, parts=(ReleaseCost("a", 1.0), ReleaseCost("b", 1.0))),
        TotalCost(data="x", guarantee=exact.guarantee, parts=(ReleaseCost("c", None),)),
    )
    result = run_of(first, exact, second, totals=totals)
    with mlflow.start_run(experiment_id=store) as run:
        log_audit(result)
    stored = mlflow.get_run(run.info.run_id)
    metrics, parameters = stored.data.metrics, stored.data.params

    assert metrics["labels_1/advantage"] == 0.0
    assert metrics["labels_2/advantage"] == 0.5
    assert metrics["labels_2/epsilon_lower_bound"] > 1.0
    assert metrics["broken"] == 1.0, "the second release proves more than epsilon 1"
    assert metrics["scores_1/utility"] == exact.utility.protected
    assert metrics["scores_1/utility_low"] == exact.utility.interval.low
    assert [parameters[f"labels_{n}/setting"] for n in (1, 2)] == ["the first", "the second"]
    assert parameters["labels_1/epsilon"] == "1.0"
    assert parameters["scores_1/guarantee"] == "no guarantee: exact"
    assert metrics["total_1/epsilon"] == 1.0
    assert "total_2/epsilon" not in metrics
    assert parameters["total_2/guarantee"] == "no guarantee: exact"

    document = mlflow.artifacts.load_dict(f"{stored.info.artifact_uri}/audit.json")
    assert AuditResult.from_json(document) == result
    assert json.dumps(document) == json.dumps(result.to_json())
