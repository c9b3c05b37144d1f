"""Learning from a column of images or of text, by the command and in Python."""

import json
from importlib.util import find_spec

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.cli.app import main
from tacit.labels import Plan, learn, protect
from tacit.privacy import InvalidInput

RNG = np.random.default_rng
NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")


def tacit(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    return ended.value.code


def letters(rows=400, *, seed=0):
    rng = RNG(seed)
    topic = rng.integers(0, 2, rows)
    own = rng.random((rows, 12)) < 0.5
    words = np.where(own, 10 * topic[:, None] + rng.integers(0, 10, own.shape), rng.integers(20, 200, own.shape))
    body = [" ".join(f"word{word}" for word in row) for row in words]
    return pa.table({"topic": np.where(topic == 1, "sport", "trade"), "body": body})


def scans(rows=40, *, seed=0):
    rng = RNG(seed)
    ill = rng.integers(0, 2, rows)
    images = rng.integers(0, 100, (rows, 8, 8), dtype=np.uint8) + 155 * ill[:, None, None].astype(np.uint8)
    return images, pa.table({"ill": np.where(ill == 1, "yes", "no"), "file": [f"{row:03}.png" for row in range(rows)]})


def test_text_is_learned_by_its_own_words():
    release = protect(letters(), Plan(label="topic", epsilon=2), rng=RNG(0))
    model = learn(release, data=letters(), method="text", test=letters(200, seed=1), rng=RNG(0))
    assert model.report_.accuracy > 0.9
    assert model.guarantee_ == release.guarantee
    assert model.predict(letters(5, seed=2)).shape == (5,)


def test_the_command_learns_text(tmp_path, capsys):
    pq.write_table(letters(), tmp_path / "letters.parquet")
    protect(letters(), Plan(label="topic", epsilon=2), out=tmp_path / "topics.parquet", rng=RNG(0))
    given = ["--data", str(tmp_path / "letters.parquet"), "--text", "body", "--out", str(tmp_path / "m.joblib")]
    assert tacit("labels", "learn", tmp_path / "topics.parquet", *given, "--seed", 0, "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 320
    assert joblib.load(tmp_path / "m.joblib").predict(letters(3, seed=1)).shape == (3,)


@NEEDS_TORCH
@pytest.mark.parametrize("kind", ["folder", "arrays", "column"])
def test_the_command_learns_images(tmp_path, kind):
    Image = pytest.importorskip("PIL.Image")
    images, table = scans()
    (tmp_path / "scans").mkdir()
    for pixels, file in zip(images, table["file"].to_pylist(), strict=True):
        Image.fromarray(pixels).save(tmp_path / "scans" / file)
    np.savez(tmp_path / "scans.npz", image=images)
    cells = [(tmp_path / "scans" / file).read_bytes() for file in table["file"].to_pylist()]
    pq.write_table(table.append_column("image", pa.array(cells)), tmp_path / "scans.parquet")
    given = {
        "folder": ["--images", str(tmp_path / "scans")],
        "arrays": ["--images", str(tmp_path / "scans.npz")],
        "column": ["--data", str(tmp_path / "scans.parquet"), "--images", "image"],
    }[kind]
    protect(table, Plan(label="ill", epsilon=3, features="file"), out=tmp_path / "ill.parquet", rng=RNG(0))
    short = ["--method", "images:minutes=1e-6,width=1", "--out", str(tmp_path / "m.joblib")]
    assert tacit("labels", "learn", tmp_path / "ill.parquet", *given, *short) == 0
    model = joblib.load(tmp_path / "m.joblib")
    assert set(model.predict(tmp_path / "scans")) <= {"no", "yes"}
    assert model.encoder.side == 8


@NEEDS_TORCH
def test_images_are_read_by_a_network_that_is_given(tmp_path):
    onnx, _ = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    floats, helper = onnx.TensorProto.FLOAT, onnx.helper
    graph = helper.make_graph(
        [helper.make_node("GlobalAveragePool", ["images"], ["rows"])],
        "mean",
        [helper.make_tensor_value_info("images", floats, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("rows", floats, ["n", 3, 1, 1])],
    )
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(network, tmp_path / "mean.onnx")
    images, table = scans(100)
    np.savez(tmp_path / "scans.npz", image=images)
    release = protect(table, Plan(label="ill", epsilon=3), rng=RNG(0))
    method = f"images:encoder={tmp_path / 'mean.onnx'}"
    model = learn(release, data=tmp_path / "scans.npz", method=method, hold_out=0, rng=RNG(0))
    assert (model.predict(tmp_path / "scans.npz") == table["ill"].to_numpy()).mean() > 0.9


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--encoder", "own"], "--encoder requires --images or --text"),
        (["--images", "a", "--text", "b"], "--text must not be given with --images: a model reads one column"),
        (["--text", "body", "--features", "x"], "--features must be left out, because --text names the column: body"),
        (["--text", "body", "--method", "likelihood"], "--method must be text, got likelihood"),
        (["--text", "days"], "--features must name a column of text, got 'days' of int64"),
        (["--images", "body"], "--features must name a column of images, got 'body' of string"),
        (["--images", "cell", "--encoder", "nobody"], "--encoder must be own or an .onnx file, got 'nobody'"),
        (["--text", "body", "--encoder", "nobody"], "--encoder must be own, an installed package with a sentence"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(tmp_path, capsys, given, sentence):
    table = letters(20).append_column("days", pa.array(range(20))).append_column("cell", pa.array([b"x"] * 20))
    pq.write_table(table, tmp_path / "letters.parquet")
    protect(table, Plan(label="topic", epsilon=2), out=tmp_path / "topics.parquet", rng=RNG(0))
    data = ["--data", tmp_path / "letters.parquet"]
    assert tacit("labels", "learn", tmp_path / "topics.parquet", *data, *given) != 0
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_table_without_such_a_column_is_refused():
    release = protect(letters(20), Plan(label="topic", epsilon=2), rng=RNG(0))
    with pytest.raises(InvalidInput, match="features must name one column of images, there are 0: body"):
        learn(release, data=letters(20), method="images")
