"""The JSON API: who may do what, what is taken, and what is answered."""

import json
import re

import numpy as np
import pytest

from tacit.scores.attacks.http import CsvBody, JsonBody
from tacit.scores.metrics import Accuracy, LogLoss
from tacit.scores.policies import Exact, Rounded
from tacit.server import ServerSettings
from tacit.server.app import create_app
from tacit.server.records import Host
from tests.server.rules import rules_of
from tests.server.test_organizers import ROUTES as ORGANIZED

ROWS = 40
API = "/api/v1"
COINS = f"{API}/competitions/coins"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def coins(sqlite_engine, make, join):
    """A competition, and a team's header."""
    make(sqlite_engine)
    return bearer(join(sqlite_engine).token)


@pytest.fixture
def stranger(sqlite_engine, make, join):
    """A team of another competition."""
    labels = b"label\n" + b"1\n0\n0\n0\n" * 10
    make(sqlite_engine, slug="others", labels=labels)
    return bearer(join(sqlite_engine, "others").token)


BODY = {
    "slug": "new",
    "name": "New",
    "metric": "accuracy",
    "policy": {"name": "rounded", "decimals": 2},
    "epsilon": None,
    "together": None,
    "public_fraction": 1,
    "features": "size\n1\n2\n",
    "labels": "label\nno\nyes\n",
}
ROUTES = [
    ("GET", "/competitions", "anyone"),
    ("GET", "/competitions/coins", "anyone"),
    ("GET", "/health", "anyone"),
    ("GET", "/ready", "anyone"),
    ("GET", "/competitions/coins/features", "visible"),
    ("GET", "/competitions/coins/leaderboard", "visible"),
    ("GET", "/competitions/coins/history", "visible"),
    ("GET", "/competitions/coins/final", "visible"),
    ("POST", "/competitions", "host"),
    ("POST", "/competitions/coins/invites", "host"),
    ("GET", "/competitions/coins/teams", "host"),
    ("GET", "/competitions/coins/flags", "host"),
    ("GET", "/competitions/coins/spend", "host"),
    ("POST", "/competitions/coins/final", "host"),
    ("GET", "/competitions/coins/actions", "host"),
    ("DELETE", "/competitions/coins/invites", "host"),
    ("POST", "/competitions/coins/submissions", "team"),
    ("GET", "/competitions/coins/submissions", "team"),
    ("GET", "/competitions/coins/budget", "team"),
]


class TestRoles:
    @pytest.mark.parametrize("public", [True, False])
    @pytest.mark.parametrize(("method", "path", "who"), ROUTES)
    def test_each_role_may_do_its_own(
        self, client, sqlite_engine, make, join, host, stranger, method, path, who, public
    ):
        make(sqlite_engine, public=public)
        team = bearer(join(sqlite_engine).token)
        callers = {
            "anyone": {},
            "guesser": bearer("tacit_team_guessed"),
            "stranger": stranger,
            "team": team,
            "host": host,
        }
        allowed = {
            "anyone": set(callers),
            "visible": set(callers) if public else {"team", "host"},
            "host": {"host"},
            "team": {"team"},
        }[who]
        body = {"json": BODY if path == "/competitions" else {"predictions": [0] * ROWS}} if method == "POST" else {}
        for name, headers in callers.items():
            answer = client.request(method, API + path, headers=headers, **body)
            expected = {200, 201} if name in allowed else {401} if name in ("anyone", "guesser") else {403}
            assert answer.status_code in expected, (name, answer.text)

    def test_every_route_is_in_the_table(self, client):
        described = client.get(f"{API}/openapi.json").json()["paths"]
        found = {(method.upper(), path) for path, methods in described.items() for method in methods}
        listed = {(method, API + path.replace("coins", "{slug}")) for method, path, _ in ROUTES}
        replay = {("GET", f"{API}/competitions/{{slug}}/{name}") for name in ("forecast", "replay")}
        replay.add(("POST", f"{API}/competitions/{{slug}}/replay"))
        described_elsewhere = {(method, f"{API}{path}") for method, path, *_ in ORGANIZED}
        own = f"{API}/competitions/{{slug}}"  # in test_belongings
        described_elsewhere |= {("PUT", f"{own}/choice"), ("GET", f"{own}/submissions/{{number}}/file")}
        assert found == listed | replay | described_elsewhere | {("POST", f"{API}/teams")}, "tested elsewhere"

    def test_a_cookie_opens_nothing_in_the_api(self, client, sqlite_engine):
        client.cookies.set("tacit_session", sqlite_engine.sign_in(Host()))
        assert client.post(f"{API}/competitions", json=BODY).status_code == 401


class TestCompetitions:
    def test_a_host_creates_one(self, client, host):
        answer = client.post(f"{API}/competitions", headers=host, json=BODY)
        assert answer.status_code == 201
        found = client.get(f"{API}/competitions/new").json()
        assert found == answer.json()
        assert found["columns"] == ["id", "prediction"]
        assert "rounding is no noise" in found["guarantee"]
        features = client.get(f"{API}/competitions/new/features")
        assert features.text.splitlines() == ["id,size", "0,1", "1,2"]
        assert features.headers["content-disposition"] == 'attachment; filename="new-features.csv"'

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"slug": "Not A Slug"}, "slug"),
            ({"slug": "../etc"}, "slug"),
            ({"name": "two\nlines"}, "name must be one line"),
            ({"metric": {}}, "metric must be one of"),
            ({"metric": []}, "metric"),
            ({"metric": {"name": "accuracy", "classes": "many"}}, "accuracy takes no parameters, got 'classes'"),
            ({"metric": "rmse", "classes": "no,yes"}, "classes requires a metric of classes"),
            ({"classes": "no,perhaps"}, "of the classes that are listed"),
            ({"labels": "label\nno\nno\n"}, "classes must list the classes"),
            ({"metric": "auc", "policy": "laplace", "epsilon": 1}, "known sensitivity"),
            ({"policy": "laplace", "epsilon": 0}, "epsilon must be"),
            ({"policy": "rounded", "epsilon": 1}, "epsilon must be none with rounded"),
            ({"final": "exact"}, "final_epsilon must be none with exact"),
            ({"policy": "laplace:scale=2"}, "laplace takes no parameters"),
            ({"submissions": 10**12}, "submissions must be an integer from 1 to 1,000,000"),
            ({"submissions": 10**6, "teams": 10**5}, "must be at most"),
            ({"per_day": 0}, "per_day"),
            ({"public_fraction": 0}, "public_fraction must be in"),
            ({"metric": "custom:metric=x"}, "custom metrics"),
            ({"metric": {"name": "custom", "metric": []}}, "metric must be"),
            ({"labels": "label\nno\nyes\nmaybe\n"}, "one row for each of the 2"),
            ({"features": "size\n"}, "a header and at least one row"),
            ({"features": "a,a\n1,2\n"}, "different column names"),
            ({"opens": "2026-01-01"}, "opens"),
            ({"opens": "2026-02-01T00:00:00Z", "closes": "2026-01-01T00:00:00Z"}, "closes must be later"),
            ({"delta": 1.0}, "delta"),
            ({"teams": 0}, "teams"),
            ({"description": "\x00"}, "description"),
            ({"surplus": 1}, "surplus"),
        ],
    )
    def test_what_is_wrong_is_one_sentence(self, client, host, change, said):
        answer = client.post(f"{API}/competitions", headers=host, json=BODY | change)
        assert answer.status_code == 422
        assert set(answer.json()) == {"error"}
        assert said in answer.json()["error"]
        assert client.get(f"{API}/competitions").json() == []

    def test_a_lone_surrogate_is_no_text(self, client, host):
        body = json.dumps(BODY | {"features": "size\n\ud800\n"})
        answer = client.post(f"{API}/competitions", headers=host | {"content-type": "application/json"}, content=body)
        assert answer.status_code == 422

    def test_a_slug_is_taken_once(self, client, host):
        client.post(f"{API}/competitions", headers=host, json=BODY)
        assert client.post(f"{API}/competitions", headers=host, json=BODY).status_code == 409


class TestSubmissions:
    def post(self, client, headers, **body):
        return client.post(f"{COINS}/submissions", headers=headers, **body)

    def test_all_forms_of_a_submission_are_the_same(self, client, sqlite_engine, make, join):
        make(sqlite_engine, rules=rules_of(metric=Accuracy(), policy=Exact(), public_fraction=1.0))
        team = bearer(join(sqlite_engine).token)
        values = np.random.default_rng(0).integers(0, 2, ROWS).astype(float)
        csv = CsvBody().encode(values)
        shuffled = {"predictions": values[::-1].tolist(), "ids": [str(row) for row in reversed(range(ROWS))]}
        bodies = [
            {"content": csv, "headers": {"content-type": "text/csv"}},
            {"content": JsonBody().encode(values), "headers": {"content-type": "application/json"}},
            {"json": shuffled, "headers": {}},
            {"files": {"file": ("../../=cmd|x.csv", csv)}, "headers": {}},
            {"content": (csv[i : i + 7] for i in range(0, len(csv), 7)), "headers": {"content-type": "text/csv"}},
        ]
        answers = [self.post(client, team | body.pop("headers"), **body) for body in bodies]
        assert [answer.status_code for answer in answers] == [201] * len(bodies)
        assert len({answer.json()["score"] for answer in answers}) == 1
        assert [answer.json()["number"] for answer in answers] == [1, 2, 3, 4, 5]

    def test_an_id_asks_again(self, client, coins):
        headers = coins | {"Idempotency-Key": "mine"}
        first = self.post(client, headers, json={"predictions": [0] * ROWS})
        assert self.post(client, headers, json={"predictions": [0] * ROWS}).json() == first.json()
        assert self.post(client, headers, json={"predictions": [1] * ROWS}).status_code == 409
        assert client.get(f"{COINS}/budget", headers=coins).json()["total"] == 4
        assert (
            self.post(client, coins | {"Idempotency-Key": "a b"}, json={"predictions": [0] * ROWS}).status_code == 422
        )

    @pytest.mark.parametrize(
        ("content", "kind", "said"),
        [
            (b"", "text/csv", "the file is empty"),
            (b"[" * 3_000, "application/json", "the body must be JSON"),
            (b"{}", "application/json", "predictions must be a list of 40 rows, got none"),
            (b"[1]", "application/json", "the body must be an object"),
            (b'{"predictions": [NaN' + b", 0" * 39 + b"]}", "application/json", "finite"),
            (b'{"predictions": [1e999' + b", 0" * 39 + b"]}", "application/json", "finite"),
            (b'{"predictions": ["0"' + b", 0" * 39 + b"]}", "application/json", "predictions must be numbers"),
            (b'{"predictions": [true' + b", 0" * 39 + b"]}", "application/json", "predictions must be numbers"),
            (b'{"predictions": [[0]' + b", 0" * 39 + b"]}", "application/json", "predictions must be numbers"),
            (
                b'{"predictions": [1' + b"0" * 400 + b", 0" * 39 + b"]}",
                "application/json",
                "predictions must be numbers",
            ),
            (
                b'{"predictions": [0' + b", 0" * 39 + b'], "ids": ["0"]}',
                "application/json",
                "ids must be the features'",
            ),
            (
                b'{"predictions": [0' + b", 0" * 39 + b'], "ids": 3}',
                "application/json",
                "ids must be a list of strings",
            ),
            (b"x", "application/xml", "content type must be"),
            (b"x", "multipart/form-data", "with a boundary"),
            (b"x", "multipart/form-data; boundary=y", "not a complete multipart form"),
        ],
    )
    def test_what_is_wrong_is_one_sentence_and_costs_nothing(self, client, coins, content, kind, said):
        answer = self.post(client, coins | {"content-type": kind}, content=content)
        assert answer.status_code == 422
        assert said in answer.json()["error"]
        assert client.get(f"{COINS}/budget", headers=coins).json()["total"] == 5

    def test_a_form_without_a_file_or_with_two(self, client, coins):
        csv = b"id,prediction\n"
        assert "a file in the field file" in self.post(client, coins, files={"x": (None, "1")}).json()["error"]
        twice = [("file", ("a", csv)), ("file", ("b", csv))]
        assert "one file" in self.post(client, coins, files=twice).json()["error"]
        assert "at most 4096 bytes" in self.post(client, coins, files={"x": (None, "1" * 5000)}).json()["error"]

    def test_the_budget_ends_with_429(self, client, coins):
        for seed in range(5):
            values = np.random.default_rng(seed).integers(0, 2, ROWS).tolist()
            assert self.post(client, coins, json={"predictions": values}).status_code == 201
        assert self.post(client, coins, json={"predictions": [0] * ROWS}).status_code == 429
        assert len(client.get(f"{COINS}/submissions", headers=coins).json()) == 5

    def test_many_classes(self, client, sqlite_engine, make, join):
        labels = b"label\n" + b"a\nb\nc\nb\n" * 10
        make(
            sqlite_engine,
            labels=labels,
            rules=rules_of(metric=LogLoss(classes=3, floor=0.01), policy=Rounded(decimals=3), public_fraction=1.0),
        )
        team = bearer(join(sqlite_engine).token)
        table = np.tile([0.25, 0.5, 0.25], (ROWS, 1))
        csv = self.post(client, team | {"content-type": "text/csv"}, content=CsvBody().encode(table))
        assert csv.json()["score"] == self.post(client, team, json={"predictions": table.tolist()}).json()["score"]
        assert csv.json()["text"] == f"{-(2 * np.log(0.25) + 2 * np.log(0.5)) / 4:.3f}"


class TestAnswers:
    def test_history_does_not_tell_ids(self, client, coins):
        client.post(f"{COINS}/submissions", headers=coins, json={"predictions": [0] * ROWS})
        assert [score["id"] for score in client.get(f"{COINS}/history").json()] == [""]

    def test_every_answer_has_the_headers(self, client):
        for path in (f"{API}/health", f"{API}/competitions/nope", "/nothing", f"{API}/docs"):
            headers = client.get(path).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["cache-control"] == "no-store"

    def test_an_unexpected_error_tells_nothing(self, client, sqlite_engine, monkeypatch, caplog):
        def fail():
            raise ZeroDivisionError("zq-positive")

        monkeypatch.setattr(sqlite_engine, "competitions", fail)
        answer = client.get(f"{API}/competitions")
        assert answer.status_code == 500
        assert answer.json() == {"error": "the server failed; this was logged"}
        told = [record.getMessage() for record in caplog.records if record.name.startswith("tacit")]
        assert any("ZeroDivisionError" in line for line in told)
        assert not any("zq-positive" in line for line in told)

    def test_the_reference_needs_nothing_from_outside(self, client):
        page = client.get(f"{API}/docs").text
        assert "POST /api/v1/teams" in page
        assert not re.search(r"https?://|<script", page)
        assert client.get("/docs").status_code == client.get("/redoc").status_code == 404

    def test_examples_in_the_description_hold_no_label(self, client):
        text = client.get(f"{API}/openapi.json").text
        assert '"labels"' in text
        assert "zq-" not in text


def test_an_app_made_from_settings_closes_its_engine(sqlite_settings: ServerSettings):
    from fastapi.testclient import TestClient

    app = create_app(sqlite_settings)
    with TestClient(app) as client:
        assert client.get(f"{API}/health").json() == {"status": "ok"}
    assert app.state.engine._writer._closed


def test_a_host_who_says_nothing_gets_the_default(client, sqlite_engine, host):
    rows = "".join(f"{row % 2}\n" for row in range(1_500))
    body = {"slug": "new", "name": "New", "metric": "accuracy", "features": f"size\n{rows}", "labels": f"label\n{rows}"}
    made = client.post(f"{API}/competitions", headers=host, json=body)
    assert made.status_code == 201
    assert sqlite_engine.board("new").rules == rules_of(metric=Accuracy(), policy=Rounded(), together=10, teams=10)
    assert "There are no live scores: 10 teams together would learn too much." in made.json()["rules"][-2]
    part = {"slug": "part", "public_fraction": 0.5, "final": "exact", "final_epsilon": None, "again": True}
    client.post(f"{API}/competitions", headers=host, json=body | part | {"together": "none"})
    told = rules_of(metric=Accuracy(), public_fraction=0.5, final=Exact(), teams=10)
    assert sqlite_engine.board("part").rules == told, "where few answers are no limit, noise is"
