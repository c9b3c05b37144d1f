"""A whole competition, after which no answer, no log line and no file holds a label or an exact score."""

import logging
import struct

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tacit.scores.metrics import LogLoss
from tacit.scores.policies import Exact, Laplace
from tacit.server import ScoringEngine
from tacit.server.app import create_app
from tests.server.rules import rules_of

ROWS = 40
API = "/api/v1"
TRUTH = np.array([row % 4 == 1 for row in range(ROWS)]).astype(int)
NAMES = ("zq-negative", "zq-positive")
LABELS = "id,label\n" + "".join(f"{row},{NAMES[label]}\n" for row, label in enumerate(TRUTH))
FEATURES = "size\n" + "".join(f"{row}\n" for row in range(ROWS))


class Record:
    """A client that keeps everything it is told."""

    def __init__(self, engine):
        self._client = TestClient(create_app(engine), raise_server_exceptions=False)
        self.told = []

    def __call__(self, method, path, token=None, **body):
        headers = {**body.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        answer = self._client.request(method, path, headers=headers, **body)
        self.told.append(answer.content + repr(dict(answer.headers)).encode())
        return answer


def play(engine, policy):
    """Run a competition through the API, mistakes included; return what was told and the exact scores."""
    rules = rules_of(
        metric=LogLoss(floor=0.01), policy=policy, submissions=4, per_day=None, public_fraction=0.5, final=None
    )
    ask, admin = Record(engine), engine.new_admin_token()
    body = {"slug": "coins", "name": "Coins", **sent(rules), "features": FEATURES, "labels": LABELS}
    other = {"classes": "zq-negative,zq-positive", "labels": LABELS.replace("zq-negative", "zq-other", 1)}
    ask("POST", f"{API}/competitions", admin, json=body | {"labels": LABELS + "99,zq-positive\n"})
    ask("POST", f"{API}/competitions", admin, json=body | other)
    ask("POST", f"{API}/competitions", admin, json=body | {"surplus": LABELS})
    ask("POST", f"{API}/competitions", admin, json={**body, "labels": [LABELS]})
    assert ask("POST", f"{API}/competitions", admin, json=body).status_code == 201
    ask("POST", f"{API}/competitions", admin, json=body)
    exact = []
    for number in range(2):
        code = ask("POST", f"{API}/competitions/coins/invites", admin).json()["invite"]
        token = ask("POST", f"{API}/teams", json={"invite": code, "name": f"Team {number}"}).json()["token"]
        for turn in range(5):
            predictions = np.random.default_rng(10 * number + turn).random(ROWS)
            exact += exact_scores(engine, rules, predictions)
            ask("POST", f"{API}/competitions/coins/submissions", token, json={"predictions": predictions.tolist()})
        ask("POST", f"{API}/competitions/coins/submissions", token, json={"predictions": [2.0] * ROWS})
        for path in ("submissions", "budget", "leaderboard", "history", "features", "flags", "spend"):
            ask("GET", f"{API}/competitions/coins/{path}", token)
    engine.wait_for_inspection()
    assert ask("POST", f"{API}/competitions/coins/final", admin).status_code == 200
    for path in ("", "/final", "/leaderboard", "/history", "/features", "/flags", "/spend", "/teams", "/forecast"):
        ask("GET", f"{API}/competitions/coins{path}", admin)
    for path in ("/", f"{API}/openapi.json", f"{API}/docs", f"{API}/competitions", "/competitions/coins", "/nope"):
        ask("GET", path)
    return b"\n".join(ask.told), exact


def sent(rules):
    """Rules as a host sends them, flat."""
    document = rules.to_json()
    plan = document.pop("plan")
    return {**{name: plan[name] for name in ("metric", "policy", "epsilon", "submissions")}, **document}


def exact_scores(engine, rules, predictions):
    public = engine.board("coins").labels.public_rows
    return [rules.plan.metric.score(TRUTH[rows], predictions[rows]) for rows in (public, ~public)]


def found(haystack, exact):
    """Return what of the labels and the exact scores is in some bytes."""
    signs = [b"zq-positive", b"zq-negative", str(TRUTH.tolist()).encode(), bytes(TRUTH.astype(np.uint8))]
    for score in exact:
        signs += [repr(score)[:9].encode(), struct.pack("<d", score), struct.pack(">d", score)]
    return [sign for sign in signs if sign in haystack]


@pytest.fixture
def everything_logged(caplog):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("sqlalchemy").setLevel(logging.INFO)  # statements with their values, as an operator may ask for
    yield caplog
    logging.getLogger("sqlalchemy").setLevel(logging.NOTSET)


def test_nothing_private_leaves(sqlite_settings, everything_logged, capfd):
    engine = ScoringEngine.open(sqlite_settings)
    told, exact = play(engine, Laplace(epsilon=0.2))
    engine.close()
    assert b'"score"' in told, "control: scores were told"
    logged = everything_logged.text.encode() + "".join(capfd.readouterr()).encode()
    assert b"/competitions/{slug}" in logged, "control: requests were logged"
    kept = b"".join(path.read_bytes() for path in sqlite_settings.folder.rglob("*") if path.is_file())
    assert b"Team 0" in kept, "control: the database was read"
    for name, haystack in (("answers", told), ("log", logged), ("files", kept)):
        assert found(haystack, exact) == [], name


def test_the_search_finds_what_an_exact_policy_tells(sqlite_settings):
    engine = ScoringEngine.open(sqlite_settings)
    told, exact = play(engine, Exact())
    engine.close()
    kept = b"".join(path.read_bytes() for path in sqlite_settings.folder.rglob("*") if path.is_file())
    assert found(told, exact)
    assert found(kept, exact)


def test_values_that_hold_labels_do_not_print_them(sqlite_engine, make):
    make(sqlite_engine)
    board = sqlite_engine.board("coins")
    for thing in (board, board.labels, board.measure(board.check(np.zeros(ROWS)))):
        assert not any(character in repr(thing) + str(thing) for character in "[]{}")


@pytest.mark.parametrize("policy", [Laplace(epsilon=0.2), Exact()], ids=["laplace", "exact"])
def test_whether_a_submission_is_taken_does_not_depend_on_labels(sqlite_engine, make, join, policy):
    """The same requests against opposite labels get answers of the same shape."""
    shapes = []
    for slug, truth in (("some", TRUTH), ("opposite", 1 - TRUTH)):
        labels = ("label\n" + "".join(f"{label}\n" for label in truth)).encode()
        make(
            sqlite_engine,
            slug=slug,
            labels=labels,
            rules=rules_of(metric=LogLoss(floor=0.01), policy=policy, public_fraction=1.0),
        )
        ask, token = Record(sqlite_engine), join(sqlite_engine, slug).token
        for predictions in (np.zeros(ROWS), np.full(ROWS, 0.5), np.full(ROWS, 1.5), np.zeros(ROWS - 1)):
            ask("POST", f"{API}/competitions/{slug}/submissions", token, json={"predictions": predictions.tolist()})
        shapes.append([b'"error"' in told for told in ask.told])
    assert shapes[0] == shapes[1]
