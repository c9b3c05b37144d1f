"""The membership benchmark runs, and the page shows what its JSON holds."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def benchmark():
    return importlib.import_module("benchmarks.models_membership")


def test_a_quick_run_prints_every_attack_and_writes_nothing(benchmark, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(benchmark, "PAGE", tmp_path / "page.md")
    benchmark.main(["--quick", "--keep", str(tmp_path / "shadows")])
    printed = capsys.readouterr().out
    for words in ("loss threshold", "LiRA online", "LiRA offline, fixed variance", "RMIA online", "RMIA offline"):
        assert printed.count(f"| {words}") >= 2
    assert [path.name for path in tmp_path.iterdir()] == ["shadows"]


def test_the_page_shows_the_results(benchmark, tmp_path):
    document = json.loads(benchmark.RESULTS.read_text(encoding="utf-8"))
    assert not document["quick"]
    page = tmp_path / "page.md"
    page.write_text(benchmark.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    benchmark.write_page(document, page)
    assert page.read_text(encoding="utf-8") == benchmark.PAGE.read_text(encoding="utf-8")


def test_the_control_proves_nothing_and_the_forest_is_caught(benchmark):
    rows = json.loads(benchmark.RESULTS.read_text(encoding="utf-8"))["rows"]
    control = [row for row in rows if row["model"].startswith("control")]
    assert len(control) == 7
    assert all(row["epsilon_lower_bound"] == 0 and abs(row["auc"] - 0.5) < 0.05 for row in control)
    forest = [row for row in rows if row["model"].startswith("random forest") and row["attack"] != "loss threshold"]
    assert all(row["auc"] > 0.75 and row["epsilon_lower_bound"] > 1 for row in forest)
