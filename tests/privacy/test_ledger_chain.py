"""The chain of the entries: what is missing, changed or older than what was accepted is found."""

import json

import pytest
from sqlalchemy import delete, select, text

from tacit.privacy import Guarantee, LedgerError, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.rows import seal
from tacit.privacy.ledger.schema import ACCOUNT, BUDGET, ENTRY, LINK

TENTH = Guarantee(unit=Unit.LABEL, epsilon=0.1)


@pytest.fixture
def ledger(sqlite_location):
    made = Ledger.create(sqlite_location)
    made.register([0, 1], name="adult", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0, delta=1e-6))
    for purpose in "abcd":
        made.charge("adult", TENTH, purpose=purpose)
    return made


def forge(ledger, *statements):
    """Write what the triggers refuse."""
    with ledger.transaction() as rows:
        for table in (ENTRY, LINK, BUDGET):
            for verb in ("update", "delete"):
                rows.connection.execute(text(f"DROP TRIGGER {table.name}_no_{verb}"))
        for statement in statements:
            rows.connection.execute(statement)


def resealed(ledger, table, where, **changed):
    """The statement that changes a row and gives it a valid seal, as whoever has the file can."""
    with ledger._reading() as rows:
        row = dict(rows.connection.execute(select(table).where(where)).mappings().one()) | changed
    del row["seal"]
    return table.update().where(where).values(**row, seal=seal(ledger._secret, table.name, row))


def test_a_whole_ledger_verifies(ledger):
    assert ledger.verify() == 4
    ledger.void("adult/2", reason="never made")
    ledger.set_budget("adult", Guarantee(unit=Unit.LABEL, epsilon=2.0, delta=1e-6))
    ledger.charge("adult", TENTH, purpose="e")
    assert Ledger.open(ledger.file).verify() == 6


@pytest.mark.parametrize("number", [1, 3])
def test_a_missing_entry_is_found_on_opening(ledger, number):
    """Its link too; only the end can be cut off unseen."""
    forge(
        ledger, text("PRAGMA defer_foreign_keys = ON"), *(delete(t).where(t.c.number == number) for t in (LINK, ENTRY))
    )
    with pytest.raises(LedgerError, match=rf"damaged: adult/{number} is missing"):
        Ledger.open(ledger.file)


def test_a_missing_link_is_found_on_opening(ledger):
    forge(ledger, delete(LINK).where(LINK.c.number == 4))
    with pytest.raises(LedgerError, match=r"damaged: adult/4 is missing"):
        Ledger.open(ledger.file)


@pytest.mark.parametrize(
    ("table", "changed"),
    [
        (ENTRY, {"purpose": "another"}),
        (ENTRY, {"guarantee": json.dumps(Guarantee(unit=Unit.LABEL, epsilon=0.01).to_json())}),
        (ENTRY, {"time": "2020-01-01T00:00:00+00:00"}),
        (LINK, {"nonce": bytes(16)}),
        (LINK, {"link": bytes(32)}),
    ],
    ids=["purpose", "guarantee", "time", "nonce", "link"],
)
def test_an_edit_with_a_valid_seal_is_found_on_opening(ledger, table, changed):
    forge(ledger, resealed(ledger, table, table.c.number == 2, **changed))
    with pytest.raises(LedgerError, match=r"damaged: adult/2 was changed"):
        Ledger.open(ledger.file)


def test_an_edit_of_the_budget_in_force_is_found_on_opening(ledger):
    forge(ledger, resealed(ledger, BUDGET, BUDGET.c.number == 1, epsilon="100.0"))
    with pytest.raises(LedgerError, match=r"damaged: adult/1 was changed"):
        Ledger.open(ledger.file)


def test_an_older_account_is_not_believed(ledger):
    """Replaying it would let the budget be spent twice."""
    with ledger._reading() as rows:
        before = dict(rows.connection.execute(select(ACCOUNT)).mappings().one())
    ledger.charge("adult", Guarantee(unit=Unit.LABEL, epsilon=0.5), purpose="e")
    forge(ledger, ACCOUNT.update().values(**before))
    for act in (lambda: ledger.charge("adult", TENTH, purpose="f"), lambda: ledger.statement("adult"), ledger.verify):
        with pytest.raises(LedgerError, match="is that of another entry than the last"):
            act()
    assert ledger.rebuild("adult").used == 0.9


def test_an_account_that_was_forged_does_not_verify(ledger):
    forge(ledger, resealed(ledger, ACCOUNT, ACCOUNT.c.part == 1, sums="{}"))
    assert ledger.statement("adult").used == 0, "control: the seal is valid"
    with pytest.raises(LedgerError, match="is not what its entries say"):
        ledger.verify()


def test_another_history_does_not_verify_against_a_receipt(ledger, tmp_path):
    export = ledger.export(tmp_path / "old.json")
    receipt = ledger.charge("adult", TENTH, purpose="e").to_json()
    assert ledger.verify(receipt) == ledger.verify(export) == 5
    copy = Ledger.create(tmp_path / "copy.db", restore=export)
    with pytest.raises(LedgerError, match="no entry adult/5, which was accepted once"):
        copy.verify(receipt)
    copy.charge("adult", TENTH, purpose="e")
    with pytest.raises(LedgerError, match="another history up to adult/5"):
        copy.verify(receipt)
    assert copy.verify(export) == 5


def test_the_head_says_nothing_of_the_entry_to_who_guesses_it(ledger, tmp_path):
    """Two ledgers with the same entries have other heads, because each link has a nonce."""
    documents = []
    for name in ("one", "two"):
        made = Ledger.create(tmp_path / f"{name}.db")
        made.register([0, 1], name="adult", budget=TENTH)
        documents.append(made.charge("adult", TENTH, purpose="a").head)
    assert documents[0] != documents[1]
