"""The ledger's tables. Triggers of the database make all but ``ledger_account`` append-only."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "ACCOUNT",
    "BUDGET",
    "DATA_SET",
    "DELIVERY",
    "ENTRY",
    "LEDGER",
    "LIMIT",
    "LINK",
    "PART",
    "REQUEST",
    "RESERVATION",
    "SKETCH",
    "TABLES",
    "USE",
    "VERSION",
]

TABLES = MetaData()


def _sealed(name: str, *columns: Column[object] | UniqueConstraint | ForeignKeyConstraint) -> Table:
    return Table(name, TABLES, *columns, Column("seal", LargeBinary, nullable=False))


def _data_set() -> Column[object]:
    return Column("data_set", Integer, ForeignKey("ledger_data_set.id"), primary_key=True)


def _count(name: str, *, primary_key: bool = False) -> Column[object]:
    return Column(name, Integer, primary_key=primary_key, autoincrement=False, nullable=False)


def _text(name: str, *, nullable: bool = False) -> Column[object]:
    return Column(name, Text, nullable=nullable)


LEDGER = _sealed("ledger", _count("id", primary_key=True), Column("secret", LargeBinary, nullable=False), _text("time"))
"""One row: the secret that keys the fingerprints and the seals, in clear or sealed under a server's key."""

DATA_SET = _sealed(
    "ledger_data_set",
    _count("id", primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    _text("unit"),
    _count("rows"),
    _text("time"),
)

BUDGET = _sealed(
    "ledger_budget", _data_set(), _count("number", primary_key=True), _text("epsilon"), _text("delta"), _text("time")
)
"""The last one counts; epsilon and delta are the decimals that were stated."""

PART = _sealed(
    "ledger_part",
    _data_set(),
    _count("number", primary_key=True),
    _text("name"),
    Column("start", BigInteger),
    Column("stop", BigInteger),
    UniqueConstraint("data_set", "name"),
)

LIMIT = _sealed(
    "ledger_limit",
    _data_set(),
    _count("number", primary_key=True),
    _text("epsilon"),
    _text("delta"),
    ForeignKeyConstraint(["data_set", "number"], ["ledger_part.data_set", "ledger_part.number"]),
)
"""The budget of a part that has one of its own, never above that of its data set."""

VERSION = _sealed(
    "ledger_version",
    _data_set(),
    _count("number", primary_key=True),
    Column("rows", BigInteger, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False, unique=True),
    _text("time"),
)

SKETCH = _sealed(
    "ledger_sketch",
    _data_set(),
    Column("rows", LargeBinary, nullable=False),
    Column("labels", LargeBinary, nullable=False),
    Column("runs", LargeBinary, nullable=False),
)
"""Samples of the first version's rows, by which another data set with the same rows is found; never exported."""

ENTRY = _sealed(
    "ledger_entry",
    _data_set(),
    _count("number", primary_key=True),
    _text("time"),
    _count("version"),
    _text("parts"),
    _text("guarantee", nullable=True),
    _text("purpose"),
    Column("voids", Integer),
    UniqueConstraint("data_set", "voids"),
    ForeignKeyConstraint(["data_set", "version"], ["ledger_version.data_set", "ledger_version.number"]),
    ForeignKeyConstraint(["data_set", "voids"], ["ledger_entry.data_set", "ledger_entry.number"]),
)
"""A charge has a guarantee; a correction has none and voids an earlier charge."""


def _of_entry(name: str, *columns: Column[object]) -> Table:
    entry = ForeignKeyConstraint(["data_set", "number"], ["ledger_entry.data_set", "ledger_entry.number"])
    return _sealed(name, _data_set(), _count("number", primary_key=True), *columns, entry)


REQUEST = _of_entry("ledger_request", Column("key", LargeBinary, nullable=False))
"""The request of a charge: the key of its data and plan, by which the same request finds it again."""

DELIVERY = _of_entry("ledger_delivery", Column("digest", LargeBinary, nullable=False), _text("file"), _text("time"))
"""The release that a charge paid for, recorded before it is published: its SHA-256, and its name in the store."""

RESERVATION = _of_entry("ledger_reservation")
"""A charge that paid for releases to be made later; their losses are the parts of its own."""

USE = _of_entry("ledger_use", _count("reservation"), _count("place"))
"""An entry that costs nothing, because its release was reserved: which one it takes."""

LINK = _sealed(
    "ledger_link",
    _data_set(),
    _count("number", primary_key=True),
    Column("nonce", LargeBinary, nullable=False),
    _count("budget"),
    Column("link", LargeBinary, nullable=False),
    ForeignKeyConstraint(["data_set", "number"], ["ledger_entry.data_set", "ledger_entry.number"]),
    ForeignKeyConstraint(["data_set", "budget"], ["ledger_budget.data_set", "ledger_budget.number"]),
)
"""The chain of the entries, one link each."""

ACCOUNT = _sealed(
    "ledger_account",
    _data_set(),
    _count("part", primary_key=True),
    _count("last"),
    _text("sums"),
    ForeignKeyConstraint(["data_set", "part"], ["ledger_part.data_set", "ledger_part.number"]),
)
"""The spend of a part up to its data set's newest entry, ``last``; derived from the entries."""
