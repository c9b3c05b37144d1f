"""Rates and sizes."""

import logging
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from tacit.privacy.errors import InvalidInput
from tacit.server import RequestRate, ScoringEngine, ServerLimits
from tacit.server.app import create_app
from tacit.server.bodies import BodyRoom
from tacit.server.errors import Unavailable
from tacit.server.limits import RateLimit
from tacit.server.log import JsonLines

API = "/api/v1"


class TestRateLimit:
    def test_a_bucket_fills_with_time(self):
        now = [0.0]
        limit = RateLimit(RequestRate(per_minute=60, burst=2), clock=lambda: now[0])
        assert [limit.wait("a") for _ in range(3)] == [0.0, 0.0, 1.0]
        now[0] = 0.5
        assert limit.wait("a") == 0.5
        now[0] = 1.0
        assert limit.wait("a") == 0.0
        now[0] = 1000.0
        assert [limit.wait("a") for _ in range(3)] == [0.0, 0.0, 1.0]

    def test_keys_are_apart(self):
        limit = RateLimit(RequestRate(per_minute=1, burst=1), clock=lambda: 0.0)
        assert (limit.wait("a"), limit.wait("b")) == (0.0, 0.0)
        assert limit.wait("a") > 0

    def test_memory_is_bounded(self):
        limit = RateLimit(RequestRate(per_minute=1, burst=1), clock=lambda: 0.0, keys=10)
        for number in range(1000):
            limit.wait(str(number))
        assert len(limit._buckets) <= 10


@pytest.fixture
def served(sqlite_settings, request):
    engine = ScoringEngine.open(replace(sqlite_settings, limits=request.param))
    yield engine, TestClient(create_app(engine))
    engine.close()


SLOW = ServerLimits(token_rate=RequestRate(per_minute=1, burst=3), address_rate=RequestRate(per_minute=1, burst=5))


@pytest.mark.parametrize("served", [SLOW], indirect=True)
class TestRequests:
    def test_an_address_is_slowed_down(self, served):
        _, client = served
        codes = [client.get(f"{API}/health").status_code for _ in range(7)]
        assert codes == [200] * 5 + [429] * 2
        refused = client.get(f"{API}/health")
        assert int(refused.headers["retry-after"]) > 0
        assert refused.json() == {"error": "too many requests; wait and try again"}

    def test_guessing_tokens_is_slowed_down_before_the_database_is_asked(self, served, monkeypatch):
        engine, client = served
        asked = []
        monkeypatch.setattr(engine, "identify", lambda token: asked.append(token))
        for number in range(20):
            client.get(f"{API}/health", headers={"Authorization": f"Bearer tacit_team_{number}"})
        assert len(asked) == 5

    def test_a_known_token_has_its_own_bucket(self, served, make, join):
        engine, client = served
        make(engine)
        headers = {"Authorization": f"Bearer {join(engine).token}"}
        codes = [client.get(f"{API}/health", headers=headers).status_code for _ in range(6)]
        assert codes == [200] * 3 + [429] * 3
        assert client.get(f"{API}/health").status_code == 200


@pytest.mark.parametrize("served", [ServerLimits(body=1000, rows=50, columns=3, cell=20)], indirect=True)
class TestSizes:
    def test_a_body_that_says_its_length(self, served):
        _, client = served
        answer = client.post(f"{API}/teams", content=b"x" * 1001)
        assert answer.status_code == 413
        said = "this request must have at most 1000 bytes; files are taken from a signed-in team or host only"
        assert answer.json() == {"error": said}

    def test_a_body_that_does_not(self, served, make, join):
        engine, client = served
        make(engine)
        headers = {"Authorization": f"Bearer {join(engine).token}", "content-type": "text/csv"}
        pieces = iter([b"id,prediction\n"] + [b"0,0\n" * 10] * 100)
        answer = client.post(f"{API}/competitions/coins/submissions", headers=headers, content=pieces)
        assert answer.status_code in (413, 422)
        answer = client.post(
            f"{API}/teams", content=iter([b" " * 600, b" " * 600]), headers={"content-type": "application/json"}
        )
        assert answer.status_code == 413

    @pytest.mark.parametrize(
        ("features", "said"),
        [
            (b"a\n" + b"1\n" * 51, "at most 50 rows"),
            (b"a,b,c,d\n1,2,3,4\n", "3 columns"),
            (b"a\n" + b"1" * 21 + b"\n", "at most 20 characters"),
        ],
    )
    def test_files_of_a_host(self, served, make, features, said):
        engine, _ = served
        with pytest.raises(InvalidInput, match=said):
            make(engine, features=features)


SMALL = ServerLimits(body=200_000, small_body=1000, room=250_000)


@pytest.mark.parametrize("served", [SMALL], indirect=True)
class TestStrangers:
    """Only who may send a file to a route can send more than a small body to it."""

    ROUTES = (
        "/api/v1/teams",
        "/api/v1/competitions",
        "/api/v1/competitions/coins/submissions",
        "/sign-in",
        "/host/new",
    )

    @pytest.mark.parametrize("stated", [True, False])
    @pytest.mark.parametrize("route", ROUTES)
    @pytest.mark.parametrize("token", [None, "tacit_team_unknown"])
    def test_a_stranger_sends_no_file_anywhere(self, served, make, route, token, stated):
        engine, client = served
        make(engine)
        headers = {"content-type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        body = b"[" * 1001
        answer = client.post(route, headers=headers, content=body if stated else iter([body[:600], body[600:]]))
        # of a body without a stated length nothing is read where the caller is refused at once
        assert answer.status_code == 413 or (not stated and answer.status_code in (401, 422))

    def test_a_team_sends_files_as_submissions_alone(self, served, make, join):
        engine, client = served
        make(engine)
        headers = {"Authorization": f"Bearer {join(engine).token}", "content-type": "text/csv"}
        assert client.post("/sign-in", headers=headers, content=b"x" * 1001).status_code == 413
        assert client.post(f"{API}/competitions", headers=headers, content=b"x" * 1001).status_code == 413
        long = b"id,prediction\n" + b"".join(b"%d,0.%0100d\n" % (row, 0) for row in range(40))
        assert len(long) > 1000
        assert client.post(f"{API}/competitions/coins/submissions", headers=headers, content=long).status_code == 201

    def test_a_document_is_no_longer_than_its_rows_can_be(self, served, make, join):
        engine, client = served
        make(engine)
        headers = {"Authorization": f"Bearer {join(engine).token}", "content-type": "application/json"}
        body = b'{"predictions": [' + b"0," * 5_000 + b"0]}"
        answer = client.post(f"{API}/competitions/coins/submissions", headers=headers, content=body)
        assert answer.status_code == 413
        assert answer.json()["error"].endswith("send it as text/csv")

    def test_the_hosts_bucket_is_not_a_strangers(self, served):
        engine, _ = served
        slow = replace(SMALL, address_rate=RequestRate(per_minute=1, burst=2))
        engine.settings = replace(engine.settings, limits=slow)
        client = TestClient(create_app(engine))
        headers = {"Authorization": f"Bearer {engine.new_admin_token()}"}
        assert client.get(f"{API}/health", headers=headers).status_code == 200  # once by address, then it is known
        assert [client.get(f"{API}/health").status_code for _ in range(3)] == [200, 429, 429]
        assert client.get(f"{API}/health", headers=headers).status_code == 200


class TestRoom:
    def test_bodies_share_it(self):
        room = BodyRoom(100)
        with room.taken(60, whose="a"):
            with pytest.raises(Unavailable, match="wait and try again"), room.taken(50, whose="b"):
                raise AssertionError("there was no room")
            with room.taken(40, whose="b"):
                pass
        with room.taken(1_000, whose="a"):  # one body larger than the room may have all of it
            pass
        with room.taken(100, whose="b"):
            pass
        assert not room._held

    def test_one_caller_has_a_quarter_or_one_body(self):
        room = BodyRoom(100)
        with room.taken(10, whose="a"), room.taken(15, whose="a"):
            with pytest.raises(Unavailable, match="of yours"), room.taken(1, whose="a"):
                raise AssertionError("a caller took more than a quarter")
            with room.taken(75, whose="b"):
                assert room.left == 0


def test_parts_of_a_form_are_bounded(client):
    part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
    answer = client.post(
        "/sign-in", content=part * 200 + b"--x--\r\n", headers={"content-type": "multipart/form-data; boundary=x"}
    )
    assert answer.status_code == 422
    assert "at most 100 parts" in answer.text


def test_the_log_has_routes_and_nothing_of_a_request(client, sqlite_engine, make, join, caplog):
    make(sqlite_engine)
    headers = {"Authorization": f"Bearer {join(sqlite_engine).token}"}
    with caplog.at_level(logging.INFO, logger="tacit.server.access"):
        client.get(f"{API}/competitions/coins/budget?secret=query", headers=headers)
        client.get(f"{API}/competitions/zq-path", headers=headers)
        last = client.get("/nothing/zq-path", headers={"x-request-id": "zq-path"})
    told = "\n".join(JsonLines().format(record) for record in caplog.records)
    assert '"route": "/api/v1/competitions/{slug}/budget"' in told
    assert '"who": "team 1"' in told
    assert '"status": 404' in told
    assert f'"request": "{last.headers["x-request-id"]}"' in told
    assert "zq-path" not in told
    assert "query" not in told
    assert "tacit_team" not in told
