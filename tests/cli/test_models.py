"""``tacit models``: every mechanism from a table to a release, judged and attacked, and the sentences of refusals."""

import json
import os
import pickle
from collections import namedtuple
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from tacit.cli.app import main
from tacit.data import as_ibis, open_table
from tacit.models import Release
from tacit.privacy import Guarantee, Ledger, Unit

torch = pytest.importorskip("torch")
Said = namedtuple("Said", ["stdout", "stderr"])


def run(*words, code=0):
    out, err = StringIO(), StringIO()
    with pytest.raises(SystemExit) as end, redirect_stdout(out), redirect_stderr(err):
        main([str(word) for word in words])
    assert (end.value.code or 0) == code, err.getvalue()
    return Said(out.getvalue(), err.getvalue())


def rows(count, features, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, count)
    X = rng.normal(size=(count, features)) + shift * codes[:, None]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(features)]).assign(ill=np.array(["no", "yes"])[codes])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("models")
    tables = {"visits": (200, 3, 0, 2.0), "later": (200, 3, 1, 2.0), "points": (12, 60, 2), "fresh": (100, 60, 3)}
    for name, made in tables.items():
        rows(*made).to_csv(where / f"{name}.csv", index=False)
    return where


DP = ("--epsilon", "3", "--delta", "1e-5", "--mechanism", "dp_sgd:epochs=2", "--ranges", "*=-5,5")
MECHANISMS = {
    "dp_sgd": ("visits", "later", "model.pt", DP),
    "label_private": ("visits", "later", "model.safetensors", ("--epsilon", "2", "--mechanism", "label_private")),
    "forest": ("visits", "later", "model.joblib", ("--epsilon", "2", "--mechanism", "label_private:estimator=forest")),
    "margin": ("points", "fresh", "model.onnx", ("--epsilon", "none", "--mechanism", "margin:width=30,steps=300")),
    "early_stop": ("points", "fresh", "stop.pth", ("--epsilon", "none", "--mechanism", "early_stop:width=30,steps=60")),
    "plain": ("visits", "later", "plain.pt", ("--epsilon", "none", "--mechanism", "plain:estimator=mlp")),
}


@pytest.mark.parametrize("name", list(MECHANISMS))
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_protect_learn_attack(folder, tmp_path, name, as_json):
    table, others, file, how = MECHANISMS[name]
    out, trust = tmp_path / file, ("--trust",) if name == "forest" else ()
    made = run("models", "protect", folder / f"{table}.csv", "--label", "ill", *how, "--out", out, *as_json)
    learned = run("models", "learn", out, "--test", folder / f"{others}.csv", *trust, *as_json)
    tables = ("--truth", folder / f"{table}.csv", "--data", folder / f"{others}.csv")
    attacked = run("models", "attack", out, *tables, *trust, *as_json)
    if as_json:
        guarantee = json.loads(made.stdout)["guarantee"]
        assert ("none" in guarantee) == (how[1] == "none")
        assert json.loads(made.stdout)["path"] == str(out)
        assert json.loads(learned.stdout)["performance"]["rows"] in (100, 200)
        assert json.loads(learned.stdout)["guarantee"] == guarantee
        assert {"rate", "advantage", "roc", "facts"} <= set(json.loads(attacked.stdout))
    else:
        stated = "no guarantee" if how[1] == "none" else f"epsilon {how[1]}"
        assert all(stated in said.stdout for said in (made, learned, attacked))
        assert f"The release: {out}" in made.stdout
        assert "true labels, outside the guarantee" in learned.stdout
        assert "AUC" in attacked.stdout
    if trust:
        refused = run("models", "attack", out, *tables, code=2)
        assert "--trust" in refused.stderr


def test_by_default_the_release_is_beside_the_table(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    words = ("--label", "ill", "--epsilon", "none", "--mechanism")
    run("models", "protect", folder / "visits.csv", *words, "plain")
    run("models", "protect", folder / "visits.csv", *words, "plain:estimator=trees")
    assert sorted(os.listdir()) == ["visits.models.joblib", "visits.models.safetensors"]
    assert "exists already" in run("models", "protect", folder / "visits.csv", *words, "plain", code=2).stderr


def test_a_seed_repeats_a_model_and_warns(folder, tmp_path):
    for name in ("one.pt", "two.safetensors"):
        words = ("--label", "ill", *DP, "--seed", "0", "--out", tmp_path / name)
        said = run("models", "protect", folder / "visits.csv", *words)
        assert "never publish it" in said.stderr
    weights = [Release.read(tmp_path / name).network.weights for name in ("one.pt", "two.safetensors")]
    np.testing.assert_array_equal(*weights)


@pytest.fixture
def ledger(folder, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    table = as_ibis(open_table(folder / "visits.csv"))
    ledger.register(table, name="visits", budget=Guarantee(unit=Unit.RECORD, epsilon=4.0, delta=1e-4))
    return tmp_path / "ledger.db"


def left(ledger):
    return Ledger.open(str(ledger)).statement("visits").left


def test_the_ledger_pays_delivers_again_and_refuses(folder, ledger, tmp_path):
    words = (folder / "visits.csv", "--label", "ill", "--ledger", ledger)
    said = run("models", "protect", *words, *DP, "--out", tmp_path / "paid.pt")
    assert "entry visits/1" in said.stdout
    assert "floating-point" in said.stdout, "float noise is stated wherever the guarantee is shown"
    spent = left(ledger)
    assert spent < 4
    again = run("models", "protect", *words, *DP, "--out", tmp_path / "again.pt")
    assert "nothing was charged" in again.stdout
    assert left(ledger) == spent
    more = ("--epsilon", "6", "--delta", "1e-5", "--ranges", "*=-5,5", "--out", tmp_path / "refused.pt")
    assert "visits has used" in run("models", "protect", *words, *more, code=2).stderr
    assert not (tmp_path / "refused.pt").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--ranges", "x0=1,0"), "--ranges must be COL=LOW,HIGH"),
        (("--mechanism", "dp_sgd:clip=-1"), "--mechanism dp_sgd: clip must be > 0"),
        (("--mechanism", "margin"), "--epsilon must be none"),
        (("--features", "nothing"), "nothing"),
        (("--mechanism", "dp_sgd:batch_size=9999"), "batch_size must be at most"),
        (("--out", "model.pkl"), "must end in .safetensors"),
        (("--out", "nowhere/model.pt"), "cannot be written"),
    ],
)
def test_bad_input_of_protect_is_one_sentence_and_costs_nothing(folder, ledger, tmp_path, words, sentence):
    given = ("--label", "ill", *DP, "--ledger", ledger, "--out", tmp_path / "bad.pt", *words)
    said = run("models", "protect", folder / "visits.csv", *given, code=2)
    assert sentence in said.stderr
    assert len(said.stderr.splitlines()) == 1
    assert not (tmp_path / "bad.pt").exists()
    assert left(ledger) == 4.0


def test_models_from_elsewhere(folder, tmp_path):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1, bias=False)]
    torch.save(torch.nn.Sequential(*layers).state_dict(), tmp_path / "plain.pt")
    tables = ("--truth", folder / "visits.csv", "--data", folder / "later.csv")
    said = run("models", "attack", tmp_path / "plain.pt", *tables, "--label", "ill")
    assert "the file does not state how the model was trained" in said.stdout
    said = run("models", "learn", tmp_path / "plain.pt", "--label", "ill", "--test", folder / "later.csv")
    assert "true labels, outside the guarantee" in said.stdout


class Runs:
    def __reduce__(self):
        return os.mkdir, (str(self.where),)


def test_files_of_another_kind_or_with_code(folder, tmp_path):
    bad = Runs()
    bad.where = tmp_path / "ran"
    (tmp_path / "code.pt").write_bytes(pickle.dumps(bad))
    tables = ("--truth", folder / "visits.csv", "--data", folder / "later.csv")
    for name, sentence in {
        tmp_path / "code.pt": "contains code or objects besides numbers",
        folder / "visits.csv": "must end in",
        tmp_path / "missing.pt": "does not exist",
    }.items():
        assert sentence in run("models", "attack", name, *tables, code=2).stderr
    assert not bad.where.exists()


def test_guesses_are_written(folder, tmp_path):
    how = ("--label", "ill", "--epsilon", "none", "--mechanism", "plain", "--out", tmp_path / "plain.pt")
    run("models", "protect", folder / "visits.csv", *how)
    tables = ("--truth", folder / "visits.csv", "--data", folder / "later.csv")
    run("models", "attack", tmp_path / "plain.pt", *tables, "--out", tmp_path / "guesses.parquet")
    assert pd.read_parquet(tmp_path / "guesses.parquet").columns.tolist() == ["trained_on", "score"]
