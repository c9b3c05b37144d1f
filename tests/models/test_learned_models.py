"""Models that the learn commands of other surfaces wrote, and models of others, are judged and attacked as models."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from tacit.cli import main
from tacit.models import Plan, Release, attack, learn, protect
from tests.hospital import hospital  # noqa: F401

LEARNED = {
    "labels": ("--label severity --epsilon 4", "--data visits.csv"),
    "bags": ("--label severity --totals classes --epsilon none --by ward --by smoker", "--data visits.csv"),
    "random bags": ("--label ill --epsilon none --mechanism random:size=5,bags=100", "--data visits.csv"),
    "features": (
        "--label severity --epsilon 8 --delta 1e-5 --mechanism totals --features age,weight --ranges *=0,200",
        "",
    ),
    "models": ("--label severity --epsilon none --mechanism plain --features age,ward", ""),
}


@pytest.fixture
def run(capsys):
    def run(command, *, code=0):
        with pytest.raises(SystemExit) as end:
            main([*command.split(), "--json"])
        said = capsys.readouterr()
        assert end.value.code == code, f"{command}\n{said.err}"
        return json.loads(said.out or said.err)

    return run


@pytest.mark.parametrize("name", LEARNED)
def test_a_learned_model_is_judged_and_attacked(hospital, run, name):  # noqa: F811
    surface, (plan, data) = name.split()[-1], LEARNED[name]
    label = plan.split()[1]
    made = run(f"{surface} protect visits.csv {plan} --seed 0")
    stated = run(f"{surface} learn {made['path']} {data} --out model.joblib --seed 0")["guarantee"]
    assert "--trust" in run("models learn model.joblib --test later.csv", code=2)["error"]
    judged = run(f"models learn model.joblib --trust --test later.csv --label {label}")
    assert judged["guarantee"] == stated
    assert judged["performance"]["accuracy"]["value"] > (0.45 if label == "severity" else 0.95)
    leak = run(f"models attack model.joblib --trust --truth visits.csv --data later.csv --label {label} --seed 0")
    assert (leak["facts"]["members"], leak["facts"]["nonmembers"]) == (700, 300)


def test_a_model_of_numbers_is_refused(hospital, run):  # noqa: F811
    made = run("labels protect visits.csv --label cost --epsilon 4 --mechanism bins --values 0:20000:1000 --seed 0")
    run(f"labels learn {made['path']} --data visits.csv --out model.joblib --seed 0")
    said = run("models attack model.joblib --trust --truth visits.csv --data later.csv --label cost", code=2)
    assert "a model of numbers has no probabilities to evaluate or attack" in said["error"]


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 5]])
def test_the_classes_of_a_pickle_from_elsewhere_are_its_labels(tmp_path, labels):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    table = pd.DataFrame({"x": x, "y": np.where(x + rng.normal(size=300) / 9 > 0, labels[1], labels[0])})
    joblib.dump(LogisticRegression().fit(table[["x"]].to_numpy(), table["y"]), tmp_path / "model.joblib")
    release = Release.read(tmp_path / "model.joblib", trust=True, label="y")
    assert release.classes == tuple(labels)
    assert learn(release, test=table).report_.accuracy > 0.9
    assert attack(release, truth=table[:200], data=table[200:]).facts["method"] == "loss"
    joblib.dump(LinearRegression().fit(table[["x"]].to_numpy(), x), tmp_path / "numbers.joblib")
    with pytest.raises(ValueError, match="must be a model with predict_proba and classes_, got LinearRegression"):
        learn(Release.read(tmp_path / "numbers.joblib", trust=True, label="y"), test=table)


@pytest.mark.parametrize(("mechanism", "method"), [("dp_sgd", "loss"), ("margin:width=40,steps=300", "margin")])
def test_the_default_attack_fits_the_training(mechanism, method):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 80))).assign(ill=rng.integers(0, 2, 60))
    private = {"epsilon": 8, "delta": 1e-3, "ranges": {"*": (-3, 3)}} if method == "loss" else {"epsilon": None}
    release = protect(table[:40], Plan(label="ill", mechanism=mechanism, **private), rng=rng)
    assert attack(release, truth=table[:40], data=table[40:], rng=rng).facts["method"] == method
