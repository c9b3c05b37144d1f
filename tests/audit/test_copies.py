"""A released column that copies the label: no noise on the label helps."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tacit.audit import AuditPlan, run_audit
from tacit.audit.source import AuditedTable


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
