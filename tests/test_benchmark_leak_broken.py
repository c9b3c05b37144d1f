"""The simulations of broken and honest mechanisms run, and the page has the table of their results alone."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "leak.md"
RESULTS = ROOT / "benchmarks" / "results" / "leak_broken.json"


@pytest.fixture
def benchmark():
    return importlib.import_module("benchmarks.leak_broken")


@pytest.fixture(scope="module")
def cells():
    return json.loads(RESULTS.read_text())["cells"]


def test_a_case_runs(benchmark):
    found = benchmark.measure(case="epsilon 1.25, claimed 1", runs=2, start=0)
    assert found == {"suspected": 2}
    proved = benchmark.measure(case="canaries", runs=2, start=0)
    assert 0 < proved["point"] < proved["true"]


def test_the_page_says_what_the_measurements_say(benchmark, tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text(PAGE.read_text())
    benchmark.write_table(copy, RESULTS, name="leak_broken", make=benchmark.table)
    assert copy.read_bytes() == PAGE.read_bytes(), "run python -m benchmarks.leak_broken --table"


def test_broken_mechanisms_are_found_and_honest_ones_are_not(benchmark, cells):
    for name, (_, runs) in benchmark.BROKEN.items():
        assert cells[name]["runs"] == runs
        assert cells[name]["suspected"] >= 0.9 * runs
    for name in benchmark.ALARMS:
        own = [cell for cell in cells.values() if cell["case"] == name]
        assert sum(cell["runs"] for cell in own) == 1000
        assert sum(cell["suspected"] for cell in own) <= 50 + 3 * np.sqrt(1000 * 0.05 * 0.95)


def test_canaries_prove_less_than_the_truth(cells):
    one = cells["canaries"]
    assert one["point"] <= one["curve"] < one["true"]
    assert max(one["above"]) <= 0.05 * one["runs"]
