"""A ledger that the first version wrote: its charges, its balance, and a fresh release that it pays for.

``first_ledger.db.gz`` was made by the commands of commit 00f52266, on the table below::

    tacit ledger create visits --data visits.csv --column ill --unit label --epsilon 3 --delta 1e-6
    tacit labels protect visits.csv --label ill --epsilon 1 --keep age --out old.parquet --ledger ledger.db
    tacit ledger charge visits --unit label --epsilon 0.25 --delta 1e-7 --purpose "counts by hand"
    tacit ledger charge --void visits/2 --reason "never made"
    tacit ledger create people --data visits.csv --unit record --epsilon 8 --delta 1e-5 --part spring:0:30
        --part summer:30:60
    tacit ledger charge people --unit record --epsilon 2 --part spring --purpose "a table of counts"
"""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from tacit import labels
from tacit.privacy import BudgetExceeded, Ledger, UnknownData
from tacit.privacy.payment import Payment

STORED = Path(__file__).with_name("first_ledger.db.gz")


@pytest.fixture
def location(tmp_path):
    path = tmp_path / "ledger.db"
    path.touch(mode=0o600)
    path.write_bytes(gzip.decompress(STORED.read_bytes()))
    return path


def visits(first="yes"):
    ill = [first, *("yes" if row % 3 == 0 else "no" for row in range(1, 60))]
    return pa.table({"age": range(20, 80), "ill": ill})


def protect(location, table, out=None, *, epsilon=1):
    plan = labels.Plan(label="ill", epsilon=epsilon, features=("age",))
    return labels.protect(table, plan, out=out, payment=Payment(ledger=Ledger.open(location)))


def test_its_charges_and_its_balance_are_read(location):
    ledger = Ledger.open(location)
    statement = ledger.statement("visits")
    charges = [(one.id, one.guarantee.epsilon, one.voided_by) for one in statement.entries if one.guarantee]
    assert charges == [("visits/1", 1.0, None), ("visits/2", 0.25, "visits/3")]
    assert statement.used == pytest.approx(1 / 3, abs=1e-4)
    assert statement.left == 2
    parts = {part.name: part.used for part in ledger.statement("people").parts}
    assert parts == {"spring": pytest.approx(1 / 4, abs=1e-4), "summer": 0}


def test_it_recognizes_the_rows_and_pays_for_a_fresh_release_once(location, tmp_path):
    protect(location, visits(), tmp_path / "new.parquet")
    content = (tmp_path / "new.parquet").read_bytes()
    protect(location, visits(), tmp_path / "again.parquet")
    assert content == (tmp_path / "again.parquet").read_bytes()
    statement = Ledger.open(location).statement("visits")
    assert (statement.entries[-1].id, statement.left) == ("visits/4", 1)
    with pytest.raises(UnknownData):
        protect(location, visits(first="no"))


def test_its_budget_still_ends(location):
    with pytest.raises(BudgetExceeded):
        protect(location, visits(), epsilon=2.5)
    assert Ledger.open(location).statement("visits").left == 2
