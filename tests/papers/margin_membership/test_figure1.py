"""The scripts behind the numbers of the documentation, at their smallest."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.leak.roc import roc_from_sorted

ROOT = Path(__file__).parents[3]


@pytest.fixture
def figure(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("papers.margin_membership.figure1")


def test_figure_1_runs_and_resumes(figure, tmp_path, capsys):
    assert figure.main(["--quick", "--out", str(tmp_path)]) == 0
    path = tmp_path / "models_figure1_quick.json"
    document = json.loads(path.read_text())
    assert [point["separated"] for point in document["points"].values()] == [2, 2]
    assert document["points"]["100"]["under"]["mean"] > document["points"]["10"]["under"]["mean"]
    assert "d = 10:" in capsys.readouterr().err
    first = path.read_bytes()
    figure.main(["--quick", "--out", str(tmp_path)])
    assert capsys.readouterr().err == "", "a second run found everything done"
    assert path.read_bytes() == first


def test_figure_1_is_drawn_from_its_file(figure, tmp_path):
    figure.run(figure.QUICK, tmp_path / "models_figure1_reduced.json", (100,), device="cpu")
    docs = tmp_path / "page.md"
    docs.write_text(f"before {figure.BEGIN} old {figure.END} after", encoding="utf-8")
    figure.draw(tmp_path, docs)
    page = docs.read_text(encoding="utf-8")
    assert page.startswith("before")
    assert page.endswith("after")
    assert "old" not in page
    assert "network, known margin" in page
    assert (tmp_path / "models_figure1_reduced.svg").stat().st_size > 1000


def test_figure_1_trains_where_only_numpy_and_torch_are_installed(tmp_path):
    program = f"""
import runpy, sys
class Bare:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tacit", "scipy", "sklearn", "cvxpy", "matplotlib", "rich", "benchmarks"):
            raise ImportError(name)
sys.meta_path.insert(0, Bare())
sys.argv = ["figure", "--quick", "--out", {str(tmp_path)!r}]
runpy.run_path({str(ROOT / "papers/margin_membership/figure1.py")!r}, run_name="__main__")
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "models_figure1_quick.json").exists()


def test_its_measures_are_those_of_the_library(figure):
    rng = np.random.default_rng(0)
    members, others = rng.normal(1, 1, size=(5, 20)), rng.normal(size=(5, 800)).round(1)
    found = figure.measure(members, others)
    roc = roc_from_sorted(np.sort(members.ravel()), np.sort(others.ravel()), level=0.95)
    assert found["auc"] == pytest.approx(roc.auc)
    assert found["found_at_0.1%"] / found["members"] == pytest.approx(roc.at_0_1_percent.tpr)
    thresholds = np.unique(np.concatenate([members.ravel(), others.ravel()]))
    best = max((members >= t).mean() - (others >= t).mean() for t in thresholds)
    assert found["advantage"] == pytest.approx(best)


def test_the_certificates_run(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT))
    margin = importlib.import_module("benchmarks.models_margin")
    assert margin.main(["--quick", "--out", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "models_margin.json").read_text())
    residuals = {row["network"]: row["residual"] for row in document["rows"]}
    assert residuals["polished"] < 1e-4 < residuals["gradient-trained"]
    assert "| polished |" in margin.table(document)
