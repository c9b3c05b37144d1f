"""``tacit scores plan`` and ``attack --url``: what they print, and what they reject with a clear error."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.metrics import log_loss
from typer.testing import CliRunner

from tacit.cli.scores import app
from tacit.privacy.errors import TacitError


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run ``tacit scores`` in an empty folder; an error that is meant for the user is raised."""
    monkeypatch.chdir(tmp_path)

    def run(arguments):
        result = CliRunner().invoke(app, arguments.split())
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def test_plan_in_words(run):
    text = run("plan --rows 2201 --policy rounded:decimals=5 --per-day 5")
    assert text.startswith("143 submissions reveal all 2,201 labels, 29 days at 5 per day: 15.4 per query.")
    assert "entropy: (1/2) log2" in text
    assert run("plan --rows 2201 --policy rounded:decimals=5 --method digits").startswith("201 submissions")
    assert run("plan --rows 2201 --policy rounded:decimals=5 --metric auc").startswith("About ")
    assert run("plan --rows 1 --per-day 9").startswith(
        "1 submission reveals the 1 label, 1 day at 9 per day: 1.0 per query."
    )


def test_plan_as_json(run):
    document = json.loads(run("plan --rows 150 --class-count 3 --per-day 2 --json"))
    assert (document["queries"], document["days"], document["classes"]) == (5, 3, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("attack", "IN or --url must be given"),
        ("attack offer.json --rows 100", "rows requires --url"),
        ("attack offer.json --url http://127.0.0.1:9/x --rows 5", "(IN|release) has no use with --url"),
        ("attack --url http://127.0.0.1:9/x --rows 5 --truth y.csv", "truth has no use with --url"),
        ("attack --url http://127.0.0.1:9/x --rows 5 --metric recall", "metric must be one of log_loss"),
        (
            "attack --url http://127.0.0.1:9/x --rows 5 --metric f1 --class-count 3",
            "metric must be one that an attack is known for",
        ),
        ("plan --rows 5 --metric rmse --class-count 3", "class.count must be 2 for rmse, got 3"),
        ("plan --rows 5 --metric bce --class-count 3", "classes must be 2"),
        ("attack --url http://127.0.0.1:9/x --rows 5 --policy bounded:tau=0", "tau must be a finite number > 0"),
        (
            "attack --url http://127.0.0.1:9/x --rows 99 --policy rounded:decimals=0",
            "answers must reveal one row's label",
        ),
        (
            "attack --url http://127.0.0.1:9/x --rows 5 --policy laplace",
            "policy must be one of exact, rounded, bounded",
        ),
        ("attack --url http://127.0.0.1:9/x --rows 5 --method magic", "method must be one of"),
        ("attack --url http://127.0.0.1:9/x --rows 5 --method digits --metric auc", "method must be best for a metric"),
        ("attack --url http://127.0.0.1:9/x", "rows must be given with --url"),
        ("attack --url http://127.0.0.1:9/x --rows 5 --body xml", "body must be json or csv"),
        ("attack --url http://127.0.0.1:9/x --rows 5 --header nonsense", "header must have the form"),
        ("attack --url http://127.0.0.1:9/x --rows 5", "cannot be reached.*0 of 5 labels recovered, 5 left"),
        ("attack --url nonsense --rows 5", "url must begin with"),
        ("plan --rows 0", "rows must be an integer >= 1"),
        ("plan --rows 10 --per-day 0", "per.day must be"),
        ("plan --rows 10 --class-count 1", "class.count must be an integer >= 2"),
        ("plan --rows 2201 --metric accuracy --policy rounded:decimals=2", "accuracy moves by at least"),
    ],
)
def test_bad_input_is_one_sentence(run, arguments, words):
    with pytest.raises(TacitError, match=words) as caught:
        run(arguments)
    assert "\n" not in str(caught.value)


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        predictions = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["predictions"]
        self.server.queries += 1
        self.send_response(200 if self.server.queries <= self.server.limit else 429)
        self.end_headers()
        score = round(float(log_loss(self.server.truth, predictions)), 5)
        self.wfile.write(json.dumps({"result": score}).encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def endpoint():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.truth, server.queries, server.limit = np.random.default_rng(0).integers(0, 2, 100), 0, 10**9
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_live_endpoint(run, endpoint, tmp_path):
    url = f"http://127.0.0.1:{endpoint.server_port}/"
    order = f"attack --url {url} --rows 100 --policy rounded:decimals=5 --score-field result --json"
    document = json.loads(run(f"{order} --out labels.csv"))
    assert document["recovered"] == 100
    assert document["queries"] == endpoint.queries
    found = (tmp_path / "labels.csv").read_text().split()[1:]
    assert found == [str(label) for label in endpoint.truth]


def test_nothing_is_asked_where_the_labels_could_not_be_written(run, endpoint):
    url = f"http://127.0.0.1:{endpoint.server_port}/"
    with pytest.raises(TacitError, match="cannot be written"):
        run(f"attack --url {url} --rows 100 --policy rounded:decimals=5 --score-field result --out nowhere/labels.csv")
    with pytest.raises(TacitError, match="cannot be written"):
        run(
            f"attack --url {url} --rows 100 --policy rounded:decimals=5 --score-field result --state nowhere/state.json"
        )
    assert endpoint.queries == 0


def test_no_bar_is_drawn_where_nobody_watches(endpoint):
    url = f"http://127.0.0.1:{endpoint.server_port}/"
    options = ["--rows", "100", "--policy", "rounded:decimals=5", "--score-field", "result"]
    result = CliRunner().invoke(app, ["attack", "--url", url, *options])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("100 of 100 labels from ")


def test_a_live_endpoint_that_stops_keeps_what_was_recovered(run, endpoint, tmp_path):
    endpoint.limit = 3
    url = f"http://127.0.0.1:{endpoint.server_port}/"
    order = (
        f"attack --url {url} --rows 100 --policy rounded:decimals=5 --method digits --score-field result --state s.json"
    )
    with pytest.raises(TacitError, match=r"error 429.*run again with s.json"):
        run(f"{order} --out part.csv")
    part = np.array((tmp_path / "part.csv").read_text().split()[1:], dtype=int)
    assert 0 < (part >= 0).sum() < 100
    np.testing.assert_array_equal(part[part >= 0], endpoint.truth[part >= 0])
    endpoint.limit = 10**9
    assert json.loads(run(f"{order} --json"))["recovered"] == 100
