"""A copy of a server's files without its key: the ledger's fingerprints confirm no guess of a label."""

import itertools
import sqlite3

import pytest
from typer.testing import CliRunner

from tacit.cli.app import app
from tacit.privacy.errors import LedgerError, TacitError
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.fingerprint import fingerprints
from tacit.privacy.ledger.secret import SealedLedger
from tacit.server import ScoringEngine
from tacit.server.key import ServerKey
from tests.server.conftest import LABELS, ROWS
from tests.server.rules import ledger_of

TRUTH = [line.partition(",")[2] for line in LABELS.decode().splitlines()[1:]]
UNKNOWN = (1, 6, 9, 30)


def guess_unknown(ledger):
    """Return the labels of the unknown rows by all that lies in a copy of a ledger, or None: no guess is confirmed."""
    with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True) as copy:
        stored = bytes(copy.execute("select secret from ledger").fetchone()[0])
        kept = bytes(copy.execute("select fingerprint from ledger_version").fetchone()[0])
    guess = list(TRUTH)
    for start, labels in itertools.product(range(len(stored) - 31), itertools.product(set(TRUTH), repeat=len(UNKNOWN))):
        for row, label in zip(UNKNOWN, labels, strict=True):
            guess[row] = label
        if fingerprints(guess, secret=stored[start : start + 32])[ROWS] == kept:
            return labels
    return None


def unseal(settings):
    """Store the ledger's secret in clear, as earlier servers did; return it."""
    ledger = ledger_of(settings)
    document = ledger.export(settings.folder / "export.json")
    (settings.folder / "ledger.db").unlink()
    Ledger.create(settings.ledger_location, restore=document)
    document.unlink()
    return ledger._secret


def test_a_copy_confirms_no_guess_of_a_label(sqlite_engine, sqlite_settings, make):
    make(sqlite_engine)
    sqlite_engine.close()
    assert guess_unknown(sqlite_settings.ledger_location) is None
    secret = unseal(sqlite_settings)
    assert guess_unknown(sqlite_settings.ledger_location) == tuple(TRUTH[row] for row in UNKNOWN), "control: in clear"
    ScoringEngine.open(sqlite_settings).close()
    assert guess_unknown(sqlite_settings.ledger_location) is None
    assert not [path for path in sqlite_settings.folder.iterdir() if secret in path.read_bytes()]
    assert ledger_of(sqlite_settings)._secret == secret, "the labels are still recognized"
    with sqlite3.connect(sqlite_settings.ledger_location) as ledger, pytest.raises(sqlite3.Error, match="append-only"):
        ledger.execute("update ledger set time = ''")


def test_a_sealed_ledger_opens_with_its_key_alone(sqlite_engine, sqlite_settings):
    sqlite_engine.close()
    with pytest.raises(SealedLedger, match="TACIT_SERVER_KEY"):
        Ledger.open(sqlite_settings.ledger_location)
    with pytest.raises(TacitError, match="does not open with this key"):
        Ledger.open(sqlite_settings.ledger_location, sealing=ServerKey.new())


def test_the_commands_of_ledgers_find_the_key_beside_a_servers_ledger(sqlite_engine, sqlite_settings, make):
    make(sqlite_engine)
    ask = ["ledger", "verify", "--ledger", sqlite_settings.ledger_location]
    assert CliRunner().invoke(app, ask).exit_code == 0
    sqlite_settings.key_location.unlink()
    refused = CliRunner().invoke(app, ask)
    assert isinstance(refused.exception, LedgerError)
    assert "labels.key" in str(refused.exception)
