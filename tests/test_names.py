"""Names explain themselves: one class, one name, and none that could mean anything."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tacit"
EVERY_SURFACE_HAS = {"Plan", "Release"}
ONE_WORD = {
    "Accuracy",
    "Adam",
    "Answer",
    "Auc",
    "Bayes",
    "Bounded",
    "Brier",
    "Calibration",
    "Choice",
    "Classes",
    "Competition",
    "Conflict",
    "Crosses",
    "Crowded",
    "Database",
    "Dataset",
    "Denoised",
    "Destination",
    "Digits",
    "Encoder",
    "Exact",
    "F1",
    "Finding",
    "Fisher",
    "Float32",
    "Float64",
    "Forbidden",
    "Guarantee",
    "Host",
    "Interval",
    "Joint",
    "Ladder",
    "Laplace",
    "Lbfgs",
    "Leak",
    "Ledger",
    "Linear",
    "Linkage",
    "Mae",
    "Metric",
    "Optimizer",
    "Organizer",
    "Overwrite",
    "Partition",
    "Payment",
    "Penalty",
    "Perceptron",
    "Permission",
    "Plan",
    "Policy",
    "Quartiles",
    "Receipt",
    "Registration",
    "Regressor",
    "Regret",
    "Release",
    "Ridge",
    "Rmse",
    "Rounded",
    "Rules",
    "Schema",
    "Setting",
    "Spend",
    "Stationarity",
    "Submission",
    "Suggestions",
    "Team",
    "Thresholdout",
    "Trees",
    "Unauthorized",
    "Unavailable",
    "Unit",
    "Utility",
    "Verdict",
}
"""The nouns of the design, and the field's own terms; every other class says what it is in two words or more."""

VAGUE = {"util", "utils", "common", "helper", "helpers", "manager", "misc"}


def classes(folder):
    """Every class by its name, with where it is defined."""
    found = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{path.relative_to(folder)}:{node.lineno}")
    return found


def words(name):
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+", name)]


def riddles(folder):
    """Classes whose name is one word that is not a term."""
    return sorted(name for name in classes(folder).keys() - ONE_WORD if len(re.findall("[A-Z]", name)) == 1)


def vague(folder):
    """Modules, packages and classes whose name says nothing about them."""
    modules = {part for path in folder.rglob("*.py") for part in path.relative_to(folder).with_suffix("").parts}
    return sorted(name for name in modules | classes(folder).keys() if VAGUE & set(words(name)))


def test_no_class_name_is_defined_twice():
    found = classes(SOURCE)
    assert len(found) > 300, "control: the classes were found"
    assert {name: places for name, places in found.items() if len(places) > 1 and name not in EVERY_SURFACE_HAS} == {}


def test_no_name_is_vague():
    assert vague(SOURCE) == []


def test_a_name_of_one_word_is_a_term():
    assert riddles(SOURCE) == []
    assert classes(SOURCE).keys() >= ONE_WORD


def test_a_riddle_is_found(tmp_path):
    (tmp_path / "found.py").write_text("class _Bent: ...\nclass Settled: ...\nclass BentView: ...\nclass Ledger: ...\n")
    assert riddles(tmp_path) == ["Settled", "_Bent"]


@pytest.mark.parametrize("name", ["utils", "helpers", "common"])
def test_a_vague_name_is_found(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("class LedgerManager: ...\nclass Ledger: ...\n")
    assert vague(tmp_path) == ["LedgerManager", name]
    (tmp_path / "other.py").write_text("class Ledger: ...\n")
    assert [place for place in classes(tmp_path)["Ledger"] if "other" in place] == ["other.py:1"]
