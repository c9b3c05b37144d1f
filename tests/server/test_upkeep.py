"""Copies of a running server, restored; and refusals where database, ledger and key are not of one moment."""

import shutil
import sqlite3

import pytest
from typer.testing import CliRunner

from tacit.cli.app import app
from tacit.privacy.errors import InvalidInput
from tacit.server import ScoringEngine, ServerSettings
from tacit.server.errors import Unavailable
from tacit.server.upkeep import back_up, problems, restore
from tests.server.conftest import ROWS


@pytest.fixture
def played(sqlite_engine, make, join):
    """An engine that still runs, with a team and a score."""
    make(sqlite_engine)
    sqlite_engine.submit(join(sqlite_engine).team, [0] * ROWS, id="first").result()
    return sqlite_engine


def again(played, folder):
    """Restore a copy of a running server under its key."""
    back_up(played.settings, folder / "copy")
    settings = ServerSettings(folder=folder / "again")
    restore(folder / "copy", settings)
    shutil.copy(played.settings.key_location, settings.key_location)
    return settings


def test_a_copy_of_a_running_server_has_all_of_it(played, tmp_path):
    settings = again(played, tmp_path)
    assert problems(settings) == []
    engine = ScoringEngine.open(settings)
    assert engine.leaderboard("coins") == played.leaderboard("coins")
    assert engine.spend("coins") == played.spend("coins")
    engine.close()
    assert not (tmp_path / "copy" / "labels.key").exists()
    assert (tmp_path / "copy" / "server.db").stat().st_mode & 0o077 == 0


def test_a_plain_copy_of_a_running_server_is_refused(played, tmp_path):
    """Its last commits are in another file; before, the copy began as an empty server with a new admin token."""
    settings = again(played, tmp_path)
    with sqlite3.connect(settings.folder / "server.db") as empty:
        for table in ("server_prediction", "server_submission", "server_team", "server_invite", "server_file"):
            empty.execute(f"delete from {table}")
        empty.execute("delete from server_competition")
    with pytest.raises(InvalidInput, match="charges for coins, and the database has no such competition"):
        ScoringEngine.open(settings)
    assert "no such competition" in problems(settings)[0]


def test_a_ledger_of_an_earlier_moment_is_refused(played, join, tmp_path):
    back_up(played.settings, tmp_path / "early")
    late = join(played).team
    settings = again(played, tmp_path)
    shutil.copy(tmp_path / "early" / "ledger.db", settings.folder / "ledger.db")
    with pytest.raises(InvalidInput, match=f"no charge for the team '{late.name}' of coins"):
        ScoringEngine.open(settings)


def test_what_check_finds(played, tmp_path):
    settings = again(played, tmp_path)
    key = settings.key_location.read_bytes()
    settings.key_location.unlink()
    assert "is missing" in problems(settings)[0]
    settings.key_location.write_bytes(key)
    settings.key_location.chmod(0o600)
    with sqlite3.connect(settings.folder / "server.db") as wrong:
        wrong.execute("update server_team set used = used + 1")
    assert "has used 2 submissions" in problems(settings)[0]
    (settings.folder / "server.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    assert problems(settings)


def test_a_folder_with_a_database_is_not_overwritten(played, tmp_path):
    settings = again(played, tmp_path)
    with pytest.raises(InvalidInput, match=r"must have no server\.db"):
        restore(tmp_path / "copy", settings)


def test_the_commands(played, tmp_path):
    folder = str(played.settings.folder)
    run = CliRunner().invoke
    made = run(app, ["serve", "backup", str(tmp_path / "copy"), "--folder", folder])
    assert made.exit_code == 0, made.output
    assert run(app, ["serve", "backup", str(tmp_path / "copy"), "--folder", folder]).exit_code != 0
    assert run(app, ["serve", "restore", str(tmp_path / "copy"), "--folder", str(tmp_path / "again")]).exit_code == 0
    assert run(app, ["serve", "check", "--folder", str(tmp_path / "again")]).exit_code == 1, "without its key"
    assert "agree" in run(app, ["serve", "check", "--folder", folder]).output


def test_ready_means_that_a_write_succeeds(client, played, monkeypatch):
    assert client.get("/api/v1/ready").json() == {"status": "ready"}

    def full(*_):
        raise Unavailable("the database could not be read or written: disk is full")

    monkeypatch.setattr(type(played._database), "writing", full)
    assert client.get("/api/v1/ready").status_code == 503
    assert client.get("/api/v1/health").json() == {"status": "ok"}
