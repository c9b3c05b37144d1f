"""The script of the scores paper's figures: its search, its resuming, and the numbers that the page quotes."""

import importlib
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("papers.score_attacks.figures")


@pytest.mark.parametrize(("classes", "asked", "rows"), [(2, 5, 5), (3, 3, 10), (2, 1, 1)])
def test_search_is_the_paper_s(script, classes, asked, rows):
    """Against the naive loop over all labelings."""
    rng = np.random.default_rng(0)
    losses = rng.uniform(0, 5, size=(asked, classes))
    truth, noise = rng.integers(0, classes, size=(20, asked)), rng.uniform(-1, 1, size=20)
    found = script.label_inf(losses, truth, rows=rows, noise=noise)
    neutral = (rows - asked) * np.log(classes)
    labelings = list(itertools.product(range(classes), repeat=asked))

    def score(labels):
        return (sum(losses[i, y] for i, y in enumerate(labels)) + neutral) / rows

    for labels, error, guess in zip(truth, noise, found, strict=True):
        answer = score(labels) + error
        nearest = min(labelings, key=lambda labeling: abs(score(labeling) - answer))
        assert tuple(guess) == nearest


def test_constructions_are_the_library_s(script):
    from papers.score_attacks.separation import PowersOfThree, TripledExponents
    from tacit.scores.losses import FLOAT64, ClippedCrossEntropy

    for construction, ours, classes in (
        (PowersOfThree(), script.theorem_3, 3),
        (TripledExponents(), script.theorem_14, 2),
    ):
        loss = ClippedCrossEntropy(classes=classes)
        theta = construction.predictions(loss, 2, asked=2, tau=0.01, precision=FLOAT64)
        np.testing.assert_allclose(loss.row_losses(theta), ours(2, classes, 2, 0.01), rtol=1e-12)


def test_resumed_run_equals_an_unbroken_one(script, tmp_path, monkeypatch):
    quick = [task for task in script.tasks(quick=True) if "stable" not in task.method]
    few = [task for task in quick if task.asked == 2 or (task.data, task.tau) == ("Titanic", 1.0)]
    monkeypatch.setattr(script, "tasks", lambda *, quick: iter(few))
    real, calls = script.run_task, []

    def interrupted(task, *, sets):
        calls.append(task)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(task, sets=sets // 10)

    monkeypatch.setattr(script, "run_task", interrupted)
    with pytest.raises(KeyboardInterrupt):
        script.main(["--quick", "--out", str(tmp_path / "broken")])
    assert script.main(["--quick", "--out", str(tmp_path / "broken")]) == 0
    assert len(calls) == len(few) + 1  # the interrupted point only is computed twice
    assert script.main(["--quick", "--out", str(tmp_path / "whole")]) == 0
    broken, whole = (
        json.loads((tmp_path / name / "scores_figures_quick.json").read_text())["points"]
        for name in ("broken", "whole")
    )
    for points in (broken, whole):
        for point in points.values():
            del point["seconds"]
    assert broken == whole
    assert (tmp_path / "whole" / "scores_figures_quick.svg").stat().st_size > 10_000


def test_page_quotes_the_committed_results():
    document = json.loads((ROOT / "benchmarks" / "results" / "scores_figures.json").read_text())
    points = document["points"].values()
    page = (ROOT / "docs" / "scores_figures.md").read_text()
    assert document["sets"] == 1000
    assert document["date"] in page
    names = {
        "Theorem 3 (paper)": "Theorem 3",
        "Theorem 14 (Titanic** in the paper)": "Theorem 14",
        "digits (tacit)": "digits",
    }
    rows = [
        line.split("|")[1:-1] for line in page.splitlines() if line.startswith(("| Titanic, ", "| Iris, ", "| Sat"))
    ]
    quoted = [row for row in rows if row[0].strip().split(", ")[1] in names]
    assert len(quoted) == 7
    for row in quoted:
        data, name = row[0].strip().split(", ")
        for tau, number in zip((1e-6, 1e-4, 1e-2, 1.0), row[1:], strict=True):
            (point,) = (
                p for p in points if (p["figure"], p["data"], p["method"], p["tau"]) == ("1", data, names[name], tau)
            )
            assert point["all"] == int(number)
