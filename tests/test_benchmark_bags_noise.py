"""The benchmark on noise in random bags runs, keeps what it has measured, and writes its table from that alone."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "bags_learn.md"
RESULTS = ROOT / "benchmarks" / "results" / "bags_noise.json"


@pytest.fixture
def benchmark():
    return importlib.import_module("benchmarks.bags_noise")


def test_a_run_goes_on_where_it_stopped_and_quick_numbers_stay_off_the_page(benchmark, tmp_path):
    out = tmp_path / "quick.json"
    benchmark.main(["--quick", "--out", str(out)])
    first = json.loads(out.read_text())
    assert set(first["cells"]) == {f"generated/None/{size}/{epsilon}/0" for size in (4, 30) for epsilon in (0.3, 1, 3)}
    del first["cells"]["generated/None/4/1/0"]
    kept = {key: {**cell, "bags": 7} for key, cell in first["cells"].items()}
    out.write_text(json.dumps(first | {"cells": kept}))
    benchmark.main(["--quick", "--out", str(out)])
    second = json.loads(out.read_text())["cells"]
    assert {key: second[key] for key in kept} == kept
    assert second["generated/None/4/1/0"]["bags"] > 7
    with pytest.raises(SystemExit, match="quick"):
        benchmark.write_table(PAGE, out, name="bags_noise", make=benchmark.table)
    with pytest.raises(SystemExit):
        benchmark.main(["--quick"])


def test_the_page_says_what_the_measurements_say(benchmark, tmp_path):
    copy = tmp_path / "page.md"
    copy.write_bytes(PAGE.read_bytes())
    benchmark.write_table(copy, RESULTS, name="bags_noise", make=benchmark.table)
    assert copy.read_bytes() == PAGE.read_bytes(), "run python -m benchmarks.bags_noise --table"
    document = json.loads(RESULTS.read_text())
    document["cells"]["Criteo/50/10/1/0"]["default"] = 9.0
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    benchmark.write_table(copy, changed, name="bags_noise", make=benchmark.table)
    assert copy.read_bytes() != PAGE.read_bytes(), "control"
