"""A host in charge: teams that are frozen, disqualified, removed and reinstated, tokens, invites, dates and texts."""

import csv
import io
import json
import sqlite3
import zipfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from tacit.privacy.errors import InvalidInput
from tacit.scores.metrics import Accuracy
from tacit.scores.policies import Laplace
from tacit.server import ScoringEngine
from tacit.server.access import _FRESH
from tacit.server.errors import Conflict, Forbidden, NotFound
from tacit.server.exports import safe_cell
from tacit.server.hosting import CompetitionChange
from tacit.server.records import AnonymousCaller
from tacit.server.schema import FILE, TABLES
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
        engine.desk.set_standing(joined.team, standing, reason="crafted submissions")
        with pytest.raises(Forbidden, match=f"this team is {standing}"):
            engine.submit(joined.team, guess(9)).result()
        names = {joined.team.name, other.team.name} if shown else {other.team.name}
        assert ranked(engine) == (names, names)
        assert isinstance(engine.identify(joined.token), AnonymousCaller) is not signs_in
        assert isinstance(engine.visitor(session), AnonymousCaller) is not signs_in
        spent = engine.spend("coins").spent
        engine.desk.set_standing(joined.team, "active")
        assert engine.submit(joined.team, guess(9)).result().number == 2
        assert engine.identify(joined.token) == engine.team("coins", joined.team.name)
        assert engine.spend("coins").spent == spent, "what it was told stayed charged"
        assert [(one.what, one.reason) for one in engine.actions("coins")][:2] == [
            ("active", ""),
            (standing, "crafted submissions"),
        ]

    def test_a_disqualified_team_is_not_in_the_final_ranking(self, engine, join):
        joined, other = join(engine), join(engine)
        for number, one in enumerate((joined, other)):
            engine.submit(one.team, guess(number)).result()
        engine.desk.set_standing(joined.team, "disqualified")
        assert [place.team for place in engine.finish("coins")] == [other.team.name]

    def test_a_removed_team_keeps_its_place(self, sqlite_engine, make, join):
        make(sqlite_engine, teams=1)
        sqlite_engine.desk.set_standing(join(sqlite_engine).team, "removed")
        with pytest.raises(Forbidden, match="all 1 places are taken"):
            join(sqlite_engine)


class TestTokens:
    def test_another_token_voids_the_first_and_its_sessions(self, engine, join):
        joined = join(engine)
        session = engine.sign_in(joined.team)
        again = engine.desk.reissue_token(joined.team)
        assert engine.identify(joined.token) == AnonymousCaller()
        assert engine.visitor(session) == AnonymousCaller()
        assert engine.identify(again) == joined.team

    def test_another_process_learns_of_it(self, engine, join, monkeypatch):
        joined, second = join(engine), ScoringEngine.open(engine.settings)
        assert second.identify(joined.token) == joined.team
        engine.desk.set_standing(joined.team, "removed")
        monkeypatch.setattr("tacit.server.access.monotonic", lambda: second._began + 10 * _FRESH)
        assert second.identify(joined.token) == AnonymousCaller()
        assert not second.knows(joined.token)
        second.close()

    def test_unused_invites_are_void_and_used_ones_stay(self, engine, join):
        joined, code = join(engine), engine.invite("coins")
        assert engine.desk.revoke_invites("coins") == 1
        with pytest.raises(NotFound, match="this invite is not known"):
            engine.register(code, name="Late")
        assert engine.identify(joined.token) == joined.team


class TestChange:
    def test_texts_and_dates(self, engine, clock):
        later = clock.now + timedelta(days=2)
        engine.desk.change_competition("coins", CompetitionChange(name="Heads", description="or tails", closes=later))
        found = engine.competition("coins")
        assert (found.name, found.description, found.closes) == ("Heads", "or tails", later)
        engine.desk.change_competition("coins", CompetitionChange(name="Tails"))
        assert engine.competition("coins").closes == later
        assert [one.whom for one in engine.actions("coins")] == ["name", "closes, description, name", ""]

    def test_what_does_not_fit_is_refused(self, engine, clock):
        day = timedelta(days=1)
        with pytest.raises(InvalidInput, match="closes must be later than opens"):
            engine.desk.change_competition(
                "coins", CompetitionChange(opens=clock.now + 2 * day, closes=clock.now + day)
            )
        with pytest.raises(InvalidInput, match="must change a name"):
            engine.desk.change_competition("coins", CompetitionChange())
        with pytest.raises(InvalidInput, match="name must be one line"):
            CompetitionChange(name="two\nlines")
        engine.finish("coins")
        with pytest.raises(Conflict, match="dates cannot be changed"):
            engine.desk.change_competition("coins", CompetitionChange(closes=clock.now + day))
        assert [one.what for one in engine.actions("coins")] == ["final ranking", "create"]


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
        assert [one["what"] for one in client.get(f"{API}/actions", headers=host).json()][:3] == [
            "token",
            "frozen",
            "edit",
        ]
        wrong = {"standing": "loved"}
        assert client.post(f"{API}/teams/{name}/standing", json=wrong, headers=host).status_code == 422
        assert client.post(f"{API}/teams/nobody/standing", json={"standing": "frozen"}, headers=host).status_code == 404


class TestState:
    def test_closed_reopened_archived_and_back(self, engine, join, clock):
        joined = join(engine)
        engine.desk.set_state("coins", "closed", reason="a leak in the features")
        with pytest.raises(Forbidden, match="closed at"):
            engine.submit(joined.team, guess()).result()
        with pytest.raises(Forbidden, match="the competition is closed"):
            join(engine)
        later = clock.now + timedelta(days=1)
        engine.desk.set_state("coins", "open", closes=later)
        assert engine.submit(joined.team, guess()).result().number == 1
        engine.desk.set_state("coins", "archived")
        assert (engine.competition("coins").archived, engine.competition("coins").is_open(clock.now)) == (True, False)
        with pytest.raises(Forbidden, match="closed at"):
            engine.submit(joined.team, guess(1)).result()
        with pytest.raises(Conflict, match="is archived: reopen it"):
            engine.desk.change_competition("coins", CompetitionChange(closes=later))
        engine.desk.set_state("coins", "open")
        assert (engine.competition("coins").archived, engine.competition("coins").closes) == (False, None)
        trail = [(one.what, one.reason) for one in engine.actions("coins") if one.what != "invite"]
        assert trail[:4] == [("open", ""), ("archived", ""), ("open", ""), ("closed", "a leak in the features")]

    def test_one_that_has_not_begun_is_closed_as_well(self, engine, join, clock):
        opens = clock.now + timedelta(days=1)
        engine.desk.change_competition("coins", CompetitionChange(opens=opens))
        engine.desk.set_state("coins", "closed")
        clock.turn(days=2)
        assert not engine.competition("coins").is_open(clock.now)

    def test_what_does_not_fit_is_refused(self, engine, clock):
        with pytest.raises(InvalidInput, match="closes must be later than now"):
            engine.desk.set_state("coins", "open", closes=clock.now)
        engine.desk.set_state("coins", "closed")
        engine.finish("coins")
        with pytest.raises(Conflict, match="cannot be reopened"):
            engine.desk.set_state("coins", "open")

    def test_an_archived_one_is_in_no_list_but_its_hosts(self, engine, client, host):
        engine.desk.set_state("coins", "archived")
        viewer = {"Authorization": f"Bearer {engine.desk.add_organizer('coins', name='Ada', role='viewer')[1]}"}
        lists = [client.get("/api/v1/competitions", headers=headers).json() for headers in ({}, host, viewer)]
        assert list(map(len, lists)) == [0, 1, 1]
        assert "/c/coins" not in client.get("/").text
        assert "This competition is archived" in client.get("/c/coins").text


class TestDeletion:
    def test_nothing_is_left_but_what_was_charged(self, engine, make, join):
        make(engine, slug="others", rules=RULES, again=True)
        joined, other = join(engine), join(engine, "others")
        for one in (joined, other):
            engine.submit(one.team, guess()).result()
        engine.wait_for_inspection()
        session = engine.sign_in(joined.team)
        engine.desk.add_organizer("coins", name="Ada", role="owner")
        engine.finish("coins")
        before = counts(engine)
        with pytest.raises(InvalidInput, match="confirm must be the short name"):
            engine.desk.delete_competition("coins", confirm="others")
        spent = engine.spend("others").spent
        engine.desk.delete_competition("coins", confirm="coins")
        after = counts(engine)
        assert after["server_competition"] == after["server_team"] == after["server_submission"] == 1
        assert after["server_final"] == after["server_organizer"] == after["server_session"] == 0
        assert all(before[name] > after[name] for name in before if name not in KEPT)
        assert engine.visitor(session) == engine.identify(joined.token) == AnonymousCaller()
        for ask in (engine.competition, engine.board, engine.leaderboard):
            with pytest.raises(NotFound):
                ask("coins")
        assert engine.submit(other.team, guess(1)).result().number == 2
        assert engine.spend("others").spent == spent
        assert [one.what for one in engine.actions() if one.competition == "coins"][:1] == ["delete"]
        with pytest.raises(Conflict, match="was deleted; choose another slug"):
            make(engine, rules=RULES, again=True)
        engine.close()
        again = ScoringEngine.open(engine.settings)  # it starts: the ledger's charges are accounted for
        assert again.spend("others").spent == spent
        again.close()

    def test_another_process_scores_nothing_more(self, engine, join):
        joined, second = join(engine), ScoringEngine.open(engine.settings)
        second.submit(joined.team, guess()).result()
        engine.desk.delete_competition("coins", confirm="coins")
        with pytest.raises(NotFound, match="no longer known"):
            second.submit(joined.team, guess(1)).result()
        second.close()

    def test_labels_are_overwritten_in_the_file(self, engine):
        with engine._database.reading() as connection:
            sealed = bytes(connection.execute(select(FILE.c.content).where(FILE.c.kind == "labels")).scalar_one())
        engine.desk.delete_competition("coins", confirm="coins")
        engine.close()
        with sqlite3.connect(engine.settings.database_location) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert sealed not in Path(engine.settings.database_location).read_bytes()


KEPT = {"server", "server_trail", "server_deleted", "server_flag"}


def counts(engine):
    with engine._database.reading() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in TABLES.sorted_tables
        }


class TestExport:
    @pytest.fixture
    def filled(self, engine, join):
        engine.register(engine.invite("coins"), name="=cmd|' /C calc'!A0")
        team = engine.register(engine.invite("coins"), name="@Plain, \u00e4").team
        for seed in range(2):
            engine.submit(team, guess(seed)).result()
        engine.desk.set_standing(team, "frozen", reason="+1, and more")
        engine.desk.add_organizer("coins", name="-Ada", role="viewer")
        engine.finish("coins")
        return engine

    def test_json_has_all_but_labels_and_tokens(self, filled):
        found = json.loads(b"".join(filled.export("coins")))
        assert set(found) == {"competition", "teams", "submissions", "flags", "final", "organizers", "actions"}
        assert [team["used"] for team in found["teams"]] == [0, 2]
        assert [row["released"] for row in found["submissions"]] == [one.value for one in filled.history("coins")]
        assert [place["team"] for place in found["final"]] == ["@Plain, \u00e4"]
        text = json.dumps(found)
        assert "zq-positive" not in text
        assert "token" not in {key for rows in found.values() for row in rows for key in row}
        assert "tacit_" not in text

    def test_csv_files_have_no_formula(self, filled):
        with zipfile.ZipFile(io.BytesIO(b"".join(filled.export("coins", archive=True, predictions=True)))) as archive:
            assert archive.testzip() is None
            files = {name: archive.read(name).decode() for name in archive.namelist()}
        rows = {name: list(csv.reader(io.StringIO(text))) for name, text in files.items()}
        assert [row[0] for row in rows["teams.csv"][1:]] == ["'=cmd|' /C calc'!A0", "'@Plain, \u00e4"]
        cells = [cell for table in rows.values() for row in table for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
        predictions = rows["predictions/team-2-1.csv"]
        assert predictions[0] == ["id", "prediction"]
        assert [float(row[1]) for row in predictions[1:]] == guess(0).tolist()

    def test_readers_that_never_end_hold_few_connections(self, filled, client, host):
        held = [filled.export("coins", archive=bool(place)) for place in range(2)]
        for one in held:
            next(one)
        refused = client.get(f"{API}/export", headers=host)
        assert (refused.status_code, refused.json()["error"]) == (503, "others are doing the same; wait and try again")
        held.pop().close()
        assert client.get(f"{API}/export?form=csv", headers=host).status_code == 200
        del held
        assert client.get(f"{API}/export", headers=host).json()["teams"]

    @pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1"])
    def test_a_cell_that_a_spreadsheet_would_run(self, cell):
        assert safe_cell(cell) == f"'{cell}"
        assert safe_cell(-1.5) == -1.5
        assert safe_cell(f" {cell}") == f" {cell}"
