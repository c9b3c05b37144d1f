"""The ledger as one SQLite file: known by its header before SQLite touches it, and made in one step."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tacit.privacy.errors import LedgerError

__all__ = ["APPLICATION_ID", "check_file", "new_file", "stamp", "write_private"]

APPLICATION_ID = 0x7AC17
"""What PRAGMA application_id says in a ledger, so that another program's file is never taken for one."""

_MAGIC = b"SQLite format 3\x00"
_ROLLBACK_JOURNAL = b"\x01\x01"  # SQLite would write to a file of another journal mode as it opens it


def check_file(path: Path, *, where: str | None = None) -> None:
    """Raise unless the file's first bytes are those of a ledger; only reads.

    References
    ----------
    SQLite's file format, section 1.3: the magic stands at byte 0, the journal's kind at 18, the
    application's id at 68.

    Examples
    --------
    >>> check_file(Path("no such file"))
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.LedgerError: there is no ledger at no such file; make one with `tacit ledger create`
    """
    where = where or str(path)
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        raise LedgerError(f"there is no ledger at {where}; make one with `tacit ledger create`") from None
    except OSError as error:
        raise LedgerError(f"the ledger {where} cannot be read: {error.strerror}") from error
    ours = APPLICATION_ID.to_bytes(4, "big")
    if len(head) < 100 or not head.startswith(_MAGIC) or head[68:72] != ours or head[18:20] != _ROLLBACK_JOURNAL:
        raise LedgerError(f"{where} is not a ledger of tacit, or is damaged; it was left as it is")


def stamp(path: Path) -> None:
    """Make an empty file a SQLite database that is known as a ledger.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "ledger.db"
    >>> stamp(target)
    >>> check_file(target)
    """
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.close()


@contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a private, empty file to fill, which takes its name only when the block ends well.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "new"
    >>> with new_file(target) as file:
    ...     _ = file.write_text("all or nothing")
    ...     target.exists()
    False
    >>> target.read_text()
    'all or nothing'
    """
    if not overwrite and os.path.lexists(path):
        raise _exists(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise LedgerError(f"{path} cannot be written: {error.strerror}") from error
    try:
        yield draft
        _sync(draft)
        _publish(draft, path, overwrite=overwrite)
        _sync(path.parent)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def write_private(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Write a file that only its owner may read, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "secret"
    >>> write_private(target, "x")
    >>> target.read_text()
    'x'
    """
    with new_file(path, overwrite=overwrite) as draft:
        draft.write_text(text, encoding="utf-8")


def _publish(draft: Path, path: Path, *, overwrite: bool) -> None:
    if overwrite:
        os.replace(draft, path)
        return
    try:
        os.link(draft, path)  # unlike a rename, never takes the place of a file that appeared meanwhile
    except FileExistsError:
        raise _exists(path) from None
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise _exists(path) from None
        os.rename(draft, path)


def _sync(path: Path) -> None:
    with suppress(OSError):  # Windows opens no folders
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _exists(path: Path) -> LedgerError:
    return LedgerError(f"{path} exists already; it was left as it is")
