"""The budget that an audit reads from a ledger: spent, left, and what the plan would add."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.cli import main
from tacit.privacy import Guarantee, Unit
from tacit.privacy.ledger import Ledger

PLAN = """
[data]
file = "people.csv"
label = "ill"
[audit]
epsilons = []
[[labels]]
epsilon = 0.5
[[bags]]
by = [["ward"]]
epsilon = "none"
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"ward": rng.choice(["a", "b"], 100), "ill": np.where(rng.random(100) < 0.4, "yes", "no")})
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    (tmp_path / "tacit.toml").write_text(PLAN)
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(table["ill"], name="people", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    ledger.charge("people", Guarantee(unit=Unit.LABEL, epsilon=0.25), purpose="before")
    return tmp_path


def audited(folder, capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(
            [
                "audit",
                str(folder / "tacit.toml"),
                *words,
                "--seed",
                "0",
                "--fresh",
                "--json",
                "--out",
                str(folder / "p.html"),
            ]
        )
    said = capsys.readouterr()
    return (
        (end.value.code, json.loads(said.out), (folder / "p.html").read_text())
        if said.out
        else (end.value.code, said.err)
    )


def test_what_is_spent_left_and_would_be_added(folder, capsys):
    code, found, page = audited(folder, capsys, "--ledger", str(folder / "ledger.db"))
    balance = found["ledger"]
    assert code == 0
    assert (balance["budget"], balance["used"], balance["left"], balance["after"]) == (1.0, 0.25, 0.75, 0.75)
    assert balance["uncharged"] == ["bags: totals by ward, exact"]
    assert "25% is used and epsilon 0.75 fits; the planned releases would bring it to 75%" in page
    assert Ledger.open(folder / "ledger.db").statement("people").spent == 0.25, "nothing is charged"


def test_a_plan_that_the_ledger_would_refuse_fails(folder, capsys):
    Ledger.open(folder / "ledger.db").charge("people", Guarantee(unit=Unit.LABEL, epsilon=0.5), purpose="more")
    (folder / "tacit.toml").write_text(PLAN + '[ledger]\nfile = "ledger.db"\ndataset = "people"\n')
    code, found, _ = audited(folder, capsys)
    assert code == 1
    assert found["faults"] == [
        "The ledger's budget of people is epsilon 1: 75% is used and epsilon 0.25 fits; "
        "it would refuse one of the planned releases"
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('[ledger]\nfile = "no.db"\n', "tacit.toml, line 13, ledger.file: "),
        ('[ledger]\nfile = "ledger.db"\ndataset = "x"\n', "tacit.toml, line 14, ledger.dataset: "),
        ('[ledger]\ndataset = "x"\n', "tacit.toml, line 12, ledger: file must name the ledger"),
    ],
)
def test_errors_name_the_key(folder, capsys, lines, said):
    (folder / "tacit.toml").write_text(PLAN + lines)
    code, err = audited(folder, capsys)
    assert code == 2
    assert said in err
