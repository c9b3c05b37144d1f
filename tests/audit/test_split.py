"""Which rows an audit withholds: by a seed, so that a command gives the same ones again."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.audit.source import AuditedTable
from tacit.audit.split import split_rows
from tacit.cli import main


def test_halves_hold_half_of_every_label(iris):
    rows = split_rows(iris, withheld="half", seed=0)
    assert not set(rows.inside) & set(rows.outside)
    assert len(rows.inside) + len(rows.outside) == 150
    assert (np.bincount(iris.codes[rows.inside]) == 25).all()


def test_halves_of_numbers_have_the_same_range():
    source = AuditedTable(
        name="x", table=pa.table({"x": range(100), "y": np.arange(100) ** 1.5}), label="y", features=("x",)
    )
    rows = split_rows(source, withheld="half", seed=0)
    assert source.has_numbers
    assert rows.left_out == 0
    assert np.abs(np.sort(rows.inside) - np.sort(rows.outside)).max() <= 1


def test_a_coin_chooses_of_each_pair_and_a_row_without_another_is_left_out(iris):
    rare = replace(iris, table=iris.table.slice(0, 101))
    rows = split_rows(rare, withheld="pairs", seed=0)
    assert rows.left_out == 1
    assert len(rows.inside) == len(rows.outside) == 50
    assert (rare.codes[rows.inside] == rare.codes[rows.outside]).all()
    assert 0.3 < np.mean(rows.inside < rows.outside) < 0.7


def test_numbers_are_paired_with_their_neighbors():
    source = AuditedTable(
        name="x", table=pa.table({"x": range(101), "y": np.arange(101) ** 1.5}), label="y", features=("x",)
    )
    rows = split_rows(source, withheld="pairs", seed=0)
    assert rows.left_out == 1
    assert (np.abs(rows.inside - rows.outside) == 1).all()
    assert 0.3 < np.mean(rows.inside < rows.outside) < 0.7, "the order of numbers is no coin"


def test_no_row_is_withheld_where_none_is_asked_for(iris):
    rows = split_rows(iris, withheld="none", seed=0)
    assert rows.protected.equals(iris.table)
    assert rows.parts == ("protected", "known")


def test_a_seed_decides_the_rows(iris):
    one, same, other = (split_rows(iris, withheld="half", seed=seed) for seed in (1, 1, 2))
    assert one.protected.equals(same.protected)
    assert not one.protected.equals(other.protected), "control"


@pytest.fixture
def call(capsys):
    def call(*words):
        with pytest.raises(SystemExit) as end:
            main(["split", *map(str, words)])
        return end.value.code, capsys.readouterr()

    return call


def test_the_command_writes_the_rows_of_the_audit(tmp_path, call, iris):
    words = ["bundled:iris", "--label", "species", "--features", "petal_width", "--seed", "3"]
    assert call(*words, "--out", tmp_path / "a")[0] == 0
    rows = split_rows(replace(iris, features=("petal_width",)), withheld="half", seed=3)
    for part in rows.parts:
        written = tmp_path / "a" / f"{part}.parquet"
        assert pq.read_table(written).equals(rows.part(part))
        assert written.stat().st_mode & 0o777 == 0o600


def test_nothing_is_replaced_without_force(tmp_path, call):
    words = ("bundled:iris", "--label", "species", "--out", tmp_path / "a")
    assert call(*words)[0] == 0
    code, said = call(*words)
    assert code == 2
    assert "--force" in said.err
    assert call(*words, "--force")[0] == 0
    (tmp_path / "file").write_text("mine")
    assert call("bundled:iris", "--label", "species", "--force", "--out", tmp_path / "file")[0] == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_rows_that_were_withheld_do_not_stay_where_all_are_protected(tmp_path, call):
    words = ("bundled:iris", "--label", "species", "--out", tmp_path / "a")
    assert call(*words)[0] == 0
    assert call(*words, "--withhold", "none", "--force")[0] == 0
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["known.parquet", "protected.parquet"]


def test_a_number_of_rows_is_named_by_its_option(tmp_path, call):
    code, said = call("bundled:iris", "--label", "species", "--rows", 0, "--out", tmp_path / "a")
    assert code == 2
    assert "--rows" in said.err
