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
