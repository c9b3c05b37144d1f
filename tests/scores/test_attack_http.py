"""A live endpoint: what is posted, and every way it can fail."""

import csv
import io
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.metrics import log_loss

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import AttackStopped, CsvBody, HttpOracle, OracleError, infer_labels, plan_attack
from tacit.scores.metrics import SKLEARN_FLOOR, LogLoss

TRUTH = np.random.default_rng(0).integers(0, 2, 120)
PLAN = plan_attack(LogLoss(floor=SKLEARN_FLOOR), rows=len(TRUTH))


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.seen.append((self.path, dict(self.headers), body))
        status, answer = self.server.respond(self.headers, body)
        try:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(answer.encode())
        except OSError:
            pass  # the client gave up

    def log_message(self, *args):
        pass


@pytest.fixture
def serve():
    servers = []

    def start(respond):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        server.respond, server.seen = respond, []
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return server, f"http://127.0.0.1:{server.server_port}/score"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def score_json(headers, body):
    return 200, json.dumps({"score": log_loss(TRUTH, json.loads(body)["predictions"])})


def score_csv(headers, body):
    rows = list(csv.DictReader(io.StringIO(body)))
    assert headers["Content-Type"] == "text/csv"
    return 200, repr(float(log_loss(TRUTH, [float(row["prediction"]) for row in rows])))


@pytest.mark.parametrize(("respond", "options"), [(score_json, {}), (score_csv, {"body": CsvBody()})])
def test_every_label_over_http(serve, respond, options):
    """Exact scores survive the journey: floats are written so that they read back bit for bit."""
    server, url = serve(respond)
    oracle = HttpOracle(url=url, headers={"Authorization": "Bearer x"}, **options)
    outcome = infer_labels(oracle, PLAN)
    np.testing.assert_array_equal(outcome.labels, TRUTH)
    assert len(server.seen) == outcome.queries == PLAN.queries
    assert all(headers["Authorization"] == "Bearer x" for _, headers, _ in server.seen)


def test_csv_of_more_classes():
    text = CsvBody().encode(np.array([[0.1, 0.2, 0.7]])).decode()
    assert text == "id,class_0,class_1,class_2\n0,0.1,0.2,0.7\n"


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (200, "Thank you for your submission!", "answered 'Thank you for your submission!', neither a number"),
        (200, '{"loss": 0.5}', "nor JSON with a number in 'score'"),
        (200, '{"score": null}', "neither a number"),
        (200, '{"score": true}', "neither a number"),
        (200, "", "neither a number"),
        (429, "too many submissions today", r"error 429 \(too many submissions today\)"),
        (500, "", "error 500"),
    ],
)
def test_answers_that_are_no_scores(serve, status, answer, words):
    _, url = serve(lambda headers, body: (status, answer))
    with pytest.raises(OracleError, match=words) as caught:
        HttpOracle(url=url)(np.array([0.5]))
    assert "\n" not in str(caught.value)


def test_an_endpoint_that_does_not_answer(serve):
    def sleep(headers, body):
        time.sleep(1.0)
        return 200, "0.5"

    _, url = serve(sleep)
    with pytest.raises(OracleError, match=r"did not answer within 0.1 s"):
        HttpOracle(url=url, timeout=0.1)(np.array([0.5]))


def test_a_limit_in_the_middle_keeps_what_was_recovered(serve, tmp_path):
    answered = []

    def limited(headers, body):
        answered.append(1)
        return score_json(headers, body) if len(answered) <= 2 else (429, "come back tomorrow")

    _, url = serve(limited)
    state = tmp_path / "state.json"
    with pytest.raises(AttackStopped, match=r"come back tomorrow.*left; run again with state.json") as caught:
        infer_labels(HttpOracle(url=url), PLAN, state=state)
    known = caught.value.outcome.labels
    assert caught.value.outcome.recovered > 60
    np.testing.assert_array_equal(known[known >= 0], TRUTH[known >= 0])
    _, tomorrow = serve(score_json)
    outcome = infer_labels(HttpOracle(url=tomorrow), PLAN, state=state)
    np.testing.assert_array_equal(outcome.labels, TRUTH)


@pytest.mark.parametrize("url", ["ftp://host/x", "host/score", "http://", "file:///etc/passwd"])
def test_what_is_no_endpoint(url):
    with pytest.raises(InvalidInput, match="url must begin with"):
        HttpOracle(url=url)


def test_timeouts_must_be_positive():
    with pytest.raises(InvalidInput, match="timeout"):
        HttpOracle(url="http://host/x", timeout=0.0)
