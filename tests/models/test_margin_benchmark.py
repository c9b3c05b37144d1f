"""The benchmark of membership at the margin runs, keeps what it has measured, and made the page's tables."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "models_margin.md"


@pytest.fixture
def benchmark():
    return importlib.import_module("benchmarks.models_membership_margin")


def test_a_quick_run_measures_and_goes_on_where_it_stopped(benchmark, tmp_path):
    out, page = tmp_path / "quick.json", PAGE.read_text()
    assert benchmark.main(["--quick", "--out", str(out)]) == 0
    document = json.loads(out.read_text())
    assert all(set(cell["attacks"]) == set(benchmark.ATTACKS) for cell in document["cells"].values())
    assert len(document["reconstruction"]) == 1
    first = next(iter(document["cells"].values()))
    first["attacks"]["near"]["auc"] = 0.123
    out.write_text(json.dumps(document))
    benchmark.main(["--quick", "--out", str(out)])
    assert next(iter(json.loads(out.read_text())["cells"].values()))["attacks"]["near"]["auc"] == 0.123
    assert PAGE.read_text() == page, "quick numbers stay off the page"


def test_the_page_shows_what_was_measured(benchmark):
    tables = benchmark.tables(json.loads(benchmark.RESULTS.read_text()))
    page = PAGE.read_text()
    assert all(table in page for table in tables.values())


def test_what_the_page_says_of_expected_points_was_measured(benchmark):
    """AUC of at least 0.999 wherever the points have 3 effective dimensions each, or are proved."""
    cells = json.loads(benchmark.RESULTS.read_text())["cells"].values()
    covered = [cell for cell in cells if "not covered" not in cell["coverage"]]
    assert len(covered) >= 5
    assert min(cell["attacks"]["near"]["auc"] for cell in covered) >= 0.999
    high = [cell for cell in cells if cell["dimension"] == 1000]
    assert min(cell["attacks"]["near"]["auc"] for cell in high) >= 0.999
