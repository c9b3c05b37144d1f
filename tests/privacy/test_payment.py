"""Who pays: the data set that the ledger knows the labels as, or the one that is named."""

import numpy as np
import pytest

from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, LedgerError, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.payment import Payment, recognise

HALF = Guarantee(unit=Unit.LABEL, epsilon=0.5)


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "ledger.db")
    made.register([0, 1, 1], name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    return made


def test_known_labels_are_charged_until_the_budget_is_spent(ledger):
    payment = Payment(ledger=ledger)
    for spent in (0.5, 1.0):
        payment.charge(HALF, np.array([0, 1, 1]), purpose="totals")
        assert ledger.statement("clicks").spent == spent
    with pytest.raises(BudgetExceeded):
        payment.charge(HALF, [0, 1, 1], purpose="one too many")
    assert ledger.statement("clicks").spent == 1.0


def test_unknown_labels_are_charged_by_name_alone(ledger):
    with pytest.raises(LedgerError):
        Payment(ledger=ledger).charge(HALF, [1, 1, 1], purpose="totals")
    Payment(ledger=ledger, dataset="clicks").charge(HALF, [1, 1, 1], purpose="totals")
    assert ledger.statement("clicks").spent == 0.5


def test_rows_without_an_order_are_charged_by_name_alone(ledger):
    with pytest.raises(InvalidInput, match="dataset must name what to charge"):
        Payment(ledger=ledger).charge(HALF, None, purpose="totals")
    Payment(ledger=ledger, dataset="clicks").charge(HALF, None, purpose="totals")
    assert ledger.statement("clicks").spent == 0.5


def test_another_name_for_known_labels_is_refused(ledger):
    ledger.register([5], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    with pytest.raises(InvalidInput, match="dataset must be 'clicks'"):
        Payment(ledger=ledger, dataset="visits").charge(HALF, [0, 1, 1], purpose="totals")
    assert ledger.statement("visits").entries == ()
    assert recognise(ledger, [0, 1, 1], dataset="clicks") == ("clicks", 1)
