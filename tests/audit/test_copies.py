"""A released column that copies the label: no noise on the label helps."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.audit import AuditPlan, run_audit
from tacit.audit.source import AuditedTable
from tacit.cli import main


def people(rows=1000):
    rng = np.random.default_rng(0)
    ill = rng.random(rows) < 0.2
    return pa.table(
        {
            "age": rng.integers(20, 90, rows),
            "code": np.where(ill, rng.choice(["I1", "I2"], rows), rng.choice(["N1", "N2", "N3"], rows)),
            "ill": np.where(ill, "yes", "no"),
        }
    )


@pytest.mark.parametrize(("features", "answer"), [(("age", "code"), "no"), (("age",), "yes")])
def test_labels_beside_a_copy_are_a_no(step_of, features, answer):
    source = AuditedTable(name="people", table=people(), label="ill", features=("age", "code"))
    step = step_of(source, "labels", epsilon=0.5, features=features)
    (found,) = run_audit(AuditPlan(steps=(step,), epsilons=()), seed=0).findings
    assert found.answer == answer
    if answer == "no":
        assert found.reason == "500 labels are determined for certain by the released column code."
        assert found.remedy == "release it without code, which copies the label"


def test_exact_totals_that_can_be_subtracted_are_not_known_yet(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.random(4000), "ill": np.where(rng.random(4000) < 0.3, "yes", "no")})
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    one, other = ([round(float(edge) + shift, 4) for edge in np.arange(0.05, 1, 0.05)] for shift in (0, 0.0003))
    releases = "".join(
        f'[[bags]]\nby = [["x"]]\nedges = {{ x = {edges} }}\nmin_size = 10\nepsilon = "none"\n'
        for edges in (one, other)
    )
    plan = tmp_path / "tacit.toml"
    plan.write_text(f'[data]\nfile = "people.csv"\nlabel = "ill"\n[audit]\nepsilons = []\n{releases}')
    with pytest.raises(SystemExit):
        main(["audit", str(plan), "--seed", "0", "--fresh", "--json", "--out", str(tmp_path / "report.html")])
    (joint,) = json.loads(capsys.readouterr().out)["together"]
    assert joint["answer"] == "not known yet"
    assert joint["reason"].startswith("Exact totals of several releases can be subtracted")
