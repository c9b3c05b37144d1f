"""Folders of copies that live as long as the process that made them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

__all__ = ["clear_copies", "copy_folder"]

_COPIES, _ALIVE = "copies", "alive.db"


@contextmanager
def copy_folder(folder: Path) -> Iterator[Path]:
    """Make a folder for one copy of a competition inside a server's folder; it is gone afterwards."""
    copies = folder / _COPIES
    copies.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=copies))
    try:
        with closing(sqlite3.connect(made / _ALIVE, isolation_level=None, check_same_thread=False)) as lock:
            lock.execute("BEGIN EXCLUSIVE")  # on every system the kernel ends it with the process, however that dies
            yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def clear_copies(folder: Path) -> None:
    """Remove the copies that a killed server left in its folder; those of a living one stay."""
    for copy in (folder / _COPIES).glob("*"):
        if not _is_alive(copy):
            shutil.rmtree(copy, ignore_errors=True)


def _is_alive(copy: Path) -> bool:
    if not (copy / _ALIVE).exists():
        return False
    with closing(sqlite3.connect(copy / _ALIVE, timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return True
    return False
