"""The benchmark on rare labels runs, keeps what it has measured, and writes its table from that alone."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "labels_accuracy.md"
RESULTS = ROOT / "benchmarks" / "results" / "labels_rare.json"


@pytest.fixture
def benchmark():
    return importlib.import_module("benchmarks.labels_rare")


def test_a_run_goes_on_where_it_stopped_and_quick_numbers_stay_off_the_page(benchmark, tmp_path):
    out = tmp_path / "quick.json"
    benchmark.main(["--quick", "--out", str(out)])
    first = json.loads(out.read_text())
    shares = ("scaled/0.24", "scaled/0.1", "scaled/0.03", "as they are/0.1", "as they are/0.03")
    assert set(first["cells"]) == {f"{share}/{epsilon}/0" for share in shares for epsilon in (1, 2, 3)}
    del first["cells"]["scaled/0.1/2/0"]
    kept = {key: {**cell, "rows": 7} for key, cell in first["cells"].items()}
    out.write_text(json.dumps(first | {"cells": kept}))
    benchmark.main(["--quick", "--out", str(out)])
    second = json.loads(out.read_text())["cells"]
    assert {key: second[key] for key in kept} == kept
    assert second["scaled/0.1/2/0"]["rows"] > 7
    with pytest.raises(SystemExit, match="quick"):
        benchmark.write_table(PAGE, out, name="rare", make=benchmark.table)
    with pytest.raises(SystemExit):
        benchmark.main(["--quick"])


def test_rows_of_the_rarer_class_are_left_out(benchmark):
    whole = benchmark._made_up()
    split = benchmark.thin(whole, share=0.1, rng=np.random.default_rng(0))
    assert split.y.mean() == pytest.approx(0.1, abs=0.001)
    assert split.truth.mean() == pytest.approx(0.1, abs=0.002)
    assert np.count_nonzero(split.y == 0) == np.count_nonzero(whole.y == 0)


def test_the_page_says_what_the_measurements_say(benchmark, tmp_path):
    copy = tmp_path / "page.md"
    copy.write_bytes(PAGE.read_bytes())
    benchmark.write_table(copy, RESULTS, name="rare", make=benchmark.table)
    assert copy.read_bytes() == PAGE.read_bytes(), "run python -m benchmarks.labels_rare --table"
    document = json.loads(RESULTS.read_text())
    document["cells"]["as they are/0.03/1/0"]["default"]["auc"] = 0.01
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    benchmark.write_table(copy, changed, name="rare", make=benchmark.table)
    assert copy.read_bytes() != PAGE.read_bytes(), "control"
