"""What is paid for is delivered, once: whatever dies in between."""

import os
import shutil
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pytest

from tacit.privacy import Guarantee, InvalidInput, Ledger, LedgerError, NoGuarantee, Unit
from tacit.privacy.delivery import ReleaseRequest, deliver
from tacit.privacy.payment import Payment
from tacit.privacy.plan import Plan
from tacit.privacy.releases import DocumentMember, Release, ReleaseHeader, TableMember
from tacit.privacy.targets import Overwrite
from tests.killing import put_on_disk, states_on_disk

ROWS = pa.record_batch({"age": [31, 64, 50], "ill": [0, 1, 1]})
ONE = Guarantee(unit=Unit.LABEL, epsilon=1.0)


@dataclass(frozen=True, kw_only=True)
class ToyPlan(Plan):
    surface: ClassVar[str] = "toy"


@dataclass(frozen=True, kw_only=True)
class ToyFolderPlan(ToyPlan):
    @property
    def suffix(self):
        return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class ToyFile(Release):
    plan_type: ClassVar[type[Plan]] = ToyPlan


@dataclass(frozen=True, kw_only=True, eq=False)
class ToyFolder(ToyFile):
    plan_type: ClassVar[type[Plan]] = ToyFolderPlan


class Drawer:
    """Draws a new release each time, so that a second draw shows."""

    def __init__(self, kind, plan):
        self.kind, self.plan, self.drawn = kind, plan, 0

    def __call__(self):
        self.drawn += 1
        rows = TableMember(pa.table({"label": [os.urandom(8).hex()]}))
        members = {"rows": rows} if self.kind is ToyFile else {"rows": rows, "about": DocumentMember({"n": 1})}
        return self.kind(
            header=ReleaseHeader(surface="toy", plan=self.plan.to_json(), guarantee=ONE, seeded=False), members=members
        )


def request(plan, *, rows=ROWS, guarantee=ONE, seeded=False):
    return ReleaseRequest(plan=plan, guarantee=guarantee, seeded=seeded, rows=lambda: [rows], private=["ill"])


def drawn_label(path, kind):
    return kind.read(path).members["rows"].table["label"][0].as_py()


@pytest.fixture(params=[ToyFile, ToyFolder])
def kind(request):
    return request.param


@pytest.fixture
def plan(request):
    kind = request.getfixturevalue("kind") if "kind" in request.fixturenames else ToyFile
    return kind.plan_type(label="ill", epsilon=1)


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register([0, 1, 1], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0))
    return ledger


def kept_in(place):
    return [path for path in (place / "ledger.db.releases").iterdir() if path.suffix != ".lock"]


def ask(kind, plan, ledger, out=None, **settings):
    draw = settings.pop("draw", None) or Drawer(kind, plan)
    asked = request(plan, rows=settings.pop("rows", ROWS))
    return deliver(kind, asked, draw=draw, out=out, payment=Payment(ledger=ledger, **settings))


def test_without_a_ledger_it_is_drawn_and_written(kind, plan, tmp_path):
    draw = Drawer(kind, plan)
    for out in (None, tmp_path / f"out{plan.suffix}"):
        release = deliver(kind, request(plan), draw=draw, out=out)
        assert release.plan == plan
        assert release.guarantee == ONE
        assert release.members["rows"].rows == 1
    assert draw.drawn == 2
    with pytest.raises(InvalidInput, match="exists already"):
        deliver(kind, request(plan), draw=draw, out=out)
    deliver(kind, request(plan), draw=draw, out=Overwrite(out))


def test_the_same_request_is_delivered_again_and_charged_once(kind, plan, ledger, tmp_path):
    first = ask(kind, plan, ledger, tmp_path / f"one{plan.suffix}")
    second = ask(kind, plan, ledger, tmp_path / f"two{plan.suffix}")
    assert (first.receipt.id, first.repeated) == ("visits/1", False)
    assert (second.receipt, second.repeated) == (None, True)
    assert drawn_label(tmp_path / f"one{plan.suffix}", kind) == drawn_label(tmp_path / f"two{plan.suffix}", kind)
    assert ledger.statement("visits").spent == 1.0


def test_another_plan_other_rows_and_again_are_charged(kind, plan, ledger):
    ask(kind, plan, ledger)
    ask(kind, kind.plan_type(label="ill", epsilon=1, features=("age",)), ledger)
    assert ledger.statement("visits").spent == 2.0
    assert ask(kind, plan, ledger, again=True).receipt.id == "visits/3"
    assert ask(kind, plan, ledger).repeated  # the newest one


def test_a_refusal_leaves_nothing_in_the_store(kind, plan, ledger, tmp_path):
    for _ in range(3):
        ask(kind, plan, ledger, again=True)
    before = set((tmp_path / "ledger.db.releases").iterdir())
    with pytest.raises(LedgerError, match="so nothing was charged"):
        ask(kind, kind.plan_type(label="ill", epsilon=1, features=("age",)), ledger)
    assert set((tmp_path / "ledger.db.releases").iterdir()) == before


def test_again_after_a_failed_draw_is_not_a_second_charge(kind, plan, ledger):
    broken = Drawer(None, plan)
    with pytest.raises(TypeError):
        ask(kind, plan, ledger, draw=broken)
    assert not ask(kind, plan, ledger, again=True).repeated
    assert ledger.statement("visits").spent == 1.0


def test_an_entry_pays_for_its_own_guarantee_alone(kind, plan, ledger):
    with pytest.raises(TypeError):
        ask(kind, plan, ledger, draw=Drawer(None, plan))
    more = ReleaseRequest(
        plan=kind.plan_type(label="ill", epsilon=3),
        guarantee=Guarantee(unit=Unit.LABEL, epsilon=3.0),
        seeded=False,
        rows=None,
        private=["ill"],
    )
    payment = Payment(ledger=ledger, entry="visits/1")
    with pytest.raises(LedgerError, match="visits/1 paid for epsilon 1 for one label, and this release has epsilon 3"):
        deliver(kind, more, draw=Drawer(kind, plan), payment=payment)


def test_an_entry_delivers_its_own_plan_alone(kind, plan, ledger):
    ask(kind, plan, ledger)
    other = kind.plan_type(label="ill", epsilon=1, features=("age",))
    with pytest.raises(LedgerError, match="visits/1 paid for a release of another plan"):
        ask(kind, other, ledger, entry="visits/1")


def test_an_entry_pays_for_no_other_data_set(kind, plan, ledger):
    other = pa.record_batch({"age": [31, 64], "ill": [1, 0]})
    ledger.register([1, 0], name="other", budget=ONE)
    with pytest.raises(TypeError):
        ask(kind, plan, ledger, draw=Drawer(None, plan))
    draw = Drawer(kind, plan)
    with pytest.raises(LedgerError, match="visits/1 paid for a release of another plan or of other rows"):
        ask(kind, plan, ledger, rows=other, draw=draw, entry="visits/1")
    assert not draw.drawn
    assert not ask(kind, plan, ledger, entry="visits/1").repeated, "control: its own rows"


def test_an_entry_that_resumes_leaves_one_draw_in_the_store(kind, plan, ledger, tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Payment, "record_delivery", stopped)
        with pytest.raises(KeyboardInterrupt):
            ask(kind, plan, ledger)
    assert len(kept_in(tmp_path)) == 1
    ask(kind, plan, ledger, entry="visits/1")
    assert len(kept_in(tmp_path)) == 1


def test_an_entry_delivers_the_first_of_two_releases(kind, plan, ledger):
    first = ask(kind, plan, ledger).members["rows"].table
    ask(kind, plan, ledger, again=True)
    assert ask(kind, plan, ledger, entry="visits/1").members["rows"].table == first


def test_a_voided_charge_is_not_found_again(kind, plan, ledger):
    with pytest.raises(TypeError):
        ask(kind, plan, ledger, draw=Drawer(None, plan))
    ledger.void("visits/1", reason="the draw failed")
    assert ask(kind, plan, ledger).receipt.id == "visits/3"


def test_what_was_drawn_for_a_voided_charge_is_removed(kind, plan, ledger, tmp_path, monkeypatch):
    with monkeypatch.context() as killed:
        killed.setattr(Payment, "record_delivery", lambda *_: 1 / 0)  # drawn, and never recorded
        with pytest.raises(ZeroDivisionError):
            ask(kind, plan, ledger)
    assert len(kept_in(tmp_path)) == 1
    Payment(ledger=ledger).void("visits/1", reason="the host was killed")
    assert kept_in(tmp_path) == []
    ledger.charge("visits", ONE, purpose="by hand")
    assert Payment(ledger=ledger).void("visits/3", reason="by hand too").spent == 0
    ask(kind, plan, ledger)
    with pytest.raises(LedgerError, match="was delivered"):
        Payment(ledger=ledger).void("visits/5", reason="too late")
    assert len(kept_in(tmp_path)) == 1, "control: what was delivered stays"


def test_a_delivered_charge_is_not_voided(kind, plan, ledger):
    ask(kind, plan, ledger)
    with pytest.raises(LedgerError, match="the release of visits/1 was delivered, so it stays spent"):
        ledger.void("visits/1", reason="the recipient destroyed it")
    assert ledger.statement("visits").spent == 1.0


def test_a_charge_that_is_voided_during_the_draw_delivers_nothing(kind, plan, ledger, tmp_path):
    draw = Drawer(kind, plan)

    def voiding():
        ledger.void("visits/1", reason="stopped")
        return draw()

    out = tmp_path / f"out{plan.suffix}"
    with pytest.raises(LedgerError, match="visits/1 was voided while its release was drawn"):
        ask(kind, plan, ledger, out, draw=voiding)
    assert not out.exists()
    assert kept_in(tmp_path) == []
    assert ask(kind, plan, ledger, out).receipt.id == "visits/3"


def test_a_lost_release_is_refused_by_name_until_another_is_paid_for(kind, plan, ledger, tmp_path):
    ask(kind, plan, ledger)
    (kept,) = kept_in(tmp_path)
    kept.rename(tmp_path / "gone")
    with pytest.raises(LedgerError, match=r"visits/1 paid for was delivered.*restore .*, or charge for another"):
        ask(kind, plan, ledger)
    assert ask(kind, plan, ledger, again=True).receipt.id == "visits/2"


@pytest.mark.parametrize("member", ["rows.parquet", "about.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["deleted", "replaced"])
def test_a_stored_folder_with_a_damaged_member_is_refused_by_name(member, damage, ledger, tmp_path):
    plan = ToyFolderPlan(label="ill", epsilon=1)
    ask(ToyFolder, plan, ledger)
    (kept,) = kept_in(tmp_path)
    (kept / member).unlink()
    if damage == "replaced":
        Drawer(ToyFolder, plan)().write(tmp_path / "other")
        content = b"{}" if member == "manifest.json" else (tmp_path / "other" / member).read_bytes()
        (kept / member).write_bytes(content.replace(b'"n": 1', b'"n": 2'))
    for out in (None, tmp_path / "out"):
        with pytest.raises(
            LedgerError, match=r"visits/1 paid for was delivered.*or charge for another release with again"
        ):
            ask(ToyFolder, plan, ledger, out)
    assert ask(ToyFolder, plan, ledger, again=True).receipt.id == "visits/2"


def test_the_store_is_its_owners_alone(kind, plan, ledger, tmp_path):
    ask(kind, plan, ledger)
    assert (tmp_path / "ledger.db.releases").stat().st_mode & 0o777 == 0o700


def test_a_seeded_release_and_one_without_a_guarantee_are_not_paid_for(plan, ledger):
    payment = Payment(ledger=ledger)
    draw = Drawer(ToyFile, plan)
    for asked, sentence in (
        (request(plan, seeded=True), "seed must not be given with a ledger"),
        (request(plan, guarantee=NoGuarantee(reason="exact")), "ledger must have a guarantee to charge for"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            deliver(ToyFile, asked, draw=draw, payment=payment)
    assert not draw.drawn
    assert ledger.statement("visits").spent == 0


def test_rows_without_an_order_resume_by_their_entry(kind, plan, ledger):
    asked = ReleaseRequest(plan=plan, guarantee=ONE, seeded=False, rows=None, private=["ill"])
    broken = Drawer(kind, plan)
    broken.kind = None
    with pytest.raises(InvalidInput, match="dataset must name what to charge"):
        deliver(kind, asked, draw=broken, payment=Payment(ledger=ledger))
    named = Payment(ledger=ledger, dataset="visits")
    with pytest.raises(TypeError):
        deliver(kind, asked, draw=broken, payment=named)
    resumed = Payment(ledger=ledger, entry="visits/1")
    assert not deliver(kind, asked, draw=Drawer(kind, plan), payment=resumed).repeated
    assert deliver(kind, asked, draw=Drawer(kind, plan), payment=resumed).repeated
    assert ledger.statement("visits").spent == 1.0


def test_killed_at_any_statement_nothing_is_paid_twice_and_nothing_paid_is_lost(kind, plan, tmp_path):
    (tmp_path / "fresh").mkdir()
    fresh = Ledger.create(tmp_path / "fresh" / "ledger.db")
    fresh.register([0, 1, 1], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))

    def act(place):
        ask(kind, plan, Ledger.open(place / "ledger.db"), place / f"out{plan.suffix}")

    watched = shutil.copytree(tmp_path / "fresh", tmp_path / "watched")
    states, statements = states_on_disk(lambda: act(watched), watched)
    assert statements > 300
    for number, state in enumerate(states):
        place = tmp_path / str(number)
        put_on_disk(state, place)
        out = place / f"out{plan.suffix}"
        before = drawn_label(out, kind) if out.exists() else None
        ledger = Ledger.open(place / "ledger.db")
        again = ask(kind, plan, ledger, place / f"again{plan.suffix}")
        assert ledger.statement("visits").spent == 1.0
        assert before in (None, again.members["rows"].table["label"][0].as_py())


@pytest.mark.parametrize(("kind", "remedy"), [("open", "run: chmod 700"), ("link", "name the folder itself")])
def test_a_store_that_others_could_read_is_refused_before_a_charge(tmp_path, ledger, kind, remedy):
    place, store = tmp_path / "place", tmp_path / "ledger.db.releases"
    place.mkdir()
    place.chmod(0o755 if kind == "open" else 0o700)
    place.rename(store) if kind == "open" else store.symlink_to(place)
    with pytest.raises(InvalidInput, match=remedy):
        ask(ToyFile, ToyPlan(label="ill", epsilon=1), ledger)
    assert not list(store.iterdir())
    assert ledger.statement("visits").spent == 0
