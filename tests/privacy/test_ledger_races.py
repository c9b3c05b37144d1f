"""What happens while a charge is not committed yet: every other operation waits for it."""

import os
import time
from pathlib import Path

import pytest

from tacit.privacy import Guarantee, TacitError, Unit
from tacit.privacy.ledger import DataSetPart, Ledger, charging
from tacit.privacy.ledger.book import DataSetAccounts
from tacit.privacy.ledger.requests import DeliveredRelease
from tacit.privacy.payment import Payment

# pytest-xdist and Arrow keep threads; the children below use neither
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

LABELS = [0, 1, 1]
HELD = 0.4  # seconds: enough for an operation that does not wait; one that is slower proves nothing, and fails nothing


def epsilon(value):
    return Guarantee(unit=Unit.LABEL, epsilon=value)


OPERATIONS = {
    "charge": lambda ledger: ledger.charge("adult", epsilon(0.9), purpose="other"),
    "settle": lambda ledger: Payment(ledger=ledger, dataset="adult").settle(
        ledger.key_of(b"other"), epsilon(0.9), purpose="other"
    ),
    "void": lambda ledger: ledger.void("adult/1", reason="nothing was made"),
    "set_budget": lambda ledger: ledger.set_budget("adult", epsilon(0.5)),
    "rebuild": lambda ledger: ledger.rebuild("adult"),
    "window": lambda ledger: ledger.open_window([*LABELS, 1], name="adult", window=DataSetPart(name="new")),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_waits_for_a_charge_that_is_not_committed(ledger, location, fork_all, operation):
    ledger.register(LABELS, name="adult", budget=epsilon(1.0))
    ledger.charge("adult", epsilon(0.05), purpose="first")
    held = os.pipe()

    def hold():
        with Ledger.open(location).transaction() as rows:
            book = DataSetAccounts.find(rows, "adult", lock=True)
            charging.charge(book, epsilon(0.9), parts=None, purpose="held", version=None)
            os.write(held[1], b"x")
            time.sleep(HELD)

    def other():
        own = Ledger.open(location)
        os.read(held[0], 1)
        if operation in ("charge", "settle", "set_budget"):
            with pytest.raises(TacitError, match=r"spent epsilon 0\.95"):
                OPERATIONS[operation](own)
        else:
            OPERATIONS[operation](own)

    assert fork_all([hold, other]) == [0, 0]
    ledger.verify()
    statement = ledger.statement("adult")
    assert "held" in [entry.purpose for entry in statement.entries]
    assert statement.spent == (0.9 if operation == "void" else 0.95)
    assert statement.spent <= statement.budget.epsilon


def test_a_charge_is_voided_or_its_release_is_delivered_and_never_both(ledger, location, fork_all, tmp_path):
    ledger.register(LABELS, name="adult", budget=epsilon(1.0))
    payment = Payment(ledger=ledger, dataset="adult")
    entries = [payment.settle(ledger.key_of(bytes([n])), epsilon(0.1), purpose="x").entry for n in range(5)]

    def attempt(what, name):
        own = Payment(ledger=Ledger.open(location), dataset="adult", store=tmp_path)
        for entry in entries:
            try:
                what(own, entry)
            except TacitError:
                continue
            with Path(tmp_path / name).open("a") as file:
                file.write(f"{entry}\n")

    def deliver(own, entry):
        own.record_delivery(entry, DeliveredRelease(digest=bytes(32), file="release"))

    def void(own, entry):
        own.ledger.void(entry, reason="nothing was made")

    assert fork_all([lambda: attempt(deliver, "delivered"), lambda: attempt(void, "voided")]) == [0, 0]
    files = [tmp_path / name for name in ("delivered", "voided")]
    assert sorted(line for file in files if file.exists() for line in file.read_text().split()) == entries
    ledger.verify()


def test_a_budget_one_step_short_is_refused(ledger):
    short = 0.7999999999999999
    ledger.register(LABELS, name="adult", budget=epsilon(short))
    for _ in range(7):
        ledger.charge("adult", epsilon(0.1), purpose="x")
    assert ledger.would_exceed("adult", epsilon(0.1))
    assert not ledger.would_exceed("adult", epsilon(0.0999999999999999))
