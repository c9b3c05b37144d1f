"""The benchmark of one dimension runs, keeps what it measured, and lets no quick number onto the page."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def benchmark():
    return importlib.import_module("papers.margin_membership.univariate")


def test_a_quick_run_measures_draws_and_stays_off_the_page(benchmark, tmp_path, capsys):
    assert benchmark.main(["--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert all(f"| {kind} | " in printed for kind in ("exact | 3", "polished | 1", "gradient-trained | 1"))
    path = tmp_path / "models_univariate_quick.json"
    document = json.loads(path.read_text())
    assert set(document["sets"]) == {"exact 0", "exact 1", "exact 2", "trained 0"}
    assert (tmp_path / "models_figure2.svg").exists()
    document["sets"]["exact 0"]["found"] = 77
    path.write_text(json.dumps(document))
    benchmark.main(["--quick", "--out", str(tmp_path)])
    assert json.loads(path.read_text())["sets"]["exact 0"]["found"] == 77, "what was measured is kept"
    with pytest.raises(SystemExit, match="quick"):
        benchmark.write_page(document, tmp_path / "page.md")


def test_the_page_has_the_kept_numbers(benchmark):
    document = json.loads((ROOT / "benchmarks" / "results" / "models_univariate.json").read_text())
    assert benchmark.summarize(document) in (ROOT / "docs" / "models_univariate.md").read_text()


def test_the_kept_numbers_are_good_enough(benchmark):
    document = json.loads((ROOT / "benchmarks" / "results" / "models_univariate.json").read_text())
    exact = [row for key, row in document["sets"].items() if key.startswith("exact")]
    assert len(exact) == 200
    assert max(row["certificate"] for row in exact) <= 1e-8
    assert all(4 * row["candidates_right"] >= row["candidates"] for row in exact)
    assert sum(row["right"] for row in exact) >= 0.99 * sum(row["found"] for row in exact)
    assert sum(row["recalled"] for row in exact) >= 0.99 * sum(row["on_margin"] for row in exact)
