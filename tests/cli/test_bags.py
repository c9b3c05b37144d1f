"""``tacit bags``: what it prints and writes, and that a mistake costs and leaves nothing."""

import json

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.bags.losses import CrossEntropy, PoissonLoss, SquaredLoss
from tacit.bags.partition import read_bags
from tacit.cli.app import main
from tacit.privacy import Guarantee, NoGuarantee, Unit
from tacit.privacy.ledger import Ledger

PROTECT = "bags protect visits.csv --label ill --classes no,yes --out ill.bags"
BY = "--by city,sex --by age --edges age=30,50,70"


def visits(rows=1500, *, seed=0):
    rng = np.random.default_rng(seed)
    age, city, sex = rng.integers(18, 90, rows), rng.choice(["Oslo", "Rome"], rows), rng.choice(["f", "m"], rows)
    chance = 1 / (1 + np.exp(-(age - 55) / 6 - np.where(city == "Oslo", 1.0, -1.0)))
    sick = rng.random(rows) < chance
    days = np.where(sick, rng.poisson(3, rows), 0).clip(0, 9)
    ward = np.where(sick, rng.choice(["a", "b"], rows), "none")
    return pa.table(
        {"age": age, "city": city, "sex": sex, "ill": np.where(sick, "yes", "no"), "code": sick.astype(int)}
        | {"days": days, "ward": ward}
    )


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run ``tacit`` in a folder with tables; return its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_LEDGER", raising=False)
    pa.csv.write_csv(visits(), "visits.csv")
    pa.csv.write_csv(visits(600, seed=1), "later.csv")

    def run(command):
        with pytest.raises(SystemExit) as end:
            main(command.split())
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run


@pytest.fixture
def result(run):
    """Run a command that must succeed, and return its JSON."""

    def result(command):
        code, out, err = run(f"{command} --json")
        assert code == 0, err
        return json.loads(out)

    return result


def test_exact_totals_are_written_and_learned_from_and_attacked(run, result, tmp_path):
    code, out, err = run(f"{PROTECT} {BY}")
    assert (code, err) == (0, "")
    pairs = visits().group_by(["city", "sex"]).aggregate([([], "count_all")])["count_all"].to_pylist()
    ages = np.bincount(np.searchsorted([30, 50, 70], visits()["age"].to_numpy(), side="right"))
    assert out == (
        "8 bags of 2 partitions by exact_totals: no guarantee: exact totals of bags: a bag of one row is that row's "
        "label.\n"
        f"  by city, sex: 4 bags of {min(pairs)} to {max(pairs)} rows\n"
        f"  by age: 4 bags of {min(ages)} to {max(ages)} rows\n"
        "The release: ill.bags\n"
        "See which labels it tells: tacit bags attack ill.bags --features visits.csv\n"
    )
    release = read_bags(tmp_path / "ill.bags")
    assert release.mechanism["classes"] == ["no", "yes"]
    assert release.partitions[0].totals.sum() == visits()["code"].to_numpy().sum()

    learned = result("bags learn ill.bags --features visits.csv --test later.csv")
    assert learned["log_loss"] < 0.6
    assert learned["auc"] > 0.8
    assert learned["test_rows"] == 600
    code, out, _ = run("bags learn ill.bags --features visits.csv --test later.csv --out model.joblib")
    assert code == 0
    assert "On 600 test rows: log loss 0." in out
    assert joblib.load("model.joblib").predict(visits(5)).shape == (5,)

    attacked = result("bags attack ill.bags --features visits.csv")
    assert attacked["rows"] == 1500
    assert attacked["advantage_is"] == "expected"
    assert attacked["advantage"] > 0
    code, out, _ = run("bags attack ill.bags --features visits.csv --truth visits.csv")
    assert code == 0
    assert "of 1,500 labels" in out
    assert "guesses are right, against" in out


def test_small_bags_are_fixed_and_the_truth_agrees(result, run):
    run(f"{PROTECT} --by city,sex,age --min-size 1")
    found = result("bags attack ill.bags --features visits.csv --truth visits.csv --label ill")
    assert found["determined"] == found["determined_right"] > 100
    assert found["undecided"] == 0
    assert found["advantage_is"] == "measured"
    run(f"{PROTECT} --by city,sex,age --min-size 5 --force")
    assert result("bags attack ill.bags --features visits.csv")["determined"] < found["determined"]


def test_noised_totals_fix_nothing_and_still_teach(result, tmp_path):
    made = result(f"{PROTECT} {BY} --epsilon 1")
    assert made["guarantee"]["epsilon"] == 1.0
    assert "consistent" in made["mechanism"]
    assert not made["seeded"]
    assert isinstance(read_bags(tmp_path / "ill.bags").guarantee, Guarantee)
    found = result("bags attack ill.bags --features visits.csv --truth visits.csv --seed 0")
    assert found["determined"] == found["undecided"] == 0
    assert found["largest_advantage"] < 0.232
    assert result("bags learn ill.bags --features visits.csv --test later.csv --model trees")["auc"] > 0.8
    plain = result(f"{PROTECT} {BY} --epsilon 1 --delta 1e-6 --no-consistent --small merge --force")
    assert plain["mechanism"]["name"] == "discrete_gaussian"
    assert "consistent" not in plain["mechanism"]


def test_a_seed_repeats_the_release_and_warns(run, tmp_path):
    code, _, err = run(f"{PROTECT} {BY} --epsilon 1 --seed 1")
    assert code == 0
    assert "never publish it" in err
    first = read_bags(tmp_path / "ill.bags").partitions[0].totals
    run(f"{PROTECT} {BY} --epsilon 1 --seed 1 --force")
    np.testing.assert_array_equal(read_bags(tmp_path / "ill.bags").partitions[0].totals, first)


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        ("--label ward --loss classes --classes none,a,b", CrossEntropy(classes=3)),
        ("--label days --loss poisson --range 0,9", PoissonLoss(most=9)),
        ("--label days --loss squared --range 0,9", SquaredLoss(lower=0.0, upper=9.0)),
    ],
    ids=["classes", "poisson", "squared"],
)
def test_other_losses_from_end_to_end(run, result, tmp_path, options, loss):
    result(f"bags protect visits.csv --out other.bags {options} --by city --by age --edges age=50 --epsilon 2")
    assert read_bags(tmp_path / "other.bags").loss == loss
    learned = result("bags learn other.bags --features visits.csv --test later.csv")
    assert learned["mean_loss"] is not None
    assert (learned["log_loss"] is None) == (not isinstance(loss, CrossEntropy))
    assert learned["log_loss"] is None or learned["log_loss"] < np.log(3) + 0.1
    _, out, _ = run("bags learn other.bags --features visits.csv")
    assert ("predictions of the last class add up to" in out) == isinstance(loss, CrossEntropy)
    assert "the model is measured on it" in out
    found = result("bags attack other.bags --features visits.csv")
    assert found["determined"] == 0
    assert (found["advantage"] is None) == isinstance(loss, SquaredLoss)


def test_random_bags(result):
    made = result(f"{PROTECT} --random 2 --bags 1500")
    assert made["random"]["size"] == 2
    found = result("bags attack ill.bags --features visits.csv --truth visits.csv")
    assert found["determined"] == found["determined_right"] > 700
    learned = result("bags learn ill.bags --features visits.csv --test later.csv")
    assert learned["auc"] > 0.7
    private = result(f"{PROTECT} --random 10 --bags 100 --joins 1 --epsilon 1 --force")
    assert private["guarantee"]["epsilon"] == 1.0


def test_the_ledger_knows_labels_that_are_words(result, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(visits()["ill"], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.5))
    document = result(f"{PROTECT} --by city --epsilon 1 --ledger ledger.db")
    assert (ledger.statement("visits").spent, document["charge"]) == (1.0, "visits/1")


def test_the_ledger_pays_once(run, result, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(visits()["code"], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.5))
    command = "bags protect visits.csv --label code --by city --epsilon 1 --ledger ledger.db"
    _, out, _ = run(f"{command} --out one.bags")
    assert ledger.statement("visits").spent == 1.0
    assert "entry visits/1: spent epsilon 1, left 0.5." in out
    code, _, err = run(f"{command} --out two.bags")
    assert code == 2
    assert "visits has spent epsilon 1 of 1.5" in err
    assert not (tmp_path / "two.bags").exists()


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (PROTECT, "either --by or --random must say what the bags are"),
        (f"{PROTECT} {BY} --random 3", "either --by or --random"),
        (f"{PROTECT} {BY} --joins 3", "--bags and --joins must stand with --random"),
        (f"{PROTECT} --random 3", "--bags must stand with --random"),
        (f"{PROTECT} --random 3 --bags 9 --epsilon 1", "joins must be given with noise"),
        (f"{PROTECT} {BY} --random 3 --edges age=3", "either --by"),
        (f"{PROTECT} --random 3 --bags 9 --edges age=3", "--edges and --engine spark must stand with --by"),
        (f"{PROTECT} --by town", "no column 'town'"),
        (f"{PROTECT} {BY} --epsilon -1", "epsilon must be"),
        (f"{PROTECT} {BY} --epsilon nan", "epsilon must be"),
        (f"{PROTECT} {BY} --ledger ledger.db", "--ledger must stand with --epsilon: exact totals"),
        (f"{PROTECT} {BY} --rows-per-person 0", "--rows-per-person must be a whole number >= 1, got 0"),
        (f"{PROTECT} --random 0 --bags 3", "--random must be a whole number >= 1, got 0"),
        (f"{PROTECT} {BY} --delta 0.1", "--delta must stand with --epsilon"),
        (f"{PROTECT} {BY} --min-size 0", "--min-size must be"),
        (f"{PROTECT} {BY} --min-size 5000", "no bag would have 5000 rows"),
        (f"{PROTECT} --by age --edges age", "--edges must be COL=1,2,3"),
        (f"{PROTECT} --by age --edges age=x", "--edges age must be numbers"),
        (f"{PROTECT} {BY} --range 0,1", "--range must stand with --loss squared or poisson"),
        (f"{PROTECT} {BY} --dataset visits", "must stand with --ledger"),
        (f"{PROTECT} --by age --edges age=20 --edges age=50", "--edges must cut each column once, got age, age"),
        (f"{PROTECT} --by city --min-size 9999", "--min-size must be smaller: no bag would have 9999"),
        (f"{PROTECT} {BY} --memory lots", "memory must be a size such as 2GB"),
        (f"{PROTECT} {BY} --engine spark --memory 1GB", "--memory must stand with --engine duckdb"),
        ("bags protect visits.csv --label ill --by city --out ill.bags", "--classes must list the labels of 'ill'"),
        ("bags protect visits.csv --label ill --classes no,maybe --by city --out ill.bags", "with another or none"),
        ("bags protect visits.csv --label ill --classes a,b,c --by city --out ill.bags", "use --loss classes"),
        ("bags protect visits.csv --label days --by city --out ill.bags", "out of range for the loss"),
        ("bags protect visits.csv --label days --loss classes --by city --out ill.bags", "two classes or more"),
        ("bags protect visits.csv --label days --loss squared --epsilon 1 --by city --out ill.bags", "--range must"),
        ("bags protect visits.csv --label days --loss squared --range 3 --by city --out ill.bags", "LOW,HIGH"),
        ("bags protect visits.csv --label days --loss poisson --range 1,3 --by city --out ill.bags", "0 to a whole"),
        (
            "bags protect visits.csv --label days --loss squared --classes 1,2 --by city --out ill.bags",
            "--classes must",
        ),
        ("bags protect nowhere.csv --label ill --by city --out ill.bags", "nowhere.csv does not exist"),
        ("bags learn nowhere --features visits.csv", "nowhere is not a release of bags"),
        ("bags learn nowhere --features visits.csv --label ill", "--label must stand with --test"),
        ("bags attack nowhere --features visits.csv", "nowhere is not a release of bags"),
        ("bags attack nowhere --features visits.csv --label ill", "--label must stand with --truth"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(run, tmp_path, command, sentence):
    before = sorted(path.name for path in tmp_path.iterdir())
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "command", ["learn ill.bags --features visits.csv --test", "attack ill.bags --features visits.csv --truth"]
)
def test_true_labels_of_another_kind_are_told_by_the_options_that_there_are(run, command):
    assert run(f"{PROTECT} {BY}")[0] == 0
    code, _, err = run(f"bags {command} later.csv --label ward")
    said = "--label must name a column of the release's classes no, yes, got 'ward', which holds others"
    assert (code, err.strip()) == (2, said)
    assert run("bags protect visits.csv --label code --by city --out code.bags")[0] == 0
    code, _, err = run(f"bags {command.replace('ill.bags', 'code.bags')} later.csv --label ill")
    assert "--label must name a column of numbers, as the release was made from, got 'ill'" in err


def test_what_exists_is_not_replaced_without_force(run, tmp_path):
    assert run(f"{PROTECT} {BY}")[0] == 0
    code, _, err = run(f"{PROTECT} {BY}")
    assert code == 2
    assert "ill.bags exists already" in err
    (tmp_path / "model.joblib").write_text("mine")
    code, _, err = run("bags learn ill.bags --features visits.csv --out model.joblib")
    assert code == 2
    assert "model.joblib exists already" in err
    assert (tmp_path / "model.joblib").read_text() == "mine"
    code, _, err = run("bags learn ill.bags --features visits.csv --out ./visits.csv --force")
    assert code == 2
    assert "visits.csv is the table that is read, which would be lost" in err


def test_other_rows_and_damaged_releases_are_refused(run, tmp_path):
    run(f"{PROTECT} {BY}")
    for command in ("attack", "learn"):
        code, _, err = run(f"bags {command} ill.bags --features later.csv")
        assert code == 2
        assert "1500" in err or "rows" in err
    assert isinstance(read_bags(tmp_path / "ill.bags").guarantee, NoGuarantee)
    file = tmp_path / "ill.bags" / "partition-0.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    code, _, err = run("bags attack ill.bags --features visits.csv")
    assert code == 2
    assert "bad checksum" in err


@pytest.mark.parametrize("name", ["protect", "learn", "attack"])
def test_help_teaches(run, name):
    code, out, _ = run(f"bags {name} --help")
    assert code == 0
    assert f"Example: tacit bags {name}" in " ".join(out.split())
