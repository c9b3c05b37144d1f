"""The benchmark on images: its parts by themselves, and a quick run where most of tacit's dependencies are missing."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[3]
HIDDEN = ("sklearn", "pyarrow", "ibis", "pandas", "duckdb", "opendp", "randomgen", "gmpy2", "dp_accounting", "rich")
QUICK = ["--quick", "--device", "cpu", "--seeds", "0"]
WITHOUT = f"""
import runpy, sys
class Without:
    def __init__(self, finder): self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {HIDDEN} else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
runpy.run_module("papers.label_retraining.images", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def package():
    return lambda name: importlib.import_module(f"papers.label_retraining.images.{name}")


def run_without(*arguments):
    command = [sys.executable, "-c", WITHOUT, *QUICK, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300).stdout


def test_it_runs_in_parts_and_goes_on_where_it_stopped(package, tmp_path):
    out, also = tmp_path / "out", tmp_path / "also"
    printed = run_without("--tables", "8", "--recipe", "--epsilons", "1", "--out", str(out), "--also", str(also))
    assert "tacit in parts" in printed
    assert "3 points, 0 failed" in printed
    first = json.loads((also / "labels_images.json").read_text())["points"]
    assert set(first) == {"cifar10|representation|0", "cifar10|recipe|1|0", "cifar10|resnet18|published|1|0"}
    assert {"baseline", "full", "consensus", "confidence", "given", "predicted"} <= set(
        first["cifar10|resnet18|published|1|0"]
    )
    marked = {key: {**point, "seconds": 1.25} for key, point in first.items()}
    (out / "labels_images.json").write_text(json.dumps({"quick": True, "points": marked}))
    again = ["--tables", "8", "--recipe", "--epsilons", "1,2", "--minutes", "9", "--out", str(out)]
    assert package("__main__").main([*QUICK, *again]) == 0
    second = json.loads((out / "labels_images.json").read_text())["points"]
    assert {key: second[key] for key in first} == marked, "measured points are kept"
    assert set(second) - set(first) == {"cifar10|recipe|2|0"}


def test_nothing_is_begun_that_will_not_be_done_in_time(package, tmp_path, capsys):
    script = package("__main__")
    assert script.main([*QUICK, "--tables", "8", "--minutes", "0.01", "--out", str(tmp_path)]) == 0
    assert "no time for cifar10|resnet18|published|1|0" in capsys.readouterr().out


def test_a_failed_point_does_not_end_the_run(package, tmp_path, monkeypatch):
    script = package("__main__")
    seen = []

    def measure(*_, epsilon, **__):
        seen.append(epsilon)
        if epsilon == 1:
            raise ValueError("made to fail")
        return {"seconds": 0.1}

    monkeypatch.setattr(script.retraining, "measure", measure)
    assert script.main(["--quick", "--device", "cpu", "--seeds", "0", "--tables", "1", "--out", str(tmp_path)]) == 1
    assert seen == [1, 2, 3]
    assert len(json.loads((tmp_path / "labels_images.json").read_text())["points"]) == 2


def test_out_of_memory_halves_the_batch(package, tmp_path, monkeypatch):
    script = package("__main__")
    batches = []

    def measure(trainer, *_, **__):
        batches.append(trainer.settings.batch)
        if len(batches) == 1:
            raise torch.OutOfMemoryError
        return {"seconds": 0.1}

    monkeypatch.setattr(script.retraining, "measure", measure)
    assert script.main(["--quick", "--device", "cpu", "--seeds", "0", "--tables", "8", "--out", str(tmp_path)]) == 0
    assert batches == [32, 16]


def test_a_network_that_does_not_compile_runs_as_it_is(package, monkeypatch, capsys):
    def refuse(*_, **__):
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: refuse)
    call = package("training").compile_or_not(torch.nn.Identity())
    assert torch.equal(call(torch.ones(2)), torch.ones(2))
    assert torch.equal(call(torch.ones(3)), torch.ones(3))
    assert capsys.readouterr().out.count("not compiled: RuntimeError no compiler here") == 1


def test_images_come_back_as_they_were_packed(package, tmp_path, monkeypatch):
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    pictures = package("pictures")
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(3, 500, 32, 32, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, size=(3, 500))
    strips = []
    for part in images:
        file = io.BytesIO()
        Image.fromarray(part.reshape(-1, 32, 3)).save(file, "webp", lossless=True)
        strips.append(file.getvalue())
    columns = {"split": ["test", "train", "train"], "start": [0, 500, 0], "webp": strips, "label": labels.tolist()}
    pq.write_table(pa.table(columns), tmp_path / "cifar10.parquet")
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    monkeypatch.setattr(pictures, "LARGEST", 2 * len(strips[0]) + 1000)
    paths = pictures.pack(tmp_path / "parts")
    assert len(paths) == 2
    found = pictures.load(tmp_path / "parts")
    assert np.array_equal(found.images, np.concatenate([images[2], images[1]]))
    assert np.array_equal(found.labels, np.concatenate([labels[2], labels[1]]))
    assert np.array_equal(found.test_images, images[0])
    paths[1].unlink()
    with pytest.raises(SystemExit, match="send every part"):
        pictures.load(tmp_path / "parts")


def test_augmentation_leaves_what_it_should(package):
    augment = package("augment")
    images = torch.randint(0, 256, (6, 32, 32, 3), dtype=torch.uint8)
    plain = images.permute(0, 3, 1, 2).float() / 255
    padded = augment.pad(images)
    assert torch.equal(augment.crop(padded, torch.arange(6), shift=False), plain)
    assert augment.crop(padded, torch.arange(6)).shape == plain.shape
    assert torch.allclose(augment.jitter(plain, strength=0.0, gray=0.0), plain, atol=1e-5)
    gray = augment.jitter(plain, strength=0.0, gray=1.0)
    assert torch.allclose(gray[:, 0], gray[:, 2], atol=1e-5)
    hidden = (augment.cutout(plain, side=8) != plain).any(dim=1).sum(dim=(1, 2))
    assert (hidden <= 81).all()
    assert (hidden >= 16).all()
    whole = augment.resized_crop(plain, side=32, least=1.0)
    assert whole.shape == plain.shape
    assert augment.resized_crop(plain, side=24).shape == (6, 3, 24, 24)
    assert augment.strengthen(plain).shape == plain.shape


def test_noise_is_undone(package):
    parts, retraining = package("parts"), package("retraining")
    T = parts.RandomizedResponse(epsilon=1.0, classes=4).transition()
    true = np.random.default_rng(0).dirichlet(np.ones(4), size=5)
    assert np.allclose(retraining.undo_noise(true @ T, T), true)


@pytest.fixture
def trainer(package):
    """A tiny network and made-up images."""
    settings = package("training").Settings(images=64, width=2, batch=32)
    return package("training").Trainer(
        package("pictures").made_up(rows=200), settings=settings, device=torch.device("cpu")
    )


def spy_on_fit(trainer, monkeypatch):
    calls, fit = [], trainer.fit
    monkeypatch.setattr(trainer, "fit", lambda *given, **named: [calls.append((given, named)), fit(*given, **named)])
    return calls


def test_each_protocol_trains_what_its_name_says(package, trainer, monkeypatch):
    retraining = package("retraining")
    truth = trainer.truth.numpy()
    calls = spy_on_fit(trainer, monkeypatch)
    for name, protocol in retraining.PROTOCOLS.items():
        calls.clear()
        numbers = retraining.measure(trainer, truth, epsilon=2.0, protocol=name, seed=0, with_confidence=True)
        assert len(calls) == protocol.stages + 3, "every stage, and three ways to retrain"
        assert {"baseline", "full", "consensus", "confidence", "given", "predicted"} <= set(numbers)
        looked_at = [named["held_out"] for _, named in calls]
        assert all(rows is None for rows in looked_at) == (name == "no_validation")
        losses = [type(named["loss"]).__name__ for _, named in calls]
        assert losses == [
            "ForwardCorrected" if name == "forward_first" else "SoftCrossEntropy",
            *["SoftCrossEntropy"] * (len(calls) - 1),
        ]
        for (rows, _), named in calls:
            assert named["held_out"] is None or not set(rows) & set(named["held_out"]), "not trained on"


def test_the_recipe_reads_the_labels_through_the_release_alone(package, trainer, monkeypatch):
    """Two columns of labels with one release train one network."""
    recipe = package("recipe")
    body = {name: value.clone() for name, value in trainer.network.body.state_dict().items()}
    how = recipe.Recipe(images=96, neighbors=20, rounds=1, anew=(0.5,), sure=0.0)
    truth = trainer.truth.clone()

    def trained(labels):
        trainer.truth = labels
        recipe.measure(trainer, labels.numpy(), body, epsilon=1.0, seed=0, recipe=how)
        return torch.cat([value.flatten().float() for value in trainer.network.state_dict().values()])

    assert not torch.equal(trained(truth), trained(truth.flip(0))), "control: other labels, another release"
    drawn = np.random.default_rng(5).integers(0, trainer.classes, len(truth))
    monkeypatch.setattr(recipe.RandomizedResponse, "randomize", lambda *_, **__: drawn)
    assert torch.equal(trained(truth), trained(truth.flip(0)))


def test_labels_that_people_gave_are_trained_on_as_they_are(package, trainer, monkeypatch):
    retraining = package("retraining")
    truth, people = trainer.truth.numpy(), package("pictures").made_up(rows=200).human_labels
    calls = spy_on_fit(trainer, monkeypatch)
    numbers = retraining.measure_human(trainer, truth, people, seed=0)
    (rows, targets), _ = calls[0]
    assert np.array_equal(targets.argmax(axis=1), people[rows])
    assert numbers["given"] == np.mean(people[rows] == truth[rows])
    assert 0.6 < numbers["given"] < 0.8


def test_without_privacy_the_true_labels_are_trained_on(package, trainer, monkeypatch):
    calls = spy_on_fit(trainer, monkeypatch)
    truth = trainer.truth.numpy()
    numbers = package("retraining").measure_clean(trainer, truth, seed=0)
    ((rows, targets), held_out) = calls[0][0], calls[0][1]["held_out"]
    assert len(calls) == 1
    assert np.array_equal(targets.argmax(axis=1), truth[rows])
    assert not set(rows) & set(held_out)
    assert set(numbers) == {"baseline", "seconds", "images_per_second"}


def test_the_tables_are_trained_as_asked(package, tmp_path, monkeypatch):
    script, seen = package("__main__"), []
    monkeypatch.setattr(script.pictures, "load", lambda *_, **__: package("pictures").made_up(rows=200))
    monkeypatch.setattr(
        script, "Trainer", lambda _, *, settings, device: seen.append(settings) or SimpleNamespace(settings=settings)
    )
    monkeypatch.setattr(script.retraining, "measure_clean", lambda *_, **__: {"seconds": 0.1})
    start = ["--device", "cpu", "--data", str(tmp_path), "--tables", "G", "--seeds", "0"]
    script.main([*start, "--out", str(tmp_path / "plain")])
    script.main([*start, "--out", str(tmp_path / "hundred"), "--set", "cifar100"])
    script.main([*start, "--out", str(tmp_path / "asked"), "--images", "64", "--batch", "8", "--rate", "0.5"])
    assert [(one.images, one.batch, one.rate) for one in seen] == [
        (672_000, 128, 0.2),
        (672_000, 128, 0.02),
        (64, 8, 0.5),
    ]


def test_a_training_ends_with_the_weights_that_told_most_held_out_rows_right(package, trainer, monkeypatch):
    Best = package("training").Best
    shares = iter([0.3, 0.9, 0.9, 0.5])
    truth, count = trainer.truth, len(trainer.truth)

    def read(*_):
        wrong = torch.arange(count) >= round(next(shares) * count)
        return torch.nn.functional.one_hot((truth + wrong) % trainer.classes, trainer.classes).float()

    monkeypatch.setattr(trainer, "read", read)
    best, none = Best(trainer, np.arange(count)), Best(trainer, None)
    for mark in range(4):
        trainer.network.head.bias.data.fill_(float(mark))
        none.look()
        best.look()
    none.restore()
    assert trainer.network.head.bias[0].item() == 3.0, "control: without held-out rows the last weights stay"
    best.restore()
    assert trainer.network.head.bias[0].item() == 1.0
    assert best.right == pytest.approx(0.9)


def test_what_is_planned_for_the_tables(package):
    points, tables = package("points"), package("tables")
    kinds = {
        number: {p.kind for p in points.plan_tables([number], None, seeds=[0])} for number in ("1", "5", "10", "11")
    }
    assert kinds == {"1": {"published"}, "5": {"forward_first"}, "10": {"no_validation"}, "11": {"human"}}
    other = list(points.plan_tables(["1", "11"], "flat", seeds=[0, 1]))
    assert [(p.set, p.kind, p.seed) for p in other if p.set == "cifar100"] == [("cifar100", "human", s) for s in (0, 1)]
    assert {p.kind for p in other if p.set == "cifar10"} == {"flat"}
    wanted = [(t.set, t.depth, e) for t in tables.TABLES for e in t.rows if tables.wants_confidence(t.set, t.depth, e)]
    assert set(wanted) == {("cifar10", 18, 1), ("cifar100", 18, 3)}, "Tables 8 and 9, not ResNet-34"
    assert {t.protocol for t in tables.TABLES} <= {*package("retraining").PROTOCOLS, *tables.NOT_PRIVATE}
    some = list(points.plan_tables(["1", "G"], "flat", seeds=[0], epsilons=[2.0]))
    assert {(p.kind, p.epsilon) for p in some if p.set == "cifar10"} == {("flat", 2.0), ("clean", np.inf)}


@pytest.mark.parametrize("asked", [["--tables", "2"], ["--tables", "7"], ["--set", "cifar100", "--tables", "1"]])
def test_tables_that_the_set_does_not_have_are_refused(package, tmp_path, capsys, asked):
    with pytest.raises(SystemExit, match="2"):
        package("__main__").main(["--quick", "--out", str(tmp_path), *asked])
    assert "--tables must name one of" in capsys.readouterr().err


def test_twins_that_agree_and_share_nothing_lose_nothing(package):
    loss = package("representation").twins_loss
    z = torch.linalg.qr(torch.randn(64, 8) - 0.0)[0]
    z = torch.linalg.qr(z - z.mean(dim=0))[0]
    assert float(loss(z, z, weight=0.005)) < 0.01
    assert float(loss(z, z.flip(0), weight=0.005)) > 1, "control"


def test_weights_are_read_as_they_were_written(package, tmp_path):
    pictures, training, representation = package("pictures"), package("training"), package("representation")
    settings = training.Settings(width=2, batch=8)
    trainer = training.Trainer(pictures.made_up(rows=20), settings=settings, device=torch.device("cpu"))
    body = trainer.network.body.state_dict()
    representation.save(body, tmp_path)
    found = representation.load(trainer, tmp_path / "nowhere", tmp_path)
    assert found.keys() == body.keys()
    assert all(torch.allclose(found[name].float(), body[name].float(), atol=1e-3) for name in body)


def test_results_are_merged_and_quick_ones_refused(package, tmp_path):
    points, tables = package("points"), package("tables")
    run = tmp_path / "run"
    run.mkdir()
    document = {"quick": False, "points": {"cifar10|resnet18|published|1|0": {"consensus": 0.65, "seconds": 1}}}
    (tmp_path / "labels_images.json").write_text(json.dumps(document))
    more = {
        "cifar10|resnet18|published|1|1": {"consensus": 0.67, "seconds": 1},
        "cifar10|recipe|1|0": {"accuracy": 0.9, "seconds": 40},
    }
    (run / "labels_images.json").write_text(json.dumps({"quick": False, "points": more}))
    merged = points.merge(run, tmp_path / "labels_images.json")["points"]
    assert len(merged) == 3
    page = tables.markdown(merged)
    assert "| 1 | cifar10 | ResNet-18 | 1 | consensus | 63.84 | 66.00 ± 1.41 |  | 2 |" in page
    assert "| cifar10 | 1 | 89 | 63.67 | Barlow Twins on the set's images | 90.00 | 1 | 40 |" in page
    third = {"cifar10|recipe|2|0": {"accuracy": 0.9, "seconds": 30}}
    (run / "labels_images.json").write_text(json.dumps({"quick": False, "points": more | third}))
    for _ in range(2):
        merged = points.merge(run, tmp_path / "labels_images.json", at_once=3)["points"]
        seconds = [merged[f"cifar10|recipe|{epsilon}|0"]["seconds"] for epsilon in (1, 2)]
        assert seconds == [40, 10], "a share of the time, taken once, and of new points alone"
    settings = {"images": 336000, "batch": 128, "rate": 0.05}
    other = {"cifar10|resnet18|published|1|0": {"consensus": 0.5, "seconds": 9, "settings": settings}}
    (run / "labels_images.json").write_text(json.dumps({"quick": False, "points": other}))
    tried = points.merge(run, tmp_path / "labels_images_tried.json", tried=True)["points"]
    assert list(tried) == ["cifar10|resnet18|published|1|0|336000|128|0.05"], "beside the results, under its settings"
    (run / "labels_images.json").write_text(json.dumps({"quick": True, "points": {}}))
    with pytest.raises(SystemExit, match="quick"):
        points.merge(run, tmp_path / "labels_images.json")


@pytest.fixture
def enlarged(package, monkeypatch):
    """The network with an encoder in place of the packaged one, which keeps what it was shown."""

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self._fc, self.shown = torch.nn.Linear(3, 1), []

        def extract_features(self, x):
            self.shown.append(x)
            return x

    given = package("given")
    monkeypatch.setattr(given, "load_encoder", lambda _: Encoder())
    return given.Given


def test_an_encoder_that_is_given_sees_enlarged_images_in_its_own_scale(package, enlarged):
    augment, network = package("augment"), enlarged(name="lite2", side=48, classes=10)
    pixels = torch.tensor([0.0, 127.0, 255.0])[:, None, None].expand(1, 3, 32, 32) / 255
    features = network.represent(augment.normalize(pixels))
    assert network.body.shown[0].shape == (1, 3, 48, 48)
    assert features[0].tolist() == pytest.approx([-127 / 128, 0.0, 1.0], abs=1e-5), "(pixel - 127) / 128"
    assert network(augment.normalize(pixels)).shape == (1, 10)


def test_only_the_first_votes_are_taken_at_their_own_side(package, enlarged):
    training, recipe, pictures = package("training"), package("recipe"), package("pictures").made_up(rows=200)
    settings = training.Settings(images=32, batch=32, encoder="lite2", side=40)
    trainer = training.Trainer(pictures, settings=settings, device=torch.device("cpu"))
    assert isinstance(trainer.network, enlarged)
    how = recipe.Recipe(images=32, neighbors=10, rounds=0, anew=(), rate=0.01, first_side=56)
    for seed in (0, 1):
        told = recipe.measure(trainer, pictures.labels, None, epsilon=3.0, seed=seed, recipe=how)
        assert {"votes", "head", "accuracy", "student"} <= set(told)
        sides = {shown.shape[-1] for shown in trainer.network.body.shown}
        assert sides == ({40, 56} if seed == 0 else {40}), "neighbors are found once"
        trainer.network.body.shown.clear()
