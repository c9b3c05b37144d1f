"""A table as hospitals have them: every command of labels, features and models takes it, for each of its labels."""

import json
from contextlib import redirect_stderr, redirect_stdout
from datetime import date, datetime, timedelta
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from tacit.cli.app import main

ROWS = 1200
RANGES = ("patient=0,5000", "born=1930-01-01,2010-12-31", "seen=2023-01-01,2024-12-31", "age=0,120", "weight=30,160")
ENCODING = [word for text in (*RANGES, "cost=0,9000") for word in ("--ranges", text)]
ENCODING += ["--categories", "ward=A,B,C,D", "--gaps", "weight,city"]
PRIVATE = ("--epsilon", "8", "--delta", "1e-6", *ENCODING)
NONE = ("--epsilon", "none")
DRAWN = ("--seed", "1")


def visits(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(15, 95, ROWS)
    gap = rng.random(ROWS) < 0.15
    risk = (age - 50) / 20 + rng.normal(size=ROWS)
    return pd.DataFrame(
        {
            "patient": np.arange(1000 * seed, 1000 * seed + ROWS),
            "name": [f"{first} {last}" for first, last in rng.integers(0, 900, (ROWS, 2))],
            "born": [date(2024, 1, 1) - timedelta(days=int(365 * years)) for years in age],
            "seen": [datetime(2024, 1, 1) + timedelta(minutes=int(m)) for m in rng.integers(0, 400_000, ROWS)],
            "city": np.where(gap, None, [f"city {k}" for k in rng.integers(0, 300, ROWS)]),
            "ward": rng.choice(list("ABCDE"), ROWS),
            "smokes": rng.random(ROWS) < 0.3,
            "age": age,
            "weight": np.where(gap, np.nan, rng.normal(75, 12, ROWS).round(1)),
            "cost": rng.lognormal(6, 1, ROWS).round(2),
            "site": "north",
            "outcome": np.select([risk < 0, risk < 1], ["good", "fair"], "poor"),
            "days": np.clip(np.round(2 * risk + 3), 0, 9).astype(int),
            "died": np.where(rng.permutation(ROWS) < 6, "yes", "no"),
        }
    )


LABELS = ("outcome", "days", "died")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("hospital")
    for name, seed in (("visits", 0), ("later", 2)):
        table = visits(seed)
        for label in LABELS:
            others = [one for one in LABELS if one != label]
            table.drop(columns=others).to_csv(where / f"{name}_{label}.csv", index=False)
        few = table.head(60).drop(columns=list(LABELS))  # that a network can separate
        few.to_csv(where / f"{name}_smokes.csv", index=False)
    return where


def tacit(*words) -> dict:
    out, err = StringIO(), StringIO()
    with pytest.raises(SystemExit) as end, redirect_stdout(out), redirect_stderr(err):
        main([*map(str, words), "--json"])
    assert (end.value.code or 0) == 0, (words, err.getvalue())
    return json.loads(out.getvalue())


def protect_learn_attack(surface, folder, label, made, *options) -> tuple[dict, dict, dict]:
    truth, later = folder / f"visits_{label}.csv", folder / f"later_{label}.csv"
    release = tacit(surface, "protect", truth, "--label", label, *options, "--out", made, *DRAWN)
    trust = ("--trust",) if surface == "models" else ()
    told = ("--data", truth) if surface == "labels" else ()
    learned = tacit(surface, "learn", made, *told, "--test", later, *trust, *DRAWN)
    other = ("--data", truth if surface == "labels" else later)
    return release, learned, tacit(surface, "attack", made, "--truth", truth, *other, *trust, *DRAWN)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("mechanism", ["rows", "totals"])
def test_features(folder, tmp_path, label, mechanism):
    options = ("--mechanism", mechanism, "--select", "6", *PRIVATE)
    release, learned, _ = protect_learn_attack("features", folder, label, tmp_path / "made", *options)
    assert len(release["settled"]["features"]) == 6
    assert learned["accuracy"] is not None


MECHANISMS = {
    "dp_sgd": ("made.pt", (*PRIVATE, "--mechanism", "dp_sgd:epochs=2"), LABELS),
    "label_private": ("made.pt", ("--epsilon", "4", "--mechanism", "label_private"), LABELS),
    "forest": ("made.joblib", (*NONE, "--mechanism", "plain:estimator=forest"), LABELS[:1]),
    "plain": ("made.onnx", (*NONE, "--mechanism", "plain"), LABELS),
    "margin": ("made.pt", (*NONE, "--mechanism", "margin:width=60,steps=600"), ("smokes",)),
    "early_stop": ("made.pt", (*NONE, "--mechanism", "early_stop:width=20,steps=50"), ("smokes",)),
}


@pytest.mark.parametrize(
    ("name", "label"), [(name, label) for name, (*_, labels) in MECHANISMS.items() for label in labels]
)
def test_models(folder, tmp_path, name, label):
    pytest.importorskip("opacus")
    file, options, _ = MECHANISMS[name]
    release, learned, _ = protect_learn_attack("models", folder, label, tmp_path / file, *options)
    left_out = {column for column, _ in release["encoder"]["left_out"]}
    assert not left_out if name == "dp_sgd" else {"patient", "name", "site"} <= left_out
    if name == "plain" and label == "outcome":
        assert learned["accuracy"] > learned["majority"] + 0.1


@pytest.mark.parametrize("label", LABELS)
def test_labels(folder, tmp_path, label):
    _, learned, _ = protect_learn_attack("labels", folder, label, tmp_path / "made.parquet", "--epsilon", "3")
    assert learned["notes"][0].startswith("Left out: patient (an id: integers that differ in every row); name (")
    assert learned["notes"][1] == "Text hashed, so that some values share a column: city (64 buckets)."


@pytest.mark.parametrize("surface", ["features", "models"])
def test_rows_of_persons(folder, tmp_path, surface):
    """Whose row it is is no feature, so it needs no range."""
    options = [word for word in PRIVATE if word != "patient=0,5000"]
    options.remove("--ranges")
    made = tmp_path / ("made.pt" if surface == "models" else "made.parquet")
    release = tacit(
        surface,
        "protect",
        folder / "visits_died.csv",
        "--label",
        "died",
        "--person",
        "patient",
        *options,
        "--out",
        made,
    )
    assert "how many rows each person has is public" in release["guarantee"]["assumptions"]
