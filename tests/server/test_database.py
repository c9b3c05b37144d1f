"""Where the server keeps its data: migrations, modes, and files that are not its own."""

import json
import os
import shutil
import sqlite3
import stat

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from tacit.privacy.errors import InvalidInput
from tacit.scores.metrics import Accuracy, CustomMetric
from tacit.scores.policies import Exact, Thresholdout
from tacit.server import ScoringEngine
from tacit.server.database import ServerDatabase
from tacit.server.errors import Unavailable
from tacit.server.migrations.versions import r0002_rules, r0003_plan
from tacit.server.rules import Rules
from tacit.server.schema import SERVER, TABLES
from tests.server.rules import rules_of

ISOLATION = "transaction_isolation"


@pytest.fixture
def database(settings):
    shutil.rmtree(settings.folder)
    settings.folder.mkdir()
    opened = ServerDatabase.at(settings.database_location)
    opened.prepare()
    yield opened
    opened.close()


def test_a_new_database_has_the_tables_of_the_code_at_the_last_revision(database):
    with database.reading() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": "server_migration",
                "include_name": lambda name, kind, _: kind != "table" or name in TABLES.tables,
            },
        )
        assert compare_metadata(context, TABLES) == []
        assert database.revision(connection) == database.schema.head


def test_preparing_twice_changes_nothing(database):
    database.prepare()
    with database.reading() as connection:
        assert database.revision(connection) == database.schema.head


def test_a_competition_of_an_earlier_server_keeps_its_rules(engine, make, join):
    """Rules were nested, in a column of another name, before revision 0002."""
    rules = rules_of(metric=Accuracy(), policy=Thresholdout(epsilon=0.3), per_day=None, public_fraction=1.0)
    make(engine, rules=rules)
    team = join(engine).team
    first = engine.submit(team, np.zeros(40)).result()
    nested = {
        "metric": {"metric": "accuracy", "classes": 2},
        "policy": {"policy": "thresholdout", "epsilon": 0.3, "threshold": 0.02, "refreshes": 10},
        "budget": {"per_team": 100, "per_day": None},
        "split": {"public_fraction": 1.0},
        "final_policy": {"policy": "laplace", "epsilon": 5.0},
    }
    with engine._database.writing() as connection:
        connection.execute(text("ALTER TABLE server_competition RENAME COLUMN rules TO setting"))
        connection.execute(text("ALTER TABLE server_competition ADD COLUMN most_teams INTEGER NOT NULL DEFAULT 20"))
        connection.execute(text("UPDATE server_competition SET setting = :old"), {"old": json.dumps(nested)})
        connection.execute(text("DROP TABLE server_session"))
        connection.execute(text("ALTER TABLE server_competition DROP COLUMN answers"))
        connection.execute(text("ALTER TABLE server_submission DROP COLUMN answered"))
        for index in ("improved", "history"):
            connection.execute(text(f"DROP INDEX server_submission_{index}"))
        connection.execute(text("ALTER TABLE server_team DROP COLUMN chosen"))
        for column in ("improved", "competition", "note"):
            connection.execute(text(f"ALTER TABLE server_submission DROP COLUMN {column}"))
        for column in ("number", "released", "text", "time"):
            connection.execute(text(f"ALTER TABLE server_team DROP COLUMN best_{column}"))
        connection.execute(text("ALTER TABLE server_team DROP COLUMN standing"))
        connection.execute(text("ALTER TABLE server_competition DROP COLUMN archived"))
        for table in ("organizer", "trail", "deleted"):
            connection.execute(text(f"DROP TABLE server_{table}"))
        connection.execute(text("UPDATE server_migration SET version_num = '0001'"))
    engine.close()
    again = ScoringEngine.open(engine.settings)
    assert again.board("coins").rules == rules
    assert again.remaining(team).total == 99
    assert [place.text for place in again.leaderboard("coins")] == [first.text]
    assert [one.number for one in again.history("coins")] == [1]
    assert again.visitor(again.sign_in(team)) == team
    organizer, token = again.desk.add_organizer("coins", name="Ada", role="viewer")
    assert again.identify(token) == again.visitor(again.sign_in(organizer)) == organizer
    again.close()


def test_an_own_metric_of_an_earlier_server_keeps_its_name():
    nested = {
        "metric": {"metric": "own", "name": "half"},
        "policy": {"policy": "exact"},
        "budget": {"per_team": 3, "per_day": 1},
        "split": {"public_fraction": 0.5},
        "final_policy": None,
    }
    own = CustomMetric(function=lambda y, p: 0.5, metric="half", lower=0, upper=1, lower_is_better=True)
    stored = {"together": None, **r0003_plan._planned(r0002_rules._flat(nested), teams=4)}
    read = Rules.from_json(stored, custom=[own])
    rules = rules_of(metric=own, policy=Exact(), submissions=3, per_day=1, public_fraction=0.5, final=None, teams=4)
    assert read == rules


def test_a_newer_schema_is_refused(database):
    with database.writing() as connection:
        connection.execute(text("UPDATE server_migration SET version_num = '9999'"))
    with pytest.raises(InvalidInput, match="schema version 9999, which this tacit does not know"):
        database.prepare()


def test_a_failed_transaction_leaves_no_trace(database):
    values = {"id": 1, "time": "now", "key_check": b"x", "admin": None}

    def fail():
        with database.writing() as connection:
            connection.execute(SERVER.insert().values(values))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.reading() as connection:
        assert connection.execute(SERVER.select()).all() == []


def test_readers_do_not_write(database):
    if database.file is not None:
        pytest.skip("SQLite's reading transactions are read-only by habit, not by rule")
    with pytest.raises(Unavailable), database.reading() as connection:
        connection.execute(text("DELETE FROM server"))


def test_a_server_s_own_defaults_do_not_weaken_a_commit(new_postgresql_location):
    weak = "%20-csynchronous_commit%3Doff%20-cdefault_transaction_isolation%3Dserializable"
    opened = ServerDatabase.at(new_postgresql_location() + weak)
    opened.prepare()
    with opened.writing() as connection:
        told = [connection.execute(text(f"SHOW {name}")).scalar() for name in ("synchronous_commit", ISOLATION)]
    with opened.reading() as connection:
        read = connection.execute(text(f"SHOW {ISOLATION}")).scalar()
    opened.close()
    assert (told, read) == (["on", "read committed"], "repeatable read")


def test_a_message_of_the_driver_is_not_passed_on(database):
    with pytest.raises(Unavailable) as refused, database.writing() as connection:
        connection.execute(text("SELECT 'zq-positive' FROM no_such_table"))
    assert "zq-positive" not in str(refused.value)


def test_the_operator_is_told_why_a_database_cannot_be_opened(postgresql):
    database = ServerDatabase.at(f"postgresql://tacit:secret@/no_such_place?host={postgresql}")
    for attempt in (database.prepare, database.exists):
        with pytest.raises(InvalidInput, match='database "no_such_place" does not exist') as refused:
            attempt()
        assert "secret" not in str(refused.value)
    database.close()


def test_what_stops_a_running_database_is_in_the_log_and_not_in_the_answer(sqlite_engine, caplog):
    sqlite_engine._database.engine.dispose()
    sqlite_engine._database.file.rename(sqlite_engine._database.file.with_name("gone"))
    with pytest.raises(Unavailable, match=r"unable to open$"):
        sqlite_engine.competitions()
    assert "the database failed: unable to open database file" in caplog.text


class TestFiles:
    @pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
    def test_all_files_are_their_owners_alone(self, sqlite_engine, sqlite_settings, make):
        make(sqlite_engine)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in sqlite_settings.folder.iterdir()}
        assert {"server.db", "ledger.db", "labels.key"} <= set(modes)
        assert set(modes.values()) == {0o600}
        assert stat.S_IMODE(sqlite_settings.folder.stat().st_mode) == 0o700

    @pytest.mark.parametrize("content", [b"not a database at all, but long enough to be read as one" * 40, None])
    def test_a_foreign_file_is_left_as_it_is(self, tmp_path, content):
        file = tmp_path / "other.db"
        if content is None:
            connection = sqlite3.connect(file)
            connection.execute("CREATE TABLE t (x)")
            connection.close()
        else:
            file.write_bytes(content)
        before = file.read_bytes()
        with pytest.raises(InvalidInput, match="is not a scoring server's"):
            ServerDatabase.at(file).prepare()
        assert file.read_bytes() == before

    def test_a_folder_is_no_database(self, tmp_path):
        with pytest.raises(InvalidInput, match="is not a scoring server's"):
            ServerDatabase.at(tmp_path).prepare()

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(InvalidInput, match="cannot be created"):
            ServerDatabase.at(tmp_path / "no" / "server.db").prepare()

    def test_commits_are_synced(self, synced, sqlite_engine):
        with sqlite_engine._database.reading() as connection:
            assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
            assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
            assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1


@pytest.mark.parametrize("location", ["mysql://host/scores", "sqlite://", "://", ""])
def test_other_databases_are_refused_without_their_password(location):
    with pytest.raises(InvalidInput, match="database must be a file or a postgresql:// URL"):
        ServerDatabase.at(location)
