"""``tacit labels``: what it prints and writes, and that a mistake costs and leaves nothing."""

import json
from dataclasses import replace

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from threadpoolctl import threadpool_limits

from tacit.cli.app import main
from tacit.labels import Plan, Release
from tacit.privacy import Guarantee, Unit
from tacit.privacy.ledger import Ledger

PROTECT = "labels protect visits.csv --label ill --epsilon 1"
RELEASE = "visits.labels.parquet"
MECHANISMS = {
    "rr": "ill",
    "prior": "ill",
    "laplace": "ill",
    "staged": "ill",
    "bins": "days",
    "unbiased": "days",
}


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


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_from_protect_to_learn_to_attack(run, result, mechanism):
    label = MECHANISMS[mechanism]
    protect = f"labels protect visits.csv --label {label} --epsilon 3 --mechanism {mechanism} --features age,city"
    document = result(f"{protect} --seed 0")
    assert document["plan"]["mechanism"]["name"] == mechanism
    assert document["guarantee"]["epsilon"] == 3.0
    code, out, _ = run(f"{protect} --force --seed 0")
    assert (code, out.splitlines()[0]) == (0, f"labels by {mechanism}: epsilon 3 for one label.")
    learned = result(f"labels learn {RELEASE} --test checked.csv --seed 0")
    assert learned["performance"]["rows"] == 400
    if label == "ill":
        assert learned["performance"]["accuracy"]["value"] > 0.75
    else:
        assert learned["performance"]["root_mean_squared_error"]["value"] < 3
    code, out, _ = run(f"labels learn {RELEASE} --seed 0")
    assert code == 0
    assert "epsilon 3 for one label." in out
    leak = result(f"labels attack {RELEASE} --truth visits.csv --seed 0")
    assert leak["rate"] > leak["baseline"] - 0.05
    code, out, _ = run(f"labels attack {RELEASE}")
    assert code == 0
    assert "of its guesses to be correct" in out
    assert "Nothing was counted" in out


def test_protect_prints_what_was_made_and_what_it_assumes(run):
    code, out, err = run(f"{PROTECT} --classes no,yes --features age,city")
    assert (code, out) == (
        0,
        "labels by rr: epsilon 1 for one label.\n1,200 rows.\n"
        "Assumed: features and the class list are public; it is public that every row has a label of the class list.\n"
        f"The release: {RELEASE}\n",
    )
    assert "error" not in err
    release = Release.read(RELEASE)
    assert release.table.column_names == ["age", "city", "label"]
    assert release.table["age"].to_pylist() == visits()["age"].to_pylist()


def test_protect_keeps_nothing_that_was_not_asked_for(run):
    run(PROTECT)
    assert Release.read(RELEASE).table.column_names == ["label"]
    run(f"{PROTECT} --features all --force")
    assert Release.read(RELEASE).table.column_names == ["age", "city", "days", "label"]


def test_options_give_the_plan(result):
    options = "--mechanism prior:share=0.2 --missing public --rows-per-person 2 --shuffle --features age"
    document = result(f"{PROTECT} {options}")
    plan = Plan(
        label="ill",
        epsilon=1,
        mechanism="prior:share=0.2",
        missing="public",
        rows_per_person=2,
        shuffle=True,
        features=("age",),
    )
    assert Plan.from_json(document["plan"]) == plan
    assert (document["guarantee"]["epsilon"], document["guarantee"]["rows"]) == (2.0, 2)


def test_a_seed_repeats_a_run_and_is_said(run, tmp_path):
    files = []
    for _ in range(2):
        _, _, err = run(f"{PROTECT} --seed 7 --force")
        assert "warning: seeded" in err
        files.append((tmp_path / RELEASE).read_bytes())
    assert files[0] == files[1]
    assert "seeded" not in run(f"{PROTECT} --force")[2]


def test_the_ledger_is_charged_once_and_again_when_asked(run, result, ledger):
    first = result(f"{PROTECT} --ledger ledger.db --out one.parquet")
    second = result(f"{PROTECT} --ledger ledger.db --dataset visits --out two.parquet")
    assert (first["charge"], second["charge"], second["repeated"]) == ("visits/1", None, True)
    assert Release.read("one.parquet").labels.equals(Release.read("two.parquet").labels)
    code, out, _ = run(f"{PROTECT} --ledger ledger.db --out three.parquet")
    assert "earlier release: nothing was charged" in out
    assert spent(ledger) == 1.0
    code, out, _ = run(f"{PROTECT} --ledger ledger.db --out four.parquet --again")
    assert (code, spent(ledger)) == (0, 2.0)
    assert "visits/2" in out


@pytest.mark.parametrize(
    "method",
    [
        "denoised:retrain=none",
        "denoised:retrain=full,rounds=2",
        "denoised:retrain=confidence,denoise=none",
        "denoised:denoise=backward",
        "denoised:denoise=neighbors",
        "denoised:estimator=trees",
        "likelihood:estimator=trees",
        "likelihood",
    ],
)
def test_learn_by_every_way(run, result, method):
    run(f"{PROTECT} --features age,city --seed 1 --epsilon 2")
    with threadpool_limits(1, user_api="openmp"):  # threads on a few rows wait for each other
        document = result(f"labels learn {RELEASE} --method {method} --test checked.csv --seed 1")
    assert document["performance"]["accuracy"]["value"] > 0.7


def test_learn_is_judged_by_held_out_released_labels(run):
    run(f"{PROTECT} --features age,city --epsilon 3 --seed 0")
    code, out, _ = run(f"labels learn {RELEASE} --seed 0")
    assert code == 0
    assert out.startswith("Trained on 960 rows; predictions agree with ")
    assert "Judged by 240 released labels, noise taken out" in out


def test_learn_reads_features_from_another_file(run, result):
    run(PROTECT)
    code, _, err = run(f"labels learn {RELEASE}")
    assert (code, err) == (2, "--data must be given: the release has no features beside its labels\n")
    document = result(f"labels learn {RELEASE} --data visits.csv --features age,city --test checked.csv --seed 0")
    assert document["performance"]["accuracy"]["value"] > 0.75


def test_learn_writes_a_model_that_predicts(run, result):
    run(f"{PROTECT} --features age,city --epsilon 3")
    document = result(f"labels learn {RELEASE} --out model.joblib")
    assert document["model"] == "model.joblib"
    model = joblib.load("model.joblib")
    assert np.mean(model.predict(visits(400, seed=1)) == np.array(visits(400, seed=1)["ill"])) > 0.75


def test_long_work_shows_a_bar_on_a_terminal_and_keeps_the_result_clean(run, monkeypatch):
    run(f"{PROTECT} --features age")
    assert run(f"labels learn {RELEASE} --json")[2] == "", "control: no bar in a log"
    monkeypatch.setenv("FORCE_COLOR", "1")  # what a terminal is to rich
    code, out, err = run(f"labels learn {RELEASE} --json")
    assert (code, json.loads(out)["performance"]["rows"]) == (0, 240)
    assert "steps" in err
    assert "labels" in run(f"{PROTECT} --force --json")[2]


def test_attack_measures_what_the_release_tells(run, result):
    run(f"{PROTECT} --features age,city --seed 0")
    blind = result(f"labels attack {RELEASE} --seed 0")
    assert blind["facts"]["alone"]["expected_rate"] < blind["facts"]["with_features"]["expected_rate"]
    seen = result(f"labels attack {RELEASE} --truth visits.csv --seed 0 --out guesses.parquet")
    assert seen["rate"] > 0.731
    assert seen["facts"]["randomized_as_claimed"]
    code, out, _ = run(f"labels attack {RELEASE} --truth visits.csv")
    assert code == 0
    assert "consistent with randomized response" in out
    assert pa.parquet.read_table("guesses.parquet").column_names == ["guess", "confidence"]


def test_attack_leaves_the_private_column_out_of_the_features(run, result):
    run(f"{PROTECT} --seed 0")
    found = result(f"labels attack {RELEASE} --data visits.csv --truth visits.csv --seed 0")
    assert found["baseline"] < 0.99  # with the column itself it would be 1
    assert "with_features" in found["facts"]


def test_attack_fails_on_labels_that_were_not_randomized_as_claimed(run):
    run(f"{PROTECT} --epsilon 8")
    release = Release.read(RELEASE).in_memory()
    claim = Plan(label="ill", epsilon=1)
    header = replace(release.header, plan=claim.to_json(), guarantee=claim.guarantee())
    replace(release, header=header).write(RELEASE, force=True)
    code, out, _ = run(f"labels attack {RELEASE} --truth visits.csv")
    assert code == 1
    assert "too little noise" in out


BAD = [
    (f"{PROTECT} --epsilon 0", "--epsilon must be a finite number > 0, or none, got '0'"),
    (f"{PROTECT} --epsilon nan", "--epsilon must be a finite number > 0"),
    (f"{PROTECT} --epsilon none", "--epsilon must be a number: labels are not released without a guarantee"),
    (f"{PROTECT} --epsilon 5000", "epsilon must be at most 4096"),
    (f"{PROTECT} --classes no", "--classes must be a list of at least two different classes"),
    (f"{PROTECT} --classes no,maybe", "labels must be among the declared classes ['no', 'maybe'], got 'yes'"),
    (
        "labels protect visits.csv --label days --epsilon 1 --classes a,b",
        "--classes must be of the label column's type",
    ),
    ("labels protect one.csv --label ill --epsilon 1", "--label names a column with one value, 'no', in all rows"),
    (f"{PROTECT} --mechanism prior --classes no,yes --prior 0.5,0.6", "sum to 1, got a sum of 1.1"),
    (f"{PROTECT} --mechanism prior --prior 0.5,0.5", "--prior requires classes"),
    (f"{PROTECT} --mechanism prior:share=2", "--mechanism prior: share must be in (0, 1), got '2'"),
    (f"{PROTECT} --mechanism guess", "--mechanism must be one of rr, prior, bins, laplace, unbiased, staged"),
    (f"{PROTECT} --mechanism bins", "--label must have numbers for bins, got string"),
    ("labels protect visits.csv --label days --epsilon 1 --mechanism bins --values 0:7:2", "--values must be"),
    (f"{PROTECT} --features ill", "--features must not name the private column 'ill'"),
    (f"{PROTECT} --features height", "features names no column 'height'"),
    (f"{PROTECT} --rows-per-person 0", "--rows-per-person must be an integer >= 1"),
    (f"{PROTECT} --out taken.parquet", "taken.parquet exists already"),
    (f"{PROTECT} --out nowhere/out.parquet", "cannot be written"),
    (f"{PROTECT} --out labels.csv", "labels.csv has the ending of CSV, but Parquet is written; call it labels.parquet"),
    ("labels protect visits.csv --label sick --epsilon 1", "label names no column 'sick'"),
    ("labels protect absent.csv --label ill --epsilon 1", "absent.csv does not exist"),
    (f"{PROTECT} --ledger ledger.db --epsilon 4", "would bring it to 4, so nothing was charged"),
    (f"{PROTECT} --ledger ledger.db --dataset others", "dataset must be 'visits'"),
    (f"{PROTECT} --ledger ledger.db --seed 1", "--seed must not be given with --ledger"),
    (f"{PROTECT} --ledger absent.db", "--ledger absent.db does not exist; create a ledger with: tacit ledger create"),
    ("labels learn visits.csv", "visits.csv is not a release"),
    ("labels learn made.parquet --hold-out 1", "--hold-out must be in [0, 1)"),
    ("labels learn made.parquet --features ill", "--features must not name 'ill', which is no feature"),
    ("labels learn made.parquet --test other.csv", "test must have the feature column 'age'"),
    ("labels learn made.parquet --test words.csv", "test must have labels among the classes ['no', 'yes']"),
    ("labels learn made.parquet --data checked.csv", "--data must have the 1200 rows of the release, got 400"),
    ("labels learn made.parquet --method regressor", "--method must be likelihood, denoised, twins, images or text"),
    ("labels learn made.parquet --out model.json", "model.json has the ending of JSON, but joblib is written"),
    ("labels attack absent.parquet", "absent.parquet does not exist"),
    ("labels attack taken.parquet", "taken.parquet is a damaged Parquet file"),
    ("labels attack made.parquet --truth checked.csv", "--truth must have the 1200 rows of the release, got 400"),
]


@pytest.mark.parametrize(("command", "message"), BAD, ids=[command for command, _ in BAD])
def test_bad_input_is_one_sentence_and_leaves_nothing(run, ledger, tmp_path, command, message):
    (tmp_path / "one.csv").write_text("x,ill\n1,no\n2,no\n")
    (tmp_path / "other.csv").write_text("x,ill\n1,no\n2,yes\n")
    (tmp_path / "words.csv").write_text("age,city,ill\n50,Oslo,0\n60,Rome,1\n")
    (tmp_path / "taken.parquet").write_text("mine")
    if "made.parquet" in command:
        assert run(f"{PROTECT} --features age,city --out made.parquet")[0] == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    code, out, err = run(command)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    after = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert after.keys() == before.keys()
    assert all(after[path] == before[path] for path in before if path.name != "ledger.db")
    assert ledger.statement("visits").entries == ()
