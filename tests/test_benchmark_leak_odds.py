"""The simulations of the change of odds run, and the page has the table of their results alone."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "leak.md"
RESULTS = ROOT / "benchmarks" / "results" / "leak_odds.json"


@pytest.fixture
def benchmark():
    return importlib.import_module("benchmarks.leak_odds")


def test_a_quick_run_has_every_cell(benchmark, tmp_path):
    out = tmp_path / "quick.json"
    benchmark.main(["--quick", "--out", str(out)])
    cells = json.loads(out.read_text())["cells"]
    assert set(cells) == set(json.loads(RESULTS.read_text())["cells"])
    assert all(sum(cell["verdicts"].values()) == 2 for cell in cells.values())


def test_the_page_says_what_the_measurements_say(benchmark, tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text(PAGE.read_text())
    benchmark.write_table(copy, RESULTS, name="leak_odds", make=benchmark.table)
    assert copy.read_bytes() == PAGE.read_bytes(), "run python -m benchmarks.leak_odds --table"


def test_verdicts_at_full_size():
    cells = json.loads(RESULTS.read_text())["cells"]
    assert all(cells[f"3000/12/{epsilon}/1"]["verdicts"] == {"above": 150} for epsilon in (5, 8, 40))
    assert all(cells[f"100000/{own}/0.5/1"]["verdicts"] == {"below": 50} for own in (400, 30_000))
    assert cells["300/1/0.5/1"]["verdicts"] == {"too few": 200}
    at_the_limit = [cell for cell in cells.values() if 2.3 < cell["epsilon"] < 2.31]
    assert len(at_the_limit) == 5
    assert all(cell["verdicts"]["too few"] >= 0.95 * cell["runs"] for cell in at_the_limit)
