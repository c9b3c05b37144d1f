"""An epsilon for each row: each row's own odds, charged at the largest, and refused where a row has none."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from tacit import labels
from tacit.labels.mechanisms import RandomizedResponse, ResponsePerRow
from tacit.privacy import Guarantee, Ledger, Unit
from tacit.privacy.errors import InvalidInput
from tacit.privacy.payment import Payment

LEVELS = np.array([0.5, 1.0, 3.0])
ROWS = 30_000


def visits(levels=None, rows=ROWS):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=rows).astype(str)
    epsilon = rng.permutation(np.arange(rows) % 3)
    return pa.table(
        {"x": y.astype(float) + rng.normal(size=rows), "own": LEVELS[epsilon] if levels is None else levels, "ill": y}
    )


def plan(**changes):
    given = {"label": "ill", "epsilon": 3, "classes": ("0", "1", "2"), "features": ("x", "own")}
    return labels.Plan(**{**given, "mechanism": "per_row:column=own", **changes})


def test_each_row_keeps_its_label_as_often_as_its_own_epsilon_says():
    table = visits()
    release = labels.protect(table, plan(), rng=np.random.default_rng(1))
    same = np.array(release.labels) == np.array(table["ill"])
    own, largest = np.array(table["own"]), RandomizedResponse(epsilon=3.0, classes=3).transition()[0, 0]
    for level in LEVELS:
        kept, rows = same[own == level].sum(), (own == level).sum()
        rate = RandomizedResponse(epsilon=level, classes=3).transition()[0, 0]
        assert 1e-4 < binom.cdf(kept, rows, rate) < 1 - 1e-4
        if level < 3:
            assert binom.cdf(kept, rows, largest) < 1e-9, "control: one epsilon for all rows"


def test_a_change_of_one_label_moves_the_odds_of_its_row_by_its_own_epsilon():
    release = labels.protect(visits(), plan(), rng=np.random.default_rng(1))
    likelihood = release.evidence.likelihood
    odds = np.log(likelihood.max(axis=1) / likelihood.min(axis=1))
    np.testing.assert_allclose(odds, np.array(release.table["own"]), atol=1e-9)
    assert odds.max() <= release.guarantee.epsilon + 1e-9
    unbiased, truth = release.evidence.unbiased, np.array(visits()["ill"]) == "2"
    error = unbiased[:, 2].std() / np.sqrt(ROWS)
    assert abs(unbiased[:, 2].mean() - truth.mean()) < 4 * error


def test_it_is_charged_at_the_largest_and_read_again(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    table = visits(rows=3000)
    _ = ledger.register(table["ill"], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=4.0))
    out = tmp_path / "ill.parquet"
    labels.protect(table, plan(), out=out, payment=Payment(ledger=ledger))
    read = labels.Release.read(out)
    assert read.guarantee.epsilon == 3
    assert "a row's epsilon does not depend on its label" in read.guarantee.assumptions
    assert labels.learn(read, rng=np.random.default_rng(0)).report_.accuracy > 0.45
    leak = labels.attack(read, truth=table, rng=np.random.default_rng(0))
    assert leak.rate > leak.baseline


def test_canaries_of_rows_of_their_own_epsilon_prove_no_more_than_the_largest():
    table = visits(rows=4000)
    release = labels.protect(table, plan(), rng=np.random.default_rng(1))
    leak = labels.attack(release, truth=table, method="canaries", rng=np.random.default_rng(0))
    assert 0.3 < leak.epsilon_lower_bound <= 3


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (np.full(60, 4.0), "at most 3, the plan's"),
        (np.full(60, 0.0), "above 0"),
        (np.full(60, np.nan), "above 0|gaps"),
        (np.linspace(0.1, 2, 60).astype(str), "numbers"),
        ([None] * 60, "numbers|gaps"),
    ],
)
def test_rows_without_a_covered_epsilon_are_rejected_before_the_charge(levels, message):
    with pytest.raises(InvalidInput, match=message):
        labels.protect(visits(pa.array(levels), rows=60), plan(), rng=np.random.default_rng(0))


def test_more_epsilons_than_anyone_declares_are_rejected():
    with pytest.raises(InvalidInput, match="at most 100"):
        labels.protect(visits(np.linspace(0.1, 2, 300), rows=300), plan(), rng=np.random.default_rng(0))


def test_the_column_is_released():
    with pytest.raises(InvalidInput, match="'own'"):
        plan(features=("x",))
    with pytest.raises(InvalidInput, match="mechanism"):
        ResponsePerRow(epsilon=1.0, classes=2).release(pa.array(["a"]), rng=np.random.default_rng(0))
