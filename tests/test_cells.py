"""All fifteen cells from the command line, by every mechanism and for each label, on a table as hospitals have them."""

import json
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.cli import main
from tacit.privacy.settings import choices_of, settings_of
from tests.hospital import hospital  # noqa: F401

PATIENT = "--ranges patient=100000,101000"
DECLARED = (
    "--ranges age=0,100 --ranges weight=30,200 --ranges born=1930-01-01,2010-12-31 "
    "--ranges visit=2023-01-01,2024-12-31 --categories ward=A,B,C --gaps weight,city,note --delta 1e-6"
)
FEATURES = "--features patient,name,born,visit,age,weight,ward,city,smoker,note,country"
PRIVATE = f"--epsilon 8 {FEATURES} {DECLARED}"
BY = "--by ward --by smoker"
LABELS = ("severity", "ill", "days")


def every_label(name: str, options: str) -> dict[str, str]:
    return {f"{name} {label}": f"--label {label} {options}" for label in LABELS}


CELLS = {
    "labels": {
        **every_label("rr", "--epsilon 3"),
        "prior": "--label severity --epsilon 2 --mechanism prior",
        "laplace": "--label severity --epsilon 2 --mechanism laplace",
        "staged": "--label severity --epsilon 2 --mechanism staged --features born,age,weight,ward,smoker,note",
        "per_row": "--label severity --epsilon 95 --mechanism per_row:column=age --features age,ward",
        "reports": "--label smoker --epsilon 9 --classes false,true --mechanism reports",
        "bins": "--label cost --epsilon 2 --mechanism bins --values 0:20000:1000",
        "unbiased": "--label cost --epsilon 2 --mechanism unbiased --values 0:20000:1000",
    },
    "bags": {
        "classes": f"--label severity --totals classes --epsilon 1 {BY}",
        "log": f"--label ill --epsilon 1 {BY}",
        "exact": f"--label ill --epsilon none {BY}",
        "gaussian": f"--label ill --epsilon 1 --delta 1e-5 {BY}",
        "squared": f"--label cost --totals squared --lower 0 --upper 20000 --epsilon 1 {BY}",
        "poisson": f"--label cost --totals poisson --upper 20000 --epsilon 1 {BY}",
        "random": "--label ill --epsilon none --mechanism random:size=5,bags=100",
        "noisy random": "--label ill --epsilon 1 --mechanism random:size=5,bags=100,joins=10",
    },
    "features": {
        **every_label("rows", f"--mechanism rows --select 6 {PRIVATE} {PATIENT}"),
        **every_label("totals", f"--mechanism totals --select 6 {PRIVATE} {PATIENT}"),
        "totals of all": f"--label severity --mechanism totals {PRIVATE} {PATIENT}",
        "rows of an amount": f"--label cost --cuts 500,1500 --mechanism rows --select 6 {PRIVATE} {PATIENT}",
        "totals of an amount": f"--label cost --cuts 500,1500 --mechanism totals --select 6 {PRIVATE} {PATIENT}",
    },
    "scores": {
        "laplace": "--label severity --epsilon 5 --submissions 20",
        "rare": "--label ill --epsilon 5 --submissions 20 --metric auc:class_floor=2",
        "accuracy": "--label severity --epsilon 5 --submissions 20 --metric accuracy --policy thresholdout",
        "ladder": "--label severity --epsilon none --submissions 20 --metric accuracy --policy ladder",
        "brier": "--label severity --epsilon 5 --submissions 20 --metric brier",
        "f1": "--label smoker --epsilon 5 --submissions 20 --metric f1:class_floor=20",
        "bounded": "--label ill --epsilon none --submissions 200 --policy bounded:tau=0.0001",
        "rounded": "--label ill --epsilon none --submissions 200 --policy rounded:decimals=5",
        "rmse": "--label ill --epsilon 5 --submissions 20 --metric rmse:lower=0,upper=1",
        "mae of an amount": "--label cost --epsilon 5 --submissions 20 --metric mae:lower=0,upper=20000",
        "rmse of an amount": "--label cost --epsilon none --policy exact --metric rmse:upper=20000 --submissions 20",
    },
    "models": {
        **every_label("dp_sgd", f"--mechanism dp_sgd:epochs=2 {PRIVATE} {PATIENT}"),
        **every_label("label_private", "--epsilon 4 --mechanism label_private"),
        **every_label("plain", "--epsilon none --mechanism plain --out made.onnx"),
        "dp_sgd of an amount": f"--label cost --cuts 500,1500 --mechanism dp_sgd:epochs=2 {PRIVATE} {PATIENT}",
        "label_private of an amount": "--label cost --cuts 500,1500 --epsilon 4 --mechanism label_private",
        "plain of an amount": "--label cost --cuts 500,1500 --epsilon none --mechanism plain --out made.onnx",
        "forest": "--label severity --epsilon none --mechanism plain:estimator=forest --out made.joblib",
        "margin": "--label smoker --epsilon none --mechanism margin:width=60,steps=600",
        "early_stop": "--label smoker --epsilon none --mechanism early_stop:width=20,steps=50",
    },
}
LEARN = {
    "labels": "--data visits.csv --test later.csv",
    "bags": "--data visits.csv --test later.csv",
    "features": "--test later.csv",
    "models": "--test later.csv --trust",
}  # scores is absent: an offer has no scores to learn from, but answers have
ATTACK = {
    "labels": "--data visits.csv --truth visits.csv",
    "bags": "--data visits.csv --truth visits.csv",
    "features": "--truth visits.csv --data later.csv",
    "scores": "--truth visits.csv",
    "models": "--truth visits.csv --data later.csv --trust",
}
IDS = {"patient", "name", "country"}
FEW = ("margin", "early_stop")  # they separate the rows that they are trained on, and 30 rows show no ids


@pytest.fixture
def run(capsys, small_forests):
    """Run a command that must succeed, and return its JSON."""

    def run(command):
        with pytest.raises(SystemExit) as end:
            main([*command.split(), "--json"])
        said = capsys.readouterr()
        assert end.value.code == 0, f"{command}\n{said.err}"
        return json.loads(said.out)

    return run


@pytest.mark.parametrize(
    ("surface", "cell"), [(surface, cell) for surface in CELLS for cell in CELLS[surface]], ids=str
)
def test_protect_learn_attack(hospital, run, surface, cell):  # noqa: F811
    options = CELLS[surface][cell]
    table = "few.csv" if cell in FEW else "visits.csv"
    made = run(f"{surface} protect {table} {options} --seed 0")
    assert ("epsilon" in made["guarantee"]) == ("--epsilon none" not in options)
    check_protected(surface, cell, made)
    if surface in LEARN:
        check_learned(surface, cell, run(f"{surface} learn {made['path']} {LEARN[surface]} --seed 0"))
    attack = ATTACK[surface].replace("visits.csv", table)
    assert run(f"{surface} attack {made['path']} {attack} --seed 0")["rate"] >= 0


def write_submissions(options):
    """Write predictions as the metric takes them: of every second row right, and of none."""
    label = options.split("--label ")[1].split()[0]
    metric = options.split("--metric ")[-1]  # log_loss, if none is named
    truth = pa.csv.read_csv("visits.csv")[label].to_numpy(zero_copy_only=False)
    classes, codes = np.unique(truth, return_inverse=True)
    for name, right in (("half.csv", np.arange(len(truth)) % 2 == 0), ("none.csv", np.zeros(len(truth), dtype=bool))):
        if metric.startswith(("accuracy", "f1", "mae", "rmse")):
            made = {"prediction": np.where(right, truth, truth.min() if metric.endswith("e") else classes[0])}
        else:
            chances = np.where(right[:, None], 0.1 + 0.7 * np.eye(len(classes))[codes], 1 / len(classes))
            chances /= chances.sum(axis=1, keepdims=True)
            made = {"p": chances[:, 1]} if len(classes) == 2 else dict(zip(classes, chances.T, strict=True))
        pa.csv.write_csv(pa.table(made), name)


NO_BOUND = {  # on the regret of a choice, so that learning refuses
    **dict.fromkeys(("rare", "f1"), "metric must be a mean over rows"),
    **dict.fromkeys(("accuracy", "ladder"), "policy must answer submissions one by one"),
}
OFFERS_ALONE = {  # whose answers say too little to weigh
    **dict.fromkeys(("rare", "f1", "ladder"), "attack an offer of them"),
    **dict.fromkeys(("mae of an amount", "rmse of an amount"), "must be an offer for labels that are numbers"),
}


@pytest.mark.parametrize("cell", CELLS["scores"])
def test_answers_are_protected_learned_from_and_attacked(hospital, run, capsys, cell):  # noqa: F811
    def run_or_refuse(command, refusals):
        if cell not in refusals:
            return run(command)
        with pytest.raises(SystemExit, match="2"):
            main(command.split())
        assert refusals[cell] in capsys.readouterr().err
        return None

    options = CELLS["scores"][cell]
    write_submissions(options)
    given = "--data half.csv --data none.csv"
    made = run(f"scores protect visits.csv {options} {given} --seed 0")
    learned = run_or_refuse(f"scores learn {made['path']} {given} --seed 0", NO_BOUND)
    if learned is not None and "epsilon none" in options:
        assert learned["choice"] == "half.csv"
    attacked = run_or_refuse(f"scores attack {made['path']} {given} --truth visits.csv --seed 0", OFFERS_ALONE)
    assert attacked is None or attacked["rate"] >= 0


METHODS = {  # with a cell to try each on; an offer has no scores to learn from
    ("labels", "learn"): {
        "denoised": "rr ill",
        "likelihood": "rr ill",
        "twins:epochs=1": "rr severity",
        "regressor": "unbiased",
    },
    ("labels", "attack"): {"bayes": "rr severity", "canaries": "rr severity"},
    ("bags", "learn"): {"crosses": "log", "trees": "log", "linear": "random"},
    ("bags", "attack"): {"totals": "exact"},
    ("features", "learn"): {"fisher": "rows severity"},
    ("features", "attack"): {"linkage": "rows severity", "membership": "rows severity", "canaries": "totals severity"},
    ("scores", "attack"): {"best": "laplace", "digits": "rounded", "joint": "rounded", "crowded": "rounded"},
    ("models", "learn"): {"load": "plain severity"},
    ("models", "attack"): {
        "loss": "plain severity",
        "lira:models=4": "plain severity",
        "rmia:models=4": "plain severity",
        "margin": "margin",
        "reconstruct:points=2,steps=20": "margin",
    },
}


@pytest.mark.parametrize(
    ("surface", "side", "method"), [(*where, method) for where, given in METHODS.items() for method in given], ids=str
)
def test_every_method_of_learning_and_attack(hospital, run, surface, side, method):  # noqa: F811
    cell = METHODS[surface, side][method]
    table = "few.csv" if cell in FEW else "visits.csv"
    made = run(f"{surface} protect {table} {CELLS[surface][cell]} --seed 0")
    options = (LEARN if side == "learn" else ATTACK)[surface].replace("visits.csv", table)
    if method == "linkage":
        options = options.replace("--data later.csv", "")  # its candidates are the rows of truth
    assert run(f"{surface} {side} {made['path']} {options} --method {method} --seed 0")


OF_ONE_COLUMN = {"images", "text"}  # which the table here has not: tests/labels/test_learn_cells.py


@pytest.mark.parametrize(("surface", "side"), METHODS)
def test_no_method_is_left_out(surface, side):
    union = getattr(import_module(f"tacit.{surface}.methods"), f"{side.capitalize()}Method")
    names = {one.name for one in choices_of(union)} - OF_ONE_COLUMN
    assert {method.split(":")[0] for method in METHODS[surface, side]} == names


def check_protected(surface, cell, made):
    if "--select 6" in CELLS[surface][cell]:
        assert len(made["settled"]["features"]) == 6
    if surface == "models":
        left_out = {column for column, _ in made["encoder"]["left_out"]}
        assert not left_out if cell.startswith("dp_sgd") else left_out >= (IDS if cell not in FEW else {"country"})


def check_learned(surface, cell, learned):
    assert set(learned) == {"rows", "performance", "details", "guarantee", "model", "notes"}
    if surface == "features":
        assert learned["performance"] is not None
    if (surface, cell) == ("models", "plain severity"):
        found = learned["performance"]
        assert found["accuracy"]["value"] > found["majority"] + 0.1
    if surface == "labels" and cell.startswith("rr"):
        left_out, hashed = learned["notes"][:2]
        assert left_out.startswith("Left out: patient (an id: integers that differ in every row); name (")
        assert hashed.startswith("Text hashed, so that some values share a column: city (64 buckets)")


@pytest.mark.parametrize("surface", CELLS)
def test_no_mechanism_metric_or_policy_is_left_out(surface):
    for one in settings_of(import_module(f"tacit.{surface}").Plan):
        if one.name in ("mechanism", "metric", "policy"):
            given = " ".join(CELLS[surface].values()).split(f"--{one.name} ")[1:]
            named = {words.split()[0].split(":")[0] for words in given}
            assert named | {one.default.name} == {choice.name for choice in choices_of(one.kind)}


@pytest.mark.parametrize("surface", ["features", "models"])
def test_the_column_of_persons_is_no_feature_and_needs_no_range(hospital, run, surface):  # noqa: F811
    options = PRIVATE.replace("patient,", "")
    made = run(f"{surface} protect visits.csv --label ill --person patient {options}")
    assert "how many rows each person has is public" in made["guarantee"]["assumptions"]
