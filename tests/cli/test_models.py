"""``tacit models``: from a file to a network, who it was trained on, and the sentences when something is wrong."""

import json
import os
import pickle
import re
from collections import namedtuple
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.cli.app import main
from tacit.models.network import TwoLayerReLU
from tacit.models.releases.files import ModelRelease, read_model
from tacit.privacy import Guarantee, NoGuarantee, Unit
from tacit.privacy.ledger import Ledger

torch = pytest.importorskip("torch")
Said = namedtuple("Said", ["stdout", "stderr"])


def _write(path, X, **columns):
    pyarrow.csv.write_csv(pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, **columns}), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """20 rows in 100 dimensions with coin-flip labels, fresh rows, and a network trained to its margin on them."""
    where = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 100)), rng.permutation(["no", "yes"] * 10)
    _write(where / "rows.csv", X, ill=y)
    _write(where / "fresh.csv", rng.normal(size=(500, 100)))
    _learn(where, "model.pt", "--seed", "1", "--json")
    ill = rng.integers(0, 2, 400)
    _write(where / "visits.csv", rng.normal(size=(400, 3)) + 2.0 * ill[:, None], ill=ill)
    return where


def _run(*words, code=0):
    out, err = StringIO(), StringIO()
    with pytest.raises(SystemExit) as end, redirect_stdout(out), redirect_stderr(err):
        main([str(word) for word in words])
    assert (end.value.code or 0) == code, err.getvalue()
    return Said(out.getvalue(), err.getvalue())


def _learn(folder, out, *words, table="rows.csv", code=0):
    words = ("--label", "ill", "--width", "60", "--steps", "600", "--out", folder / out, *words)
    return _run("models", "learn", folder / table, *words, code=code)


def _attack(folder, model="model.pt", *words, members="rows.csv", nonmembers="fresh.csv", code=0):
    rows = ("--members", folder / members, "--nonmembers", folder / nonmembers)
    return _run("models", "attack", folder / model, *rows, *words, code=code)


def _protect(folder, out, *words, table="visits.csv", code=0):
    words = ("--label", "ill", "--epsilon", "3", "--delta", "1e-5", "--epochs", "3", "--out", folder / out, *words)
    return _run("models", "protect", folder / table, *words, code=code)


@pytest.mark.parametrize("suffix", ["pt", "safetensors", "onnx"])
def test_from_rows_to_a_network_to_its_members(folder, suffix):
    said = json.loads(
        _learn(folder, f"again.{suffix}", "--seed", "1", "--network", "polished", "--json", "--force").stdout
    )
    assert said["certificate"]["residual"] < 0.1
    assert said["polished_certificate"]["residual"] < 1e-4
    assert len(said["certificate"]["multipliers"]) == 20
    assert "none" in said["guarantee"]
    found = json.loads(_attack(folder, f"again.{suffix}", "--json").stdout)
    assert {"auc", "tpr_at_0.1%_fpr", "advantage", "margin", "covered"} <= set(found)
    assert found["auc"] > 0.99
    assert found["margin"] == pytest.approx(1, abs=0.01)
    assert found["covered"] in ("proved", "expected")
    assert (found["members"], found["nonmembers"]) == (20, 500)
    assert found["weights"]["auc"] > 0.9


def test_the_same_in_words(folder):
    text = _attack(folder, "model.pt", "--seed", "0").stdout
    assert "no guarantee: trained to the margin" in text
    assert re.search(r"Theory: (expected|proved) at an exact KKT point, .* here they lie at 1 to 1\.0", text)
    assert "choose one feature" in _learn(folder, "exact.pt", "--network", "exact", code=2).stderr
    assert "Stopped short" in _learn(folder, "short.pt", "--steps", "300").stdout


def test_a_seed_repeats_the_network(folder):
    _learn(folder, "twice.pt", "--seed", "1")
    np.testing.assert_array_equal(*(read_model(folder / name).network.weights for name in ("model.pt", "twice.pt")))


def test_a_black_box_is_asked_for_outputs_alone(folder):
    _learn(folder, "box.onnx", "--seed", "1")
    found = json.loads(_attack(folder, "box.onnx", "--black-box", "--json").stdout)
    assert found["auc"] > 0.99
    assert "weights" not in found
    assert "must stand with an .onnx model" in _attack(folder, "model.pt", "--black-box", code=2).stderr


def test_points_of_one_dimension_are_read_off_the_weights(folder):
    pyarrow.csv.write_csv(pa.table({"x": [-2.0, -1.0, 1.0, 3.0], "y": [1, 0, 1, 0]}), folder / "line.csv")
    words = ("--label", "y", "--network", "exact", "--out", folder / "line.pt", "--json")
    assert json.loads(_run("models", "learn", folder / "line.csv", *words).stdout)["certificate"]["residual"] < 1e-8
    found = json.loads(_run("models", "attack", folder / "line.pt", "--reconstruct", "--margin", "1", "--json").stdout)
    np.testing.assert_allclose(np.ravel(found["points"]), [-2, -1, 1, 3], atol=1e-6)
    assert found["trusted"]
    assert {"multipliers", "confidence", "trusted", "residual"} <= set(found)
    assert "training points found" in _run("models", "attack", folder / "line.pt", "--reconstruct").stdout


def test_points_of_more_dimensions_are_searched_for_and_not_trusted(folder):
    words = ("--reconstruct", "--points", "2", "--steps", "100", "--seed", "0", "--json")
    found = json.loads(_run("models", "attack", folder / "model.pt", *words).stdout)
    assert np.shape(found["points"]) == (4, 100)
    assert found["trusted"] is False
    refused = _run("models", "attack", folder / "model.pt", *words, "--margin", "1", code=2)
    assert "--margin must stand with --members" in refused.stderr


@pytest.fixture(scope="module")
def losses(folder):
    rng = np.random.default_rng(0)
    for name, scale in (("in.csv", 0.1), ("out.csv", 1.0)):
        own, others = rng.exponential(scale, 300), rng.exponential(1.0, (300, 4))
        pyarrow.csv.write_csv(pa.table({"loss": own}), folder / name)
        shadows = {f"shadow{j}": others[:, j] for j in range(4)}
        pyarrow.csv.write_csv(pa.table({"loss": own, **shadows}), folder / f"lira_{name}")
        pyarrow.csv.write_csv(pa.table({"loss": own, "shadow0": others[:, 0]}), folder / f"few_{name}")
    return folder


def test_losses_are_enough(losses):
    found = json.loads(_run("models", "attack", "--losses", losses / "in.csv", losses / "out.csv", "--json").stdout)
    assert found["auc"] > 0.8
    assert {"tpr_at_0.1%_fpr", "advantage", "margin", "covered"} <= set(found)
    text = _run("models", "attack", "--losses", losses / "lira_in.csv", losses / "lira_out.csv").stdout
    assert text.startswith("LiRA, offline, 4 models")


def test_too_few_shadow_models(losses):
    said = _run("models", "attack", "--losses", losses / "few_in.csv", losses / "few_out.csv", code=2)
    assert "2 models or more trained without each point, got 1" in said.stderr
    said = _run("models", "attack", "--losses", losses / "in.csv", losses / "lira_out.csv", code=2)
    assert "tables of the same columns, got 1 and 5" in said.stderr


def test_private_training_promises_and_is_attacked(folder):
    said = json.loads(_protect(folder, "private.pt", "--json").stdout)
    assert (said["guarantee"]["unit"], said["guarantee"]["epsilon"], said["seeded"]) == ("record", 3.0, False)
    assert any("floating-point" in one for one in said["guarantee"]["assumptions"])
    assert any("which classes occur is public" in one for one in said["guarantee"]["assumptions"])
    made = read_model(folder / "private.pt")
    assert made.guarantee.epsilon == 3.0
    assert made.mechanism["features"] == ["x0", "x1", "x2"]
    rng = np.random.default_rng(9)
    later = rng.integers(0, 2, 400)
    _write(folder / "later.csv", rng.normal(size=(400, 3)) + 2.0 * later[:, None], ill=later)
    text = _attack(folder, "private.pt", members="visits.csv", nonmembers="later.csv").stdout
    assert "epsilon 3, delta 1e-5 for one record" in text
    assert "Loss threshold: " in text
    found = json.loads(_attack(folder, "private.pt", "--json", members="visits.csv", nonmembers="later.csv").stdout)
    assert found["losses"]["auc"] < 0.6


def test_theory_is_not_said_of_a_network_that_is_not_at_the_margin(folder):
    network = read_model(folder / "model.pt").network
    rng = np.random.default_rng(0)
    other = TwoLayerReLU(
        weights=rng.normal(size=network.weights.shape), biases=network.biases, outputs=rng.normal(size=network.width)
    )
    promise = NoGuarantee(reason="drawn")
    made = ModelRelease.of_network(other, guarantee=promise, mechanism={"name": "drawn", "label": "ill"}, seeded=True)
    made.write(folder / "drawn.pt")
    found = json.loads(_attack(folder, "drawn.pt", "--json").stdout)
    at_margin = json.loads(_attack(folder, "model.pt", "--json").stdout)
    assert found["covered"] == at_margin["covered"] != "not covered", "the rows are the same"
    assert at_margin["largest_margin"] < 1.05
    assert found["largest_margin"] > 5
    assert (
        f"lie at 1 margin; here they lie at 1 to {found['largest_margin']:.6g}." in _attack(folder, "drawn.pt").stdout
    )


def test_the_scale_is_public_and_in_the_weights(folder):
    one = json.loads(_protect(folder, "scaled.onnx", "--scale", "10", "--classes", "0,1", "--json").stdout)
    assert one["mechanism"]["scale"] == 10
    assert not any("which classes occur" in said for said in one["guarantee"]["assumptions"])


def test_a_seeded_model_warns(folder):
    said = _protect(folder, "seeded.pt", "--seed", "0")
    assert "never publish it" in said.stderr
    assert said.stdout.startswith(
        f"{folder / 'seeded.pt'}: model by dp_sgd: epsilon 3, delta 1e-5 for one record; seeded"
    )
    assert read_model(folder / "seeded.pt").seeded


@pytest.fixture
def ledger(folder, tmp_path):
    from tacit.data import load_table

    ledger = Ledger.create(tmp_path / "ledger.db")
    table = load_table(folder / "visits.csv")
    ledger.register(table, name="visits", budget=Guarantee(unit=Unit.RECORD, epsilon=4.0, delta=1e-4))
    return tmp_path / "ledger.db"


def _left(ledger):
    return Ledger.open(str(ledger)).statement("visits").left


def test_the_ledger_pays_and_refuses(folder, ledger):
    said = _protect(folder, "paid.pt", "--ledger", ledger)
    assert "entry visits/1" in said.stdout
    assert "Assumed: " in said.stdout, "float noise is said wherever the promise is shown"
    assert "floating-point" in said.stdout
    assert _left(ledger) < 4
    said = _protect(folder, "refused.pt", "--ledger", ledger, "--epsilon", "6", code=2)
    assert "visits has spent" in said.stderr
    assert not (folder / "refused.pt").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--scale", "0"), "--scale must be > 0"),
        (("--clip", "-1"), "clip must be > 0"),
        (("--width", "0"), "--width must be"),
        (("--features", "nothing"), "nothing"),
        (("--label", "x0"), "two values"),
        (("--classes", "0,1,2"), "two values"),
        (("--batch-size", "9999"), "--batch-size must be at most"),
        (("--out", "model.pkl"), "must end in .pt"),
        (("--out", "nowhere/model.pt"), "cannot be written"),
    ],
)
def test_bad_input_of_protect_costs_nothing(folder, ledger, words, sentence):
    before = sorted(folder.iterdir())
    said = _protect(folder, "bad.pt", "--ledger", ledger, *words, code=2)
    assert sentence in said.stderr
    assert len(said.stderr.splitlines()) == 1
    assert sorted(folder.iterdir()) == before
    assert _left(ledger) == 4.0


def test_missing_values_cost_nothing(folder, ledger):
    (folder / "holes.csv").write_text("x0,ill\n1,0\n,1\n3,0\n", encoding="utf-8")
    words = ("--dataset", "visits", "--ledger", ledger, "--batch-size", "1")
    said = _protect(folder, "holes.pt", *words, table="holes.csv", code=2)
    assert "column 'x0' must have a finite number in every row, 1 have none" in said.stderr
    assert _left(ledger) == 4.0
    assert not (folder / "holes.pt").exists()


def test_labels_of_three_values_or_one_train_nothing(folder):
    X = np.random.default_rng(0).normal(size=(6, 4))
    for labels in ([0, 1, 2, 0, 1, 2], [1] * 6):
        _write(folder / "labels.csv", X, ill=labels)
        assert "two values" in _learn(folder, "three.pt", table="labels.csv", code=2).stderr
        assert not (folder / "three.pt").exists()


def test_an_existing_file_is_kept(folder):
    before = (folder / "model.pt").read_bytes()
    assert "exists already" in _learn(folder, "model.pt", code=2).stderr
    assert (folder / "model.pt").read_bytes() == before


def _module(*, bias, width=50, outputs=1):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(100, width), torch.nn.ReLU(), torch.nn.Linear(width, outputs, bias=bias))


def test_networks_that_are_not_homogeneous(folder):
    torch.save(_module(bias=True).state_dict(), folder / "bias.pt")
    assert "not homogeneous: it has an output bias" in _attack(folder, "bias.pt", code=2).stderr
    torch.save(_module(bias=False, outputs=3).state_dict(), folder / "three.pt")
    assert "not a homogeneous two-layer ReLU network" in _attack(folder, "three.pt", code=2).stderr
    said = _run("models", "attack", folder / "three.pt", "--reconstruct", code=2)
    assert "not a homogeneous two-layer ReLU network" in said.stderr
    torch.save(_module(bias=False).state_dict(), folder / "plain.pt")
    assert "the file does not say how the model was trained" in _attack(folder, "plain.pt", "--label", "ill").stdout


class _Runs:
    def __reduce__(self):
        return os.mkdir, (str(self.where),)


def test_files_of_another_kind_or_with_code(folder):
    bad = _Runs()
    bad.where = folder / "ran"
    (folder / "code.pt").write_bytes(pickle.dumps(bad))
    assert "holds code or objects besides numbers" in _attack(folder, "code.pt", code=2).stderr
    assert not bad.where.exists()
    said = _attack(folder, "rows.csv", code=2)
    assert "must end in" in said.stderr
    assert "its losses on rows can be attacked" in said.stderr
    assert "does not exist" in _attack(folder, "missing.pt", code=2).stderr
    (folder / "text.safetensors").write_text("no model", encoding="utf-8")
    assert "is no safetensors file" in _attack(folder, "text.safetensors", code=2).stderr


def test_rows_outside_that_equal_a_member_are_left_out(folder):
    rows = pyarrow.csv.read_csv(folder / "rows.csv").drop_columns("ill")
    mixed = pa.concat_tables([pyarrow.csv.read_csv(folder / "fresh.csv"), rows[:3]])
    pyarrow.csv.write_csv(mixed, folder / "mixed.csv")
    found = json.loads(_attack(folder, "model.pt", "--json", nonmembers="mixed.csv").stdout)
    assert (found["nonmembers"], found["shared"], found["auc"] > 0.99) == (500, 3, True)
    text = _attack(folder, "model.pt", nonmembers="mixed.csv").stdout
    assert "3 of 503 rows of mixed.csv equal a member and were left out." in text


def test_members_and_nonmembers_must_fit(folder):
    said = _attack(folder, nonmembers="rows.csv", code=2)
    assert "members and nonmembers must not share rows, got 20 in both" in said.stderr
    _write(folder / "narrow.csv", np.zeros((3, 99)))
    assert "x99" in _attack(folder, nonmembers="narrow.csv", code=2).stderr
    torch.save(_module(bias=False).state_dict(), folder / "plain.pt")
    said = _attack(folder, "plain.pt", "--label", "ill", nonmembers="narrow.csv", code=2)
    assert "members and nonmembers must have the same columns, got 100 and 99" in said.stderr


def test_outputs_that_are_no_numbers(folder):
    state = _module(bias=False).double().state_dict()
    state["2.weight"][0, 0] = float("nan")
    torch.save(state, folder / "broken.pt")
    assert "not finite" in _attack(folder, "broken.pt", "--label", "ill", code=2).stderr
    (folder / "nan.csv").write_text("loss\n0.1\nnan\n", encoding="utf-8")
    (folder / "few.csv").write_text("loss\n0.1\n0.2\n", encoding="utf-8")
    said = _run("models", "attack", "--losses", folder / "nan.csv", folder / "few.csv", code=2)
    assert "NaN" in said.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "ask for one of"),
        (("--losses", "a.csv", "b.csv", "--reconstruct"), "ask for one of"),
        (("--reconstruct",), "give a model file"),
        (("model.pt", "--losses", "a.csv", "b.csv"), "give a model file, or --losses"),
        (("model.pt", "--members", "a.csv"), "must stand together"),
    ],
)
def test_what_is_asked_must_be_clear(words, sentence):
    assert sentence in _run("models", "attack", *words, code=2).stderr
