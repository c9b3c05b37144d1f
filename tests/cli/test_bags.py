"""``tacit bags``: what it prints and writes, and that a mistake costs and leaves nothing."""

import json

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tacit.bags import Release
from tacit.cli.app import main
from tacit.privacy import Guarantee, Unit
from tacit.privacy.ledger import Ledger

PROTECT = "bags protect visits.csv --label ill --out ill.bags"
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


MECHANISMS = {
    "exact": "--label ill --epsilon none --by city,sex",
    "laplace": f"--label ill --epsilon 1 {BY}",
    "gaussian": f"--label ill --epsilon 1 --delta 1e-6 --classes no,yes {BY} --no-consistent --small merge",
    "record": "--label ill --epsilon 1 --by city --categories city=Oslo,Rome --by age --edges age=50 --unit record",
    "chosen": f"--label ill --epsilon 2 {BY} --select 1 --selection-epsilon 0.5",
    "random": "--label ill --epsilon none --mechanism random:size=2,bags=1500",
    "random_noisy": "--label ill --epsilon 1 --mechanism random:size=10,bags=100,joins=1",
    "random_drawn": "--label ill --epsilon none --mechanism random:size=3,bags=60,draw=bernoulli",
    "classes": "--label ward --totals classes --epsilon 2 --by city --by age --edges age=50",
    "poisson": "--label days --totals poisson --upper 9 --epsilon 2 --by city --by age --edges age=50",
    "squared": "--label days --totals squared --lower 0 --upper 9 --epsilon 2 --by city --by age --edges age=50",
}


@pytest.mark.parametrize("options", MECHANISMS.values(), ids=MECHANISMS)
def test_every_mechanism_from_end_to_end(run, result, options):
    made = result(f"bags protect visits.csv --out made.bags {options}")
    assert made["path"] == "made.bags"
    assert made["bags"] > 0
    assert ("epsilon" in made["guarantee"]) == ("none" not in options)
    learned = result("bags learn made.bags --data visits.csv --test later.csv")
    assert learned["performance"]["rows"] == 600
    assert ("r2" in learned["performance"]) == ("--label days" in options)
    found = result("bags attack made.bags --data visits.csv --truth visits.csv --seed 0")
    assert found["facts"]["rows"] == 1500
    assert found["facts"]["determined"] == found["facts"]["determined_right"]
    assert found["facts"]["determined"] == 0 or "epsilon" not in made["guarantee"]
    for command in (
        f"bags protect visits.csv --out made.bags {options} --force",
        "bags learn made.bags --data visits.csv",
        "bags attack made.bags --data visits.csv",
    ):
        code, out, err = run(command)
        assert (code, err) == (0, "")
        assert out


def test_exact_totals_are_told_and_learned_from_and_attacked(run, result, tmp_path):
    code, out, err = run(f"{PROTECT} --epsilon none {BY}")
    assert (code, err) == (0, "")
    pairs = visits().group_by(["city", "sex"]).aggregate([([], "count_all")])["count_all"].to_pylist()
    ages = np.bincount(np.searchsorted([30, 50, 70], visits()["age"].to_numpy(), side="right"))
    assert out == (
        "bags by curated: no guarantee: exact totals of bags, and a bag of one row is that row's label.\n"
        f"  by city, sex: 4 bags of {min(pairs)} to {max(pairs)} rows\n"
        f"  by age: 4 bags of {min(ages)} to {max(ages)} rows\n"
        "Exact totals can determine labels: tacit bags attack finds them.\n"
        "The release: ill.bags\n"
    )
    release = Release.read(tmp_path / "ill.bags")
    assert release.encoding.classes == ("no", "yes")
    assert release.totals.partitions[0].totals.sum() == visits()["code"].to_numpy().sum()

    learned = result("bags learn ill.bags --data visits.csv --test later.csv")
    assert learned["performance"]["log_loss"]["value"] < 0.6
    assert learned["performance"]["auc"]["value"] > 0.8
    code, out, _ = run("bags learn ill.bags --data visits.csv --test later.csv --out model.joblib")
    assert code == 0
    assert "Judged by 600 true labels, outside the guarantee" in out
    assert set(joblib.load("model.joblib").predict(visits(50))) == {"no", "yes"}

    code, out, _ = run("bags attack ill.bags --data visits.csv --truth visits.csv --out guesses.parquet")
    assert code == 0
    assert "of 1,500 labels" in out
    assert "guesses are correct, compared with" in out
    assert pq.read_table("guesses.parquet").column_names == ["row", "guess", "confidence", "determined"]


def test_small_bags_are_determined_and_the_truth_agrees(result, run):
    run(f"{PROTECT} --epsilon none --by city,sex,age --min-size 1")
    found = result("bags attack ill.bags --data visits.csv --truth visits.csv")["facts"]
    assert found["determined"] == found["determined_right"] > 100
    assert found["undecided"] == 0
    run(f"{PROTECT} --epsilon none --by city,sex,age --min-size 5 --force")
    assert result("bags attack ill.bags --data visits.csv")["facts"]["determined"] < found["determined"]


def test_noise_is_described(result):
    made = result(f"{PROTECT} {BY} --epsilon 1")
    assert "consistent" in made["settled"]["mechanism"]
    assert not made["seeded"]
    plain = result(f"{PROTECT} {BY} --epsilon 1 --delta 1e-6 --no-consistent --force")
    assert plain["settled"]["mechanism"]["name"] == "discrete_gaussian"
    assert "consistent" not in plain["settled"]["mechanism"]
    learned = result("bags learn ill.bags --data visits.csv --test later.csv --method trees")
    assert learned["performance"]["auc"]["value"] > 0.8


def test_a_seed_repeats_the_release_and_warns(run, tmp_path):
    code, _, err = run(f"{PROTECT} {BY} --epsilon 1 --seed 1")
    assert code == 0
    assert "never publish it" in err
    first = Release.read(tmp_path / "ill.bags").totals.partitions[0].totals
    run(f"{PROTECT} {BY} --epsilon 1 --seed 1 --force")
    np.testing.assert_array_equal(Release.read(tmp_path / "ill.bags").totals.partitions[0].totals, first)


@pytest.mark.parametrize("label", ["ill", "code"])
def test_the_ledger_pays_once_for_words_and_numbers(run, result, tmp_path, label):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(visits()[label], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.5))
    command = f"bags protect visits.csv --label {label} --by city --epsilon 1 --ledger ledger.db"
    _, out, _ = run(f"{command} --out one.bags")
    assert "entry visits/1: spent epsilon 1, left 0.5." in out
    again = result(f"{command} --out two.bags")
    assert (again["charge"], again["repeated"]) == (None, True)
    assert ledger.statement("visits").spent == 1.0
    code, _, err = run(f"{command} --out three.bags --again")
    assert code == 2
    assert "visits has spent epsilon 1 of 1.5" in err
    assert not (tmp_path / "three.bags").exists()


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (f"{PROTECT} --epsilon 1", "--by must name the columns of at least one partition"),
        (f"{PROTECT} {BY} --epsilon 1 --mechanism random:size=3,bags=9,joins=1", "--by is for curated bags"),
        (f"{PROTECT} --epsilon 1 --mechanism random:size=3", "--mechanism random must be given its bags"),
        (f"{PROTECT} --epsilon 1 --mechanism random:size=3,bags=9", "--mechanism random must be given joins"),
        (f"{PROTECT} --epsilon 1 --by town", "--by names no column 'town'"),
        (f"{PROTECT} {BY} --epsilon -1", "--epsilon must be a finite number > 0"),
        (f"{PROTECT} {BY} --epsilon nan", "--epsilon must be a finite number > 0"),
        (f"{PROTECT} {BY} --epsilon none --delta 0.1", "--delta must be 0 with epsilon none"),
        (f"{PROTECT} {BY} --epsilon 1 --rows-per-person 0", "--rows-per-person must be an integer >= 1, got '0'"),
        (f"{PROTECT} {BY} --epsilon 1 --min-size 0", "--min-size must be an integer >= 1"),
        (f"{PROTECT} {BY} --epsilon 1 --min-size 5000", "--min-size must be smaller: no bag would have 5000 rows"),
        (f"{PROTECT} --epsilon 1 --by age --edges age", "--edges must be COLUMN=NUMBER"),
        (f"{PROTECT} --epsilon 1 --by age --edges age=20 --edges age=50", "--edges must be given once for each column"),
        (f"{PROTECT} {BY} --epsilon 1 --lower 0", "--lower is for totals squared and poisson"),
        (f"{PROTECT} {BY} --epsilon 1 --dataset visits", "--dataset requires --ledger"),
        (f"{PROTECT} --epsilon 1 --by city --classes no,maybe", "--classes must list every label of 'ill'"),
        (f"{PROTECT} --epsilon 1 --by city --classes a,b,c", "--classes must be two classes for totals log, got 3"),
        (
            "bags protect visits.csv --label days --epsilon 1 --by city",
            "--totals must be squared, with lower and upper",
        ),
        ("bags protect nowhere.csv --label ill --epsilon 1 --by city", "nowhere.csv does not exist"),
        ("bags learn nowhere --data visits.csv", "nowhere does not exist"),
        ("bags attack nowhere --data visits.csv", "nowhere does not exist"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(run, tmp_path, command, sentence):
    before = sorted(path.name for path in tmp_path.iterdir())
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_what_exists_is_not_replaced_without_force(run, tmp_path):
    assert run(f"{PROTECT} {BY} --epsilon 1")[0] == 0
    code, _, err = run(f"{PROTECT} {BY} --epsilon 1")
    assert code == 2
    assert "ill.bags exists already" in err
    (tmp_path / "model.joblib").write_text("mine")
    code, _, err = run("bags learn ill.bags --data visits.csv --out model.joblib")
    assert code == 2
    assert "model.joblib exists already" in err
    assert (tmp_path / "model.joblib").read_text() == "mine"
    code, _, err = run("bags learn ill.bags --data visits.csv --out ./visits.csv --force")
    assert code == 2
    assert "visits.csv is an input file, which would be lost" in err


def test_other_rows_and_damaged_releases_are_refused(run, tmp_path):
    run(f"{PROTECT} {BY} --epsilon none")
    for command in ("attack", "learn"):
        code, _, err = run(f"bags {command} ill.bags --data later.csv")
        assert code == 2
        assert err.startswith("--data must")
    file = tmp_path / "ill.bags" / "partition-0.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    code, _, err = run("bags attack ill.bags --data visits.csv")
    assert code == 2
    assert "damaged" in err


@pytest.mark.parametrize("name", ["protect", "learn", "attack"])
def test_help_teaches(run, name):
    code, out, _ = run(f"bags {name} --help")
    assert code == 0
    assert f"Example: tacit bags {name}" in " ".join(out.split())
