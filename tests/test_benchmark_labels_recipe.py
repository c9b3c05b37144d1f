"""The recipe's benchmark runs, keeps what it has measured, and writes its table from that alone."""

import importlib
import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "labels_recipe.md"
RESULTS = ROOT / "benchmarks" / "results" / "labels_recipe.json"


@pytest.fixture
def benchmark():
    return importlib.import_module("benchmarks.labels_recipe")


def test_a_run_goes_on_where_it_stopped(benchmark, tmp_path):
    out = tmp_path / "quick.json"
    benchmark.main(["--quick", "--out", str(out)])
    first = json.loads(out.read_text())
    assert {key.split("/")[1] for key in first["cells"]} == {
        *("clean", "rr", "corrected", "default", "stiff", "votes", "recipe", "tuned")
    }
    kept = {key: {**cell, "accuracy": 0.123} for key, cell in first["cells"].items() if "/rr/" not in key}
    out.write_text(json.dumps(first | {"cells": kept}))
    benchmark.main(["--quick", "--out", str(out)])
    second = json.loads(out.read_text())["cells"]
    assert {key: second[key] for key in kept} == kept, "measured cells are kept"
    assert set(second) == set(first["cells"])


def test_quick_numbers_stay_off_the_page(benchmark, tmp_path):
    out = tmp_path / "quick.json"
    out.write_text(json.dumps({"quick": True, "cells": {}}))
    with pytest.raises(SystemExit, match="quick"):
        benchmark.write_table(PAGE, out, name="recipe", make=benchmark.tables)
    with pytest.raises(SystemExit):
        benchmark.main(["--quick"])


def test_the_page_says_what_the_measurements_say(benchmark, tmp_path):
    copy = tmp_path / "page.md"
    copy.write_bytes(PAGE.read_bytes())
    benchmark.write_table(copy, RESULTS, name="recipe", make=benchmark.tables)
    assert copy.read_bytes() == PAGE.read_bytes(), "run python -m benchmarks.labels_recipe --table"
    document = json.loads(RESULTS.read_text())
    key = next(key for key in document["cells"] if "/rr/" in key)
    document["cells"][key]["accuracy"] = 0.01
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    benchmark.write_table(copy, changed, name="recipe", make=benchmark.tables)
    assert copy.read_bytes() != PAGE.read_bytes(), "control"
