"""``tacit labels``: what it prints and writes, and that a mistake costs and leaves nothing."""

import json
import os

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from threadpoolctl import threadpool_limits

from tacit.cli.app import main
from tacit.labels.attacks.guess import guess_labels
from tacit.privacy import Guarantee, LedgerError, Unit, read_release
from tacit.privacy.ledger import Ledger

PROTECT = "labels protect visits.csv --label ill --epsilon 1"
LEARN = "labels learn visits.csv --label ill --epsilon 2"


def visits(rows=1200, *, seed=0):
    rng = np.random.default_rng(seed)
    age, city = rng.normal(50, 15, rows).round(3), rng.choice(["Oslo", "Rome"], rows)
    ill = np.where(rng.random(rows) < 1 / (1 + np.exp(-(age - 50) / 4)), "yes", "no")
    return pa.table({"age": age, "city": city, "ill": ill, "days": rng.integers(0, 8, rows)})


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run ``tacit`` in a folder with tables; return its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_LEDGER", raising=False)
    pa.csv.write_csv(visits(), "visits.csv")
    pa.csv.write_csv(visits(400, seed=1), "checked.csv")

    def run(command):
        with pytest.raises(SystemExit) as end:
            main(command.split() if isinstance(command, str) else command)
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


@pytest.fixture
def ledger(run, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(visits()["ill"], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0))
    return ledger


def spent(ledger):
    return ledger.statement("visits").spent


def test_protect_writes_a_release(run, tmp_path):
    code, out, err = run(f"{PROTECT} --classes no,yes --keep age,city")
    assert (code, out) == (
        0,
        "1,200 labels by randomized_response in visits.release.parquet: epsilon 1 for one label.\n"
        "Assumed: features and the class list are public.\n",
    )
    assert "error" not in err
    release = read_release(tmp_path / "visits.release.parquet")
    assert release.value.column_names == ["age", "city", "label"]
    assert release.value["age"].to_pylist() == visits()["age"].to_pylist()
    assert not release.seeded
    assert release.guarantee.assumptions == ("features and the class list are public",)


def test_protect_keeps_nothing_that_was_not_asked_for(run, tmp_path):
    run(PROTECT)
    assert read_release(tmp_path / "visits.release.parquet").value.column_names == ["label"]
    run(f"{PROTECT} --keep all --force")
    assert read_release(tmp_path / "visits.release.parquet").value.column_names == ["age", "city", "days", "label"]


def test_what_a_promise_rests_on_is_printed_with_it(run):
    assert "which classes occur in the labels is public." in run(PROTECT)[1]
    assert "Assumed: features and the class list are public; " in run(LEARN)[1]


def test_a_release_without_features_teaches_beside_its_table(run):
    run(PROTECT)
    code, _, err = run("labels learn visits.release.parquet")
    said = "IN must hold features beside the labels, got none in visits.release.parquet: give it by --release"
    assert (code, err.strip()) == (2, said)


@pytest.mark.parametrize(
    ("options", "name", "kind"),
    [
        ("--mechanism rr", "randomized_response", pa.string()),
        ("--mechanism prior", "prior_randomized_response", pa.string()),
        ("--mechanism prior --classes no,yes --prior 0.6,0.4", "prior_randomized_response", pa.string()),
        ("--mechanism laplace", "laplace_one_hot", pa.list_(pa.float64())),
    ],
)
def test_protect_by_every_mechanism(result, options, name, kind):
    document = result(f"{PROTECT} {options}")
    assert document["mechanism"]["name"] == name
    assert document["guarantee"]["epsilon"] == 1.0
    assert read_release(document["path"]).value["label"].type == kind


@pytest.mark.parametrize("options", ["", "--classes 0:7:1", "--classes 0,3,7 --prior 0.5,0.25,0.25"])
def test_protect_numbers_on_bins(result, options):
    document = result(f"labels protect visits.csv --label days --epsilon 2 --mechanism bins {options}")
    assert document["mechanism"]["name"] == "randomized_response_on_bins"
    released = set(read_release(document["path"]).value["label"].to_pylist())
    assert released <= set(document["mechanism"]["outputs"])


def test_protect_numbers_as_classes_keep_their_type(result):
    document = result("labels protect visits.csv --label days --epsilon 2 --classes 0,1,2,3,4,5,6,7")
    assert document["mechanism"]["classes"] == list(range(8))
    assert read_release(document["path"]).value["label"].type == pa.int64()


def test_protect_states_the_promise_for_the_person(run, result):
    code, out, _ = run(f"{PROTECT} --rows-per-person 3")
    assert (code, out.splitlines()[0].partition(": ")[2]) == (
        0,
        "epsilon 1 for one label, epsilon 3 for 3 labels of one person.",
    )
    document = result(f"{PROTECT} --rows-per-person 3 --force")
    assert (document["per_label"]["epsilon"], document["guarantee"]["epsilon"], document["guarantee"]["rows"]) == (
        1,
        3,
        3,
    )


def test_a_seed_repeats_a_run_and_is_said(run, tmp_path):
    files = []
    for _ in range(2):
        _, _, err = run(f"{PROTECT} --seed 7 --force")
        assert "warning: seeded" in err
        files.append((tmp_path / "visits.release.parquet").read_bytes())
    assert files[0] == files[1]
    assert read_release(tmp_path / "visits.release.parquet").seeded
    assert "seeded" not in run(f"{PROTECT} --force")[2]


def test_missing_labels_are_public_or_refused(run, tmp_path):
    (tmp_path / "gaps.csv").write_text("x,ill\n1,no\n2,\n3,yes\n4,NA\n")
    command = "labels protect gaps.csv --label ill --epsilon 1"
    code, _, err = run(command)
    assert (code, err.count("\n")) == (2, 1)
    assert "2 without a label" in err
    assert run(f"{command} --missing public")[0] == 0
    assert read_release(tmp_path / "gaps.release.parquet").value["label"].null_count == 2


def test_the_ledger_is_charged_once_and_again_when_asked(run, result, ledger):
    first = result(f"{PROTECT} --ledger ledger.db --out one.parquet")
    second = result(f"{PROTECT} --ledger ledger.db --dataset visits --out two.parquet --keep age")
    assert (first["charge"], second["charge"], second["repeated"]) == ("visits/1", None, True)
    labels = [read_release(name).value["label"].to_pylist() for name in ("one.parquet", "two.parquet")]
    assert labels[0] == labels[1]
    code, out, _ = run(f"{PROTECT} --ledger ledger.db --out three.parquet")
    assert "earlier release: nothing was charged" in out
    assert spent(ledger) == 1.0
    code, out, _ = run(f"{PROTECT} --ledger ledger.db --out four.parquet --again")
    assert (code, spent(ledger)) == (0, 2.0)
    assert "visits/2" in out


def test_learn_from_private_labels(run, result, ledger):
    document = result(f"{LEARN} --test checked.csv --compare --ledger ledger.db --seed 0")
    assert 0.8 < document["accuracy"] < 1
    assert document["accuracy"] <= document["clean_accuracy"] + 0.03
    assert document["guarantee"]["epsilon"] == 2.0
    assert 0.5 < document["consensus_fraction"] < 1
    assert (document["rows"], document["judged_rows"]) == (1200, 400)
    assert (spent(ledger), document["charge"]) == (2.0, "visits/1")
    code, out, _ = run(f"{LEARN[:-1]}1 --seed 0 --ledger ledger.db --out model.joblib")
    assert (code, "entry visits/2: spent epsilon 3, left 0." in out) == (0, True)
    assert joblib.load("model.joblib")["model"].receipt_ is None, "what is left of a budget stays here"
    code, out, _ = run(f"{LEARN} --seed 0")
    assert (code, "entry" in out) == (0, False)
    assert "960 rows, epsilon 2 for one label." in out
    assert "estimated from 240 released labels" in out


@pytest.mark.parametrize(
    "options",
    [
        "--retrain none",
        "--retrain full --rounds 2",
        "--retrain consensus --stages 2",
        "--retrain confidence --denoise none",
        "--denoise backward",
        "--estimator trees",
    ],
)
def test_learn_by_every_way(result, options):
    with threadpool_limits(1, user_api="openmp"):  # threads on a few rows wait for each other
        document = result(f"{LEARN} {options} --test checked.csv --seed 1")
    assert document["accuracy"] > 0.7


def test_learn_states_the_promise_for_the_person(run):
    code, out, _ = run(f"{LEARN} --rows-per-person 3 --seed 0")
    assert code == 0
    assert "960 rows, epsilon 6 for 3 labels of one person." in out


@pytest.mark.parametrize("mechanism", ["prior", "laplace"])
def test_learn_from_a_release_by_another_mechanism(run, result, mechanism):
    run(f"{PROTECT} --keep age,city --mechanism {mechanism} --epsilon 3")
    code, _, err = run("labels learn visits.release.parquet")
    assert (code, err.count("\n")) == (2, 1)
    assert "--hold-out must be 0 for a release by" in err
    document = result("labels learn visits.release.parquet --test checked.csv --label ill")
    assert document["accuracy"] > 0.7


def test_learn_from_a_release(run, result, ledger, tmp_path):
    run(f"{PROTECT} --keep age,city --ledger ledger.db --out with.parquet")
    run(f"{PROTECT} --ledger ledger.db --out without.parquet")
    features = visits().drop(["ill"])
    pa.csv.write_csv(features, "features.csv")
    for command in ("labels learn with.parquet", "labels learn features.csv --release without.parquet"):
        document = result(f"{command} --test checked.csv --label ill --features age,city")
        assert document["accuracy"] > 0.75
        assert document["guarantee"]["epsilon"] == 1.0
    assert spent(ledger) == 1.0


def test_long_work_shows_a_bar_on_a_terminal_and_keeps_the_result_clean(run, monkeypatch):
    assert run(f"{LEARN} --json")[2] == "", "control: no bar in a log"
    monkeypatch.setenv("FORCE_COLOR", "1")  # what a terminal is to rich
    code, out, err = run(f"{LEARN} --json")
    assert (code, json.loads(out)["judged_rows"]) == (0, 240)
    assert "fits" in err
    assert "labels" in run(f"{PROTECT} --json")[2]


def test_learn_writes_a_model_that_predicts_and_keeps_no_secret(result, ledger, tmp_path):
    document = result(f"{LEARN} --ledger ledger.db --out model.joblib")
    assert document["model"] == "model.joblib"
    stored = joblib.load(tmp_path / "model.joblib")
    predicted = stored["model"].predict(stored["encoder"].encode(visits(400, seed=1)))
    assert np.mean(predicted == np.array(visits(400, seed=1)["ill"])) > 0.75
    assert ledger._secret not in (tmp_path / "model.joblib").read_bytes()
    with pytest.raises(LedgerError, match="stored without its ledger"):
        stored["model"].fit(np.zeros((2, 3)), ["no", "yes"])


def test_attack_measures_what_the_release_tells(run, result):
    run(f"{PROTECT} --keep age,city --seed 0")
    blind = result("labels attack visits.release.parquet")
    assert blind["alone"]["leak"] is None
    assert blind["alone"]["expected_rate"] < blind["with_features"]["expected_rate"]
    seen = result("labels attack visits.release.parquet --truth visits.csv --label ill --seed 0")
    assert seen["alone"]["leak"]["rate"] == pytest.approx(0.731, abs=0.06)
    assert seen["with_features"]["leak"]["rate"] > seen["alone"]["leak"]["rate"]
    assert seen["acted"]["acted"]
    code, out, _ = run("labels attack visits.release.parquet --truth visits.csv --label ill")
    assert code == 0
    assert "consistent with randomized response" in out


def test_attack_counts_its_guesses_where_labels_were_released(run, result):
    rows = visits()
    some = pa.array([None if i % 2 else label for i, label in enumerate(rows["ill"].to_pylist())])
    pa.csv.write_csv(rows.set_column(rows.column_names.index("ill"), "ill", some), "some.csv")
    assert run("labels protect some.csv --label ill --epsilon 5 --missing public --out some.parquet")[0] == 0
    assert result("labels attack some.parquet")["alone"]["expected_rate"] == pytest.approx(
        1 / (1 + np.exp(-5)), abs=1e-4
    )


def test_attack_reads_features_from_another_file(run, result):
    run(PROTECT)
    assert "with_features" not in result("labels attack visits.release.parquet")
    pa.csv.write_csv(visits().select(["age", "city"]), "features.csv")
    assert "with_features" in result("labels attack visits.release.parquet --features features.csv")


def test_attack_wants_the_truth_of_the_released_rows(run):
    run(f"{PROTECT} --keep age")
    code, _, err = run("labels attack visits.release.parquet --truth checked.csv --label ill")
    assert (code, err) == (2, "--truth must have one label for each of 1200 rows, got 400\n")


def test_attack_leaves_the_private_column_out_of_the_features(run, result):
    run("labels protect visits.csv --label ill --epsilon 1 --seed 0")
    found = result("labels attack visits.release.parquet --features visits.csv --truth visits.csv --label ill --seed 0")
    assert found["with_features"]["leak"]["baseline"] < 0.99  # with the column itself it would be 1


def test_attack_fails_on_labels_that_were_not_randomized_as_claimed(run, tmp_path):
    run(f"{PROTECT} --epsilon 8")
    path = tmp_path / "visits.release.parquet"
    release = read_release(path)
    type(release)(
        value=release.value,
        guarantee=Guarantee(unit=Unit.LABEL, epsilon=1.0),
        surface="labels",
        mechanism={**release.mechanism, "epsilon": 1.0},
        seeded=False,
    ).write(path, force=True)
    code, out, _ = run(f"labels attack {path.name} --truth visits.csv --label ill")
    assert code == 1
    assert "too little noise" in out


@pytest.mark.parametrize("mechanism", ["rr", "prior", "laplace", "bins"])
def test_attack_reads_every_mechanism(run, result, mechanism):
    label = "days" if mechanism == "bins" else "ill"
    run(f"labels protect visits.csv --label {label} --epsilon 1 --mechanism {mechanism}")
    found = result(f"labels attack visits.release.parquet --truth visits.csv --label {label}")
    assert 0 < found["alone"]["leak"]["rate"] < 0.9
    assert len(guess_labels(read_release("visits.release.parquet")).guesses) == 1200


BAD = [
    ("labels protect visits.csv --label ill --epsilon 0", "epsilon must be a finite number > 0, got 0.0"),
    ("labels protect visits.csv --label ill --epsilon -1", "epsilon must be a finite number > 0, got -1.0"),
    ("labels protect visits.csv --label ill --epsilon nan", "epsilon must be a finite number > 0, got nan"),
    ("labels protect visits.csv --label ill --epsilon inf", "epsilon must be a finite number > 0, got inf"),
    ("labels protect visits.csv --label ill --epsilon 5000", "epsilon must be at most 4096"),
    (f"{PROTECT} --mechanism prior --epsilon 5000", "epsilon must be at most 4096"),
    (f"{PROTECT} --classes no", "classes must be at least two, got ['no']"),
    (f"{PROTECT} --classes no,maybe", "labels must be among the declared classes ['no', 'maybe'], got 'yes'"),
    (f"{PROTECT} --classes no,no", "classes must be different"),
    ("labels protect visits.csv --label days --epsilon 1 --classes a,b", "classes must be of the label column's type"),
    ("labels protect one.csv --label ill --epsilon 1", "label column 'ill' has one value, 'no', in all rows"),
    (
        f"{PROTECT} --mechanism prior --classes no,yes --prior 0.5,0.6",
        "prior must be >= 0 and sum to 1, got a sum of 1.1",
    ),
    (f"{PROTECT} --mechanism prior --classes no,yes --prior 0.5,x", "--prior must be numbers with commas between"),
    (f"{PROTECT} --mechanism prior --prior 0.5,0.5", "--prior must stand with --classes"),
    (f"{PROTECT} --mechanism prior --prior-share 2", "--prior-share must be in (0, 1), got 2.0"),
    (f"{PROTECT} --mechanism bins", "labels must be numbers for this mechanism"),
    ("labels protect visits.csv --label days --epsilon 1 --mechanism bins --classes 0:3:1", "declare wider ones"),
    (
        "labels protect visits.csv --label days --epsilon 1 --mechanism bins --classes 0:7:2",
        "got 3.5 steps for '0:7:2'",
    ),
    (
        "labels protect visits.csv --label days --epsilon 1 --mechanism bins --classes 0:1e12:1",
        "1 to 2,000 whole steps",
    ),
    (f"{PROTECT} --classes no,yes --prior 0.5,0.5", "--prior must stand with --mechanism prior or bins, got rr"),
    (f"{PROTECT} --keep ill", "keep must not name the private column 'ill'"),
    (f"{PROTECT} --keep height", "keep names no column 'height'"),
    (f"{PROTECT} --rows-per-person 0", "--rows-per-person must be a whole number >= 1"),
    (f"{PROTECT} --out taken.parquet", "taken.parquet exists already"),
    (f"{PROTECT} --out nowhere/out.parquet", "cannot be written"),
    (f"{PROTECT} --out labels.csv", "labels.csv ends as CSV does, and Parquet is written; call it labels.parquet"),
    (f"{LEARN} --out model.json", "model.json ends as JSON does, and joblib is written; choose another name"),
    (f"{PROTECT} --out ./visits.csv --force", "visits.csv is the table that is read, which would be lost"),
    (f"{LEARN} --out ./visits.csv --force", "visits.csv is the table that is read, which would be lost"),
    ("labels protect visits.csv --label sick --epsilon 1", "--label names no column 'sick'"),
    ("labels protect absent.csv --label ill --epsilon 1", "absent.csv does not exist"),
    (f"{PROTECT} --ledger ledger.db --epsilon 4", "would bring it to 4, so nothing was charged"),
    (f"{PROTECT} --ledger ledger.db --dataset others", "dataset must be 'visits'"),
    (
        f"{PROTECT} --ledger ledger.db --rows-per-person 2",
        "is kept for persons of 1 rows, but the guarantee is for 2; restate the guarantee for one row with "
        "--rows-per-person 1",
    ),
    (f"{PROTECT} --engine spark --seed 1", "--seed must not stand with --engine spark"),
    (f"{PROTECT} --ledger absent.db", "there is no ledger at absent.db"),
    ("labels protect visits.csv --label days --epsilon 1 --ledger ledger.db", "does not know these 1200 rows"),
    (f"{PROTECT} --dataset visits", "--dataset and --memo must stand with --ledger"),
    (f"{LEARN} --epsilon -2", "epsilon must be a finite number > 0, got -2.0"),
    (f"{LEARN} --epsilon 5000", "epsilon must be at most 4096"),
    (f"{LEARN} --epsilon nan", "epsilon must be a finite number > 0, got nan"),
    (f"{LEARN} --classes no,maybe", "labels must be among the declared classes"),
    (f"{LEARN} --stages 0", "stages must be a whole number >= 1"),
    (
        f"{LEARN} --denoise backward --stages 2",
        "--denoise backward needs a channel with an inverse, so --stages 1, got 2; use --denoise forward",
    ),
    (f"{LEARN} --rows-per-person 0", "--rows-per-person must be a whole number >= 1"),
    (f"{LEARN} --rows-per-person 2", "is kept for persons of 1 rows"),
    (f"{LEARN} --rounds -1", "rounds must be a whole number >= 0"),
    (f"{LEARN} --test other.csv", "test must have the feature column 'age', its columns are x, ill"),
    (f"{LEARN} --test features.csv", "test's label names no column 'ill'"),
    (f"{LEARN} --hold-out 1", "--hold-out must be in [0, 1)"),
    (f"{LEARN} --compare", "compare needs the true labels"),
    (f"{LEARN} --features age,age", "--features must name each column once, got age, age"),
    (f"{LEARN} --features ill", "features must not name the private column"),
    (f"{LEARN} --out taken.parquet", "taken.parquet exists already"),
    (f"{LEARN} --ledger ledger.db --epsilon 4", "so nothing was charged"),
    ("labels learn one.csv --label ill --epsilon 1", "has one value, 'no', in all rows"),
    ("labels learn visits.csv --label ill", "--label and --epsilon must stand together"),
    (
        "labels learn visits.csv",
        "visits.csv is neither Parquet nor JSON; where labels are private, name them by --label and --epsilon",
    ),
    ("labels learn visits.csv --label age --epsilon 1 --features city", "labels must be classes, got numbers with"),
    (f"{LEARN} --test words.csv", "test must have labels among the classes ['no', 'yes'], got none, but 0"),
    (f"{LEARN} --classes no,yes --test words.csv", "test must have labels among the classes ['no', 'yes']"),
    (f"{LEARN} --release taken.parquet", "--epsilon must not stand with --release"),
    ("labels attack absent.parquet", "absent.parquet does not exist"),
    ("labels attack taken.parquet", "taken.parquet is neither Parquet nor JSON"),
    ("labels attack taken.parquet --truth visits.csv", "--truth and --label must stand together"),
]


@pytest.mark.parametrize(("command", "message"), BAD, ids=[command for command, _ in BAD])
def test_bad_input_is_one_sentence_and_leaves_nothing(run, ledger, tmp_path, command, message):
    (tmp_path / "one.csv").write_text("x,ill\n1,no\n2,no\n")
    (tmp_path / "other.csv").write_text("x,ill\n1,no\n2,yes\n")
    (tmp_path / "words.csv").write_text("age,city,days,ill\n50,Oslo,1,0\n60,Rome,2,1\n")
    (tmp_path / "taken.parquet").write_text("mine")
    pa.csv.write_csv(visits(10).drop(["ill"]), "features.csv")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    pays = "--dataset" in message or "--ledger" in command or "attack" in command
    code, out, err = run(command if pays else f"{command} --ledger ledger.db --dataset visits")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    after = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert after.keys() == before.keys()
    assert all(after[path] == before[path] for path in before if path.name != "ledger.db")
    assert ledger.statement("visits").entries == ()
    assert not any(os.scandir(tmp_path / "ledger.db.releases")) if (tmp_path / "ledger.db.releases").exists() else True
