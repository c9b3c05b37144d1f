"""Kill the ledger anywhere, race it, damage its file: what was released stays on record.

Each database sees more than 300 kills: at every statement boundary of every operation that writes. A kill leaves what
is on disk, so of a file it is enough to look at each state that it has at a boundary.
"""

import itertools
import os
import shutil
import signal
import sqlite3
import time
from contextlib import contextmanager
from urllib.parse import quote

import numpy as np
import pytest
from sqlalchemy import Engine, Pool, event

from tacit.privacy import BudgetExceeded, Guarantee, LedgerError, TacitError, Unit
from tacit.privacy.ledger import DataSetPart, Ledger, registry
from tacit.privacy.ledger.book import DataSetAccounts
from tacit.privacy.ledger.database import LedgerDatabase
from tacit.privacy.ledger.fingerprint import fingerprints
from tacit.privacy.ledger.registry import DataSetTerms
from tacit.privacy.ledger.sketch import DataSetSketch
from tacit.privacy.ledger.sqlite_file import APPLICATION_ID
from tests.killing import files_of, put_on_disk
from tests.privacy.old_ledger import create_old_ledger

# pytest-xdist and Arrow keep threads; the children below use neither
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

TENTH = Guarantee(unit=Unit.LABEL, epsilon=0.1)
PLENTY = Guarantee(unit=Unit.LABEL, epsilon=1000.0, delta=1e-6)
PARTS = [DataSetPart(name="train"), DataSetPart(name="test")]
ONE_QUICK = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@contextmanager
def at_every_boundary(act):
    """Call a function before and after each statement, transaction and connection of a database, with its number."""
    boundaries = itertools.count()

    def boundary(*_arguments, **_named):
        act(next(boundaries))

    places = [
        (Engine, name) for name in ("before_cursor_execute", "after_cursor_execute", "begin", "commit", "rollback")
    ]
    places += [(Pool, name) for name in ("connect", "checkin", "close")]
    for place, name in places:
        event.listen(place, name, boundary)
    yield
    for place, name in places:
        event.remove(place, name, boundary)


def kill_at(step, action):
    """Return a function for a child that dies by kill -9 at the given boundary of ``action``."""

    def child():
        with at_every_boundary(lambda number: os.kill(os.getpid(), signal.SIGKILL) if number == step else None):
            action()

    return child


class KilledEverywhere:
    """Kills a fresh run of an action at its first boundary, its second, ... until one survives; counts the kills.

    It runs once before: children inherit the statements that SQLAlchemy has compiled, which takes longer than they do.
    ``next_action`` is given what the last run was about, and returns the next run and what that is about.
    """

    def __init__(self, fork):
        self.fork = fork

    def __call__(self, next_action, check):
        action, about = next_action(None)
        action()
        check(about)
        for step in itertools.count():
            action, about = next_action(about)
            status = self.fork(kill_at(step, action))
            check(about)
            if status == 0:
                return step
            assert status == -signal.SIGKILL, f"the child at boundary {step} failed instead of being killed"
        raise AssertionError


class LeftEverywhere(KilledEverywhere):
    """The same of a file: what a kill leaves is what is on disk, so each state at a boundary is checked and continued.

    As a control one run is really killed, in its middle.
    """

    def __init__(self, fork, folder):
        super().__init__(fork)
        self.folder = folder

    def __call__(self, next_action, check):
        states, kills = {}, 0
        action, about = next_action(None)

        def look(_):
            nonlocal kills
            kills += 1
            states.setdefault(files_of(self.folder))

        with at_every_boundary(look):
            action()
        assert len(states) > 1, "control: the action wrote, and was seen writing"
        for state in states:
            shutil.rmtree(self.folder)
            put_on_disk(state, self.folder)
            check(about)
            action, after = next_action(about)
            action()
            check(after)
        action, about = next_action(about)
        assert self.fork(kill_at(kills // 2, action)) == -signal.SIGKILL
        check(about)
        return kills


@pytest.fixture
def kill_everywhere(request, new_location, fork, tmp_path):
    """Kill an action at every boundary; of a file it is enough to see what a kill would leave."""
    on_a_server = request.node.callspec.params["new_location"] == "postgresql"
    return KilledEverywhere(fork) if on_a_server else LeftEverywhere(fork, tmp_path)


def check_books(ledger, *, released):
    """The spend is never below what was released, and is what the entries say."""
    entries = ledger.statement("adult").entries
    standing = [entry for entry in entries if entry.guarantee is not None and entry.voided_by is None]
    assert len(standing) >= released
    with ledger._reading() as rows:
        book = DataSetAccounts.find(rows, "adult")
        assert book.accounts() == book.recount()
    return len(standing)


class Releases:
    """A file with one byte a release; a release is made only after its charge returned."""

    def __init__(self, path):
        self.path = path
        path.touch()

    def make(self):
        with self.path.open("ab") as file:
            file.write(b"x")

    def __len__(self):
        return self.path.stat().st_size


class TestKills:
    def test_while_charging(self, ledger, kill_everywhere, tmp_path):
        ledger.register([0, 1], name="adult", budget=PLENTY, parts=PARTS)
        releases, unreleased = Releases(tmp_path / "releases"), []

        def charge():
            ledger.charge("adult", TENTH, purpose="a")
            releases.make()
            ledger.charge("adult", TENTH, parts=["test"], purpose="b")
            releases.make()

        def check(_):
            unreleased.append(check_books(ledger, released=len(releases)) - len(releases))

        assert kill_everywhere(lambda _: (charge, None), check) >= 45
        assert any(unreleased), "control: some kills fell between a commit and its release"

    @pytest.mark.parametrize("new_location", ONE_QUICK, indirect=True)
    def test_while_correcting(self, ledger, kill_everywhere):
        ledger.register([0, 1], name="adult", budget=PLENTY, parts=PARTS)
        budgets = itertools.cycle([PLENTY, Guarantee(unit=Unit.LABEL, epsilon=2000.0)])

        def void(_):
            wasted = ledger.charge("adult", TENTH, purpose="nothing is released for this one").id
            return lambda: ledger.void(wasted, reason="nothing was released"), None

        def check(_):
            check_books(ledger, released=0)

        kills = [
            kill_everywhere(void, check),
            kill_everywhere(lambda _: (lambda: ledger.set_budget("adult", next(budgets)), None), check),
            kill_everywhere(lambda _: (lambda: ledger.rebuild("adult"), None), check),
        ]
        assert all(kills)
        assert sum(kills) >= 80

    @pytest.mark.parametrize("new_location", ONE_QUICK, indirect=True)
    def test_while_registering(self, ledger, location, kill_everywhere):
        names = map("set {}".format, itertools.count())
        registered = []

        def register(name):
            if name is None or name in Ledger.open(location).data_sets:
                name = next(names)
            # Arrow's threads do not survive a fork: the fingerprints are taken in this process
            prints = fingerprints([name], secret=ledger._secret, at=[1])

            def act():
                with ledger.transaction() as rows:
                    registry.register(
                        rows, prints, DataSetTerms(name=name, budget=PLENTY, parts=PARTS), DataSetSketch()
                    )

            return act, name

        def check(name):
            again = Ledger.open(location)
            registered.append(name in again.data_sets)
            if name in again.data_sets:
                assert [part.used for part in again.statement(name).parts] == [0.0, 0.0]

        assert kill_everywhere(register, check) >= 30
        assert not all(registered), "control: some kills fell before the commit"

    @pytest.mark.parametrize("new_location", ONE_QUICK, indirect=True)
    def test_while_creating_and_restoring(self, new_location, kill_everywhere, tmp_path):
        source = Ledger.create(tmp_path / "source.db")
        source.register([0, 1], name="adult", budget=PLENTY)
        source.charge("adult", TENTH, purpose="a")
        export, statement = source.export(tmp_path / "export.json"), source.statement("adult")

        def create(place):
            """Where nothing was left, in the same place again."""
            place = place if place and is_absent(place) else new_location()
            return lambda: Ledger.create(place, restore=export), place

        def check(place):
            assert is_absent(place) or Ledger.open(place).statement("adult") == statement

        assert kill_everywhere(create, check) >= 80

    @pytest.mark.parametrize("new_location", ONE_QUICK, indirect=True)
    def test_while_migrating(self, new_location, kill_everywhere):
        def migrate(place):
            if place is None or revision(place) == LedgerDatabase.schema.head:
                place = new_location()
                create_old_ledger(place, revision="0001", charges=[TENTH])
            return lambda: Ledger.open(place), place

        def check(place):
            assert revision(place) in LedgerDatabase.schema.revisions
            if revision(place) == LedgerDatabase.schema.head:
                check_books(Ledger.open(place), released=1)

        assert kill_everywhere(migrate, check) >= 40

    def test_at_random_moments(self, ledger, location, fork, tmp_path):
        ledger.register([0, 1], name="adult", budget=PLENTY)
        releases = Releases(tmp_path / "releases")
        rng = np.random.default_rng(0)

        def spend_for_ever():
            while True:
                ledger.charge("adult", TENTH, purpose="a")
                releases.make()

        for wanted, delay in zip(rng.integers(0, 3, 25), rng.uniform(0, 0.03, 25), strict=True):
            before = len(releases)
            child = os.fork()
            if child == 0:
                spend_for_ever()
            while len(releases) < before + wanted:
                time.sleep(0.001)
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            check_books(Ledger.open(location), released=len(releases))
        assert len(releases) > 0


def revision(location):
    with LedgerDatabase.at(location).reading() as connection:
        return LedgerDatabase.schema.revision(connection)


def is_absent(location):
    """True where there is no ledger; a damaged one is an error."""
    try:
        Ledger.open(location)
    except LedgerError as error:
        if "there is no ledger at" in str(error):
            return True
        raise
    return False


class TestRaces:
    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_eight_processes_never_overspend_and_lose_no_charge(self, ledger, location, fork_all, tmp_path, delta):
        ledger.register([0, 1], name="adult", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0, delta=delta), parts=PARTS)
        accepted = [tmp_path / str(worker) for worker in range(8)]

        def spend(file):
            own = Ledger.open(location)
            ids = []
            for attempt in range(8):
                try:
                    ids.append(own.charge("adult", TENTH, parts=[PARTS[attempt % 2].name], purpose=file.name).id)
                except BudgetExceeded:
                    continue
            file.write_text("\n".join(ids))

        assert fork_all([lambda file=file: spend(file) for file in accepted]) == [0] * 8
        ids = [line for file in accepted for line in file.read_text().split()]
        statement = ledger.statement("adult")
        assert sorted(ids) == sorted(entry.id for entry in statement.entries)
        assert statement.used <= 1
        assert ledger.rebuild("adult").used == statement.used
        if not delta:
            assert len(ids) == 60  # 64 attempts, 30 fit each part
            assert [part.spent for part in statement.parts] == [3.0, 3.0]

    @pytest.mark.parametrize("level", ["repeatable read", "serializable"])
    def test_a_server_that_isolates_more_by_default_refuses_no_charge_that_fits(
        self, new_postgresql_location, fork_all, level
    ):
        default = quote(f" -cdefault_transaction_isolation={level.replace(' ', chr(92) + ' ')}")
        location = f"{new_postgresql_location()}{default}"
        ledger = Ledger.create(location)
        ledger.register([0, 1], name="adult", budget=Guarantee(unit=Unit.LABEL, epsilon=1.6))

        def spend():
            for _ in range(4):
                Ledger.open(location).charge("adult", TENTH, purpose="a")

        assert fork_all([spend] * 4) == [0] * 4
        assert ledger.statement("adult").left == 0.0

    def test_control_looking_first_and_charging_later_overspends(self, ledger, location, fork_all):
        ledger.register([0, 1], name="adult", budget=PLENTY)
        looked, go = os.pipe(), os.pipe()

        def careless():
            own = Ledger.open(location)
            fits = own.statement("adult").used == 0
            os.write(looked[1], b"x")
            os.read(go[0], 1)
            if fits:
                own.charge("adult", TENTH, purpose="a")

        def starter():
            for _ in range(8):
                os.read(looked[0], 1)
            os.write(go[1], b"x" * 8)

        assert fork_all([starter, *[careless] * 8]) == [0] * 9
        assert len(ledger.statement("adult").entries) == 8  # the limit of one was overrun by all who looked

    def test_eight_processes_register_the_same_data_once(self, ledger, location, fork_all, tmp_path):
        prints = ledger._fingerprints([0, 1])
        winners = tmp_path / "winners"

        def register():
            name = f"set {os.getpid()}"
            try:
                with Ledger.open(location).transaction() as rows:
                    registry.register(rows, prints, DataSetTerms(name=name, budget=PLENTY, parts=()), DataSetSketch())
            except LedgerError:
                return
            with winners.open("a") as file:
                file.write(f"{name}\n")

        assert fork_all([register] * 8) == [0] * 8
        assert tuple(winners.read_text().splitlines()) == ledger.data_sets
        assert len(ledger.data_sets) == 1

    def test_eight_processes_create_one_ledger(self, location, fork_all, tmp_path):
        winners = tmp_path / "winners"

        def create():
            try:
                Ledger.create(location)
            except TacitError:
                return
            with winners.open("a") as file:
                file.write("x")

        assert fork_all([create] * 8) == [0] * 8
        assert winners.read_text() == "x"
        assert Ledger.open(location).data_sets == ()

    def test_eight_processes_migrate_once(self, location, fork_all):
        create_old_ledger(location, revision="0001", charges=[TENTH])
        assert fork_all([lambda: Ledger.open(location)] * 8) == [0] * 8
        check_books(Ledger.open(location), released=1)

    def test_a_statement_shows_one_moment(self, ledger, location, fork_all):
        """While others charge, the spend that is read belongs to the entries that are read."""
        ledger.register([0, 1], name="adult", budget=Guarantee(unit=Unit.LABEL, epsilon=100.0))

        def charge():
            for _ in range(10):
                ledger.charge("adult", TENTH, purpose="a")

        def read():
            for _ in range(20):
                statement = ledger.statement("adult")
                assert statement.spent == pytest.approx(0.1 * len(statement.entries))

        assert fork_all([charge, charge, read, read]) == [0] * 4


@pytest.fixture
def whole(sqlite_location):
    """A ledger's file with something in every table."""
    ledger = Ledger.create(sqlite_location)
    budget = Guarantee(unit=Unit.LABEL, epsilon=3.0, delta=1e-6)
    ledger.register([0, 1], name="adult", budget=budget, parts=[DataSetPart(name="own", epsilon=2.0)])
    for _ in range(3):
        ledger.charge("adult", TENTH, purpose="a release of which much could be said")
    return sqlite_location


def foreign(path, *pragmas):
    connection = sqlite3.connect(path)
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE mine (x)")
    connection.execute("INSERT INTO mine VALUES (1)")
    connection.commit()
    connection.close()
    return path.read_bytes()


class TestDamage:
    @pytest.mark.parametrize("kind", ["empty", "text", "random", "folder", "foreign", "foreign wal", "impostor"])
    def test_files_that_are_no_ledger_are_refused_and_left(self, tmp_path, kind):
        path = tmp_path / "ledger.db"
        match kind:
            case "empty":
                path.write_bytes(b"")
            case "text":
                path.write_text("not a ledger\n" * 100)
            case "random":
                path.write_bytes(np.random.default_rng(0).bytes(8192))
            case "folder":
                path.mkdir()
            case "foreign":
                foreign(path)
            case "foreign wal":
                foreign(path, "journal_mode=WAL")
            case "impostor":
                foreign(path, f"application_id={APPLICATION_ID}")
        before = snapshot(tmp_path)
        with pytest.raises(LedgerError, match=r"is not a ledger of tacit|cannot be read|there is no ledger at"):
            Ledger.open(path)
        with pytest.raises(LedgerError, match="exists already; it was not changed"):
            Ledger.create(path)
        assert snapshot(tmp_path) == before

    def test_truncated_files_are_refused_and_left(self, whole, tmp_path):
        content = (tmp_path / "ledger.db").read_bytes()
        path = tmp_path / "cut.db"
        last = len(content.rstrip(b"\0")) - 1  # zeros at the end say nothing, and SQLite reads them where they are not
        sizes = [1, 15, 16, 99, 100, 4095, 4096, 5000, len(content) // 2, len(content) - 4096, last]
        for size in sizes:
            path.write_bytes(content[:size])
            before = snapshot(tmp_path)
            with pytest.raises(LedgerError, match=r"not a ledger of tacit, or is damaged|is damaged"):
                Ledger.open(path).statement("adult")
            assert snapshot(tmp_path) == before
        path.write_bytes(content)
        assert Ledger.open(path).statement("adult").used > 0  # control

    @pytest.mark.parametrize("most", [100, pytest.param(300, marks=pytest.mark.slow)])
    def test_a_changed_byte_is_refused_or_changes_nothing(self, whole, tmp_path, most):
        content = (tmp_path / "ledger.db").read_bytes()
        truth = Ledger.open(whole).statement("adult")
        path = tmp_path / "flipped.db"
        rng = np.random.default_rng(0)
        used = np.flatnonzero(np.frombuffer(content, np.uint8))
        positions = [*range(0, 100, 7), *rng.choice(used, most, replace=False), *rng.choice(len(content), most // 6)]
        refused, by_seal = 0, 0
        for position in positions:
            damaged = bytearray(content)
            damaged[position] ^= int(rng.integers(1, 256))
            path.write_bytes(damaged)
            before = snapshot(tmp_path)
            try:
                assert Ledger.open(path).statement("adult") == truth
            except LedgerError as error:
                refused += 1
                by_seal += "does not match its seal" in str(error) or "was changed" in str(error)
            assert snapshot(tmp_path) == before
        assert refused > most / 3
        assert by_seal > most / 30  # by a seal or the chain: what SQLite's own check does not see

    def test_a_file_that_is_taken_away_is_missed(self, whole, tmp_path):
        ledger = Ledger.open(whole)
        (tmp_path / "ledger.db").rename(tmp_path / "elsewhere.db")
        with pytest.raises(LedgerError, match="there is no ledger at"):
            ledger.charge("adult", TENTH, purpose="a")
        assert not (tmp_path / "ledger.db").exists()

    def test_a_file_that_may_not_be_written_is_left(self, whole, tmp_path):
        if os.geteuid() == 0:
            pytest.skip("root may write everything")
        ledger = Ledger.open(whole)
        (tmp_path / "ledger.db").chmod(0o400)
        with pytest.raises(LedgerError, match="could not be read or written"):
            ledger.charge("adult", TENTH, purpose="a")

    @pytest.mark.parametrize("pages", [0, 1, 5])
    def test_a_disk_that_is_full_leaves_no_ledger(self, tmp_path, monkeypatch, pages):
        def connect(*arguments, **options):
            connection = sqlite3.dbapi2.connect(*arguments, **options)
            connection.execute(f"PRAGMA max_page_count={pages}") if pages else connection.close()
            return connection

        monkeypatch.setattr("sqlite3.connect", connect)
        with pytest.raises(LedgerError, match=r"^the ledger .*could not be .*written: ") as caught:
            Ledger.create(tmp_path / "ledger.db")
        assert ".part" not in str(caught.value)
        assert list(tmp_path.iterdir()) == []

    def test_only_the_owner_may_read_the_file(self, whole, tmp_path):
        assert (tmp_path / "ledger.db").stat().st_mode & 0o777 == 0o600

    def test_the_ledger_is_one_file(self, whole, tmp_path):
        assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"]

    def test_a_busy_ledger_says_so(self, whole, monkeypatch):
        monkeypatch.setattr("tacit.privacy.database.PATIENCE", 0.05)
        other = sqlite3.connect(whole, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="was busy for"):
            Ledger.open(whole).charge("adult", TENTH, purpose="a")
        other.execute("ROLLBACK")
        other.close()
        assert Ledger.open(whole).charge("adult", TENTH, purpose="a").id == "adult/4"

    def test_a_server_that_is_not_there_is_one_sentence(self, tmp_path):
        with pytest.raises(LedgerError, match="could not be read or written"):
            Ledger.open(f"postgresql://tacit@/postgres?host={tmp_path}")


def snapshot(folder):
    return {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()}
