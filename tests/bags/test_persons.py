"""What bags guarantee for a person with several rows: the delta that was asked for, at an epsilon of the loss."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.bags import Plan, protect
from tacit.privacy import Guarantee, InvalidInput

ROWS = 997
TABLE = pa.table(
    {
        "city": [("a", "b", "c")[row % 3] for row in range(ROWS)],
        "kind": [("x", "y")[row % 2] for row in range(ROWS)],
        "ill": [row % 2 for row in range(ROWS)],
    }
)
KEYS = {"categories": {"city": ("a", "b", "c"), "kind": ("x", "y")}}
CASES = {
    "totals": ({}, 13.6),
    "chosen": ({"select": 1}, 14.0),
    "records": ({"unit": "record", **KEYS}, 14.0),
    "random": ({"by": (), "mechanism": "random:size=20,bags=40,joins=2"}, 13.6),
}


@pytest.mark.parametrize(("given", "most"), CASES.values(), ids=CASES)
def test_no_release_for_a_person_grows_its_delta(given, most):
    plan = Plan(**{"label": "ill", "epsilon": 1, "delta": 1e-6, "by": ["city", "kind"], "rows_per_person": 10, **given})
    guarantee = protect(TABLE, plan, rng=np.random.default_rng(0)).guarantee
    assert (guarantee.delta, guarantee.rows) == (1e-6, 10)
    assert 10 < guarantee.epsilon <= most, "ten times epsilon 1 would need a delta of 0.0128"
    classical = Guarantee(unit=guarantee.unit, epsilon=1, delta=1e-6).for_group(rows=10)
    assert classical.delta > 12 / ROWS, "control: an (epsilon, delta) that is grouped"
    assert guarantee.loss.epsilon_at(1e-6) <= guarantee.epsilon


@pytest.mark.parametrize("given", [one for one, _ in CASES.values()], ids=CASES)
def test_the_delta_of_a_person_is_compared_with_the_rows(given):
    plan = Plan(**{"label": "ill", "epsilon": 1, "delta": 2e-3, "by": ["city", "kind"], "rows_per_person": 2, **given})
    with pytest.raises(InvalidInput, match="must be below 1/997"):
        protect(TABLE, plan, rng=np.random.default_rng(0))
