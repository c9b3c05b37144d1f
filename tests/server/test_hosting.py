"""A host in charge: teams that are frozen, disqualified, removed and reinstated, tokens, invites, dates and texts."""

from datetime import timedelta

import numpy as np
import pytest

from tacit.privacy.errors import InvalidInput
from tacit.scores.metrics import Accuracy
from tacit.scores.policies import Laplace
from tacit.server import ScoringEngine
from tacit.server.access import _FRESH
from tacit.server.errors import Conflict, Forbidden, NotFound
from tacit.server.hosting import CompetitionChange
from tacit.server.records import AnonymousCaller
from tests.server.conftest import ROWS
from tests.server.rules import rules_of

API = "/api/v1/competitions/coins"
RULES = rules_of(metric=Accuracy(), policy=Laplace(epsilon=0.5), submissions=5, public_fraction=0.5)


@pytest.fixture
def engine(sqlite_engine, make):
    make(sqlite_engine, rules=RULES)
    return sqlite_engine


def guess(seed=0):
    return np.random.default_rng(seed).integers(0, 2, ROWS)


def ranked(engine):
    return {place.team for place in engine.leaderboard("coins")}, {score.team for score in engine.history("coins")}


class TestStanding:
    @pytest.mark.parametrize(
        ("standing", "shown", "signs_in"),
        [("frozen", True, True), ("disqualified", False, True), ("removed", False, False)],
    )
    def test_what_a_team_may_no_longer_do(self, engine, join, standing, shown, signs_in):
        joined, other = join(engine), join(engine)
        for number, one in enumerate((joined, other)):
            engine.submit(one.team, guess(number)).result()
        session = engine.sign_in(joined.team)
        engine.set_standing(joined.team, standing, reason="crafted submissions")
        with pytest.raises(Forbidden, match=f"this team is {standing}"):
            engine.submit(joined.team, guess(9)).result()
        names = {joined.team.name, other.team.name} if shown else {other.team.name}
        assert ranked(engine) == (names, names)
        assert isinstance(engine.identify(joined.token), AnonymousCaller) is not signs_in
        assert isinstance(engine.visitor(session), AnonymousCaller) is not signs_in
        spent = engine.spend("coins").spent
        engine.set_standing(joined.team, "active")
        assert engine.submit(joined.team, guess(9)).result().number == 2
        assert engine.identify(joined.token) == engine.team("coins", joined.team.name)
        assert engine.spend("coins").spent == spent, "what it was told stayed charged"
        assert [(one.what, one.reason) for one in engine.actions("coins")] == [
            ("active", ""),
            (standing, "crafted submissions"),
        ]

    def test_a_disqualified_team_is_not_in_the_final_ranking(self, engine, join):
        joined, other = join(engine), join(engine)
        for number, one in enumerate((joined, other)):
            engine.submit(one.team, guess(number)).result()
        engine.set_standing(joined.team, "disqualified")
        assert [place.team for place in engine.finish("coins")] == [other.team.name]

    def test_a_removed_team_keeps_its_place(self, sqlite_engine, make, join):
        make(sqlite_engine, teams=1)
        sqlite_engine.set_standing(join(sqlite_engine).team, "removed")
        with pytest.raises(Forbidden, match="all 1 places are taken"):
            join(sqlite_engine)


class TestTokens:
    def test_another_token_voids_the_first_and_its_sessions(self, engine, join):
        joined = join(engine)
        session = engine.sign_in(joined.team)
        again = engine.reissue_token(joined.team)
        assert engine.identify(joined.token) == AnonymousCaller()
        assert engine.visitor(session) == AnonymousCaller()
        assert engine.identify(again) == joined.team

    def test_another_process_learns_of_it(self, engine, join, monkeypatch):
        joined, second = join(engine), ScoringEngine.open(engine.settings)
        assert second.identify(joined.token) == joined.team
        engine.set_standing(joined.team, "removed")
        monkeypatch.setattr("tacit.server.access.monotonic", lambda: second._began + 10 * _FRESH)
        assert second.identify(joined.token) == AnonymousCaller()
        assert not second.knows(joined.token)
        second.close()

    def test_unused_invites_are_void_and_used_ones_stay(self, engine, join):
        joined, code = join(engine), engine.invite("coins")
        assert engine.revoke_invites("coins") == 1
        with pytest.raises(NotFound, match="this invite is not known"):
            engine.register(code, name="Late")
        assert engine.identify(joined.token) == joined.team


class TestChange:
    def test_texts_and_dates(self, engine, clock):
        later = clock.now + timedelta(days=2)
        found = engine.change_competition(
            "coins", CompetitionChange(name="Heads", description="or tails", closes=later)
        )
        assert (found.name, found.description, found.closes) == ("Heads", "or tails", later)
        assert engine.change_competition("coins", CompetitionChange(name="Tails")).closes == later
        assert [one.whom for one in engine.actions("coins")] == ["name", "closes, description, name"]

    def test_what_does_not_fit_is_refused(self, engine, clock):
        day = timedelta(days=1)
        with pytest.raises(InvalidInput, match="closes must be later than opens"):
            engine.change_competition("coins", CompetitionChange(opens=clock.now + 2 * day, closes=clock.now + day))
        with pytest.raises(InvalidInput, match="must change a name"):
            engine.change_competition("coins", CompetitionChange())
        with pytest.raises(InvalidInput, match="name must be one line"):
            CompetitionChange(name="two\nlines")
        engine.finish("coins")
        with pytest.raises(Conflict, match="dates cannot be changed"):
            engine.change_competition("coins", CompetitionChange(closes=clock.now + day))
        assert engine.actions("coins") == ()


class TestTheApi:
    def test_the_host_alone(self, client, engine, join, host):
        joined = join(engine)
        team = {"Authorization": f"Bearer {joined.token}"}
        name = joined.team.name
        asked = [
            ("PATCH", API, {"name": "Heads"}),
            ("POST", f"{API}/teams/{name}/standing", {"standing": "frozen"}),
            ("POST", f"{API}/teams/{name}/token", None),
        ]
        for method, path, body in asked:
            assert client.request(method, path, json=body).status_code == 401
            assert client.request(method, path, json=body, headers=team).status_code == 403
        for method, path, body in asked:
            assert client.request(method, path, json=body, headers=host).status_code in (200, 201)
        assert engine.team("coins", name).standing == "frozen"
        assert client.get(f"{API}/budget", headers=team).status_code == 401
        assert [one["what"] for one in client.get(f"{API}/actions", headers=host).json()] == ["token", "frozen", "edit"]
        wrong = {"standing": "loved"}
        assert client.post(f"{API}/teams/{name}/standing", json=wrong, headers=host).status_code == 422
        assert client.post(f"{API}/teams/nobody/standing", json={"standing": "frozen"}, headers=host).status_code == 404
