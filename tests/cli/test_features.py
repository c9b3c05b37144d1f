"""``tacit features``: from a file to a release, a classifier and links, and the sentences when something is wrong."""

import json
from collections import namedtuple
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.cli.app import main

Said = namedtuple("Said", ["stdout", "stderr"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("features")
    rng = np.random.default_rng(0)
    for name, rows in (("visits.csv", 1500), ("later.csv", 800)):
        ill = rng.integers(0, 2, rows)
        X = rng.normal(size=(rows, 8)) + np.outer(ill, np.arange(8) < 2) * 1.5
        table = pa.table({**{f"x{j}": X[:, j] for j in range(8)}, "ill": np.where(ill, "yes", "no")})
        pyarrow.csv.write_csv(table, where / name)
    return where


def _run(*words, code=0):
    out, err = StringIO(), StringIO()
    with pytest.raises(SystemExit) as end, redirect_stdout(out), redirect_stderr(err):
        main([str(word) for word in words])
    assert (end.value.code or 0) == code, err.getvalue()
    return Said(out.getvalue(), err.getvalue())


def _protect(folder, *words, code=0):
    return _run(
        "features",
        "protect",
        folder / "visits.csv",
        "--label",
        "ill",
        "--keep",
        "2",
        "--bound",
        "3",
        "--delta",
        "1e-6",
        *words,
        code=code,
    )


def test_rows_from_file_to_links(folder):
    out = folder / "rows.parquet"
    made = json.loads(_protect(folder, "--epsilon", "8", "--out", out, "--json").stdout)
    assert made["features"] == ["x0", "x1"]
    assert (made["guarantee"]["unit"], made["guarantee"]["epsilon"]) == ("record", 8.0)
    learned = json.loads(
        _run("features", "learn", out, "--test", folder / "later.csv", "--label", "ill", "--json").stdout
    )
    assert learned["accuracy"] > 0.6
    attacked = _run(
        "features",
        "attack",
        out,
        "--raw",
        folder / "visits.csv",
        "--outsiders",
        folder / "later.csv",
        "--seed",
        "1",
        "--json",
    )
    found = json.loads(attacked.stdout)
    assert found["linkage"]["rate"] < 0.1
    assert found["membership"]["advantage"] < 0.3


def test_totals_teach_more_for_less(folder):
    out = folder / "totals.json"
    text = _protect(folder, "--epsilon", "1", "--totals", "--out", out).stdout
    assert "epsilon 1, delta 1e-6 for one record" in text
    assert "labels" not in text.splitlines()[-1]
    learned = json.loads(
        _run("features", "learn", out, "--test", folder / "later.csv", "--label", "ill", "--json").stdout
    )
    assert learned["accuracy"] > 0.75


def test_parts_of_epsilon_can_be_set_by_hand(folder):
    words = ("--epsilon", "4", "--label-epsilon", "1", "--selection-epsilon", "0.5", "--out", folder / "hand.parquet")
    assert "class sizes 0.2, choice 0.5, features 2.3, labels 1." in _protect(folder, *words).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epsilon", "0"), "epsilon must be"),
        (("--epsilon", "1", "--lower", "0"), "give --bound, or --lower and --upper"),
        (("--epsilon", "1", "--label-epsilon", "2"), "label_epsilon must be less than epsilon"),
        (("--epsilon", "1", "--totals", "--label-epsilon", "0.5"), "--label-epsilon must not stand with --totals"),
        (("--epsilon", "1", "--selection-epsilon", "3"), "--selection-epsilon must leave something"),
        (("--epsilon", "1", "--dataset", "visits"), "--dataset and --memo must stand with --ledger"),
        (("--epsilon", "1", "--features", "x0,nothing"), "nothing"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(folder, words, said):
    result = _protect(folder, *words, "--out", folder / "never.parquet", code=2)
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (folder / "never.parquet").exists()


def test_an_existing_file_is_kept(folder):
    out = folder / "kept.json"
    out.write_text("mine")
    assert "exists" in _protect(folder, "--epsilon", "1", "--totals", "--out", out, code=2).stderr
    assert out.read_text() == "mine"
    _protect(folder, "--epsilon", "1", "--totals", "--out", out, "--force")
    assert "tacit_release" in out.read_text()


def test_totals_cannot_be_linked(folder):
    out = folder / "unlinked.json"
    _protect(folder, "--epsilon", "1", "--totals", "--out", out)
    assert (
        "class totals have none to link"
        in _run("features", "attack", out, "--raw", folder / "visits.csv", code=2).stderr
    )
