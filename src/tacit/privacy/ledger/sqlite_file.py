"""The ledger as one SQLite file, recognized by its header before SQLite opens it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tacit.privacy.errors import LedgerError

__all__ = ["APPLICATION_ID", "check_file", "stamp"]

APPLICATION_ID = 0x7AC17
"""The PRAGMA application_id of a ledger, so that another program's file is never mistaken for one."""

_MAGIC = b"SQLite format 3\x00"
_ROLLBACK_JOURNAL = b"\x01\x01"  # SQLite would write to a file of another journal mode as it opens it


def check_file(path: Path, *, where: str | None = None) -> None:
    """Raise unless the file's first bytes are those of a ledger; only reads.

    References
    ----------
    SQLite's file format, section 1.3: the magic is at byte 0, the journal's kind at 18, the application's id at 68.
    """
    where = where or str(path)
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        raise LedgerError(f"there is no ledger at {where}; create one with `tacit ledger create`") from None
    except OSError as error:
        raise LedgerError(f"{where} cannot be read as a ledger: {error.strerror}") from error
    ours = APPLICATION_ID.to_bytes(4, "big")
    if len(head) < 100 or not head.startswith(_MAGIC) or head[68:72] != ours or head[18:20] != _ROLLBACK_JOURNAL:
        raise LedgerError(f"{where} is not a ledger of tacit, or is damaged; it was not changed")


def stamp(path: Path) -> None:
    """Make an empty file a SQLite database that is recognized as a ledger."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    except sqlite3.Error as error:
        raise LedgerError(f"the ledger could not be written: {error}") from error
