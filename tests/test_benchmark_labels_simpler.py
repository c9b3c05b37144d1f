"""The comparison of the default with simpler ways, and the page that shows it."""

import importlib
import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]


def cells(gap):
    """Eight seeds of one place, in which the default's accuracy is behind the best alternative's by ``gap``."""
    rng = np.random.default_rng(0)
    made = {}
    for seed in range(8):
        ways = {"plain": 0.6, "forward": 0.8, "default": 0.8 - gap, "clean": 0.99}
        made[f"digits/linear/1/{seed}"] = {"rows": 100} | {
            way: {what: value + 0.001 * rng.normal() for what in ("accuracy", "auc", "loss", "calibration")}
            for way, value in ways.items()
        }
    return made


def test_a_default_that_is_behind_is_found_and_one_that_is_not_is_not():
    compare = importlib.import_module("benchmarks.labels_simpler.compare")
    for gap, expected in ((0.05, True), (0.0, False)):
        found = compare.compare(cells(gap))
        accuracy = next(one for one in found if one.measure == "accuracy")
        assert accuracy.alternative == "forward"
        assert accuracy.worse is expected
        assert (compare.holm(found)[found.index(accuracy)] < 0.05) is expected
    fewer = {key: cell for key, cell in cells(0.05).items() if key[-1] in "01"}
    assert compare.compare(fewer) == []


def test_the_page_is_made_of_the_measurements():
    tables = importlib.import_module("benchmarks.labels_simpler.tables")
    document = json.loads((ROOT / "benchmarks" / "results" / "labels_simpler.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "labels_simpler.md").read_text(encoding="utf-8")
    assert tables.simpler_table(document) in page, "run python -m benchmarks.labels_simpler --table"


def test_the_page_has_the_rare_labels_as_measured():
    faint = importlib.import_module("benchmarks.labels_faint")
    document = json.loads((ROOT / "benchmarks" / "results" / "labels_faint.json").read_text(encoding="utf-8"))
    shown = faint.table(document)
    assert shown in (ROOT / "docs" / "labels_simpler.md").read_text(encoding="utf-8")
    assert "**" not in shown, "the default is further behind than the page says it may be"


def half(*, number):
    return {"half": 10 // number}


def test_a_cell_that_fails_costs_no_other_cell(tmp_path, capfd):
    cells = importlib.import_module("benchmarks.cells")
    missing = [(str(number), {"number": number}) for number in (0, 1, 2)]
    document = {"quick": True, "cells": {}}
    cells.fill_in_processes(missing, document, measure=half, out=tmp_path / "cells.json", workers=1, minutes=1.0)
    assert json.loads((tmp_path / "cells.json").read_text())["cells"] == {"1": {"half": 10}, "2": {"half": 5}}
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_no_cell_learns_from_more_rows_than_it_says():
    sets = importlib.import_module("benchmarks.labels_simpler.sets")
    for rows, cap, own, other in ((1000, 200, 200, 100), (100, 200, 75, 25), (1000, 5000, 900, 100)):
        made = sets.Rows(X=np.arange(rows, dtype=float)[:, None], y=np.zeros(rows, dtype=np.int64))
        kept, judges = made.divided(0, cap=cap, judged=100)
        assert (len(kept.y), len(judges.y)) == (own, other)
        assert not set(kept.X.ravel().tolist()) & set(judges.X.ravel().tolist())
