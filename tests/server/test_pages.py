"""The pages: who may see what, forms that count once, and refusals in one sentence."""

import re
import time

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

from fastapi.testclient import TestClient

from tacit.leak.prior import feature_prior
from tacit.scores.metrics import Accuracy, LogLoss
from tacit.scores.policies import Exact, Laplace, Rounded
from tacit.server import CompetitionTerms, ScoringEngine, ServerSettings
from tacit.server.app import create_app
from tacit.server.forecast import forecast
from tacit.server.pages.plot import draw_history
from tacit.server.records import ScoredSubmission
from tacit.server.settings import utc_now
from tests.server.rules import rules_of

ROWS = 40
LABELS = np.random.default_rng(0).integers(0, 2, ROWS)
FEATURES = "id,size\n" + "".join(f"row{i},{i % 7}\n" for i in range(ROWS))
TRUTH = "id,label\n" + "".join(f"row{i},{label}\n" for i, label in enumerate(LABELS))
HOST_PAGES = ("/host", "/host/new", "/c/coins/host", "/c/coins/leaks", "/c/coins/leaks/state")


@pytest.fixture
def engine(tmp_path):
    engine = ScoringEngine.open(ServerSettings(folder=tmp_path / "server"))
    rules = rules_of(metric=Accuracy(), policy=Exact(), submissions=3, per_day=None, public_fraction=1.0)
    terms = CompetitionTerms(slug="coins", name="Coins <b>", rules=rules, public=False)
    engine.create_competition(terms, features=FEATURES.encode(), labels=TRUTH.encode())
    yield engine
    engine.close()


@pytest.fixture
def visit(engine):
    app = create_app(engine)

    def visit(token=None):
        client = TestClient(app, follow_redirects=False)
        if token is not None:
            assert send(client, "/sign-in", {"token": token}).status_code == 303
        return client

    return visit


def csrf_of(page):
    return re.search(r'name="csrf" value="([0-9a-f]{64})"', page.text).group(1)


def send(client, path, fields, *, form=None, **extra):
    """Load the page with the form, and send it."""
    return client.post(path, data={"csrf": csrf_of(client.get(form or path)), **fields}, **extra)


def predictions(values):
    return {"file": ("p.csv", "id,prediction\n" + "".join(f"row{i},{value}\n" for i, value in enumerate(values)))}


def join(client, engine, name="Newcomers"):
    return send(client, "/join", {"invite": engine.invite("coins"), "name": name})


def test_a_team_joins_submits_and_is_told_what_is_left(engine, visit):
    client = visit()
    assert client.get("/c/coins").status_code == 401  # not for everybody
    welcome = join(client, engine)
    token = re.search(r"tacit_team_[\w-]+", welcome.text).group()
    assert "My team" in welcome.text
    cookie = welcome.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    sent = send(client, "/c/coins/team", {}, files=predictions(LABELS))
    assert sent.status_code == 303
    page = client.get(sent.headers["location"])
    assert "Submission 1 scored <strong>1.0</strong>" in page.text
    assert engine.remaining(engine.identify(token)).total == 2
    board = client.get("/c/coins")
    assert "Newcomers" in board.text
    assert "<svg" in board.text
    assert "Coins &lt;b&gt;" in board.text
    assert "<b>" not in board.text


def test_what_is_refused_is_said_in_one_sentence_and_costs_nothing(engine, visit):
    client = visit()
    join(client, engine)
    for values, words in (([0] * 3, "3 of 40 rows"), ([7] * ROWS, "predictions must be classes in 0..1")):
        page = send(client, "/c/coins/team", {}, files=predictions(values))
        assert page.status_code == 422
        assert words in page.text.replace("&#39;", "'")
        assert "Nothing was used up" in page.text
    for number in range(3):
        assert send(client, "/c/coins/team", {}, files=predictions([number % 2] * ROWS)).status_code == 303
    page = client.get("/c/coins/team")
    assert "You have no submissions left" in page.text
    token = csrf_of(client.get("/join"))
    late = client.post("/c/coins/team", data={"csrf": token}, files=predictions(LABELS))
    assert late.status_code == 429
    assert "all 3 submissions" in late.text


def test_a_form_without_our_csrf_token_changes_nothing(engine, visit):
    client = visit()
    join(client, engine)
    other = csrf_of(visit().get("/join"))  # another browser's
    for token in ("", "0" * 64, other):
        page = client.post("/c/coins/team", data={"csrf": token}, files=predictions(LABELS))
        assert page.status_code == 403
    admin = visit(engine.new_admin_token())
    for path in ("/c/coins/invites", "/c/coins/leaks", "/c/coins/final", "/host/new", "/sign-out"):
        assert admin.post(path, data={"csrf": other}).status_code == 403
    assert engine.own_scores(engine.teams("coins")[0]) == ()


@pytest.mark.parametrize("path", HOST_PAGES)
def test_hosts_pages_are_for_the_host(engine, visit, path):
    team = visit()
    join(team, engine)
    assert (visit().get(path).status_code, team.get(path).status_code) == (401, 403)
    admin = visit(engine.new_admin_token())
    assert admin.get(path).status_code == (404 if path.endswith("state") else 200)


@pytest.mark.parametrize("path", ["/c/coins/invites", "/c/coins/leaks", "/host/new"])
def test_hosts_forms_are_for_the_host(engine, visit, path):
    team = visit()
    join(team, engine)
    token = csrf_of(team.get("/join"))
    assert team.post(path, data={"csrf": token}).status_code == 403


def test_teams_see_their_own_page_alone(engine, visit):
    first, second = visit(), visit()
    join(first, engine, "First")
    join(second, engine, "Second")
    send(first, "/c/coins/team", {}, files=predictions(LABELS))
    assert "Submission 1" not in second.get("/c/coins/team?score=1").text
    assert visit().get("/c/coins/team").status_code == 401


def form(**changes):
    given = {
        "slug": "new",
        "name": "New",
        "metric": "accuracy",
        "classes": "",
        "policy": "laplace",
        "epsilon": "5",
        "submissions": "10",
        "per_day": "",
        "public_fraction": "0.5",
        "teams": "4",
        "public": "yes",
        "opens": "2026-01-01T00:00",
        "closes": "2099-01-01T00:00",
    }
    return given | changes


FILES = {"features": ("f.csv", FEATURES), "labels": ("l.csv", TRUTH)}


def test_a_host_creates_a_competition_by_form(engine, visit):
    admin = visit(engine.new_admin_token())
    made = send(admin, "/host/new", form(), files=FILES)
    assert (made.status_code, made.headers["location"]) == (303, "/c/new/host")
    board = engine.board("new")
    assert board.rules.policy.epsilon == 0.5
    assert board.rules.public_fraction == 0.5
    np.testing.assert_array_equal(board.labels.codes, LABELS)
    page = admin.get("/c/new/host")
    assert "Epsilon spent" in page.text
    invited = send(admin, "/c/new/invites", {}, form="/c/new/host")
    assert engine.register(re.search(r"tacit_invite_[\w-]+", invited.text).group(), name="A").team.competition == "new"


@pytest.mark.parametrize(
    ("changes", "files", "words"),
    [
        ({"epsilon": "much"}, FILES, "or none, got 'much'"),
        ({"submissions": "1.5"}, FILES, "submissions must be an integer"),
        ({"slug": "Not Good"}, FILES, "slug must be"),
        ({"slug": "coins"}, FILES, "there is a competition 'coins' already"),
        ({"metric": "auc"}, FILES, "class_floor"),
        ({"closes": "soon"}, FILES, "closes must be a date"),
        ({}, {"features": FILES["features"]}, "features and labels must both be given"),
        ({"classes": "1"}, FILES, "classes must be a list of at least two"),
    ],
)
def test_a_form_that_is_wrong_says_what_and_keeps_what_was_typed(engine, visit, changes, files, words):
    admin = visit(engine.new_admin_token())
    page = send(admin, "/host/new", form(**changes), files=files)
    assert page.status_code in (409, 422)
    text = page.text.replace("&#39;", "'")
    assert words in text
    assert 'value="New"' in text
    assert [one.slug for one in engine.competitions()] == ["coins"]


def test_the_replay_runs_and_ends_without_scripts(engine, visit):
    admin = visit(engine.new_admin_token())
    assert "submissions reveal all 40 labels" in admin.get("/c/coins/leaks").text
    begun = send(admin, "/c/coins/leaks", {"submissions": "60"})
    assert begun.status_code == 303
    assert send_again_is_refused(admin)
    patience = time.monotonic() + 60
    while (page := admin.get("/c/coins/leaks")).text.find("After") < 0:
        assert 'http-equiv="refresh"' in page.text
        assert time.monotonic() < patience
        time.sleep(0.2)
    assert "<strong>100.0%</strong>" in page.text
    assert engine.teams("coins") == ()  # a copy was attacked
    state = admin.get("/c/coins/leaks/state").json()
    assert state["result"]["recovered"] == 1.0
    assert not state["running"]


def send_again_is_refused(admin):
    token = csrf_of(admin.get("/join"))
    return admin.post("/c/coins/leaks", data={"csrf": token}).status_code == 409


def test_the_replay_takes_whole_numbers_in_bounds(engine, visit):
    admin = visit(engine.new_admin_token())
    for wanted in ("0", "1000000", "many"):
        assert send(admin, "/c/coins/leaks", {"submissions": wanted}).status_code == 422


def test_the_api_of_the_replay_is_for_the_host(engine, visit):
    client = visit()
    team = engine.register(engine.invite("coins"), name="A").token
    admin = engine.new_admin_token()
    for path in ("forecast", "replay"):
        address = f"/api/v1/competitions/coins/{path}"
        sent = [client.get(address, headers={"Authorization": f"Bearer {token}"}) for token in ("x", team, admin)]
        assert [answer.status_code for answer in sent] == [401, 403, 200 if path == "forecast" else 404]
    assert sent[0].json().keys() == {"error"}


def test_the_forecast_starts_from_what_the_features_tell_and_not_from_what_a_forest_believes(engine, visit):
    """Trees that were grown on coins are sure of themselves, and wrong half the time."""
    rng = np.random.default_rng(0)
    rows, classes = 400, 3
    features = "size\n" + "".join(f"{size:.6f}\n" for size in rng.normal(size=rows))
    labels = "label\n" + "".join(f"{label}\n" for label in rng.integers(0, classes, rows))
    metric = Accuracy(classes=classes)
    terms = CompetitionTerms(
        slug="dice", name="Dice", rules=rules_of(metric=metric, policy=Laplace(epsilon=0.2), public_fraction=1.0)
    )
    engine.create_competition(terms, features=features.encode(), labels=labels.encode())
    board = engine.board("dice")
    prior = feature_prior(board.matrix, board.labels.codes, classes=classes)
    right = (prior.argmax(axis=1) == board.labels.codes).mean()
    assert prior.max(axis=1).mean() > right + 0.15, "control: it believes more than it knows"
    admin = {"Authorization": f"Bearer {engine.new_admin_token()}"}
    told = visit().get("/api/v1/competitions/dice/forecast", headers=admin).json()
    assert f"from {right:.1%} (features alone)" in told["sentence"]
    blind = forecast(terms.rules, metric, rows=rows)
    assert told["submissions"] == blind.submissions, "coins are as hard to tell as if nothing were known"


def test_no_page_has_a_script_a_style_or_an_address_of_its_own(engine, visit):
    admin = visit(engine.new_admin_token())
    join(visit(), engine)
    for path in ("/", "/join", "/sign-in", "/c/coins", *HOST_PAGES[:4], "/nope"):
        page = admin.get(path)
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "unsafe-inline" not in page.headers["content-security-policy"].partition("script-src")[2]
        text = page.text.replace("http://www.w3.org", "")
        assert not re.search(r"https?://|<style|\sstyle=|\son\w+=|<script(?! src=\"/static)", text)
        assert text.count("<h1") == 1


def test_an_unknown_page_is_a_page_and_an_unknown_api_is_json(visit):
    client = visit()
    assert "There is no such page." in client.get("/nope").text
    assert client.get("/api/v1/nope").json() == {"error": "Not Found"}
    assert client.get("/static/..%2fengine.py").status_code == 404
    assert client.get("/static/style.css").headers["content-type"].startswith("text/css")


def test_signing_out_ends_it(engine, visit):
    client = visit(engine.new_admin_token())
    assert send(client, "/sign-out", {}, form="/host").status_code == 303
    assert client.get("/host").status_code == 401
    refused = send(client, "/sign-in", {"token": "tacit_host_guessed"})
    assert refused.status_code == 401


@pytest.mark.parametrize("lower", [True, False])
def test_the_plot_draws_the_better_end_up(lower):
    now = utc_now()
    scores = [ScoredSubmission(id=str(i), team="A", number=i, time=now, released=i / 10, text="") for i in range(1, 4)]
    picture = draw_history(scores, lower_is_better=lower)
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', picture)]
    assert (heights == sorted(heights)) is lower  # small y is up
    assert len(heights) == 3


def test_the_plot_shows_the_best_eight_teams():
    scores = [
        ScoredSubmission(id=str(i), team=f"team {i:02}", number=1, time=utc_now(), released=float(i), text="")
        for i in range(12)
    ]
    picture = draw_history(scores, lower_is_better=True)
    assert [f"team {i:02}" in picture for i in (0, 7, 8, 11)] == [True, True, False, False]


def test_the_form_stands_at_the_default_and_the_competition_ends_with_its_ranking(engine, visit):
    admin = visit(engine.new_admin_token())
    page = admin.get("/host/new").text
    preset = dict(re.findall(r'<input id="(\w+)" name="\w+" type="[\w-]+" value="([^"]*)"', page))
    preset |= {
        name: re.search(rf'id="{name}".*?value="(\w+)" selected', page, re.S).group(1)
        for name in ("metric", "policy", "public")
    }
    given = preset | {"slug": "new", "name": "New", "teams": "2"}
    rows = "".join(f"{row % 2}\n" for row in range(1_000))
    files = {name: (f"{name}.csv", f"{name}\n{rows}".encode()) for name in ("features", "labels")}
    files["labels"] = ("l.csv", f"label\n{rows}".encode())
    assert send(admin, "/host/new", given, files=files).status_code == 303
    assert engine.board("new").rules == rules_of(metric=LogLoss(), policy=Rounded(), together=10, teams=2)
    board = admin.get("/c/new").text
    assert "all live scores at most 10 percentage points" in board
    assert "Live scores are feedback for the teams and use about 30% of the rows" in board
    assert "each label behind the final ranking" in board
    for name in ("First", "Second"):
        team = visit()
        send(team, "/join", {"invite": engine.invite("new"), "name": name})
        assert "Your last submission is ranked at the end" in team.get("/c/new/team").text
        guess = {"file": ("p.csv", "id,prediction\n" + "".join(f"{row},0.5\n" for row in range(1_000)))}
        assert send(team, "/c/new/team", {}, files=guess).status_code == 303
    assert "final scores are used as well" in admin.get("/c/new/leaks").text
    assert send(admin, "/c/new/final", {"sure": "yes"}, form="/c/new/host").status_code == 303
    board = admin.get("/c/new").text
    assert "Final ranking" in board
    assert board.index("Final ranking") < board.index("Live scores")
    assert "The final ranking is released" in admin.get("/c/new/host").text
    assert "Submissions are not accepted at the moment" in team.get("/c/new/team").text
    assert {place.team for place in engine.final("new")} == {"First", "Second"}


def test_the_final_ranking_waits_for_the_closing_date(engine, visit):
    admin = visit(engine.new_admin_token())
    send(admin, "/host/new", form(), files=FILES)
    page = admin.get("/c/new/host").text
    assert "can be released after the competition closes, 01 Jan 2099" in page
    assert "Release the final ranking" not in page


def test_the_host_changes_teams_tokens_and_texts_by_forms(engine, visit):
    admin, joined = visit(engine.new_admin_token()), engine.register(engine.invite("coins"), name="Newcomers")
    manage = "/c/coins/host"
    frozen = {"team": "Newcomers", "standing": "frozen", "reason": "crafted"}
    assert send(admin, "/c/coins/standing", frozen, form=manage).status_code == 303
    assert "<strong>frozen</strong>" in admin.get(manage).text
    assert send(admin, "/c/coins/standing", frozen | {"standing": "loved"}, form=manage).status_code == 422
    made = send(admin, "/c/coins/token", {"team": "Newcomers"}, form=manage)
    assert made.status_code == 422
    assert engine.identify(joined.token).name == "Newcomers", "the box was not ticked"
    made = send(admin, "/c/coins/token", {"team": "Newcomers", "sure": "yes"}, form=manage)
    token = re.search(r"tacit_team_[\w-]+", made.text).group()
    assert engine.identify(token).name == "Newcomers"
    assert engine.identify(joined.token) != engine.identify(token)
    send(admin, "/c/coins/edit", {"name": "Heads", "description": "or tails"}, form=manage)
    send(admin, "/c/coins/revoke", {"sure": "yes"}, form=manage)
    page = admin.get(manage).text
    assert "Manage Heads" in page
    assert "host: frozen, Newcomers (crafted)" in page
