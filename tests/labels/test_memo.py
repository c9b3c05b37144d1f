"""The same labels asked for again: the same release, at no cost, unless another one is paid for."""

import stat
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from tacit.labels.releases.labels import MissingLabels
from tacit.labels.releases.memo import Memo, memo_key
from tacit.labels.releases.payment import Payment, recognise
from tacit.labels.releases.stream import protect_table

from tacit.labels.mechanisms.estimate import EstimatedPrior
from tacit.labels.mechanisms.one_hot import LaplaceOneHot
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, InvalidRelease, LedgerError, Unit, read_release
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import system_rng

LABELS = np.random.default_rng(0).integers(0, 2, 500)
TABLE = pa.table({"age": np.arange(500), "city": ["Oslo", "Rome"] * 250, "ill": LABELS})
RR = RandomizedResponse(epsilon=1.0)


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(LABELS, name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0))
    return ledger


@pytest.fixture
def protect(tmp_path, ledger):
    """Release the labels into a file of this name and return what was made, with the released labels."""

    def protect(name, *, table=TABLE, again=False, dataset=None, memo=None, **options):
        payment = Payment(ledger=ledger, dataset=dataset, memo=memo, again=again)
        defaults = {"label": "ill", "mechanism": RR, "classes": [0, 1], "rng": system_rng()}
        made = protect_table(table, tmp_path / name, payment=payment, **{**defaults, **options})
        return made, read_release(tmp_path / name).value["label"].to_pylist()

    return protect


def spent(ledger):
    return ledger.statement("visits").spent


def test_the_same_labels_give_the_same_release_and_one_charge(protect, ledger, tmp_path):
    first, labels = protect("one.parquet")
    assert (first.receipt.id, first.repeated) == ("visits/1", False)
    second, same = protect("two.parquet")
    assert (second.receipt, second.repeated) == (None, True)
    assert same == labels
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert spent(ledger) == 1.0


def test_a_second_release_is_made_and_paid_for_when_asked(protect, ledger):
    _, labels = protect("one.parquet")
    made, others = protect("two.parquet", again=True)
    assert made.receipt.id == "visits/2"
    assert others != labels, "two releases of 500 labels are equal with probability 2^-300"
    assert spent(ledger) == 2.0
    assert protect("three.parquet")[1] == others, "the newest is remembered"


def test_other_public_columns_need_no_second_release(protect, ledger, tmp_path):
    _, labels = protect("one.parquet")
    made, same = protect("two.parquet", keep=["city", "age"])
    assert made.repeated
    assert same == labels
    value = read_release(tmp_path / "two.parquet").value
    assert value.column_names == ["city", "age", "label"]
    assert value["age"].to_pylist() == list(range(500))
    assert spent(ledger) == 1.0


@pytest.mark.parametrize(
    ("changed", "repeated"),
    [
        ({}, True),
        ({"rows_per_person": 1}, True),
        ({"classes": None}, True),
        ({"classes": [1, 0]}, True),
        ({"classes": [0.0, 1.0]}, True),
        ({"classes": ["1", "0"]}, True),
        ({"classes": [False, True], "table": TABLE.set_column(2, "ill", pa.array(LABELS == 1))}, True),
        ({"mechanism": RandomizedResponse(epsilon=1)}, True),
        ({"mechanism": RandomizedResponse(epsilon=0.5)}, False),
        ({"mechanism": LaplaceOneHot(epsilon=1.0)}, False),
        ({"mechanism": EstimatedPrior(epsilon=1.0)}, False),
        ({"classes": [0, 1, 2]}, False),
        ({"rng": np.random.default_rng(0)}, False),
    ],
    ids=[
        "nothing",
        "rows",
        "found classes",
        "order",
        "floats",
        "words",
        "truth",
        "whole",
        "epsilon",
        "mechanism",
        "prior",
        "classes",
        "seed",
    ],
)
def test_what_makes_a_release_another_one(protect, changed, repeated):
    protect("one.parquet")
    assert protect("two.parquet", **changed)[0].repeated is repeated


def test_changed_labels_are_other_labels(protect, ledger):
    protect("one.parquet")
    flipped = LABELS.copy()
    flipped[7] ^= 1
    table = TABLE.set_column(2, "ill", pa.array(flipped))
    with pytest.raises(LedgerError, match="does not know these 500 rows"):
        protect("two.parquet", table=table)
    made, _ = protect("two.parquet", table=table, dataset="visits")
    assert not made.repeated
    assert spent(ledger) == 2.0


def test_an_estimated_prior_is_remembered_with_the_labels(protect, ledger):
    first, labels = protect("one.parquet", mechanism=EstimatedPrior(epsilon=1.0))
    second, same = protect("two.parquet", mechanism=EstimatedPrior(epsilon=1.0))
    assert (second.mechanism, same) == (first.mechanism, labels)
    assert second.mechanism["prior_epsilon"] == 0.1
    assert spent(ledger) == 1.0


def test_missing_labels_are_remembered_as_missing(protect, ledger):
    table = pa.table({"ill": [0, None, 1, 1]})
    ledger.register(table, name="few", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    labels = [protect(f"{i}.parquet", table=table, missing=MissingLabels.PUBLIC)[1] for i in (0, 1)]
    assert labels[0] == labels[1]
    assert labels[0][1] is None


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")
def test_the_memo_is_its_owners_alone(protect, tmp_path):
    protect("one.parquet")
    folder = tmp_path / "ledger.db.releases"
    (file,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_release(file).value.column_names == ["label"]


def test_a_folder_of_the_users_choice(protect, tmp_path):
    memo = Memo(tmp_path / "kept")
    protect("one.parquet", memo=memo)
    assert protect("two.parquet", memo=memo)[0].repeated
    assert not (tmp_path / "ledger.db.releases").exists()
    assert not protect("three.parquet")[0].repeated, "control: another folder knows nothing"


def test_a_refused_charge_leaves_nothing(protect, ledger, tmp_path):
    with pytest.raises(BudgetExceeded):
        protect("one.parquet", mechanism=RandomizedResponse(epsilon=4.0))
    assert spent(ledger) == 0
    assert not (tmp_path / "one.parquet").exists()
    assert list((tmp_path / "ledger.db.releases").iterdir()) == []


def test_nothing_is_charged_for_a_file_that_cannot_be_written(protect, ledger, tmp_path):
    (tmp_path / "one.parquet").write_text("mine")
    with pytest.raises(InvalidInput, match="exists already"):
        protect("one.parquet")
    with pytest.raises(InvalidInput, match="cannot be written"):
        protect("no such folder/one.parquet")
    with pytest.raises((InvalidInput, OSError)):
        protect("two.parquet", memo=Memo(tmp_path / "one.parquet"))
    assert spent(ledger) == 0


def test_nothing_is_drawn_before_the_charge(protect, ledger):
    rng = np.random.default_rng(0)
    untouched = np.random.default_rng(0).bit_generator.state
    with pytest.raises(BudgetExceeded):
        protect("one.parquet", mechanism=EstimatedPrior(epsilon=4.0), rng=rng)
    assert rng.bit_generator.state == untouched
    protect("one.parquet", mechanism=EstimatedPrior(epsilon=1.0), rng=rng)
    assert rng.bit_generator.state != untouched, "control: within the budget it does draw"
    assert spent(ledger) == 1.0


def test_several_rows_of_a_person_are_charged_as_the_ledger_keeps_them(protect, ledger):
    other = LABELS[::-1].copy()
    ledger.register(other, name="persons", budget=Guarantee(unit=Unit.LABEL, epsilon=6.0, rows=3))
    made, _ = protect("one.parquet", table=pa.table({"ill": other}), rows_per_person=3)
    assert ledger.statement("persons").spent == made.guarantee.epsilon == 3.0


def test_damage_is_noticed(protect, tmp_path):
    protect("one.parquet")
    (file,) = (tmp_path / "ledger.db.releases").iterdir()
    kept = file.read_bytes()
    file.write_bytes(kept[: len(kept) // 2])
    with pytest.raises(InvalidRelease, match="damaged"):
        protect("two.parquet")
    protect("two.parquet", again=True)
    assert protect("three.parquet")[0].repeated


def test_a_release_of_other_rows_is_not_taken(protect, ledger, tmp_path):
    protect("one.parquet")
    (file,) = (tmp_path / "ledger.db.releases").iterdir()
    release = read_release(file)
    file.unlink()
    type(release)(
        value=release.value.slice(0, 10),
        guarantee=release.guarantee,
        surface="labels",
        mechanism=release.mechanism,
        seeded=False,
    ).write(file)
    with pytest.raises(InvalidRelease, match="is not the release of these 500 labels"):
        protect("two.parquet")


def test_the_data_set_that_is_named_must_be_the_one_that_is_known(protect, ledger):
    ledger.register([1, 0, 0], name="others", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    with pytest.raises(InvalidInput, match="dataset must be 'visits', as which the ledger knows these labels"):
        protect("one.parquet", dataset="others")
    with pytest.raises(LedgerError, match="knows no data set 'nobody'"):
        protect("one.parquet", table=pa.table({"ill": [1, 1, 0]}), dataset="nobody")
    assert recognise(ledger, [5, 6], dataset="others") == ("others", None)


def test_a_prior_stays_with_its_class(protect):
    def prior(*shares):
        return PriorRandomizedResponse(epsilon=1.0, prior=shares)

    protect("one.parquet", mechanism=prior(0.7, 0.3))
    assert protect("two.parquet", mechanism=prior(0.3, 0.7), classes=[1, 0])[0].repeated
    assert not protect("three.parquet", mechanism=prior(0.3, 0.7))[0].repeated, "control: another prior"


def test_one_hot_rows_asked_for_in_another_order_say_their_own(protect, ledger):
    noise = LaplaceOneHot(epsilon=1.0)
    first, rows = protect("one.parquet", mechanism=noise)
    second, same = protect("two.parquet", mechanism=noise, classes=[1, 0])
    assert second.repeated
    assert (second.mechanism["classes"], same) == (first.mechanism["classes"], rows)
    assert spent(ledger) == 1.0


@pytest.mark.parametrize(
    "classes", [["1", "01"], ["1", "inf"], ["1", "a"], [str(2**53), str(2**53 + 1)], ["True", "true"]]
)
def test_classes_that_are_no_different_numbers_are_texts(classes):
    others = [*classes[:-1], f"{classes[-1]}x"]
    assert memo_key(b"a", {"classes": classes}) != memo_key(b"a", {"classes": others})
    assert memo_key(b"a", {"classes": classes}) == memo_key(b"a", {"classes": classes[::-1]})


def test_the_key_hides_and_separates():
    asked = {"name": "randomized_response", "epsilon": 1.0, "classes": [0, 1], "seeded": False}
    keys = {memo_key(b"a", asked), memo_key(b"b", asked), memo_key(b"a", {**asked, "epsilon": 2.0})}
    assert len(keys) == 3
    assert memo_key(b"ab", {"x": 1}) != memo_key(b"a", {"bx": 1})


def test_two_ledgers_have_two_fingerprints(tmp_path):
    one, two = (Ledger.create(tmp_path / name) for name in ("one.db", "two.db"))
    assert one.fingerprint(LABELS) != two.fingerprint(LABELS)
    assert one.fingerprint(LABELS) == one.fingerprint(pa.table({"any name": LABELS.astype(np.int8)}))


def test_a_ledger_that_is_no_file_needs_a_folder():
    ledger = SimpleNamespace(location="postgresql+psycopg://me:***@host/books")
    with pytest.raises(InvalidInput, match="memo must name a folder"):
        Memo.beside(ledger)


def test_a_void_charge_buys_no_remembered_release(protect, ledger):
    first, _ = protect("one.parquet")
    ledger.void(first.receipt.id, reason="the file never left")
    assert spent(ledger) == 0
    second, _ = protect("two.parquet")
    assert not second.repeated
    assert spent(ledger) == 1.0
