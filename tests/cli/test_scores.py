"""``tacit scores``: what it prints, as text and as JSON, and what it refuses in one sentence."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.metrics import log_loss
from typer.testing import CliRunner

from tacit.cli.scores import app
from tacit.privacy.errors import TacitError

KEYS = {"rows", "classes", "queries", "labels_per_query", "recovered", "seconds", "ceiling_labels_per_query"}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run ``tacit scores`` in a folder with tables; an error that is meant for the user is raised."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = np.array(["no", "yes"])[rng.integers(0, 2, 200)]
    (tmp_path / "words.csv").write_text("row,y\n" + "".join(f"{i},{word}\n" for i, word in enumerate(words)))
    (tmp_path / "numbers.csv").write_text("y\n" + "".join(f"{i % 3}\n" for i in range(100)))
    (tmp_path / "empty.csv").write_text("")

    def run(arguments):
        result = CliRunner().invoke(app, arguments.split())
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


def test_plan_in_words(run):
    text = run("plan --rows 2201 --decimals 5 --limit-per-day 5")
    assert text.startswith("143 submissions tell all 2,201 labels, 29 days at 5 a day: 15.4 a query.")
    assert "entropy: (1/2) log2" in text
    assert run("plan --rows 2201 --decimals 5 --design digits").startswith("201 submissions")
    assert run("plan --rows 2201 --decimals 5 --metric auc").startswith("About ")
    assert run("plan --rows 1 --limit-per-day 9").startswith(
        "1 submission tells the 1 label, 1 day at 9 a day: 1.0 a query."
    )


def test_plan_as_json(run):
    document = json.loads(run("plan --rows 150 --classes 3 --limit-per-day 2 --json"))
    assert (document["queries"], document["days"], document["classes"]) == (5, 3, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        "--labels titanic --seed 0",
        "--labels titanic --decimals 5 --seed 1",
        "--labels iris --metric brier --noise 1e-5 --seed 2",
        "--labels iris --metric accuracy",
        "--labels words.csv --column y --metric f1 --decimals 4",
        "--labels words.csv --column y --metric auc",
        "--labels numbers.csv --metric softmax --seed 0",
        "--labels numbers.csv --classes 3 --decimals 3",
    ],
)
def test_attack_keeps_the_promise_of_the_plan(run, arguments):
    document = json.loads(run(f"attack {arguments} --json"))
    assert set(document) >= KEYS
    assert document["recovered"] == document["rows"]
    assert document["checked"]
    assert document["labels_per_query"] == document["rows"] / document["queries"]
    planned = f"plan --rows {document['rows']} --classes {document['classes']} --metric {document['metric']} --json"
    for option in ("--decimals", "--noise"):
        if option in arguments:
            planned += f" {option} {arguments.split(option)[1].split()[0]}"
    assert json.loads(run(planned))["queries"] == document["queries"]


def test_attack_in_words(run):
    text = run("attack --labels words.csv --column y")
    assert text.startswith("200 of 200 right labels from ")


def test_labels_are_written_and_never_over_another_file(run, tmp_path):
    run("attack --labels numbers.csv --out labels.csv")
    assert (tmp_path / "labels.csv").read_text().split() == ["label", *(str(i % 3) for i in range(100))]
    with pytest.raises(TacitError, match="exists already"):
        run("attack --labels numbers.csv --out labels.csv")
    run("attack --labels numbers.csv --out labels.csv --force")
    with pytest.raises(TacitError, match="ends as Parquet does, and CSV is written"):
        run("attack --labels numbers.csv --out labels.parquet")
    for option in ("--out", "--state"):
        with pytest.raises(TacitError, match="is the table that is read, which would be lost"):
            run(f"attack --labels numbers.csv {option} numbers.csv --force")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("attack", "give either --labels"),
        ("attack --labels titanic --url http://x/y", "give either --labels"),
        ("attack --labels nowhere.csv", "nowhere.csv does not exist"),
        ("attack --labels empty.csv", "empty.csv is empty"),
        ("attack --labels words.csv", "column must be given: words.csv has the columns row, y"),
        ("attack --labels words.csv --column z", "z"),
        ("attack --labels numbers.csv --classes 2", "labels must be whole numbers in 0..1, got 2 at row 2"),
        ("attack --labels words.csv --column y --classes 2", "labels must be whole numbers in 0..1"),
        ("attack --labels titanic --metric recall", "metric must be one of log_loss"),
        ("attack --labels iris --metric f1", "classes must be 2"),
        ("attack --labels titanic --noise 0", "(tau|--noise) must be a finite number > 0"),
        ("attack --labels titanic --noise -1", "(tau|--noise) must be a finite number > 0"),
        ("attack --labels titanic --decimals 0", "answers must reveal one row's label"),
        ("attack --labels titanic --decimals 2 --noise 0.1", "must not both be given"),
        ("attack --labels titanic --design magic", "design must be one of"),
        ("attack --labels titanic --design digits --metric auc", "design must be best for a metric that is no loss"),
        ("attack --labels titanic --classes 5", "titanic has its own"),
        ("attack --labels titanic --column sex", "titanic has its own"),
        ("attack --labels titanic --rows 100", "and only with it"),
        ("attack --url http://127.0.0.1:9/x", "rows must be given with --url"),
        ("attack --url http://127.0.0.1:9/x --rows 5 --body xml", "body must be json or csv"),
        ("attack --url http://127.0.0.1:9/x --rows 5 --header nonsense", "header must have the form"),
        ("attack --url http://127.0.0.1:9/x --rows 5", "cannot be reached.*0 of 5 labels recovered, 5 left"),
        ("attack --url nonsense --rows 5", "url must begin with"),
        ("plan --rows 0", "rows must be a whole number >= 1"),
        ("plan --rows 10 --limit-per-day 0", "limit.per.day must be"),
        ("plan --rows 10 --classes 1", "classes must be"),
        ("plan --rows 2201 --metric accuracy --decimals 2", "accuracy moves by at least"),
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
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_live_endpoint(run, endpoint, tmp_path):
    url = f"http://127.0.0.1:{endpoint.server_port}/"
    order = f"attack --url {url} --rows 100 --decimals 5 --score-field result --json"
    document = json.loads(run(f"{order} --out labels.csv"))
    assert (document["recovered"], document["checked"]) == (100, False)
    assert document["queries"] == endpoint.queries
    found = (tmp_path / "labels.csv").read_text().split()[1:]
    assert found == [str(label) for label in endpoint.truth]


def test_nothing_is_asked_where_the_labels_could_not_be_written(run, endpoint):
    url = f"http://127.0.0.1:{endpoint.server_port}/"
    with pytest.raises(TacitError, match="cannot be written"):
        run(f"attack --url {url} --rows 100 --decimals 5 --score-field result --out nowhere/labels.csv")
    with pytest.raises(TacitError, match="cannot be written"):
        run(f"attack --url {url} --rows 100 --decimals 5 --score-field result --state nowhere/state.json")
    assert endpoint.queries == 0


def test_answers_about_other_labels_are_not_taken_from_a_state_file(run, tmp_path):
    (tmp_path / "others.csv").write_text("y\n" + "".join(f"{(i + 1) % 3}\n" for i in range(100)))
    run("attack --labels numbers.csv --state state.json")
    assert json.loads(run("attack --labels numbers.csv --state state.json --json"))["recovered"] == 100
    with pytest.raises(TacitError, match=r"state\.json belongs to another host"):
        run("attack --labels others.csv --state state.json")


def test_no_bar_is_drawn_where_nobody_watches(tmp_path):
    (tmp_path / "y.csv").write_text("y\n" + "0\n1\n" * 10)
    result = CliRunner().invoke(app, ["attack", "--labels", str(tmp_path / "y.csv")])
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_live_endpoint_that_stops_keeps_what_was_recovered(run, endpoint, tmp_path):
    endpoint.limit = 3
    url = f"http://127.0.0.1:{endpoint.server_port}/"
    order = f"attack --url {url} --rows 100 --decimals 5 --design digits --score-field result --state s.json"
    with pytest.raises(TacitError, match=r"error 429.*run again with s.json"):
        run(f"{order} --out part.csv")
    part = np.array((tmp_path / "part.csv").read_text().split()[1:], dtype=int)
    assert 0 < (part >= 0).sum() < 100
    np.testing.assert_array_equal(part[part >= 0], endpoint.truth[part >= 0])
    endpoint.limit = 10**9
    assert json.loads(run(f"{order} --json"))["recovered"] == 100
