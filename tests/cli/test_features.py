"""``tacit features``: from a file to a release, a classifier and links, and the sentences when something is wrong."""

import json
from collections import namedtuple
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

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
        (("--epsilon", "1", "--label-epsilon", "2"), "--label-epsilon must be less than epsilon"),
        (("--epsilon", "1", "--totals", "--label-epsilon", "0.5"), "--label-epsilon must not stand with --totals"),
        (("--epsilon", "1", "--selection-epsilon", "3"), "--selection-epsilon must leave something"),
        (("--epsilon", "1", "--dataset", "visits"), "--dataset and --memo must stand with --ledger"),
        (("--epsilon", "1", "--features", "x0,nothing"), "nothing"),
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
    write("constant", good.append_column("flat", pa.array([1.0] * 200)))
    for name, value in (("nan", float("nan")), ("infinite", float("inf")), ("missing", None)):
        write(name, good.append_column("odd", pa.array([value, *rng.normal(size=199)])))
    write("text", good.append_column("word", pa.array(["a", "b"] * 100)))
    write("lonely", good.slice(0, 3))
    write("unlabelled", good.set_column(3, "ill", pa.array([None, *ill[1:]])))
    _run("ledger", "create", "visits", "--data", where / "good.parquet", "--unit", "record", "--epsilon", "100",
         "--delta", "0.01", "--ledger", where / "ledger.db")  # fmt: skip
    return where


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("good", ("--keep", "4"), "--keep must be at most the number of features, 3, got 4"),
        ("good", ("--keep", "0"), "keep must be a whole number >= 1, got 0"),
        ("constant", (), "feature 'flat' must vary, got one value in all rows; leave it out"),
        ("nan", (), "feature 'odd' has missing, NaN or infinite values"),
        ("infinite", (), "feature 'odd' has missing, NaN or infinite values"),
        ("missing", (), "feature 'odd' has missing, NaN or infinite values"),
        ("text", (), "column 'word' is string, not numbers; leave it out or encode it one-hot"),
        ("good", ("--bound", None, "--lower", "50", "--upper", "60"), "the bounds of feature 'x0' clip every row"),
        ("good", ("--bound", "0"), "--bound must be a finite number > 0, got 0.0"),
        ("good", ("--bound", "nan"), "--bound must be a finite number > 0, got nan"),
        *(("good", ("--delta", d), f"delta must be in (0, 1), got {float(d)!r}") for d in ("0", "1", "-1", "nan")),
        ("good", ("--delta", "0.005"), "delta must be below 1/200, for 200 rows, got 0.005: with that chance a record"),
        *(("good", ("--epsilon", e), f"epsilon must be at most 4096, got {float(e)!r}") for e in ("1e6", "1e300")),
        ("lonely", (), "class 'yes' has 1 row; each class needs at least two"),
        ("unlabelled", (), "label column 'ill' has missing labels; leave those rows out"),
        ("good", ("--features", "x0,x1,x0"), "features must name each column once, got 'x0' twice"),
        ("good", ("--class-rows", "a,b"), "--class-rows must be whole numbers, one a class, got 'a,b'"),
        ("good", ("--class-rows", "5"), "--class-rows must be one number for each of 2 classes"),
        ("good", ("--class-rows", "9,9", "--keep", "3"), "must not stand with --keep 3: all features leave"),
        ("good", ("--selection-epsilon", "1", "--keep", "3"), "must not stand with --keep 3: all features leave"),
        ("good", ("--label-epsilon", "-1"), "--label-epsilon must be a finite number > 0, got -1.0"),
        ("good", ("--classes", "yes,no,perhaps"), "class 'perhaps' has 0 rows; each class needs at least two"),
    ],
)
def test_bad_input_is_one_sentence_writes_nothing_and_charges_nothing(broken, name, words, said):
    options = {"--label": "ill", "--keep": "2", "--bound": "3", "--epsilon": "4", "--delta": "1e-6"}
    options |= {"--out": broken / "never", "--ledger": broken / "ledger.db", "--dataset": "visits"}
    options |= dict(zip(words[::2], words[1::2], strict=True))
    given = [word for option, value in options.items() if value is not None for word in (option, value)]
    result = _run("features", "protect", broken / f"{name}.parquet", *given, code=2)
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
    assert not (broken / "never").exists()
    assert Ledger.open(broken / "ledger.db").statement("visits").spent == 0


def test_public_class_sizes_cost_nothing(folder):
    words = ("--epsilon", "4", "--class-rows", "750,750", "--out", folder / "sized.parquet")
    text = _protect(folder, *words).stdout
    assert "epsilon 4, delta 1e-6 for one record" in text
    assert "class sizes" not in next(line for line in text.splitlines() if line.startswith("Epsilon: "))
    assert "the class sizes 750, 750 are public." in text


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("attack", "rows", "--raw", "short"), "--raw must hold the 200 released rows, got 3"),
        (("attack", "rows", "--raw", "narrow"), "narrow.parquet names no column 'x2'"),
        (("attack", "rows", "--raw", "nan"), "raw rows must be finite"),
        (("attack", "good.parquet", "--raw", "good"), "not a tacit release"),
        (("learn", "nowhere"), "nowhere does not exist"),
        (("learn", "rows", "--test", "nan", "--label", "ill"), "--test must hold finite features"),
        (
            ("learn", "rows", "--test", "coded", "--label", "ill"),
            "--test must hold the release's classes, ['no', 'yes'], got 1",
        ),
        (("learn", "rows", "--test", "good"), "names no column 'label'"),
    ],
)
def test_learners_and_attackers_are_told_in_one_sentence(broken, words, said):
    good = pyarrow.parquet.read_table(broken / "good.parquet")
    tables = {
        "good": good,
        "short": good.slice(0, 3),
        "narrow": good.drop_columns(["x2"]),
        "nan": good.set_column(0, "x0", pa.array([float("nan"), *[1.0] * 199])),
        "coded": good.set_column(3, "ill", pa.array([1] * 200)),
    }
    for name, table in tables.items():
        pyarrow.parquet.write_table(table, broken / f"told_{name}.parquet")
    if not (broken / "rows").exists():
        options = ("--label", "ill", "--keep", "3", "--bound", "3", "--epsilon", "8", "--delta", "1e-6")
        _run("features", "protect", broken / "good.parquet", *options, "--out", broken / "rows")
    given = [broken / f"told_{word}.parquet" if word in tables else word for word in words]
    given[1] = broken / words[1]
    result = _run("features", *given, code=2)
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_table_that_is_read_is_not_written_over(folder):
    before = (folder / "visits.csv").read_bytes()
    said = _protect(folder, "--epsilon", "1", "--out", folder / "visits.csv", "--force", code=2).stderr
    assert "visits.csv is the table that is read, which would be lost" in said
    assert (folder / "visits.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "name", "said"),
    [
        ((), "rows.csv", "ends as CSV does, and Parquet is written; call it rows.parquet"),
        ((), "rows.JSON", "ends as JSON does, and Parquet is written; call it rows.parquet"),
        (("--totals",), "totals.csv.gz", "ends as CSV does, and JSON is written; call it totals.json"),
        (("--totals",), "totals.parquet", "ends as Parquet does, and JSON is written; call it totals.json"),
    ],
)
def test_a_name_of_another_format_is_refused(folder, words, name, said):
    assert said in _protect(folder, "--epsilon", "1", *words, "--out", folder / name, code=2).stderr
    assert not (folder / name).exists()


def test_a_feature_is_not_the_label_of_a_test_table(folder):
    out = folder / "for_test.json"
    _protect(folder, "--epsilon", "1", "--features", "x0,x1", "--totals", "--out", out)
    said = _run("features", "learn", out, "--test", folder / "later.csv", "--label", "x0", code=2).stderr
    assert said.strip() == "--label must name the label column, got 'x0', which is a released feature"


@pytest.mark.parametrize(
    ("values", "declared"), [((0, 1), "0,1"), ((False, True), "false,true"), ((0.5, 2.0), "0.5,2")]
)
def test_a_declared_class_list_is_of_the_labels_own_type(tmp_path, values, declared):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 400)
    table = pa.table({"x": rng.normal(size=400) + codes, "y": [values[code] for code in codes]})
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    where = (
        tmp_path / "in.parquet",
        "--label",
        "y",
        "--keep",
        "1",
        "--bound",
        "3",
        "--epsilon",
        "5",
        "--delta",
        "1e-6",
    )
    out = tmp_path / "out.parquet"
    made = json.loads(_run("features", "protect", *where, "--classes", declared, "--out", out, "--json").stdout)
    assert made["mechanism"]["classes"] == list(values)
    learned = _run("features", "learn", out, "--test", tmp_path / "in.parquet", "--label", "y", "--json").stdout
    assert json.loads(learned)["accuracy"] > 0
    said = _run("features", "protect", *where, "--classes", "a,b", "--out", tmp_path / "never", code=2).stderr
    assert "classes must be of the label column's type" in said


def test_the_parts_of_epsilon_are_printed_rounded_up(folder):
    said = _protect(folder, "--epsilon", "1.000001", "--totals", "--out", folder / "parts.json").stdout
    printed = [float(part.split()[-1]) for part in said.partition("Epsilon: ")[2].split(".\n")[0].split(", ")]
    assert len(printed) == 3
    assert sum(printed) >= 1.000001
