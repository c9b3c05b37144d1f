"""The accuracy benchmark runs, keeps what it has measured, and writes its tables from that alone."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "labels_accuracy.md"


@pytest.fixture
def benchmark():
    return importlib.import_module("benchmarks.labels_accuracy.__main__")


def run(benchmark, out, *more):
    benchmark.main(["--quick", "--sets", "digits", "--learners", "logistic", "--seeds", "1", "--out", str(out), *more])
    return json.loads(out.read_text())


def test_a_run_goes_on_where_it_stopped(benchmark, tmp_path):
    out = tmp_path / "quick.json"
    first = run(benchmark, out, "--epsilons", "3")["cells"]
    assert {key.split("/")[2] for key in first} >= {"clean", "rr", "two_stage", "full", "consensus", "default"}
    marked = {key: {**cell, "accuracy": 0.123} for key, cell in first.items()}
    document = json.loads(out.read_text()) | {"cells": marked}
    out.write_text(json.dumps(document))
    second = run(benchmark, out, "--epsilons", "3,2")["cells"]
    assert {key: second[key] for key in first} == marked, "measured cells are kept"
    assert set(second) - set(first) == {key.replace("/3/", "/2/") for key in first if "clean" not in key}


def test_quick_numbers_stay_off_the_page(benchmark, tmp_path):
    out = tmp_path / "quick.json"
    out.write_text(json.dumps({"quick": True, "cells": {}}))
    with pytest.raises(SystemExit, match="quick"):
        benchmark.write_tables(PAGE, [out])
    out.write_text(json.dumps({"quick": False, "cells": {}}))
    with pytest.raises(SystemExit, match="full measurements"):
        run(benchmark, out)


def test_what_is_called_the_default_is_what_the_learner_does_unasked():
    methods = importlib.import_module("benchmarks.labels_accuracy.methods")
    problems = importlib.import_module("benchmarks.labels_accuracy.problems").PROBLEMS
    settings = {method.name: method.settings | method.network for method in methods.METHODS}
    assert {problem.name: settings[methods.default_of(problem)] for problem in problems} == {
        problem.name: {} for problem in problems
    }
    assert settings["consensus"], "control"


def test_the_page_says_what_the_measurements_say(benchmark, tmp_path):
    """The tables on the page are those the committed JSON gives; a changed number is seen."""
    results = sorted((ROOT / "benchmarks" / "results").glob("labels_accuracy*.json"))
    copy = tmp_path / "page.md"
    copy.write_bytes(PAGE.read_bytes())
    benchmark.write_tables(copy, results)
    assert copy.read_bytes() == PAGE.read_bytes(), "run python -m benchmarks.labels_accuracy --table"
    document = json.loads(results[0].read_text())
    key = next(key for key in document["cells"] if "/rr/" in key)
    document["cells"][key]["accuracy"] = 0.01
    changed = tmp_path / results[0].name
    changed.write_text(json.dumps(document))
    benchmark.write_tables(copy, [changed, *results[1:]])
    assert copy.read_bytes() != PAGE.read_bytes(), "control"
