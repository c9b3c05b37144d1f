"""What is charged is spent, what would overspend is refused, on SQLite and on PostgreSQL."""

import json
import sys
from fractions import Fraction
from threading import Thread

import numpy as np
import pytest
from sqlalchemy import insert, text

from tacit.privacy import (
    BudgetExceeded,
    Guarantee,
    InvalidInput,
    LedgerError,
    NoGuarantee,
    Unit,
    UnitMismatch,
    compose,
    compose_parallel,
)
from tacit.privacy.ledger import DataSetPart, Ledger
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.ledger.database import LedgerDatabase
from tacit.privacy.ledger.rows import seal
from tacit.privacy.ledger.schema import ENTRY
from tacit.privacy.loss import DiscreteGaussianLoss, DiscreteLaplaceLoss, PureLoss
from tests.privacy.old_ledger import create_old_ledger

LABELS = [0, 1, 1, 0, 1]
PARTS = [DataSetPart(name="train", rows=range(0, 3)), DataSetPart(name="test", rows=range(3, 5))]


def label(epsilon, delta=0.0, **more):
    return Guarantee(unit=Unit.LABEL, epsilon=epsilon, delta=delta, **more)


def register(ledger, **changed):
    terms = {"unit": Unit.LABEL, "epsilon": 1.0} | changed
    data, name, parts = terms.pop("data", LABELS), terms.pop("name", "adult"), terms.pop("parts", ())
    return ledger.register(data, name=name, budget=Guarantee(**terms), parts=parts)


def contents(ledger):
    with ledger._reading() as rows:
        tables = ("ledger", "ledger_data_set", "ledger_budget", "ledger_part", "ledger_version", "ledger_entry")
        return {
            table: rows.connection.execute(text(f"SELECT * FROM {table} ORDER BY 1, 2")).all()
            for table in (*tables, "ledger_account")
        }


class Untouched:
    """Whatever is refused inside the block must leave every table as it was."""

    def __init__(self, ledger):
        self.ledger = ledger

    def __enter__(self):
        self.before = contents(self.ledger)

    def __exit__(self, *_):
        assert contents(self.ledger) == self.before


class TestCharge:
    def test_three_tenths_fit_a_budget_of_three_tenths_exactly(self, ledger):
        register(ledger, epsilon=0.3)
        receipts = [ledger.charge("adult", label(0.1), purpose="totals") for _ in range(3)]
        assert [receipt.id for receipt in receipts] == ["adult/1", "adult/2", "adult/3"]
        assert [receipt.spent for receipt in receipts] == [0.1, 0.2, 0.3]
        assert [receipt.left for receipt in receipts] == [0.2, 0.1, 0.0]
        with pytest.raises(BudgetExceeded), Untouched(ledger):
            ledger.charge("adult", label(1e-9), purpose="one too many")

    def test_the_refusal_says_spent_asked_and_left(self, ledger):
        register(ledger, epsilon=1.0)
        ledger.charge("adult", label(0.77777), purpose="totals")
        with pytest.raises(BudgetExceeded) as caught, Untouched(ledger):
            ledger.charge("adult", label(0.5), purpose="totals")
        day = ledger.statement("adult").entries[0].time[:10]
        assert str(caught.value) == (
            "adult has spent epsilon 0.7778 of 1 and 0.2222 is left; a charge of epsilon 0.5 for one label "
            f"would bring it to 1.278; it was used by adult/1 (epsilon 0.7778, {day}, totals), so nothing was charged"
        )
        assert ledger.charge("adult", label(0.2), purpose="a smaller one").id == "adult/2"

    def test_what_is_left_is_rounded_down(self, ledger):
        register(ledger, epsilon=1.0)
        ledger.charge("adult", label(0.77771), purpose="totals")
        with pytest.raises(BudgetExceeded, match=r"0\.7778 of 1 and 0\.2222 is left"):
            ledger.charge("adult", label(0.5), purpose="totals")

    @pytest.mark.parametrize(
        "guarantees",
        [
            [label(0.1)] * 7,
            [label(0.1), label(0.25), label(0.1), label(0.01)],
            [label(0.1, 1e-8), label(0.2), label(0.1, 1e-8)],
            [Guarantee.from_loss(DiscreteLaplaceLoss(scale=Fraction(9, 2), sensitivity=1), unit=Unit.LABEL)] * 5,
            [
                Guarantee.from_loss(
                    DiscreteGaussianLoss(scale=Fraction(8), sensitivity=1), unit=Unit.LABEL, delta=1e-7
                ),
                label(0.5),
                label(0.1, 1e-9),
            ],
        ],
        ids=["equal", "pure", "approximate", "laplace", "mixed"],
    )
    def test_n_charges_cost_no_less_than_n_guarantees_compose_to(self, ledger, guarantees):
        """The share in three ways: by the charges, by the statement, and from the entries anew."""
        expected = compose(guarantees, delta=1e-6).epsilon
        register(ledger, epsilon=2 * expected, delta=1e-6)
        shares = [ledger.charge("adult", guarantee, purpose="totals").used for guarantee in guarantees]
        assert 0.3 < shares[-1] <= 1
        assert ledger.statement("adult").used == ledger.rebuild("adult").used == shares[-1]
        assert shares == sorted(set(shares)), "every charge cost something"
        with pytest.raises(BudgetExceeded, match="cannot be lowered"), Untouched(ledger):
            ledger.set_budget("adult", label(0.999 * expected, 1e-6))

    def test_without_a_delta_pure_epsilons_add(self, ledger):
        register(ledger, epsilon=100.0)
        for _ in range(30):
            ledger.charge("adult", label(0.1), purpose="totals")
        assert ledger.statement("adult").spent == 3.0
        assert ledger.rebuild("adult").spent == 3.0

    def test_a_stated_delta_may_be_the_whole_of_the_budgets(self, ledger):
        register(ledger, epsilon=2.3, delta=1e-6)
        assert ledger.charge("adult", label(1.3, 4e-7), purpose="totals").left == 1.0
        assert ledger.charge("adult", label(1.0, 6e-7), purpose="totals").used == 1
        assert ledger.statement("adult").used == ledger.rebuild("adult").used == 1
        with pytest.raises(BudgetExceeded), Untouched(ledger):
            ledger.charge("adult", label(0.0, 1e-12), purpose="one too many")

    def test_small_deltas_add_up(self, ledger):
        register(ledger, epsilon=1.0, delta=1e-15)
        for _ in range(20):
            ledger.charge("adult", label(0.0, 5e-17), purpose="totals")
        with pytest.raises(BudgetExceeded), Untouched(ledger):
            ledger.charge("adult", label(0.0, 5e-17), purpose="one too many")

    def test_a_charge_beyond_all_floats_is_refused(self, ledger):
        register(ledger, epsilon=1e6)
        ledger.charge("adult", label(1e6), purpose="totals")
        with pytest.raises(BudgetExceeded, match="would bring it to inf"), Untouched(ledger):
            ledger.charge("adult", label(sys.float_info.max), purpose="totals")

    @pytest.mark.parametrize(
        ("terms", "sentence"),
        [
            ({"epsilon": 1e300}, "epsilon must be from 1e-9 to 1e6, got 1e\\+300"),
            ({"epsilon": 1e-300}, "epsilon must be from 1e-9 to 1e6, got 1e-300"),
            ({"delta": 1e-320}, "delta must be 0, or from 1e-100 to below 1, got 1e-320"),
        ],
    )
    def test_budgets_are_within_bounds(self, ledger, terms, sentence):
        with pytest.raises(InvalidInput, match=sentence), Untouched(ledger):
            register(ledger, **terms)

    def test_a_delta_lets_many_small_charges_cost_less_than_their_sum(self, ledger):
        register(ledger, epsilon=6.0, delta=1e-6)
        for _ in range(29):
            ledger.charge("adult", label(0.2), purpose="totals")
        assert 0 < ledger.charge("adult", label(0.2), purpose="totals").left < 1, "the sum alone is used up"
        assert ledger.charge("adult", label(0.2), purpose="one more than the sum").used < 1
        with pytest.raises(BudgetExceeded, match=r"has used 9.*% of epsilon 6, delta 1e-6 .* does not fit, epsilon 0"):
            ledger.charge("adult", label(1.0), purpose="one too many")

    def test_parts_compose_in_parallel(self, ledger):
        register(ledger, epsilon=1.0, parts=PARTS)
        ledger.charge("adult", label(0.75), parts=["train"], purpose="a")
        ledger.charge("adult", label(0.5), parts=["test"], purpose="b")
        ledger.charge("adult", label(0.25), purpose="both")
        statement = ledger.statement("adult")
        assert {part.name: part.spent for part in statement.parts} == {"train": 1.0, "test": 0.75}
        charges = {"train": [label(0.75), label(0.25)], "test": [label(0.5), label(0.25)]}
        assert statement.spent == compose_parallel(charges).epsilon == 1.0
        with pytest.raises(BudgetExceeded, match="part train of adult"), Untouched(ledger):
            ledger.charge("adult", label(0.1), parts=["test", "train"], purpose="c")
        assert ledger.charge("adult", label(0.25), parts=["test"], purpose="d").spent == 1.0

    def test_a_charge_that_one_part_cannot_pay_charges_no_part(self, ledger):
        register(ledger, epsilon=1.0, parts=PARTS)
        ledger.charge("adult", label(1.0), parts=["train"], purpose="a")
        with pytest.raises(BudgetExceeded), Untouched(ledger):
            ledger.charge("adult", label(0.1), purpose="both")
        assert ledger.charge("adult", label(1.0), parts=["test"], purpose="b").left == 0.0  # control

    def test_the_entry_says_what_was_guaranteed_when_and_why(self, ledger):
        register(ledger, delta=1e-6)
        guarantee = Guarantee.from_loss(DiscreteLaplaceLoss(scale=Fraction(4), sensitivity=1), unit=Unit.LABEL)
        ledger.charge("adult", guarantee, purpose="discrete Laplace on counts")
        entry = ledger.statement("adult").entries[0]
        assert (entry.id, entry.version, entry.parts) == ("adult/1", 1, ("all",))
        assert (entry.guarantee, entry.purpose) == (guarantee, "discrete Laplace on counts")
        assert entry.time.endswith("+00:00")
        assert json.loads(json.dumps(ledger.statement("adult").to_json()))["entries"][0]["id"] == "adult/1"

    def test_kinds_of_texts_and_numbers_are_sealed_as_they_are_read(self, ledger):
        """A text of NumPy, or True for version 1, was sealed as such and read as plain: the ledger was damaged."""
        parts = [DataSetPart(name=np.str_("train"), rows=range(0, 3)), DataSetPart(name="test", rows=range(3, 5))]
        register(ledger, name=np.str_("adult"), parts=parts)
        for version in (np.int64(1), True):
            ledger.charge(np.str_("adult"), label(0.25), purpose=np.str_("totals"), parts=["train"], version=version)
        statement = ledger.statement("adult")
        assert [(entry.version, entry.purpose) for entry in statement.entries] == [(1, "totals")] * 2
        assert statement.parts[0].spent == 0.5


class TestRefusedCharge:
    @pytest.mark.parametrize(
        ("guarantee", "error", "sentence"),
        [
            (NoGuarantee(reason="exact totals"), InvalidInput, "to be charged, got no guarantee: exact totals"),
            (Guarantee(unit=Unit.RECORD, epsilon=0.1), UnitMismatch, r"for one record; set unit to label"),
            (Guarantee(unit=Unit.BAG, epsilon=0.1), UnitMismatch, "for one bag"),
            (label(0.1).for_group(rows=2), UnitMismatch, r"persons of 1 rows, but the guarantee is for 2"),
            (label(0.1, 1e-9), InvalidInput, "must have delta 0.*give the budget a delta first"),
        ],
    )
    def test_guarantees_that_do_not_fit(self, ledger, guarantee, error, sentence):
        register(ledger)
        with pytest.raises(error, match=sentence), Untouched(ledger):
            ledger.charge("adult", guarantee, purpose="totals")

    def test_the_remedies_work(self, ledger):
        register(ledger, rows=2)
        with pytest.raises(UnitMismatch, match="set rows_per_person to 2"), Untouched(ledger):
            ledger.charge("adult", label(0.1), purpose="totals")
        restated = Guarantee(unit=Unit.RECORD, epsilon=0.1).for_unit(Unit.LABEL).for_group(rows=2)
        assert ledger.charge("adult", restated, purpose="totals").spent == 0.2
        ledger.set_budget("adult", Guarantee(unit=Unit.LABEL, epsilon=1.0, delta=1e-6, rows=2))
        assert ledger.charge("adult", label(0.1, 1e-9).for_group(rows=2), purpose="totals").used < 1

    def test_a_loss_that_could_not_be_read_back(self, ledger):
        class Mine(PureLoss):
            kind = "mine"

        register(ledger)
        with pytest.raises(InvalidInput, match="privacy loss kind must be one of"), Untouched(ledger):
            ledger.charge("adult", label(0.1, loss=Mine(epsilon=0.1)), purpose="totals")
        assert ledger.charge("adult", label(0.1, loss=PureLoss(epsilon=0.1)), purpose="totals").spent == 0.1

    @pytest.mark.parametrize("parts", [["valid"], ["train", "valid"], ["train", "train"], [], "train"])
    def test_parts_that_were_not_declared(self, ledger, parts):
        register(ledger, parts=PARTS)
        with pytest.raises(InvalidInput, match=r"^parts must be"), Untouched(ledger):
            ledger.charge("adult", label(0.1), parts=parts, purpose="totals")

    @pytest.mark.parametrize("purpose", ["", "  ", "two\nlines", "nul\x00"])
    def test_a_purpose_that_says_nothing(self, ledger, purpose):
        register(ledger)
        with pytest.raises(InvalidInput, match=r"^purpose must be one line"), Untouched(ledger):
            ledger.charge("adult", label(0.1), purpose=purpose)

    @pytest.mark.parametrize("parts", ["train", [], ["train", "train"], iter(["train"]), 3])
    def test_parts_that_are_no_list_of_names(self, ledger, parts):
        register(ledger, parts=PARTS)
        with pytest.raises(InvalidInput, match="parts must be a list of different names"), Untouched(ledger):
            ledger.charge("adult", label(0.1), purpose="totals", parts=parts)

    def test_an_unknown_data_set(self, ledger):
        register(ledger)
        with pytest.raises(LedgerError, match="knows no data set 'adults'; it knows: adult"):
            ledger.charge("adults", label(0.1), purpose="totals")

    @pytest.mark.parametrize("version", [0, 2])
    def test_an_unknown_version(self, ledger, version):
        register(ledger)
        with pytest.raises(InvalidInput, match="version must be one of adult's 1"), Untouched(ledger):
            ledger.charge("adult", label(0.1), purpose="totals", version=version)


class TestRegister:
    @pytest.mark.parametrize(
        ("changed", "sentence"),
        [
            ({"name": ""}, "name must be one line"),
            ({"data": []}, "at least one row"),
            ({"data": [1, "a"]}, "columns of one type"),
            ({"parts": [DataSetPart(name="a"), DataSetPart(name="a")]}, "parts must have different names, got a, a"),
            (
                {"parts": [PARTS[1], DataSetPart(name="c", rows=range(2, 4))]},
                "share no row, but c .* and test starts at row 3",
            ),
            ({"parts": [DataSetPart(name="a", rows=range(0, 6))]}, "within the data's 5 rows, got stop 6"),
        ],
    )
    def test_terms_that_make_no_sense(self, ledger, changed, sentence):
        with pytest.raises(InvalidInput, match=sentence), Untouched(ledger):
            register(ledger, **changed)

    @pytest.mark.parametrize("rows", [range(3, 3), range(-1, 2), range(0, 4, 2), range(4, 0, -1)])
    def test_a_part_is_a_run_of_rows(self, rows):
        with pytest.raises(InvalidInput, match="part a must have rows"):
            DataSetPart(name="a", rows=rows)

    def test_a_part_cannot_be_called_all(self):
        with pytest.raises(InvalidInput, match="must not be 'all'"):
            DataSetPart(name="all")

    def test_parts_that_touch_share_no_row(self, ledger):
        parts = [
            DataSetPart(name="b", rows=range(3, 5)),
            DataSetPart(name="a", rows=range(0, 3)),
            DataSetPart(name="rest"),
        ]
        assert [part.rows for part in register(ledger, parts=parts).parts] == [range(3, 5), range(0, 3), None]

    def test_a_name_is_given_once(self, ledger):
        register(ledger)
        with pytest.raises(LedgerError, match="has a data set 'adult' already"), Untouched(ledger):
            register(ledger, data=[7, 8])
        assert register(ledger, data=[7, 8], name="other").name == "other"

    def test_known_data_get_no_second_budget(self, ledger):
        register(ledger)
        for data in (LABELS, [*LABELS, 1, 1], [float(x) for x in LABELS], [str(x) for x in LABELS], [*LABELS, 0.5]):
            with (
                pytest.raises(LedgerError, match=r"first 5 of these .* known to the ledger as 'adult'"),
                Untouched(ledger),
            ):
                register(ledger, data=data, name="again")
        assert ledger.data_sets == ("adult",)


class TestVersions:
    def test_appended_rows_inherit_the_spend(self, ledger):
        register(ledger)
        ledger.charge("adult", label(0.75), purpose="before")
        version = ledger.identify([*LABELS, 1, 0])
        assert (version.data_set, version.number, version.rows) == ("adult", 2, 7)
        with pytest.raises(BudgetExceeded):
            ledger.charge("adult", label(0.5), purpose="after")
        assert ledger.charge("adult", label(0.25), purpose="after").left == 0.0
        assert [entry.version for entry in ledger.statement("adult").entries] == [1, 2]

    def test_the_newest_version_is_extended_too(self, ledger):
        register(ledger)
        numbers = [ledger.identify(LABELS + more).number for more in ([1], [1, 0], [1], [], [1, 1, 1], [0])]
        # rows after a version need not be rows after the next one: [0] extends version 1 only
        assert numbers == [2, 3, 2, 1, 4, 5]
        assert ledger.data_sets == ("adult",)

    def test_a_charge_may_name_its_version(self, ledger):
        register(ledger)
        ledger.identify([*LABELS, 1])
        ledger.charge("adult", label(0.1), purpose="old file", version=1)
        ledger.charge("adult", label(0.1), purpose="new file")
        assert [entry.version for entry in ledger.statement("adult").entries] == [1, 2]

    @pytest.mark.parametrize("data", [[1, 1, 1, 0, 1], [1, *LABELS], LABELS[:4], [x / 2 for x in LABELS]])
    def test_other_data_are_unknown(self, ledger, data):
        register(ledger)
        with pytest.raises(LedgerError, match="does not know these"), Untouched(ledger):
            ledger.identify(data)

    def test_fingerprints_of_two_ledgers_differ(self, ledger, tmp_path):
        register(ledger)
        other = Ledger.create(tmp_path / "other.db")
        register(other)
        assert contents(ledger)["ledger_version"][0].fingerprint != contents(other)["ledger_version"][0].fingerprint


class TestVoid:
    def test_a_voided_charge_counts_no_more_and_stays_on_record(self, ledger):
        register(ledger, delta=1e-6)
        ledger.charge("adult", label(0.5), purpose="a")
        ledger.charge("adult", label(0.25, 1e-9), purpose="b")
        receipt = ledger.void("adult/1", reason="the job failed before anything was written")
        assert receipt.id == "adult/3"
        assert receipt.used == 0.25
        first, _, third = ledger.statement("adult").entries
        assert (first.voided_by, first.guarantee.epsilon) == ("adult/3", 0.5)
        assert (third.voids, third.guarantee, third.purpose) == (
            "adult/1",
            None,
            "the job failed before anything was written",
        )
        assert ledger.rebuild("adult").used == receipt.used
        assert ledger.charge("adult", label(0.5), purpose="again").left == 0.25

    def test_only_the_charged_parts_are_relieved(self, ledger):
        register(ledger, parts=PARTS)
        ledger.charge("adult", label(0.5), parts=["train"], purpose="a")
        ledger.charge("adult", label(0.25), purpose="b")
        ledger.void("adult/1", reason="never made")
        assert [part.spent for part in ledger.statement("adult").parts] == [0.25, 0.25]

    @pytest.mark.parametrize(
        ("entry", "sentence"),
        [
            ("adult/1", "was voided already, by adult/2"),
            ("adult/2", "is a correction"),
            ("adult/9", "no charge adult/9"),
            ("other/1", "no data set 'other'"),
            ("adult", "must be a data set's name and a number"),
            ("adult/x", "must be a data set's name and a number"),
            (f"adult/{'9' * 5000}", "must be a data set's name and a number"),
        ],
    )
    def test_what_cannot_be_voided(self, ledger, entry, sentence):
        register(ledger)
        ledger.charge("adult", label(0.5), purpose="a")
        ledger.void("adult/1", reason="never made")
        with pytest.raises(LedgerError, match=sentence), Untouched(ledger):
            ledger.void(entry, reason="again")

    def test_a_reason_is_needed(self, ledger):
        register(ledger)
        ledger.charge("adult", label(0.5), purpose="a")
        with pytest.raises(InvalidInput, match="reason must be"), Untouched(ledger):
            ledger.void("adult/1", reason=" ")


class TestBudget:
    def test_it_can_be_raised_and_lowered_to_the_spend(self, ledger):
        register(ledger)
        ledger.charge("adult", label(0.5), purpose="a")
        assert ledger.set_budget("adult", label(2.0)).left == 1.5
        assert ledger.set_budget("adult", label(0.5)).left == 0.0
        with pytest.raises(BudgetExceeded, match=r"spent epsilon 0\.5, .* lowered to epsilon 0\.4"), Untouched(ledger):
            ledger.set_budget("adult", label(0.4))

    @pytest.mark.parametrize("budget", [3, NoGuarantee(reason="exact")])
    def test_it_is_a_guarantee(self, ledger, budget):
        register(ledger)
        with pytest.raises(InvalidInput, match="budget must be a Guarantee"), Untouched(ledger):
            ledger.set_budget("adult", budget)
        with pytest.raises(InvalidInput, match="budget must be a Guarantee"), Untouched(ledger):
            ledger.register([1, 1], name="other", budget=budget)

    def test_a_delta_may_come_later_and_counts_the_charges_before(self, ledger):
        register(ledger, epsilon=10.0)
        for _ in range(30):
            ledger.charge("adult", label(0.2), purpose="a")
        assert ledger.statement("adult").spent == 6.0
        assert ledger.set_budget("adult", label(10.0, 1e-6)).used < 0.6
        assert ledger.set_budget("adult", label(10.0, 0.0)).spent == 6.0

    def test_a_delta_cannot_be_taken_from_charges_that_used_it(self, ledger):
        register(ledger, delta=1e-6)
        ledger.charge("adult", label(0.1, 1e-9), purpose="a")
        with pytest.raises(BudgetExceeded, match=r"has spent epsilon 0\.1 and delta 1e-9, so its"), Untouched(ledger):
            ledger.set_budget("adult", label(100.0))

    def test_every_part_must_fit_it(self, ledger):
        register(ledger, parts=PARTS)
        ledger.charge("adult", label(0.5), parts=["test"], purpose="a")
        with pytest.raises(BudgetExceeded, match="part test of adult"), Untouched(ledger):
            ledger.set_budget("adult", label(0.25))

    @pytest.mark.parametrize("budget", [Guarantee(unit=Unit.RECORD, epsilon=9.0), label(4.5).for_group(rows=2)])
    def test_it_stays_in_its_unit(self, ledger, budget):
        register(ledger)
        with pytest.raises(UnitMismatch), Untouched(ledger):
            ledger.set_budget("adult", budget)


class TestDatabase:
    @pytest.mark.parametrize(
        "table", ["ledger", "ledger_data_set", "ledger_budget", "ledger_part", "ledger_version", "ledger_entry"]
    )
    @pytest.mark.parametrize("statement", ["UPDATE {} SET time = 'then'", "DELETE FROM {}"])
    def test_what_is_written_stays(self, ledger, table, statement):
        register(ledger)
        ledger.charge("adult", label(0.5), purpose="a")
        statement = statement.format(table).replace("ledger_part SET time", "ledger_part SET name")
        with (
            pytest.raises(LedgerError, match=f"{table} is append-only"),
            Untouched(ledger),
            ledger.transaction() as rows,
        ):
            rows.connection.execute(text(statement))

    def test_a_changed_account_is_noticed_and_can_be_rebuilt(self, ledger):
        register(ledger)
        ledger.charge("adult", label(0.5), purpose="a")
        with ledger.transaction() as rows:
            rows.connection.execute(text("UPDATE ledger_account SET sums = '{}'"))
        for look in (lambda: ledger.statement("adult"), lambda: ledger.charge("adult", label(0.1), purpose="b")):
            with pytest.raises(LedgerError, match="a row of ledger_account does not match its seal"):
                look()
        assert ledger.rebuild("adult").spent == 0.5

    @pytest.mark.parametrize("revision", ["0001", "0003"])
    def test_an_old_schema_is_brought_up_to_date(self, location, revision):
        create_old_ledger(location, revision=revision, charges=[label(0.25), label(0.5, 1e-9), label(0.125)])
        new = Ledger.open(location)
        assert new.statement("adult").used == 0.875
        assert new.charge("adult", label(0.125), purpose="to the brim").used == 1
        with pytest.raises(LedgerError, match="append-only"), new.transaction() as rows:
            rows.connection.execute(text("UPDATE ledger_entry SET purpose = purpose"))

    def test_what_an_old_ledger_accepted_stays_accepted(self, location):
        """20 x 0.3 fit this epsilon by their distributions, and fit no sum of the filter: no more is accepted."""
        charges = [label(0.3)] * 20
        most = round(compose(charges, delta=1e-6).epsilon, 3) + 0.001
        create_old_ledger(location, revision="0003", charges=charges, budget=label(most, 1e-6))
        ledger = Ledger.open(location)
        statement = ledger.statement("adult")
        assert len(statement.entries) == 20
        assert statement.left == 0
        with pytest.raises(BudgetExceeded, match="has used more than 100% of epsilon"), Untouched(ledger):
            ledger.charge("adult", label(0.001), purpose="one too many")
        for number in (17, 18, 19, 20):
            ledger.void(f"adult/{number}", reason="never made")
        assert ledger.charge("adult", label(0.1), purpose="there is room again").used <= 1

    def test_a_newer_schema_is_refused(self, ledger, location):
        with ledger.transaction() as rows:
            rows.connection.execute(text("UPDATE ledger_migration SET version_num = '9999'"))
        with pytest.raises(LedgerError, match="schema version 9999, which this tacit does not know; update tacit"):
            Ledger.open(location)

    def test_the_tables_are_those_of_the_migrations(self, ledger):
        from alembic.autogenerate import compare_metadata
        from alembic.migration import MigrationContext

        from tacit.privacy.ledger.schema import TABLES

        with ledger._reading() as rows:
            context = MigrationContext.configure(rows.connection, opts={"version_table": "ledger_migration"})
            assert compare_metadata(context, TABLES) == []

    def test_all_revisions_are_named(self):
        from importlib.resources import files

        names = sorted(entry.name for entry in files("tacit.privacy.ledger.migrations.versions").iterdir())
        assert tuple(name[1:5] for name in names if name.startswith("r")) == LedgerDatabase.schema.revisions

    def test_one_place_holds_one_ledger(self, ledger, location):
        register(ledger)
        with pytest.raises(LedgerError, match=r"already|exists"), Untouched(ledger):
            Ledger.create(location)
        assert Ledger.open(location).data_sets == ("adult",)

    def test_a_place_without_a_ledger_is_not_opened(self, location):
        with pytest.raises(LedgerError, match="there is no ledger at"):
            Ledger.open(location)

    def test_the_secret_is_not_shown(self, ledger):
        assert ledger._secret.hex() not in repr(ledger)
        assert repr(ledger._secret) not in repr(ledger)

    @pytest.mark.parametrize(
        "location",
        [
            "mysql://me:pass@host/books",
            "sqlite://",
            "sqlite:///:memory:",
            "oracle://",
            "postgresql://host:pass/books",
            "",
        ],
    )
    def test_other_databases_are_refused(self, location):
        with pytest.raises(InvalidInput, match="ledger must be a file or a postgresql:// URL") as caught:
            Ledger.open(location)
        assert "pass" not in str(caught.value)

    def test_a_url_of_a_file_is_that_file(self, tmp_path):
        Ledger.create(tmp_path / "ledger.db")
        assert Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").data_sets == ()


class TestExport:
    def test_a_restored_ledger_is_the_same_ledger(self, ledger, tmp_path):
        register(ledger, delta=1e-6, epsilon=3.0, parts=PARTS)
        ledger.charge("adult", label(0.5), purpose="a")
        ledger.charge("adult", label(0.25, 1e-9), parts=["test"], purpose="b")
        ledger.void("adult/1", reason="never made")
        ledger.identify([*LABELS, 1])
        ledger.set_budget("adult", label(2.0, 1e-6))
        register(ledger, data=["x", "y"], name="other")
        file = ledger.export(tmp_path / "backup.json")
        assert file.stat().st_mode & 0o777 == 0o600
        copy = Ledger.create(tmp_path / "copy.db", restore=file)
        assert [copy.statement(name) for name in copy.data_sets] == [ledger.statement(n) for n in ledger.data_sets]
        assert copy.identify([*LABELS, 1]).number == 2
        assert copy.export(tmp_path / "again.json").read_bytes() == file.read_bytes()

    def test_a_restored_ledger_goes_on_spending(self, ledger, tmp_path):
        register(ledger)
        ledger.charge("adult", label(0.75), purpose="a")
        copy = Ledger.create(tmp_path / "copy.db", restore=ledger.export(tmp_path / "backup.json"))
        with pytest.raises(BudgetExceeded):
            copy.charge("adult", label(0.5), purpose="b")
        assert copy.charge("adult", label(0.25), purpose="b").id == "adult/2"

    def test_restore_works_on_this_database_too(self, location, tmp_path):
        source = Ledger.create(tmp_path / "source.db")
        register(source)
        source.charge("adult", label(0.75), purpose="a")
        copy = Ledger.create(location, restore=source.export(tmp_path / "backup.json"))
        assert copy.statement("adult") == source.statement("adult")

    def test_the_shared_form_holds_no_secret_and_restores_nothing(self, ledger, tmp_path):
        register(ledger)
        shared = ledger.export(tmp_path / "shared.json", secret=False)
        assert ledger._secret.hex() not in shared.read_text()
        with pytest.raises(LedgerError, match="made for sharing"):
            Ledger.create(tmp_path / "copy.db", restore=shared)
        assert ledger._secret.hex() in ledger.export(tmp_path / "backup.json").read_text()  # control
        assert not (tmp_path / "copy.db").exists()

    def test_an_existing_file_is_kept(self, ledger, tmp_path):
        (tmp_path / "mine").write_text("precious")
        with pytest.raises(InvalidInput, match="mine exists already"):
            ledger.export(tmp_path / "mine")
        with pytest.raises(InvalidInput, match="mine is not an export of a ledger and is not overwritten"):
            ledger.export(tmp_path / "mine", force=True)
        assert (tmp_path / "mine").read_text() == "precious"
        backup = ledger.export(tmp_path / "backup.json")
        backup.write_text(backup.read_text()[:100])
        ledger.export(backup, force=True)
        assert json.loads(backup.read_text())["format"] == "tacit ledger 1"
        assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []

    def test_damaged_exports_are_refused(self, ledger, tmp_path):
        register(ledger)
        whole = json.loads(ledger.export(tmp_path / "backup.json").read_text())
        changed = whole | {"data_sets": []}
        for document, sentence in [
            (changed, "checksum does not match"),
            ({key: value for key, value in whole.items() if key != "checksum"}, "checksum does not match"),
            (whole | {"format": "tacit ledger 2"}, "got 'tacit ledger 2'"),
            ({}, "got None"),
        ]:
            with pytest.raises(LedgerError, match=sentence):
                Ledger.create(tmp_path / "copy.db", restore=document)
        for content in ("", "[]", "{", '"text"'):
            (tmp_path / "bad.json").write_text(content)
            with pytest.raises(LedgerError, match="not an export of a ledger"):
                Ledger.create(tmp_path / "copy.db", restore=tmp_path / "bad.json")
        with pytest.raises(LedgerError, match="cannot be read"):
            Ledger.create(tmp_path / "copy.db", restore=tmp_path / "nowhere.json")
        assert not (tmp_path / "copy.db").exists()

    def test_an_export_with_a_wrong_field_is_refused_in_one_sentence(self, ledger, tmp_path):
        from tacit.privacy.ledger.transfer import _checksum

        register(ledger)
        whole = json.loads(ledger.export(tmp_path / "backup.json").read_text())
        del whole["checksum"], whole["data_sets"][0]["budgets"]
        with pytest.raises(LedgerError, match="a field is wrong: KeyError"):
            Ledger.create(tmp_path / "copy.db", restore=whole | {"checksum": _checksum(whole)})


class TestManyCharges:
    def test_ten_thousand_charges_and_one_more(self, sqlite_location, monkeypatch):
        """The state after 10,000 charges is built at once; the next one costs one addition and agrees."""
        many, small = 10_000, label(0.018)
        ledger = Ledger.create(sqlite_location)
        register(ledger, epsilon=10.5, delta=1e-6)
        entry = {"data_set": 1, "version": 1, "time": "then", "parts": '["all"]', "purpose": "a", "voids": None}
        entry["guarantee"] = json.dumps(small.to_json())
        entries = [entry | {"number": number} for number in range(1, many + 1)]
        with ledger.transaction() as rows:
            sealed = [one | {"seal": seal(rows.secret, "ledger_entry", one)} for one in entries]
            rows.connection.execute(insert(ENTRY), sealed)
        ledger.rebuild("adult")
        before = ledger.statement("adult").used
        assert 0.9 < before < 1
        monkeypatch.setattr(PrivacyAccount, "of", None)  # a charge that looked at old charges would need it
        receipt = ledger.charge("adult", small, purpose="one more")
        monkeypatch.undo()
        assert receipt.id == "adult/10001"
        assert before < receipt.used == ledger.rebuild("adult").used < 1


def test_threads_create_ledgers_of_their_own_at_once(tmp_path):
    """Alembic's revisions write through one object for the whole process."""
    made = []
    places = [tmp_path / f"{number}.db" for number in range(8)]
    threads = [Thread(target=lambda place=place: made.append(Ledger.create(place))) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == len(places)
