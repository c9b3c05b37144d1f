"""A ledger is a handle: copies are the same ledger, and what is pickled is where it is, never its secret."""

import copy
import pickle

import pytest

from tacit.privacy import Guarantee, LedgerError, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.database import LedgerDatabase

ONE = Guarantee(unit=Unit.LABEL, epsilon=1.0)


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register([0, 1, 1], name="clicks", budget=ONE)
    return ledger


def test_a_deep_copy_is_the_same_ledger(ledger):
    assert copy.deepcopy({"deep": [ledger]})["deep"][0] is ledger


def test_a_pickle_opens_the_same_ledger_again_and_holds_no_secret(ledger, tmp_path, monkeypatch):
    stored = pickle.dumps(ledger)
    assert ledger._secret not in stored
    monkeypatch.chdir(tmp_path.parent)  # the file is named in full
    again = pickle.loads(stored)
    again.charge("clicks", ONE, purpose="from the copy")
    assert ledger.statement("clicks").spent == 1.0


def test_a_pickle_of_a_ledger_that_is_gone_says_so(ledger, tmp_path):
    stored = pickle.dumps(ledger)
    (tmp_path / "ledger.db").unlink()
    with pytest.raises(LedgerError, match="there is no ledger at"):
        pickle.loads(stored)


def test_a_pickle_holds_no_password():
    ledger = Ledger(LedgerDatabase.at("postgresql://me:hunter2@host:5433/books"), b"secret of the ledger")
    _, (location,) = ledger.__reduce__()
    assert location == "postgresql+psycopg://me@host:5433/books"
