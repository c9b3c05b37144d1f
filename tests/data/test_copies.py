"""Columns that tell every label: what is found, what is not, and who is told."""

import json
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.cli import main
from tacit.data.copies import copies_of
from tacit.labels import Plan, protect

ROWS = 400


def people():
    """A third are ill; columns that tell it in several ways, and two that do not."""
    rng = np.random.default_rng(0)
    ill = rng.random(ROWS) < 0.3
    day = date(2026, 1, 5)  # a Monday
    return pa.table(
        {
            "age": rng.integers(20, 90, ROWS),
            "number": rng.permutation(ROWS),
            "code": np.where(ill, rng.choice(["I1", "I2"], ROWS), rng.choice(["N1", "N2"], ROWS)),
            "visit": 2 * rng.permutation(ROWS) + ill,
            "seen": [day + timedelta(days=int(7 * week + sick)) for week, sick in enumerate(ill)],
            "name": [f"{'x' if sick else 'y'}{number}" for number, sick in enumerate(ill)],
            "dose": np.where(ill, 5.0, 0.0) + rng.random(ROWS),
            "at": [datetime(2020 + int(sick), 1, 1) + timedelta(seconds=number) for number, sick in enumerate(ill)],
            "ill": np.where(ill, "yes", "no"),
        }
    )


def test_each_way_of_telling_is_found_and_no_other():
    table = people()
    assert copies_of(table, "ill", table.column_names) == {
        "code": "",
        "visit": "remainder by 2",
        "seen": "weekday",
        "name": "first character",
        "dose": "ranges",
        "at": "year",
    }


def test_one_label_that_a_column_does_not_tell_makes_it_no_copy():
    table = people()
    other = table["ill"].to_pylist()
    other[7] = "no" if other[7] == "yes" else "yes"
    changed = table.set_column(table.column_names.index("ill"), "ill", pa.array(other))
    assert copies_of(changed, "ill", ["visit", "seen", "dose"]) == {}


def test_columns_without_information_are_no_copies():
    """A rare label leaves most values of any column with one label."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(60):
        ill = np.where(rng.random(400) < 0.01, "yes", "no")
        columns = {f"c{values}": rng.integers(0, values, 400) for values in (3, 30, 300)}
        columns |= {"id": rng.permutation(400), "day": rng.integers(0, 9000, 400).astype("datetime64[D]")}
        found += len(copies_of(pa.table({**columns, "ill": ill}), "ill", columns))
    assert found <= 1


def test_the_owner_is_warned_and_the_file_says_nothing(tmp_path, capsys):
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    out = tmp_path / "labels.parquet"
    words = ["labels", "protect", str(tmp_path / "people.csv"), "--label", "ill", "--epsilon", "1", "--json"]
    with pytest.raises(SystemExit) as end:
        main([*words, "--features", "age,visit", "--out", str(out)])
    said = capsys.readouterr()
    assert end.value.code == 0
    assert "warning: visit is released and tells every label, by its remainder by 2, at any epsilon" in said.err
    assert said.err.count("warning: visit") == 1
    assert "warning: age" not in said.err
    assert "tells every label" not in said.out
    assert "remainder" not in said.out
    assert b"remainder" not in out.read_bytes()


def test_init_warns_of_copies(tmp_path, capsys):
    pyarrow.csv.write_csv(people().select(["age", "code", "ill"]), tmp_path / "people.csv")
    with pytest.raises(SystemExit):
        main(["init", str(tmp_path / "people.csv"), "--label", "ill", "--out", str(tmp_path / "t.toml"), "--json"])
    said = capsys.readouterr()
    assert "warning: code tells every label; leave it out" in said.err
    assert json.loads(said.out)["features"] == ["age"]
    assert json.loads(said.out)["left_out"] == {"code": "it tells every label"}
    assert 'features = ["age"]' in (tmp_path / "t.toml").read_text()


def test_the_rows_of_every_batch_are_looked_at():
    table = people()
    batches = pa.Table.from_batches(table.to_batches(max_chunksize=30))
    plan = Plan(label="ill", epsilon=1, features=("age", "code"))
    assert [*protect(batches, plan, rng=np.random.default_rng(0)).copies] == ["code"]
