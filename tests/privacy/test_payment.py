"""Who pays: the data set that the ledger knows the labels as, or the one that is named."""

import itertools
import secrets

import numpy as np
import pytest

from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, LedgerError, Unit, UnitMismatch
from tacit.privacy.ledger import DataSetPart, Ledger
from tacit.privacy.ledger.fingerprint import arrow_batches
from tacit.privacy.payment import Payment

HALF = Guarantee(unit=Unit.LABEL, epsilon=0.5)


def pay(payment, guarantee, labels, *, purpose):
    """Pay for something else each time, made from these labels."""
    ledger = payment.ledger
    prints = None if labels is None else ledger.recognize(arrow_batches(labels), private=())[0]
    return payment.settle(ledger.key_of(secrets.token_bytes(8)), guarantee, purpose=purpose, prints=prints)


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "ledger.db")
    made.register([0, 1, 1], name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    return made


def test_known_labels_are_charged_until_the_budget_is_spent(ledger):
    payment = Payment(ledger=ledger)
    for spent in (0.5, 1.0):
        pay(payment, HALF, np.array([0, 1, 1]), purpose="totals")
        assert ledger.statement("clicks").spent == spent
    with pytest.raises(BudgetExceeded):
        pay(payment, HALF, [0, 1, 1], purpose="one too many")
    assert ledger.statement("clicks").spent == 1.0


def test_unknown_labels_are_charged_by_name_alone(ledger):
    with pytest.raises(LedgerError):
        pay(Payment(ledger=ledger), HALF, [1, 1, 1], purpose="totals")
    pay(Payment(ledger=ledger, dataset="clicks"), HALF, [1, 1, 1], purpose="totals")
    assert ledger.statement("clicks").spent == 0.5


def test_rows_without_an_order_are_charged_by_name_alone(ledger):
    with pytest.raises(InvalidInput, match="dataset must name what to charge"):
        pay(Payment(ledger=ledger), HALF, None, purpose="totals")
    pay(Payment(ledger=ledger, dataset="clicks"), HALF, None, purpose="totals")
    assert ledger.statement("clicks").spent == 0.5


def test_another_name_for_known_labels_is_refused(ledger):
    ledger.register([5], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    with pytest.raises(InvalidInput, match="dataset must be 'clicks', which has these labels"):
        pay(Payment(ledger=ledger, dataset="visits"), HALF, [0, 1, 1], purpose="totals")
    assert ledger.statement("visits").entries == ()


def test_a_guarantee_for_records_pays_for_labels(ledger):
    record = Guarantee(unit=Unit.RECORD, epsilon=0.5)
    for labels, dataset in (([0, 1, 1], None), (None, "clicks")):
        pay(Payment(ledger=ledger, dataset=dataset), record, labels, purpose="a model")
    statement = ledger.statement("clicks")
    assert statement.spent == 1.0
    assert {entry.guarantee for entry in statement.entries} == {Guarantee(unit=Unit.LABEL, epsilon=0.5)}
    with pytest.raises(BudgetExceeded):
        pay(Payment(ledger=ledger), record, [0, 1, 1], purpose="one too many")


@pytest.mark.parametrize(
    ("kept", "charged"),
    [(Unit.RECORD, Unit.LABEL), (Unit.RECORD, Unit.BAG), (Unit.LABEL, Unit.BAG), (Unit.BAG, Unit.RECORD)],
)
def test_no_other_guarantee_is_restated(tmp_path, kept, charged):
    ledger = Ledger.create(tmp_path / "units.db")
    ledger.register([0, 1], name="visits", budget=Guarantee(unit=kept, epsilon=1.0))
    with pytest.raises(UnitMismatch):
        pay(Payment(ledger=ledger), Guarantee(unit=charged, epsilon=0.1), [0, 1], purpose="totals")
    assert ledger.statement("visits").entries == ()


def test_persons_are_not_restated(ledger):
    pairs = Guarantee(unit=Unit.RECORD, epsilon=0.1).for_group(rows=2)
    with pytest.raises(UnitMismatch, match="persons of 1 rows"):
        pay(Payment(ledger=ledger), pairs, [0, 1, 1], purpose="a model")


def _worst(mechanism, tables, *, differ):
    """The largest log ratio of a mechanism's laws over pairs of tables whose rows differ as asked."""
    ratios = [0.0]
    for one, other in itertools.permutations(tables, 2):
        changed = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
        if len(changed) == 1 and differ(*changed[0]):
            ratios.append(np.log(mechanism(one) / mechanism(other)).max())
    return max(ratios)


def test_records_imply_labels_and_labels_do_not_imply_records():
    """Every table of two rows (feature, label): a label's neighbors are some of a record's."""
    tables = list(itertools.product(itertools.product((0, 1, 2), (0, 1)), repeat=2))

    def noised(weight):
        """Two-sided geometric noise of scale 1 on a sum, all but e^-40 of it."""

        def law(table):
            center = sum(weight(x, y) for x, y in table)
            mass = np.exp(-np.abs(np.arange(-40, 61) - center))
            return mass / mass.sum()

        return law

    both, labels_alone = noised(lambda x, y: x * y), noised(lambda x, y: 3 * x + y)
    for mechanism in (both, labels_alone):
        record = _worst(mechanism, tables, differ=lambda a, b: True)
        label = _worst(mechanism, tables, differ=lambda a, b: a[0] == b[0])
        assert label <= record
    assert label == pytest.approx(1.0, abs=1e-12)
    assert record > 6.0, "control: epsilon 1 for a label is no guarantee for a record"


def test_named_parts_alone_are_charged(tmp_path):
    ledger = Ledger.create(tmp_path / "parts.db")
    halves = [DataSetPart(name="train", rows=range(0, 2)), DataSetPart(name="test", rows=range(2, 3))]
    ledger.register([0, 1, 1], name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0), parts=halves)
    on_test = Payment(ledger=ledger, dataset="clicks", parts=["test"])
    for labels in ([1], [1], None):
        pay(on_test, Guarantee(unit=Unit.LABEL, epsilon=0.25), labels, purpose="scores on the test rows")
    assert {part.name: part.spent for part in ledger.statement("clicks").parts} == {"train": 0.0, "test": 0.75}
    pay(Payment(ledger=ledger), Guarantee(unit=Unit.LABEL, epsilon=0.25), [0, 1, 1], purpose="all rows")
    assert {part.name: part.spent for part in ledger.statement("clicks").parts} == {"train": 0.25, "test": 1.0}
    with pytest.raises(BudgetExceeded, match="part test of clicks"):
        pay(on_test, HALF, [1], purpose="one too many")
    with pytest.raises(InvalidInput, match="parts must be declared parts of clicks"):
        pay(Payment(ledger=ledger, dataset="clicks", parts=["rest"]), HALF, [1], purpose="unknown")


def test_a_release_from_all_rows_is_not_charged_to_one_part(tmp_path):
    ledger, all_rows = Ledger.create(tmp_path / "parts.db"), [0, 1, 1]
    halves = [
        DataSetPart(name="train", rows=range(0, 2)),
        DataSetPart(name="test", rows=range(2, 3)),
        DataSetPart(name="some"),
    ]
    ledger.register(all_rows, name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0), parts=halves)
    few = Guarantee(unit=Unit.LABEL, epsilon=0.25)
    for parts, covered in (["train"], 2), (["test"], 1), (["some"], 0), (["test", "some"], 1):
        with pytest.raises(InvalidInput, match=rf"all 3 rows.* labels of clicks.*with {covered} declared:"):
            pay(Payment(ledger=ledger, dataset="clicks", parts=parts), few, all_rows, purpose="totals of all rows")
    assert ledger.statement("clicks").entries == ()
    for parts in (["train", "test"], ["train", "test", "some"]):
        pay(Payment(ledger=ledger, dataset="clicks", parts=parts), few, all_rows, purpose="all rows")
    pay(Payment(ledger=ledger, dataset="clicks", parts=["some"]), few, [1], purpose="rows of the part alone")
    charged = [entry.parts for entry in ledger.statement("clicks").entries]
    assert charged == [("train", "test"), ("train", "test", "some"), ("some",)]


def test_parts_without_declared_rows_do_not_pay_for_all_rows(tmp_path):
    ledger, all_rows = Ledger.create(tmp_path / "parts.db"), [0, 1, 1]
    parts = [DataSetPart(name="train"), DataSetPart(name="test")]
    ledger.register(all_rows, name="clicks", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0), parts=parts)
    for part in ("train", "test"):
        with pytest.raises(InvalidInput, match="all 3 rows of the labels of clicks"):
            pay(Payment(ledger=ledger, parts=[part]), HALF, all_rows, purpose="all rows")
    pay(Payment(ledger=ledger, parts=["train", "test"]), HALF, all_rows, purpose="all rows")
    assert [part.spent for part in ledger.statement("clicks").parts] == [0.5, 0.5]


def test_an_entry_is_not_paid_for_again(tmp_path):
    with pytest.raises(InvalidInput, match="again must be left out with entry"):
        Payment(ledger=Ledger.create(tmp_path / "ledger.db"), entry="clicks/1", again=True)
