"""``tacit features``: from a file to a release, a classifier and links, and the sentences when something is wrong."""

import json
from collections import namedtuple
from contextlib import redirect_stderr, redirect_stdout
from datetime import date
from io import StringIO

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tacit.cli.app import main
from tacit.privacy.ledger import Ledger

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


RANGES = ("--ranges", "*=-3,3", "--delta", "1e-6")


def _protect(folder, *words, code=0):
    return _run(
        "features", "protect", folder / "visits.csv", "--label", "ill", "--select", "2", *RANGES, *words, code=code
    )


@pytest.mark.parametrize(("mechanism", "epsilon", "least"), [("rows", "8", 0.6), ("totals", "1", 0.75)])
def test_every_mechanism_from_file_to_leak(folder, mechanism, epsilon, least):
    out = folder / f"{mechanism}.release"
    words = ("--mechanism", mechanism, "--epsilon", epsilon, "--out", out, "--force")
    said = _protect(folder, *words).stdout
    assert said.startswith(
        f"features by {mechanism}: epsilon {epsilon}, delta 1e-6 for one record.\nFeatures: x0, x1.\n"
    )
    assert said.endswith(f"The release: {out}\n")
    made = json.loads(_protect(folder, *words, "--json").stdout)
    assert made["settled"]["features"] == ["x0", "x1"]
    assert (made["guarantee"]["unit"], made["guarantee"]["epsilon"]) == ("record", float(epsilon))

    learn = ("features", "learn", out, "--test", folder / "later.csv")
    assert "Judged by 800 true labels, outside the guarantee" in _run(*learn).stdout
    assert json.loads(_run(*learn, "--json").stdout)["performance"]["accuracy"]["value"] > least

    attack = ("features", "attack", out, "--seed", "1")
    assert "Canaries: records in opposite corners" in _run(*attack).stdout
    bound = json.loads(_run(*attack, "--json").stdout)["epsilon_lower_bound"]
    assert bound["value"] <= float(epsilon)


def test_rows_are_linked_and_their_members_found(folder):
    out = folder / "linked.parquet"
    _protect(folder, "--epsilon", "8", "--out", out)
    attack = ("features", "attack", out, "--truth", folder / "visits.csv", "--seed", "1")
    assert "of 1500 released rows are linked correctly" in _run(*attack).stdout
    assert json.loads(_run(*attack, "--json").stdout)["rate"] < 0.1
    guesses = folder / "guesses.parquet"
    found = _run(*attack, "--data", folder / "later.csv", "--out", guesses, "--json")
    assert json.loads(found.stdout)["advantage"] < 0.3
    assert pyarrow.parquet.read_table(guesses).num_rows == 2300


def test_a_model_is_written(folder):
    out, model = folder / "taught.json", folder / "model.joblib"
    _protect(folder, "--epsilon", "1", "--mechanism", "totals", "--out", out)
    said = _run("features", "learn", out, "--features", "x1", "--out", model).stdout
    assert said.splitlines()[0] == "Fisher's rule (independence) on x1."
    assert "Not evaluated: no labels to judge by" in said
    assert joblib.load(model).predict(np.array([[3.0]])).tolist() == ["yes"]


def test_parts_of_epsilon_can_be_set_by_hand(folder):
    words = ("--epsilon", "4", "--label-epsilon", "1", "--selection-epsilon", "0.5", "--out", folder / "hand.parquet")
    assert "class sizes 0.2, selection 0.5, features 2.3, labels 1." in _protect(folder, *words).stdout


def test_a_release_is_written_beside_the_table_by_default(folder, monkeypatch):
    monkeypatch.chdir(folder)
    _protect(folder, "--epsilon", "1", "--mechanism", "totals")
    assert (folder / "visits.features.json").exists()
    _protect(folder, "--epsilon", "1")
    assert (folder / "visits.features.parquet").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epsilon", "0"), "--epsilon must be"),
        (("--epsilon", "1", "--ranges", "x0"), "--ranges must be COL=LOW,HIGH"),
        (("--epsilon", "1", "--label-epsilon", "2"), "--label-epsilon must leave a part of epsilon 1.0"),
        (
            ("--epsilon", "1", "--mechanism", "totals", "--label-epsilon", "0.5"),
            "--label-epsilon has no use with totals",
        ),
        (("--epsilon", "1", "--selection-epsilon", "3"), "--selection-epsilon must leave a part of epsilon 1.0"),
        (("--epsilon", "1", "--dataset", "visits"), "--dataset requires --ledger"),
        (("--epsilon", "1", "--features", "x0,nothing"), "--features names no column 'nothing'"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(folder, words, said):
    result = _protect(folder, *words, "--out", folder / "never", code=2)
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (folder / "never").exists()


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A good table, tables with one fault each, and a ledger that knows the good one."""
    where = tmp_path_factory.mktemp("broken")
    rng = np.random.default_rng(1)
    ill = np.tile(["no", "yes"], 100)
    good = pa.table({**{f"x{j}": rng.normal(size=200) for j in range(3)}, "ill": ill})

    def write(name, table):
        pyarrow.parquet.write_table(table, where / f"{name}.parquet")

    write("good", good)
    write("dated", good.append_column("seen", pa.array([date(2024, 5, 1)] * 200)))
    write("listed", good.append_column("codes", pa.array([[1]] * 200)))
    write("unlabeled", good.set_column(3, "ill", pa.array([None, *ill[1:]])))
    _run("ledger", "create", "visits", "--table", where / "good.parquet", "--unit", "record", "--epsilon", "100",
         "--delta", "0.01", "--ledger", where / "ledger.db")  # fmt: skip
    return where


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("good", ("--select", "4"), "--select must be at most the number of features, 3, got 4"),
        ("good", ("--select", "0"), "--select must be an integer >= 1, got '0'"),
        ("dated", (), "--ranges must have a range of dates for column 'seen', such as seen=2020-01-01,2024-12-31"),
        ("listed", (), "--features must leave out column 'codes', which is list"),
        ("good", ("--ranges", "x0=0,1"), "--ranges must have a range for column 'x1', such as x1=0,100"),
        ("good", ("--ranges", "x0=2020-01-01,2024-12-31"), "--ranges must be numbers for column 'x0', which is double"),
        ("good", ("--ranges", "*=0,0"), "--ranges must be COL=LOW,HIGH with LOW below HIGH"),
        ("good", ("--ranges", "*=0,nan"), "--ranges must be COL=LOW,HIGH with LOW below HIGH"),
        ("good", ("--categories", "x0"), "--categories must be COL=A,B,..."),
        ("good", ("--gaps", "x9"), "--gaps names no column 'x9'"),
        ("good", ("--delta", "0"), "--delta must be > 0"),
        *(("good", ("--delta", d), f"--delta must be in [0, 1), got {d!r}") for d in ("1", "-1", "nan")),
        (
            "good",
            ("--delta", "0.005"),
            "--delta must be below 1/200, for 200 rows, got 0.005: a larger delta",
        ),
        *(("good", ("--epsilon", e), f"--epsilon must be at most 4096, got {float(e)!r}") for e in ("1e5", "1e6")),
        ("unlabeled", (), "label column 'ill' has missing labels; leave those rows out"),
        ("good", ("--features", "x0,x1,x0"), "--features must name different columns, got x0, x1, x0"),
        ("good", ("--class-rows", "a,b"), "--class-rows must be integers >= 1, one per class, got 'a,b'"),
        ("good", ("--class-rows", "5"), "--class-rows must be one number for each of 2 classes"),
        ("good", ("--class-rows", "9,9", "--select", "3"), "--class-rows has no use with select 3: all features"),
        ("good", ("--selection-epsilon", "1", "--select", "3"), "--selection-epsilon has no use with select 3"),
        ("good", ("--label-epsilon", "-1"), "--label-epsilon must be a finite number > 0, got '-1'"),
        (
            "good",
            ("--classes", "yes,perhaps"),
            "labels must be among the declared classes",
        ),
    ],
)
def test_bad_input_is_one_sentence_writes_nothing_and_charges_nothing(broken, name, words, said):
    options = {"--label": "ill", "--select": "2", "--ranges": "*=-3,3", "--epsilon": "4", "--delta": "1e-6"}
    options |= {"--out": broken / "never", "--ledger": broken / "ledger.db", "--dataset": "visits"}
    options |= dict(zip(words[::2], words[1::2], strict=True))
    given = [word for pair in options.items() for word in pair]
    result = _run("features", "protect", broken / f"{name}.parquet", *given, code=2)
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
    assert not (broken / "never").exists()
    assert Ledger.open(broken / "ledger.db").statement("visits").used == 0


def test_public_class_sizes_cost_nothing(folder):
    words = ("--epsilon", "4", "--class-rows", "750,750", "--out", folder / "sized.parquet")
    text = _protect(folder, *words).stdout
    assert "epsilon 4, delta 1e-6 for one record" in text
    assert "class sizes" not in next(line for line in text.splitlines() if line.startswith("Epsilon: "))
    assert "the class sizes 750, 750 are public." in text


def test_an_existing_file_is_kept(folder):
    out = folder / "kept.json"
    out.write_text("mine")
    words = ("--epsilon", "1", "--mechanism", "totals", "--out", out)
    assert "exists" in _protect(folder, *words, code=2).stderr
    assert out.read_text() == "mine"
    assert "is not a release" in _protect(folder, *words, "--force", code=2).stderr
    assert out.read_text() == "mine"
    out.unlink()
    _protect(folder, *words)
    made = out.read_text()
    _protect(folder, *words, "--force")
    assert "tacit_release" in made
    assert out.read_text() != made, "a release replaces a release"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("attack", "rows", "--truth", "short"), "--truth must have the 200 released rows, got 3"),
        (("attack", "rows", "--truth", "narrow"), "--truth must have the feature column 'x2'"),
        (("attack", "rows", "--data", "good"), "--truth must be given for this attack"),
        (("attack", "good.parquet", "--truth", "good"), "not a tacit release"),
        (("learn", "nowhere"), "nowhere does not exist"),
        (("learn", "rows", "--test", "worded"), "column 'x0' must be numbers, as its encoder was made for, got string"),
        (("learn", "rows", "--test", "coded"), "--test must have the release's classes, ['no', 'yes'], got 1"),
        (("learn", "rows", "--test", "unlabeled"), "--test names no column 'ill'"),
    ],
)
def test_learners_and_attackers_are_refused_in_one_sentence(broken, words, said):
    good = pyarrow.parquet.read_table(broken / "good.parquet")
    tables = {
        "good": good,
        "short": good.slice(0, 3),
        "narrow": good.drop_columns(["x2"]),
        "worded": good.set_column(0, "x0", pa.array(["much"] * 200)),
        "coded": good.set_column(3, "ill", pa.array([1] * 200)),
        "unlabeled": good.drop_columns(["ill"]),
    }
    for name, table in tables.items():
        pyarrow.parquet.write_table(table, broken / f"told_{name}.parquet")
    if not (broken / "rows").exists():
        options = ("--label", "ill", *RANGES, "--epsilon", "8", "--out", broken / "rows")
        _run("features", "protect", broken / "good.parquet", *options)
    given = [broken / f"told_{word}.parquet" if word in tables else word for word in words]
    given[1] = broken / words[1]
    result = _run("features", *given, code=2)
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_table_that_is_read_is_not_written_over(folder):
    before = (folder / "visits.csv").read_bytes()
    said = _protect(folder, "--epsilon", "1", "--out", folder / "visits.csv", "--force", code=2).stderr
    assert "visits.csv is an input file, which would be lost" in said
    assert (folder / "visits.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("mechanism", "name", "said"),
    [
        ("rows", "rows.csv", "has the ending of CSV, but Parquet is written; call it rows.parquet"),
        ("rows", "rows.JSON", "has the ending of JSON, but Parquet is written; call it rows.parquet"),
        ("totals", "totals.csv.gz", "has the ending of CSV, but JSON is written; call it totals.json"),
        ("totals", "totals.parquet", "has the ending of Parquet, but JSON is written; call it totals.json"),
    ],
)
def test_a_name_of_another_format_is_refused(folder, mechanism, name, said):
    words = ("--epsilon", "1", "--mechanism", mechanism, "--out", folder / name)
    assert said in _protect(folder, *words, code=2).stderr
    assert not (folder / name).exists()


@pytest.mark.parametrize(
    ("values", "declared"), [((0, 1), "0,1"), ((False, True), "false,true"), ((0.5, 2.0), "0.5,2")]
)
def test_a_declared_class_list_is_of_the_labels_own_type(tmp_path, values, declared):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 400)
    table = pa.table({"x": rng.normal(size=400) + codes, "y": [values[code] for code in codes]})
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    where = (tmp_path / "in.parquet", "--label", "y", *RANGES, "--epsilon", "5")
    out = tmp_path / "out.parquet"
    made = json.loads(_run("features", "protect", *where, "--classes", declared, "--out", out, "--json").stdout)
    assert made["settled"]["classes"] == list(values)
    learned = _run("features", "learn", out, "--test", tmp_path / "in.parquet", "--json").stdout
    assert json.loads(learned)["performance"]["accuracy"]["value"] > 0
    said = _run("features", "protect", *where, "--classes", "a,b", "--out", tmp_path / "never", code=2).stderr
    assert "--classes must be of the label column's type" in said


def test_the_parts_of_epsilon_are_printed_rounded_up(folder):
    words = ("--epsilon", "1.000001", "--mechanism", "totals", "--out", folder / "parts.json")
    said = _protect(folder, *words).stdout
    printed = [float(part.split()[-1]) for part in said.partition("Epsilon: ")[2].split(".\n")[0].split(", ")]
    assert len(printed) == 3
    assert sum(printed) >= 1.000001
