"""Organizers: what each role may do on every route and page, and that nobody reaches more than a role allows."""

import re

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tacit.privacy.errors import TacitError
from tacit.scores.metrics import Accuracy
from tacit.scores.policies import Laplace
from tacit.server import ScoringEngine
from tacit.server.app import create_app
from tacit.server.records import AnonymousCaller
from tests.server.conftest import LABELS, ROWS
from tests.server.rules import rules_of
from tests.server.test_pages import csrf_of, send

API = "/api/v1"
ROUTES = [
    ("GET", "/competitions/{slug}/teams", "viewer", None),
    ("GET", "/competitions/{slug}/flags", "viewer", None),
    ("GET", "/competitions/{slug}/spend", "viewer", None),
    ("GET", "/competitions/{slug}/actions", "viewer", None),
    ("GET", "/competitions/{slug}/organizers", "viewer", None),
    ("GET", "/competitions/{slug}/export", "viewer", None),
    ("GET", "/competitions/{slug}/forecast", "viewer", None),
    ("POST", "/competitions/{slug}/invites", "manager", None),
    ("DELETE", "/competitions/{slug}/invites", "manager", None),
    ("PATCH", "/competitions/{slug}", "manager", {"name": "Heads"}),
    ("POST", "/competitions/{slug}/teams/{name}/standing", "manager", {"standing": "active"}),
    ("POST", "/competitions/{slug}/teams/{name}/token", "manager", None),
    ("POST", "/competitions/{slug}/organizers", "owner", {"name": "Grace"}),
    ("DELETE", "/competitions/{slug}/organizers/{name}", "owner", None),
    ("POST", "/competitions/{slug}/final", "owner", None),
    ("POST", "/competitions/{slug}/state", "owner", {"state": "closed"}),
    ("DELETE", "/competitions/{slug}", "owner", None),
    ("GET", "/actions", "host", None),
    ("GET", "/metrics", "host", None),
    ("POST", "/competitions", "host", {}),
]
PAGES = [
    ("invites", "manager", {}),
    ("revoke", "manager", {"sure": "yes"}),
    ("standing", "manager", {"team": "Newcomers", "standing": "frozen"}),
    ("token", "manager", {"team": "Newcomers", "sure": "yes"}),
    ("edit", "manager", {"name": "Heads"}),
    ("organizers", "owner", {"name": "Grace", "role": "owner"}),
    ("organizers/remove", "owner", {"name": "Hopper"}),
    ("state", "owner", {"state": "closed"}),
    ("final", "owner", {"sure": "yes"}),
    ("delete", "owner", {"confirm": "coins"}),
]
RANKS = {"viewer": 1, "manager": 2, "owner": 3, "host": 4}


@pytest.fixture
def tokens(sqlite_engine, make):
    """The tokens of everybody: of two competitions, each with organizers, and of a team in each standing."""
    engine = sqlite_engine
    rules = rules_of(metric=Accuracy(), policy=Laplace(epsilon=0.5), submissions=5, public_fraction=0.5)
    make(engine, rules=rules)
    make(engine, slug="others", rules=rules, labels=LABELS.replace(b"zq-", b"xq-"), again=True)
    found = {"anyone": None, "guesser": "tacit_organizer_guessed", "host": engine.new_admin_token()}
    for name in ("Newcomers", "frozen", "disqualified", "removed"):
        joined = engine.register(engine.invite("coins"), name=name)
        found[f"team {name}"] = joined.token
        if name != "Newcomers":
            engine.desk.set_standing(joined.team, name)
    found["team of others"] = engine.register(engine.invite("others"), name="Strangers").token
    for role in ("viewer", "manager", "owner"):
        found[role] = engine.desk.add_organizer("coins", name=role.title(), role=role)[1]
        found[f"{role} of others"] = engine.desk.add_organizer("others", name=role.title(), role=role)[1]
    engine.desk.add_organizer("coins", name="Hopper", role="viewer")
    return found


def bearer(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


def may(who, needed):
    return RANKS.get(who, 0) >= RANKS[needed]


@pytest.mark.parametrize(("method", "path", "needed", "body"), ROUTES)
def test_each_route_is_for_its_role_alone(sqlite_engine, tokens, method, path, needed, body):
    client = TestClient(create_app(sqlite_engine), raise_server_exceptions=False)
    path = API + path.format(slug="coins", name="Hopper" if "organizers" in path else "Newcomers")
    before = sqlite_engine.actions()
    for who, token in sorted(tokens.items(), key=lambda one: RANKS.get(one[0], 0)):
        answer = client.request(method, path, json=body, headers=bearer(token))
        if may(who, needed):
            assert answer.status_code in (200, 201, 404, 409, 422), (who, answer.text)
        else:
            known = token and who not in ("guesser", "team removed")
            assert answer.status_code == (403 if known else 401), (who, answer.text)
            assert sqlite_engine.actions() == before, "nothing was done"


@pytest.mark.parametrize(("what", "needed", "fields"), PAGES)
def test_each_form_is_for_its_role_alone(sqlite_engine, tokens, what, needed, fields):
    app = create_app(sqlite_engine)
    before = sqlite_engine.actions()
    for who, token in sorted(tokens.items(), key=lambda one: RANKS.get(one[0], 0)):
        client = TestClient(app, follow_redirects=False, raise_server_exceptions=False)
        if token and who not in ("guesser", "team removed"):
            assert send(client, "/sign-in", {"token": token}).status_code == 303, who
        assert client.post(f"/c/coins/{what}", data=fields or {"a": "b"}).status_code in (401, 403), "no mark"
        answer = send(client, f"/c/coins/{what}", fields, form="/sign-in")
        if may(who, needed):
            assert answer.status_code in (200, 303), (who, answer.text)
            break
        assert answer.status_code in (401, 403), (who, answer.text)
        assert sqlite_engine.actions() == before, "nothing was done"
    else:
        raise AssertionError("nobody may do it")


@pytest.mark.parametrize("page", ["host", "leaks", "leaks/state", "export.json", "export.zip"])
def test_each_page_is_for_organizers_alone(sqlite_engine, tokens, page):
    app = create_app(sqlite_engine)
    for who in ("anyone", "team Newcomers", "team frozen", "owner of others", "viewer", "host"):
        client = TestClient(app, follow_redirects=False)
        if tokens[who]:
            send(client, "/sign-in", {"token": tokens[who]})
        status = client.get(f"/c/coins/{page}").status_code
        if may(who, "viewer"):
            assert status == (404 if page == "leaks/state" else 200)
        else:
            assert status == (401 if who == "anyone" else 403)


def test_a_page_shows_an_organizer_what_the_role_may_do(sqlite_engine, tokens):
    app = create_app(sqlite_engine)
    for role, shown in {"viewer": 0, "manager": 5, "owner": 10}.items():
        client = TestClient(app, follow_redirects=False)
        assert send(client, "/sign-in", {"token": tokens[role]}).headers["location"] == "/c/coins/host"
        page = client.get("/c/coins/host").text
        assert sum(f'action="/c/coins/{what}"' in page for what, *_ in PAGES) == shown
        assert client.get("/host").status_code == 403


def test_the_trail_has_who_did_it(sqlite_engine, tokens):
    client = TestClient(create_app(sqlite_engine))
    client.patch(f"{API}/competitions/coins", json={"name": "Heads"}, headers=bearer(tokens["manager"]))
    client.post(f"{API}/competitions/coins/state", json={"state": "closed"}, headers=bearer(tokens["owner"]))
    client.post(f"{API}/competitions/coins/invites", headers=bearer(tokens["host"]))
    last = client.get(f"{API}/competitions/coins/actions", headers=bearer(tokens["viewer"])).json()[:3]
    assert [(one["who"], one["what"]) for one in last] == [
        ("host", "invite"),
        ("Owner (owner)", "closed"),
        ("Manager (manager)", "edit"),
    ]


class TestRemoval:
    def test_a_removed_organizer_is_nobody_at_once(self, sqlite_engine, tokens):
        token, engine = tokens["manager"], sqlite_engine
        organizer = engine.identify(token)
        session = engine.sign_in(organizer)
        assert engine.visitor(session) == organizer
        engine.desk.remove_organizer("coins", "Manager")
        assert engine.identify(token) == engine.visitor(session) == AnonymousCaller()
        assert not engine.knows(token)
        with pytest.raises(TacitError, match="there is no organizer 'Manager'"):
            engine.desk.remove_organizer("coins", "Manager")

    def test_after_a_restart_sessions_and_tokens_have_buckets_of_their_own(self, sqlite_engine, tokens):
        session = sqlite_engine.sign_in(sqlite_engine.identify(tokens["viewer"]))
        second = ScoringEngine.open(sqlite_engine.settings)
        assert [second.knows(one) for one in (session, tokens["viewer"], tokens["guesser"])] == [True, True, False]
        second.close()

    def test_a_new_admin_token_leaves_organizers_signed_in(self, sqlite_engine, tokens):
        organizer = sqlite_engine.identify(tokens["viewer"])
        session = sqlite_engine.sign_in(organizer)
        sqlite_engine.new_admin_token()
        assert sqlite_engine.visitor(session) == organizer

    @pytest.mark.parametrize("alike", ["manager", " MANAGER", "M\u0430nager", "Mana\ufe0fger"])
    def test_names_that_read_alike_are_taken(self, sqlite_engine, tokens, alike):
        with pytest.raises(TacitError, match="another organizer has this name"):
            sqlite_engine.desk.add_organizer("coins", name=alike, role="owner")


class TestAttacks:
    def test_a_session_cannot_be_used_after_sign_out(self, sqlite_engine, tokens):
        app = create_app(sqlite_engine)
        mine, thief = TestClient(app, follow_redirects=False), TestClient(app, follow_redirects=False)
        send(mine, "/sign-in", {"token": tokens["owner"]})
        form = csrf_of(mine.get("/c/coins/host"))
        thief.cookies.set("tacit_session", mine.cookies["tacit_session"])
        assert thief.get("/c/coins/host").status_code == 200
        send(mine, "/sign-out", {}, form="/c/coins/host")
        assert thief.get("/c/coins/host").status_code == 401
        assert thief.post("/c/coins/delete", data={"csrf": form, "confirm": "coins"}).status_code == 401
        assert sqlite_engine.competition("coins").slug == "coins"

    def test_an_organizer_submits_for_no_team(self, sqlite_engine, tokens):
        client = TestClient(create_app(sqlite_engine))
        sent = {"predictions": np.zeros(ROWS).tolist()}
        for who in ("owner", "host"):
            answer = client.post(f"{API}/competitions/coins/submissions", json=sent, headers=bearer(tokens[who]))
            assert answer.status_code == 403

    @pytest.mark.parametrize("role", ["host", "admin", "", "Owner"])
    def test_there_is_no_other_role(self, sqlite_engine, tokens, role):
        client = TestClient(create_app(sqlite_engine))
        sent = {"name": "Mallory", "role": role}
        answer = client.post(f"{API}/competitions/coins/organizers", json=sent, headers=bearer(tokens["owner"]))
        assert answer.status_code == 422

    def test_names_are_text_on_the_pages(self, sqlite_engine, tokens):
        sqlite_engine.desk.add_organizer("coins", name="<script>alert(1)</script>", role="viewer")
        client = TestClient(create_app(sqlite_engine), follow_redirects=False)
        send(client, "/sign-in", {"token": tokens["host"]})
        for path in ("/c/coins/host", "/host"):
            page = client.get(path).text
            assert "<script>alert" not in page
            assert re.search("&lt;script&gt;alert", page)
