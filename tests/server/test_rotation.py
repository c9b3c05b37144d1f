"""A new key: nothing opens with the old one, nothing is lost, and an interrupted rotation is finished by another."""

import base64
import json
from contextlib import suppress

import pytest
from sqlalchemy import LargeBinary, select
from typer.testing import CliRunner

from tacit.cli.app import app
from tacit.privacy.errors import InvalidInput, TacitError
from tacit.privacy.ledger import Ledger
from tacit.server import ScoringEngine
from tacit.server.competition import labels_place
from tacit.server.errors import Unavailable
from tacit.server.key import VARIABLE, ServerKey
from tacit.server.rotation import NEW_VARIABLE, rotate_key
from tacit.server.schema import TABLES
from tacit.server.submission import state_place
from tests.server.conftest import ROWS

PLACES = ("this server", "the ledger's secret", labels_place("coins"), *map(state_place, range(1, 4)))


def opened(engine, key):
    """Return what a key opens of all that is stored, in every table."""
    found = []
    with engine._database.reading() as connection:
        for table in TABLES.sorted_tables:
            for column in (one for one in table.columns if isinstance(one.type, LargeBinary)):
                for value in connection.execute(select(column)).scalars():
                    for place in PLACES:
                        with suppress(TacitError, ValueError):
                            found.append(key.open(bytes(value or b""), place=place))
    return found


@pytest.fixture
def played(engine, make, join):
    make(engine)
    joined = join(engine)
    engine.submit(joined.team, [0] * ROWS, id="first").result()
    return engine, joined


def test_everything_is_under_the_new_key(played):
    engine, joined = played
    old = engine._key
    labels, board, spent = engine.board("coins").labels.codes, engine.leaderboard("coins"), engine.spend("coins")
    before = opened(engine, old)
    assert len(before) == 3, "control: the check, the labels and a team's state"
    rotate_key(engine.settings)
    new = ServerKey.find(engine.settings.key_location)
    assert new != old
    assert not engine.settings.next_key_location.exists()
    assert opened(engine, old) == []
    with pytest.raises(TacitError, match="does not open with this key"):
        Ledger.open(engine.settings.ledger_location, sealing=old)
    assert sorted(opened(engine, new)) == sorted(before)
    again = ScoringEngine.open(engine.settings)
    assert again.board("coins").labels.codes.tolist() == labels.tolist()
    assert (again.leaderboard("coins"), again.spend("coins")) == (board, spent)
    assert again.submit(joined.team, [0] * ROWS, id="first").result().number == 1
    assert again.submit(joined.team, [1] * ROWS).result().number == 2
    again.close()


def test_a_server_that_still_runs_writes_nothing_more(played):
    engine, joined = played
    rotate_key(engine.settings)
    for write in (lambda: engine.submit(joined.team, [1] * ROWS).result(), lambda: engine.invite("coins")):
        with pytest.raises(Unavailable, match="key was rotated"):
            write()
    with pytest.raises(Unavailable, match="key was rotated"):
        engine.check_ready()
    assert len(engine.leaderboard("coins")) == 1, "reading goes on"


@pytest.mark.parametrize("where", ["Ledger.reseal", "_empty_log", "os.replace"])
def test_an_interrupted_rotation_is_finished_by_another(played, monkeypatch, where):
    engine, _ = played
    if where == "_empty_log" and engine.settings.database:
        pytest.skip("PostgreSQL's log is its own")

    def stop(*_args, **_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(f"tacit.server.rotation.{where}", stop)
        with pytest.raises(KeyboardInterrupt):
            rotate_key(engine.settings)
    with pytest.raises(InvalidInput, match="was interrupted: run `tacit serve rotate` again"):
        ScoringEngine.open(engine.settings)
    rotate_key(engine.settings)
    again = ScoringEngine.open(engine.settings)
    assert again.leaderboard("coins") == engine.leaderboard("coins")
    again.close()


def test_a_key_in_the_environment(sqlite_settings, empty_server, monkeypatch):
    first, second = (base64.b64encode(ServerKey.new().secret).decode() for _ in range(2))
    monkeypatch.setenv(VARIABLE, sqlite_settings.key_location.read_text().strip())
    sqlite_settings.key_location.unlink()
    arguments = ["serve", "rotate", "--folder", str(sqlite_settings.folder)]
    assert "must have the new key" in str(CliRunner().invoke(app, arguments).exception)
    monkeypatch.setenv(NEW_VARIABLE, first)
    said = CliRunner().invoke(app, arguments)
    assert "start the server again, with TACIT_SERVER_NEW_KEY as TACIT_SERVER_KEY" in said.output
    monkeypatch.setenv(VARIABLE, first)
    assert "must have different keys" in str(CliRunner().invoke(app, arguments).exception)
    monkeypatch.setenv(NEW_VARIABLE, second)
    assert json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output) == {"key": None}
    monkeypatch.setenv(VARIABLE, second)
    ScoringEngine.open(sqlite_settings).close()
    assert list(sqlite_settings.folder.glob("labels.key*")) == []


def test_a_folder_without_a_server_is_refused(tmp_path):
    said = CliRunner().invoke(app, ["serve", "rotate", "--folder", str(tmp_path / "none")])
    assert "must be the folder of a server with its key" in str(said.exception)
    assert not (tmp_path / "none").exists()
