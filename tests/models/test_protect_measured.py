"""Attacks prove less than the guarantee against DP-SGD, and more than it against a network without protection."""

import importlib
import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield importlib.import_module("benchmarks.models_protect")


@pytest.mark.parametrize(("arm", "caught"), [("undefended", True), ("label-private", True), ("DP-SGD", False)])
def test_the_epsilon_that_is_proved(script, arm, caught):
    sizes = script.Sizes(rows=300, dimension=1500, steps=200)
    found = script.on_points(arm, 0, sizes)
    proved = max(found[attack]["epsilon_at_least"] for attack in ("loss", "margin"))
    assert (proved > script.EPSILON) == caught


def test_the_results_keep_the_guarantee_and_the_page_shows_them():
    document = json.loads((ROOT / "benchmarks" / "results" / "models_protect.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "models_protect.md").read_text(encoding="utf-8")
    rows = {(row["table"], row["arm"]): row for row in document["rows"]}
    assert rows["points", "undefended"]["margin"]["epsilon_at_least"] > 3
    for (table, arm), row in rows.items():
        attacks = {name: row[name] for name in ("loss", "lira", "margin") if name in row}
        if arm == "DP-SGD":
            assert all(one["epsilon_at_least"] < 3 for one in attacks.values())
        for name, one in attacks.items():
            accuracy = f"{row['accuracy']:.1%}" if "accuracy" in row else ""
            cells = [table, arm, accuracy, name, f"{one['auc']:.3f}", f"{one['tpr_at_0.1%_fpr']:.1%}"]
            cells += [f"{one['advantage']:.3f}", f"{one['epsilon_at_least']:.2f}"]
            assert "| " + " | ".join(cells).replace("  ", " ") + " |" in page.replace("  ", " ")
