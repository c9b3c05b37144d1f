"""Metrics for Prometheus, and the log of failures: both name routes, and nothing of a request."""

import logging
import re
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from tacit.privacy.errors import LedgerError
from tacit.server import ScoringEngine
from tacit.server.app import create_app
from tacit.server.log import JsonLines
from tests.server.conftest import ROWS

API = "/api/v1"
TOKEN = "metrics-of-this-server"


@pytest.fixture
def client(sqlite_settings, make, join):
    engine = ScoringEngine.open(replace(sqlite_settings, metrics_token=TOKEN))
    make(engine)
    client = TestClient(create_app(engine), raise_server_exceptions=False)
    client.engine, client.team = engine, join(engine).token
    yield client
    engine.close()


def measure(client, token=TOKEN):
    answer = client.get(f"{API}/metrics", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_requests_are_counted_by_route(client):
    headers = {"Authorization": f"Bearer {client.team}"}
    for _ in range(3):
        client.post(f"{API}/competitions/coins/submissions", json={"predictions": [0] * ROWS}, headers=headers)
    client.get("/c/zq-path?zq=query")
    found = measure(client)
    route = f"{API}/competitions/{{slug}}/submissions"
    assert found[f'tacit_requests_total{{method="POST",route="{route}",status="201"}}'] == 3
    assert found[f'tacit_request_seconds_count{{route="{route}"}}'] == 3
    assert found[f'tacit_request_seconds_bucket{{route="{route}",le="+Inf"}}'] == 3
    buckets = [
        value for name, value in found.items() if name.startswith(f'tacit_request_seconds_bucket{{route="{route}"')
    ]
    assert buckets == sorted(buckets), "each bucket has the ones below it"
    assert found["tacit_ready"] == 1
    assert found["tacit_submissions_waiting"] == found["tacit_connections"] == 0
    assert found["process_resident_memory_bytes"] > 2**20
    assert "zq" not in str(found)


def test_the_text_is_as_prometheus_reads_it(client):
    measure(client)
    text = client.get(f"{API}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
    sample = re.compile(r'[a-z_]+(\{([a-z]+="[^"\\\n]*",?)+\})? -?[\d.e+-]+')
    kinds = dict(re.findall(r"^# TYPE (\w+) (counter|gauge|histogram)$", text, re.M))
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or sample.fullmatch(line), line
    names = {re.match(r"[a-z_]+", line).group() for line in text.splitlines() if not line.startswith("#")}
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in names} == kinds.keys()


def test_the_token_for_metrics_reads_nothing_else(client):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert client.get(f"{API}/competitions/coins/teams", headers=headers).status_code == 401
    for token, status in ((None, 401), ("guessed", 401), (client.team, 403), (client.engine.new_admin_token(), 200)):
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        assert client.get(f"{API}/metrics", headers=sent).status_code == status


def test_without_a_token_for_metrics_the_host_alone_reads_them(sqlite_engine):
    client = TestClient(create_app(sqlite_engine))
    for token in ("", "None", "x"):
        assert client.get(f"{API}/metrics", headers={"Authorization": f"Bearer {token}"}).status_code == 401


def test_a_failure_is_logged_with_its_request_and_without_its_text(client, monkeypatch, caplog):
    def fail(slug):
        raise LedgerError(f"zq-secret of {slug}")

    monkeypatch.setattr(client.engine, "spend", fail)
    headers = {"Authorization": f"Bearer {client.engine.new_admin_token()}"}
    with caplog.at_level(logging.INFO, logger="tacit.server"):
        number = client.get(f"{API}/competitions/coins/spend", headers=headers).headers["x-request-id"]
    failed, asked = (JsonLines().format(record) for record in caplog.records[-2:])
    assert f'"request": "{number}", "failed": "LedgerError"' in failed
    assert number in asked
    assert "zq-secret" not in failed + asked
