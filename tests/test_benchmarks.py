"""The benchmark harness, on a made-up area and on the real ones."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def harness(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.__main__")


@pytest.fixture
def made_up(harness, monkeypatch):
    """An area that exists for the length of one test; returns the rows it will give."""
    rows = [{"case": "ours", "seconds": 1.0, "reference": "theirs", "reference_seconds": 4.0, "ratio": 0.25}]
    module = ModuleType("benchmarks.bench_made_up")
    module.run = lambda *, quick: [{**row, "quick": quick} for row in rows]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(harness, "find_areas", lambda: ["made_up"])
    return rows


def test_a_run_prints_a_table_and_writes_json(harness, made_up, tmp_path, capsys):
    assert harness.main(["--quick", "--only", "made_up", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("made_up", "ours", "theirs", "0.25"))
    document = json.loads((tmp_path / "made_up.json").read_text())
    assert document["rows"] == [{**made_up[0], "quick": True}]
    assert set(document) == {"area", "date", "quick", "machine", "rows"}
    # nothing that tells one machine from another of its kind
    assert set(document["machine"]) == {"cores", "processor", "system", "python", "libraries"}


def test_a_timing_without_its_reference_is_refused(harness, made_up):
    del made_up[0]["reference"]
    with pytest.raises(SystemExit, match="ours lacks reference"):
        harness.main(["--quick"])


def areas():
    return sorted(path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py"))


@pytest.mark.parametrize("area", areas())
def test_the_real_benchmarks_run(harness, area):
    rows = harness.run_area(area, quick=True)
    assert rows
    for row in rows:
        assert row["ratio"] == pytest.approx(row["seconds"] / row["reference_seconds"], rel=1e-6)
