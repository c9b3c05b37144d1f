"""Budgets of parts, and of windows of new rows: disjoint rows, each with a budget that holds by itself."""

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from tacit.cli.ledger import app
from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, LedgerError, Unit, UnknownData
from tacit.privacy.ledger import DataSetPart, Ledger

LABELS = [0, 1, 1, 0, 1]


def epsilon(value, **more):
    return Guarantee(unit=Unit.LABEL, epsilon=value, **more)


def register(ledger, *, delta=0.0, **own):
    parts = [DataSetPart(name="train", rows=range(3), **own), DataSetPart(name="test", rows=range(3, 5))]
    return ledger.register(LABELS, name="adult", budget=epsilon(3.0, delta=delta), parts=parts)


def test_a_part_keeps_its_own_budget_and_the_others_theirs(ledger):
    register(ledger, epsilon=1.0)
    assert ledger.fitting("adult", parts=["train"]) == 1.0
    assert ledger.fitting("adult", parts=["test"]) == 3.0
    assert ledger.fitting("adult") == 1.0
    ledger.charge("adult", epsilon(0.75), purpose="both")
    with pytest.raises(BudgetExceeded, match=r"part train of adult has spent epsilon 0.75 of 1 and 0.25 is left"):
        ledger.charge("adult", epsilon(0.5), purpose="too much", parts=["train"])
    ledger.charge("adult", epsilon(0.25), purpose="exactly", parts=["train"])
    ledger.charge("adult", epsilon(2.25), purpose="exactly", parts=["test"])
    assert [part.left for part in ledger.statement("adult").parts] == [0.0, 0.0]
    assert ledger.statement("adult").lifetime == (3.25, 0.0)  # of whom both parts have rows: 0.75 once
    assert ledger.verify() == 3


def test_a_part_with_its_own_budget_has_its_own_filter(ledger, tmp_path):
    register(ledger, delta=1e-5, epsilon=2.0)
    alone = Ledger.create(tmp_path / "alone.db")
    alone.register(LABELS, name="adult", budget=epsilon(2.0, delta=1e-5))
    weekly = epsilon(0.2)
    for charges in (20, 21, 30, 31):
        many = [weekly] * charges
        assert ledger.would_exceed("adult", *many, parts=["train"]) == alone.would_exceed("adult", *many)
    assert ledger.fitting("adult", parts=["train"], charges=30) == alone.fitting("adult", charges=30)
    assert ledger.fitting("adult", parts=["test"]) == 3.0


def test_lowering_the_budget_lowers_that_of_parts_and_raising_it_does_not(ledger):
    register(ledger, epsilon=2.0)
    ledger.set_budget("adult", epsilon(1.0))
    assert ledger.fitting("adult", parts=["train"]) == 1.0
    ledger.set_budget("adult", epsilon(8.0))
    assert ledger.fitting("adult", parts=["train"]) == 2.0
    ledger.charge("adult", epsilon(2.0), purpose="all of it", parts=["train"])
    with pytest.raises(BudgetExceeded):
        ledger.set_budget("adult", epsilon(1.5))


def test_a_budget_of_a_part_is_bounded_by_that_of_the_data_set(ledger):
    with pytest.raises(InvalidInput, match=r"epsilon must be at most that of the data set, 3, for part train, got 3.5"):
        register(ledger, epsilon=3.5)
    with pytest.raises(InvalidInput, match="delta must be at most"):
        ledger.register(
            LABELS, name="adult", budget=epsilon(3.0, delta=1e-7), parts=[DataSetPart(name="train", delta=1e-6)]
        )


def test_a_window_has_only_the_new_rows_and_nothing_spent(ledger):
    ledger.register(LABELS, name="visits", budget=epsilon(1.0))
    ledger.charge("visits", epsilon(1.0), purpose="the first week")
    statement = ledger.open_window([*LABELS, 1, 1], name="visits", window=DataSetPart(name="week 2", epsilon=0.5))
    assert [(part.name, part.rows, part.left) for part in statement.parts] == [
        ("all", None, 0.0),
        ("week 2", range(5, 7), 0.5),
    ]
    ledger.charge("visits", epsilon(0.5), purpose="the second week", parts=["week 2"])
    for parts in (["week 2"], ["all"], None):
        assert ledger.would_exceed("visits", epsilon(0.001), parts=parts)
    assert ledger.statement("visits").lifetime == (1.5, 0.0)
    assert ledger.verify() == 2


def test_a_window_is_of_new_rows_after_the_newest_version(ledger):
    ledger.register(LABELS, name="visits", budget=epsilon(1.0))
    ledger.register([5, 6, 7], name="others", budget=epsilon(1.0))
    first = DataSetPart(name="one")
    with pytest.raises(InvalidInput, match="must have rows after the 5"):
        ledger.open_window(LABELS, name="visits", window=first)
    for rows in ([1, *LABELS, 1], [5, 6, 7, 8], LABELS[:3]):
        with pytest.raises(UnknownData, match="must be those of the newest version"):
            ledger.open_window(rows, name="visits", window=first)
    ledger.open_window([*LABELS, 0], name="visits", window=first)
    with pytest.raises(InvalidInput, match="window must be new, visits has the part one"):
        ledger.open_window([*LABELS, 0, 1], name="visits", window=first)
    with pytest.raises(UnknownData, match="newest version"):  # other rows in the place of the first window
        ledger.open_window([*LABELS, 1, 1], name="visits", window=DataSetPart(name="two"))
    with pytest.raises(InvalidInput, match="rows must be left out"):
        ledger.open_window([*LABELS, 0, 1], name="visits", window=DataSetPart(name="two", rows=range(2)))


def test_budgets_of_parts_are_in_exports_and_in_the_chain(tmp_path):
    place = tmp_path / "ledger.db"
    ledger = Ledger.create(place)
    register(ledger, epsilon=1.0)
    ledger.charge("adult", epsilon(1.0), purpose="all", parts=["train"])
    ledger.export(tmp_path / "export.json")
    restored = Ledger.create(tmp_path / "copy.db", restore=tmp_path / "export.json")
    assert restored.statement("adult") == ledger.statement("adult")
    assert restored.would_exceed("adult", epsilon(0.1), parts=["train"])
    with ledger.transaction() as rows:
        rows.connection.execute(text("DROP TRIGGER ledger_limit_no_delete"))
        rows.connection.execute(text("DELETE FROM ledger_limit"))
    with pytest.raises(LedgerError, match="adult/1 was changed"):
        Ledger.open(place)


def test_the_commands_of_parts_and_windows(tmp_path):
    place, table = str(tmp_path / "ledger.db"), tmp_path / "visits.csv"
    table.write_text("ill,age\n0,30\n1,40\n1,50\n")

    def run(words, *, code=0):
        result = CliRunner().invoke(app, [*words.split(), "--ledger", place])
        assert result.exit_code == code, result.output
        return result.output

    own = "--part first:0:1=0.5 --part rest:1:3"
    run(f"create visits --table {table} --column ill --unit label --epsilon 2 {own}")
    table.write_text(table.read_text() + "0,60\n1,70\n")
    assert "rows 3 to 5 may spend epsilon 0.25 for one label" in run(
        f"window visits new --table {table} --column ill --epsilon 0.25"
    )
    run("charge visits --unit label --epsilon 0.25 --part new --purpose x")
    shown = run("show visits")
    assert "for a person with rows in every part: epsilon 0.25, delta 0." in shown


@pytest.mark.parametrize("rows", [range(0, 4, 2), range(-1, 2), range(2, 2)], ids=str)
def test_rows_of_a_part_are_from_a_start_to_a_later_stop(rows):
    with pytest.raises(InvalidInput, match="must have rows start to stop"):
        DataSetPart(name="odd", rows=rows)
