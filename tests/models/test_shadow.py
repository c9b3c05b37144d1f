"""Shadow models: halves drawn right, results kept whole, reused, and never from a file with code in it."""

import os
import pickle
import stat

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tacit.models.attacks import shadow_training
from tacit.models.attacks.confidence import measure_confidence
from tacit.models.attacks.shadow_training import train_shadows
from tacit.privacy.errors import InvalidInput


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 3)), rng.integers(0, 2, 80)


def rng():
    return np.random.default_rng(7)


def count_fits(monkeypatch):
    fitted = []
    fit_one = shadow_training._fit_one

    def counted(index, *arguments):
        fitted.append(index)
        return fit_one(index, *arguments)

    monkeypatch.setattr(shadow_training, "_fit_one", counted)
    return fitted


def test_each_row_is_in_half_of_the_models_by_fair_coins(rows):
    shadows = train_shadows(DecisionTreeClassifier(), *rows, models=20, rng=rng())
    assert (shadows.member.sum(axis=0) == 10).all()
    assert (shadows.member[0::2] ^ shadows.member[1::2]).all()
    assert len({m.tobytes() for m in shadows.member}) == 20
    assert abs(shadows.member[0::2].mean() - 0.5) < 5 * 0.5 / np.sqrt(800)


def test_each_model_is_the_estimator_trained_on_its_half(rows):
    X, y = rows
    shadows = train_shadows(LogisticRegression(), X, y, models=4, rng=rng())
    for member, confidence in zip(shadows.member, shadows.confidence, strict=True):
        np.testing.assert_array_equal(
            confidence, measure_confidence(LogisticRegression().fit(X[member], y[member]), X, y)
        )


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_jobs_and_order_do_not_change_the_result(rows, backend):
    one = train_shadows(DecisionTreeClassifier(max_features=1), *rows, models=6, rng=rng())
    with joblib.parallel_config(backend=backend):
        two = train_shadows(DecisionTreeClassifier(max_features=1), *rows, models=6, rng=rng(), jobs=2)
    np.testing.assert_array_equal(one.confidence, two.confidence)
    np.testing.assert_array_equal(one.member, two.member)


def test_every_random_state_is_drawn_and_the_users_estimator_left_alone(rows):
    tree = DecisionTreeClassifier(max_features=1, random_state=5)
    seeded = shadow_training._seeded(make_pipeline(StandardScaler(), tree), 9)
    assert seeded[-1].random_state == 9
    assert tree.random_state == 5
    train_shadows(tree, *rows, models=4, rng=rng())
    assert not hasattr(tree, "tree_")


def test_what_is_kept_is_used_again(rows, tmp_path, monkeypatch):
    folder = tmp_path / "shadows"
    first = train_shadows(DecisionTreeClassifier(), *rows, models=4, rng=rng(), directory=folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = sorted(folder.iterdir())
    assert len(files) == 4
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    fitted, told = count_fits(monkeypatch), []
    again = train_shadows(
        DecisionTreeClassifier(),
        *rows,
        models=6,
        rng=np.random.default_rng(99),
        directory=folder,
        progress=lambda *seen: told.append(seen),
    )
    assert fitted == [4, 5]
    assert told == [(4, 6), (5, 6), (6, 6)]
    np.testing.assert_array_equal(again.confidence[:4], first.confidence)
    assert (again.member.sum(axis=0) == 3).all()


def test_other_rows_labels_parameters_or_floors_are_other_shadows(rows, tmp_path, monkeypatch):
    X, y = rows
    train_shadows(DecisionTreeClassifier(), X, y, models=4, rng=rng(), directory=tmp_path)
    train_shadows(DecisionTreeClassifier(random_state=3), X, y, models=4, rng=rng(), directory=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4, "a random state is drawn for each model anyway"
    for i, change in enumerate(
        [
            {"X": X + 1e-12},
            {"y": 1 - y},
            {"estimator": DecisionTreeClassifier(max_depth=2)},
            {"estimator": make_pipeline(DecisionTreeClassifier())},
            {"floor": 1e-3},
        ]
    ):
        given = {"estimator": DecisionTreeClassifier(), "X": X, "y": y, **change}
        train_shadows(models=4, rng=rng(), directory=tmp_path, **given)
        assert len(list(tmp_path.iterdir())) == 4 * (i + 2)


def test_an_interrupted_run_goes_on_and_leaves_nothing_half_written(rows, tmp_path, monkeypatch):
    whole = train_shadows(DecisionTreeClassifier(), *rows, models=8, rng=rng())

    def stop_at_three(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_shadows(DecisionTreeClassifier(), *rows, models=8, rng=rng(), directory=tmp_path, progress=stop_at_three)
    assert len(list(tmp_path.iterdir())) == 3
    fitted = count_fits(monkeypatch)
    resumed = train_shadows(DecisionTreeClassifier(), *rows, models=8, rng=rng(), directory=tmp_path)
    assert len(fitted) == 5
    np.testing.assert_array_equal(resumed.confidence, whole.confidence)
    np.testing.assert_array_equal(resumed.member, whole.member)


def test_a_write_that_fails_leaves_no_file(rows, tmp_path, monkeypatch):
    def fail(file, **arrays):
        file.write(b"half")
        raise RuntimeError("broken")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(RuntimeError, match="broken"):
        train_shadows(DecisionTreeClassifier(), *rows, models=4, rng=rng(), directory=tmp_path)
    assert list(tmp_path.iterdir()) == []


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil-was-run",)


@pytest.mark.parametrize("how", ["pickle", "object array", "cut", "shape"])
def test_files_of_another_kind_are_refused_and_run_no_code(rows, tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "shadows"
    train_shadows(DecisionTreeClassifier(), *rows, models=4, rng=rng(), directory=folder)
    file = sorted(folder.iterdir())[0]
    if how == "pickle":
        file.write_bytes(pickle.dumps(Evil()))
    elif how == "object array":
        with file.open("wb") as handle:
            np.savez(handle, member=np.array([Evil()], dtype=object), confidence=np.zeros(80))
    elif how == "cut":
        file.write_bytes(file.read_bytes()[:100])
    else:
        with file.open("wb") as handle:
            np.savez(handle, member=np.zeros(5, dtype=bool), confidence=np.zeros(5))
    with pytest.raises(InvalidInput, match="delete it"):
        train_shadows(DecisionTreeClassifier(), *rows, models=4, rng=rng(), directory=folder)
    assert not (tmp_path / "evil-was-run").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": 3}, "models must be an integer >= 4, got 3"),
        ({"models": 5}, "models must be an even number >= 4"),
        ({"jobs": 0}, "jobs must not be 0"),
        ({"estimator": object()}, "must be a scikit-learn classifier with predict_proba, got object"),
        ({"y": [0, 1]}, r"got shapes \(80, 3\) and \(2,\)"),
        ({"y": np.arange(80)}, "got a half without class"),
    ],
)
def test_bad_input_is_one_sentence(rows, tmp_path, change, words):
    given = {"estimator": DecisionTreeClassifier(), "X": rows[0], "y": rows[1], "models": 4, "jobs": 1, **change}
    with pytest.raises(InvalidInput, match=words):
        train_shadows(rng=rng(), directory=tmp_path, **given)
    assert list(tmp_path.iterdir()) == []
