"""Ledgers as earlier versions of tacit left them, written row by row."""

import json
from dataclasses import replace
from pathlib import Path

from sqlalchemy import text

from tacit.privacy import Guarantee, Unit
from tacit.privacy.ledger.database import LedgerDatabase
from tacit.privacy.ledger.rows import seal
from tacit.privacy.ledger.sqlite_file import stamp

SECRET = bytes(range(32))
THEN = "2026-01-01T00:00:00+00:00"
BUDGET = Guarantee(unit=Unit.LABEL, epsilon=1.0, delta=1e-6)


def create_old_ledger(location, *, revision, charges, budget=BUDGET):
    """Create a ledger of an older revision with these charges; its accounts are what no newer version reads."""
    database = LedgerDatabase.at(location)
    if database.file is not None:
        Path(location).touch(mode=0o600)
        stamp(Path(location))
    known = LedgerDatabase.schema.revisions
    old = replace(LedgerDatabase.schema, revisions=known[: known.index(revision) + 1])
    with database.founding() as connection:
        old.migrate(connection)
        for table, row in _rows(charges, budget):
            sealed = {**row, "seal": seal(SECRET, table, row)}
            names = ", ".join(sealed)
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES (:{names.replace(', ', ', :')})"), sealed)
    return database


def _rows(charges, budget):
    terms = {"epsilon": repr(budget.epsilon), "delta": repr(budget.delta)}
    yield "ledger", {"id": 1, "secret": SECRET, "time": THEN}
    yield "ledger_data_set", {"id": 1, "name": "adult", "unit": "label", "rows": 1, "time": THEN}
    yield "ledger_budget", {"data_set": 1, "number": 1, **terms, "time": THEN}
    yield "ledger_part", {"data_set": 1, "number": 1, "name": "all", "start": None, "stop": None}
    yield "ledger_version", {"data_set": 1, "number": 1, "rows": 2, "fingerprint": b"print", "time": THEN}
    entry = {"data_set": 1, "version": 1, "time": THEN, "parts": '["all"]', "purpose": "a", "voids": None}
    for number, charge in enumerate(charges, start=1):
        yield "ledger_entry", entry | {"number": number, "guarantee": json.dumps(charge.to_json())}
    distribution = {"pure": None, "lower": 0, "masses": b"?", "infinity": 0.0}
    yield "ledger_account", {"data_set": 1, "part": 1, **distribution}
