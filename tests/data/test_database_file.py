"""SQLite and DuckDB files are read as CSV files are: types by values, rows in order, nothing written."""

import sqlite3
from datetime import date

import duckdb
import pytest

from tacit.data import open_table, read_rows
from tacit.privacy import InvalidInput

VALUES = [
    ("2024-05-01", 3, "$1,200.50", 1.5, "yes"),
    ("02/05/2024", "", "none", 2, "no"),
    (None, "NA", "$7", None, "NULL"),
    ("13/05/2024", 5, "-", 3, "yes"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("claims.db") as database:
        database.execute('CREATE TABLE "open claims" (day DATE, persons INTEGER, paid, share REAL, "ill?")')
        database.executemany('INSERT INTO "open claims" VALUES (?, ?, ?, ?, ?)', VALUES)
        database.execute('CREATE VIEW doubled AS SELECT 2 * share AS twice FROM "open claims"')
    database.close()
    with duckdb.connect("claims.duckdb") as database:
        database.execute("CREATE TABLE claims AS SELECT * FROM (VALUES (31, 'no'), (64, 'yes')) AS t(age, ill)")
    return tmp_path


def rows_of(source):
    return read_rows(open_table(source)).to_pydict()


def test_sqlite_has_the_types_of_its_values(folder):
    assert rows_of("sqlite:///claims.db#open claims") == {
        "day": [date(2024, 5, 1), date(2024, 5, 2), None, date(2024, 5, 13)],
        "persons": [3, None, None, 5],
        "paid": [1200.5, None, 7, None],
        "share": [1.5, 2.0, None, 3.0],
        "ill?": ["yes", "no", "NULL", "yes"],
    }


@pytest.mark.parametrize("address", ["sqlite:///claims.db", "sqlite://claims.db", "sqlite:///{}/claims.db"])
def test_a_path_is_from_here_or_from_the_root(folder, address):
    address = address.format(str(folder).removeprefix("/"))
    assert rows_of(f"{address}#doubled") == {"twice": [3.0, 4.0, None, 6.0]}
    assert rows_of(f"{address}#SELECT share FROM [open claims] WHERE share > 1.5;") == {"share": [2.0, 3.0]}


def test_duckdb_is_only_read(folder):
    with duckdb.connect("claims.duckdb") as database:
        database.execute("CREATE SCHEMA mart; CREATE TABLE mart.visits AS SELECT 7 AS age")
    before = (folder / "claims.duckdb").read_bytes()
    assert rows_of("duckdb://claims.duckdb#mart.visits") == {"age": [7]}
    with pytest.raises(InvalidInput, match=r"has no table 'visits'; its tables are claims, mart\.visits"):
        open_table("duckdb://claims.duckdb#visits")
    assert rows_of("duckdb://claims.duckdb#claims") == {"age": [31, 64], "ill": ["no", "yes"]}
    assert (folder / "claims.duckdb").read_bytes() == before


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("sqlite:///absent.db#t", r"absent\.db does not exist; give sqlite:///FILE#TABLE"),
        ("duckdb:///absent.duckdb#t", r"absent\.duckdb does not exist; give duckdb:///FILE#TABLE"),
        ("sqlite:///claims.db#closed", "has no table 'closed'; its tables are doubled, open claims"),
        ("duckdb:///claims.duckdb#closed", "has no table 'closed'; its tables are claims"),
        ("sqlite:///claims.db#SELECT share, share FROM doubled", "cannot be read"),
        ("claims.db", "is a database; name a table in it: sqlite:///claims.db#TABLE"),
        ("claims.duckdb", "is a database; name a table in it: duckdb:///claims.duckdb#TABLE"),
    ],
)
def test_what_is_no_table_is_refused_and_no_file_is_made(folder, source, said):
    there = sorted(folder.iterdir())
    with pytest.raises(InvalidInput, match=said):
        open_table(source)
    assert sorted(folder.iterdir()) == there
