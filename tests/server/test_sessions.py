"""Sessions of the pages: what a browser keeps, for how long, and what ends it."""

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from tacit.privacy.errors import TacitError
from tacit.server import ScoringEngine
from tacit.server.app import create_app
from tacit.server.records import AnonymousCaller, Host
from tests.server.test_pages import csrf_of, send


@pytest.fixture
def browser(sqlite_engine):
    """Sign a browser in with a token."""
    app = create_app(sqlite_engine)

    def signed_in(token):
        found = TestClient(app, follow_redirects=False)
        assert send(found, "/sign-in", {"token": token}).status_code == 303
        return found

    return signed_in


def test_a_browser_never_has_the_token(sqlite_engine, browser):
    token = sqlite_engine.new_admin_token()
    cookies = browser(token).cookies
    assert token not in str(cookies.jar)
    assert isinstance(sqlite_engine.identify(cookies["tacit_session"]), AnonymousCaller)  # it opens nothing in the API


def test_sessions_expire(sqlite_engine, make, join, browser, clock):
    make(sqlite_engine)
    host, team = browser(sqlite_engine.new_admin_token()), browser(join(sqlite_engine).token)
    clock.turn(hours=11)
    assert (host.get("/host").status_code, team.get("/c/coins/team").status_code) == (200, 200)
    clock.turn(hours=2)
    assert (host.get("/host").status_code, team.get("/c/coins/team").status_code) == (401, 200)
    clock.turn(days=14)
    assert team.get("/c/coins/team").status_code == 401


def test_signing_out_ends_a_session_everywhere(sqlite_engine, browser):
    mine = browser(sqlite_engine.new_admin_token())
    stolen = mine.cookies["tacit_session"]
    assert isinstance(sqlite_engine.visitor(stolen), Host)
    assert send(mine, "/sign-out", {}, form="/host").status_code == 303
    assert isinstance(sqlite_engine.visitor(stolen), AnonymousCaller)
    assert not sqlite_engine.knows(stolen)


def test_a_new_admin_token_ends_the_sessions_of_the_old_one(sqlite_engine, make, join, browser):
    make(sqlite_engine)
    host, team = browser(sqlite_engine.new_admin_token()), browser(join(sqlite_engine).token)
    sqlite_engine.new_admin_token()
    assert (host.get("/host").status_code, team.get("/c/coins/team").status_code) == (401, 200)


def test_a_form_belongs_to_the_session_it_was_shown_in(sqlite_engine, browser):
    token = sqlite_engine.new_admin_token()
    mine = browser(token)
    earlier = csrf_of(mine.get("/host/new"))
    assert send(mine, "/sign-out", {}, form="/host").status_code == 303
    assert send(mine, "/sign-in", {"token": token}).status_code == 303
    assert mine.post("/sign-out", data={"csrf": earlier}).status_code == 403


def test_over_https_cookies_are_of_one_host_name(sqlite_settings):
    engine = ScoringEngine.open(replace(sqlite_settings, secure_cookies=True))
    client = TestClient(create_app(engine), base_url="https://testserver", follow_redirects=False)
    answer = send(client, "/sign-in", {"token": engine.new_admin_token()})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-tacit_session=")
    assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=strict", "Path=/"))
    assert "Domain" not in cookie
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert client.get("/host").status_code == 200
    engine.close()


@pytest.mark.parametrize("alike", ["team a", "Team  A", " Team A ", "\uff34eam A", "TEAM A"])
def test_names_that_read_alike_are_taken(sqlite_engine, make, alike):
    make(sqlite_engine)
    sqlite_engine.register(sqlite_engine.invite("coins"), name="Team A")
    with pytest.raises(TacitError, match="another team has this name"):
        sqlite_engine.register(sqlite_engine.invite("coins"), name=alike)
    sqlite_engine.register(sqlite_engine.invite("coins"), name="Team \u00c4")
