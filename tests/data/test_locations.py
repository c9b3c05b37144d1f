"""Rows from many files, folders, databases and pipes are one table, in a known order."""

import io
import subprocess
import sys
from datetime import date

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.data import as_ibis, open_table
from tacit.privacy.errors import InvalidInput, MissingExtra


def rows_of(source):
    return as_ibis(open_table(source)).to_pyarrow().to_pydict()


@pytest.fixture
def days(tmp_path):
    for day in (1, 2):
        (tmp_path / f"day-{day}.csv").write_text(f"age,ill\n{30 + day},no\n{40 + day},yes\n")
    return tmp_path


WHOLE = {"age": [31, 41, 32, 42], "ill": ["no", "yes", "no", "yes"]}


def test_a_pattern_a_list_and_a_folder_of_files(days):
    assert rows_of(str(days / "day-*.csv")) == WHOLE
    assert rows_of([days / "day-1.csv", days / "day-2.csv"]) == WHOLE
    assert rows_of(days) == WHOLE


def test_a_name_with_brackets_is_a_name(tmp_path):
    path = tmp_path / "day[1].csv"
    path.write_text("age,ill\n31,no\n")
    assert rows_of(path) == {"age": [31], "ill": ["no"]}


def test_folders_of_partitions_become_columns(tmp_path):
    for city in ("bonn", "ulm"):
        (tmp_path / f"city={city}").mkdir()
        pq.write_table(pa.table({"age": [len(city)]}), tmp_path / f"city={city}" / "part-0.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    assert rows_of(tmp_path) == {"age": [4, 3], "city": ["bonn", "ulm"]}


def test_a_folder_of_a_huggingface_dataset(tmp_path):
    """As its save_to_disk and its map write it: Arrow streams beside what is said of them, and a cache."""
    rows = pa.table({"age": [31, 64], "ill": ["no", "yes"]})
    for name in ("data-00000-of-00001.arrow", "cache-00a4f8b2c1.arrow"):
        with pa.ipc.new_stream(tmp_path / name, rows.schema) as stream:
            stream.write_table(rows)
    for name in ("dataset_info.json", "state.json", "readme.txt"):
        (tmp_path / name).write_text('{"splits": null}')
    assert rows_of(tmp_path) == rows.to_pydict()


def test_files_of_other_columns_are_refused_by_name(days):
    (days / "day-3.csv").write_text("age,sick\n1,no\n")
    with pytest.raises(InvalidInput, match=r"day-3\.csv must have the columns of day-1\.csv, age, ill, got age, sick"):
        open_table(days)


def test_the_types_of_text_are_decided_by_all_files(tmp_path):
    """A later file may have the word, the decimal or the day that the first one had not; or other marks of decimals."""
    (tmp_path / "1.csv").write_text("cost,age,on,size\n$5,31,01/02/2024,1\n")
    (tmp_path / "2.csv").write_text("cost,age,on,size\nfree,64.5,31/12/2024,2\n")
    rows = {
        "cost": ["$5", "free"],
        "age": [31.0, 64.5],
        "on": [date(2024, 2, 1), date(2024, 12, 31)],
        "size": [1.0, 2.0],
    }
    assert rows_of(tmp_path) == rows
    (tmp_path / "3.csv").write_text("cost;age;on;size\n$6;50;01/01/2024;2,5\n")
    assert rows_of(str(tmp_path / "[13].csv"))["size"] == [1.0, 2.5]


def test_folders_name_values_as_hive_writes_them(tmp_path):
    for part, ages in (("channel=tel.%20sales", [31, 64]), ("channel=__HIVE_DEFAULT_PARTITION__", [50])):
        (tmp_path / part).mkdir()
        pq.write_table(pa.table({"age": ages}), tmp_path / part / "0.parquet")
    assert rows_of(tmp_path) == {"age": [50, 31, 64], "channel": [None, "tel. sales", "tel. sales"]}


def test_nothing_there_is_said(tmp_path):
    with pytest.raises(InvalidInput, match="is a folder without a table"):
        open_table(tmp_path)
    with pytest.raises(InvalidInput, match="matches no file"):
        open_table(tmp_path / "*.csv")


def test_json_lines_and_latin_1_and_excel(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"age": 31, "ill": "no"}\n{"age": 64, "ill": "yes"}\n')
    assert rows_of(tmp_path / "t.jsonl") == {"age": [31, 64], "ill": ["no", "yes"]}
    (tmp_path / "t.csv").write_bytes("city,ill\nKöln,no\nZürich,yes\n".encode("latin-1"))
    assert rows_of(tmp_path / "t.csv") == {"city": ["Köln", "Zürich"], "ill": ["no", "yes"]}
    pytest.importorskip("openpyxl")
    pd.DataFrame({"age": [31], "ill": ["no"]}).to_excel(tmp_path / "t.xlsx", index=False)
    assert rows_of(tmp_path / "t.xlsx") == {"age": [31], "ill": ["no"]}


def test_a_table_and_a_query_of_a_database(tmp_path):
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as database:
        database.execute("CREATE TABLE visits AS SELECT 31 AS age, 'no' AS ill")
    url = f"duckdb://{tmp_path / 'visits.duckdb'}"
    assert rows_of(f"{url}#visits") == {"age": [31], "ill": ["no"]}
    assert rows_of(f"{url}#SELECT age + 1 AS older FROM visits") == {"older": [32]}
    with pytest.raises(InvalidInput, match="name a table or a query after it"):
        open_table(url)
    with pytest.raises(InvalidInput, match=r"visits\.duckdb has no table 'absent'; its tables are visits"):
        open_table(f"{url}#absent")


def test_a_database_that_does_not_answer_shows_no_password():
    with pytest.raises((InvalidInput, MissingExtra)) as refused:
        open_table("postgresql://me:secret@127.0.0.1:1/books#visits")
    assert "secret" not in str(refused.value)


def test_a_store_without_its_extension_says_how_to_get_it():
    with pytest.raises((InvalidInput, MissingExtra), match=r"s3://"):
        open_table("s3://bucket/visits.parquet")


def test_standard_input_is_a_table(tmp_path):
    look = "from tacit.data import open_table, read_rows; t = read_rows(open_table('-')); print(len(t), t.to_pydict())"
    given = io.BytesIO(b"age,ill\n31,no\n").read()
    found = subprocess.run([sys.executable, "-c", look], input=given, capture_output=True, check=True, cwd=tmp_path)
    assert found.stdout.decode().strip() == "1 {'age': [31], 'ill': ['no']}"
