"""Labels that follow the order of the rows: the audit sees it, says what to do, and init plans it."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tacit import labels
from tacit.audit import Permission, ReleaseState
from tacit.cli import main
from tacit.privacy import InvalidInput


def people(rows=2000, *, ordered):
    """Visits sorted by the private label, as files of cases and controls are, or in random order."""
    rng = np.random.default_rng(0)
    ill = np.where(np.arange(rows) < rows // 5, "yes", "no")
    ages = rng.integers(20, 90, rows)
    return pa.table({"age": ages, "site": rng.integers(0, 50, rows), "ill": ill if ordered else rng.permutation(ill)})


def run(words, capsys):
    with contextlib.suppress(SystemExit):
        main([*words.split(), "--json"])
    said = capsys.readouterr()
    assert said.out, said.err
    return json.loads(said.out)


@pytest.fixture
def audited(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def audit(plan):
        (tmp_path / "tacit.toml").write_text(plan)
        told = run("audit tacit.toml --surfaces labels --seed 0 --fresh --out report.html", capsys)
        return told["findings"][0]

    return audit


PLAN = '[data]\nfile = "people.csv"\nlabel = "ill"\n[audit]\nepsilons = []\n[[labels]]\nepsilon = 0.5\n'


def test_a_sorted_table_is_a_no_at_any_epsilon(audited, tmp_path):
    pyarrow.csv.write_csv(people(ordered=True), tmp_path / "people.csv")
    found = audited(PLAN)
    assert (found["answer"], found["state"]) == (Permission.NO.value, ReleaseState.ABOVE.value)
    assert "release the rows in random order (shuffle = true)" in found["remedy"]
    assert found["reason"].endswith("and the limit is 10-fold; neighbors in the order of the rows reveal labels.")
    assert not found["broken"], "the guarantee is about one label when all others are fixed"


def test_control_the_same_rows_in_random_order_are_a_yes(audited, tmp_path):
    pyarrow.csv.write_csv(people(ordered=False), tmp_path / "people.csv")
    assert audited(PLAN)["answer"] == Permission.YES.value


def test_what_order_reveals_is_never_a_yes_by_guarantee(audited, tmp_path):
    table = people(rows=150, ordered=True)
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    found = audited(PLAN.replace("0.5", "2"))
    assert "with_order" in found["leak"]["facts"]
    assert found["state"] in (ReleaseState.UNKNOWN.value, ReleaseState.ABOVE.value)


@pytest.mark.parametrize(("ordered", "distinct", "order"), [(1, 1, "shuffled"), (1, 0, "kept"), (0, 1, "random")])
def test_init_plans_a_random_order_where_it_is_needed(audited, tmp_path, capsys, ordered, distinct, order):
    table = people(ordered=bool(ordered))
    if distinct:
        table = table.append_column("visit", pa.array(np.random.default_rng(1).permutation(table.num_rows) / 7))
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    assert run("init people.csv --label ill --surfaces labels", capsys)["order"] == order
    plan = (tmp_path / "tacit.toml").read_text()
    assert ("shuffle = true" in plan) == (order == "shuffled")
    assert ("random order first" in plan) == (order == "kept")
    answer = audited(plan.replace("epsilons = [0.1, 0.3, 1, 3, 10]", "epsilons = []"))["answer"]
    assert answer == ("no" if order == "kept" else "yes")


@pytest.mark.parametrize("name", ["label", "codes"])
def test_shuffled_labels_are_matched_over_gaps_and_without_columns_that_cannot_be_released(audited, name, capsys):
    table = people(ordered=True)
    rows, rng = table.num_rows, np.random.default_rng(1)
    visit = pa.array(rng.permutation(rows) / 7)
    gaps = pa.array(rng.integers(0, 9, rows), mask=rng.random(rows) < 0.3)
    other = pa.array(rng.integers(0, 2, rows)) if name == "label" else pa.array([[1, 2]] * rows)
    for column, values in (("visit", visit), ("gaps", gaps), (name, other)):
        table = table.append_column(column, values)
    pyarrow.parquet.write_table(table, "people.parquet")
    assert run("init people.parquet --label ill --surfaces labels", capsys)["order"] == "shuffled"
    plan = Path("tacit.toml").read_text()
    assert '"gaps"' in plan
    assert "shuffle = true" in plan
    assert audited(plan.replace("epsilons = [0.1, 0.3, 1, 3, 10]", "epsilons = []"))["answer"] == "yes"


def test_a_column_that_the_release_has_itself_is_not_released_under_all():
    table = people(ordered=True)
    table = table.append_column("label", table["ill"])
    with pytest.raises(InvalidInput, match="features must not name 'label', a column of the release; rename it first"):
        labels.protect(table, labels.Plan(label="ill", epsilon=1, features="all"))


def test_order_that_the_attack_misses_is_not_known_yet(audited, tmp_path, monkeypatch):
    """The owner sees that labels follow the order: an attack that does not is no reason to hand them out."""
    pyarrow.csv.write_csv(people(ordered=True), tmp_path / "people.csv")
    monkeypatch.setattr("tacit.labels.attacks.bayes.guess_labels_in_order", lambda released, best: None)
    found = audited(PLAN)
    assert found["answer"] == "not known yet"
    assert found["reason"].startswith("The labels follow the order of the rows")
    assert "shuffle = true" in found["remedy"]
