"""Unfinished files and folders: locked by their process, and removed when it is dead."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["held", "sweep", "temporary_folder", "unfinished_name"]

_NAME = re.compile(r"\.tacit-[0-9a-f]{16}\.part")
_YOUNG = 2.0  # seconds in which a new file may not have its lock yet


def unfinished_name(target: Path) -> Path:
    """Return a new hidden name beside a target."""
    return target.with_name(f".tacit-{secrets.token_hex(8)}.part")


@contextmanager
def held(descriptor: int) -> Iterator[int]:
    """Lock an unfinished file or folder until the block ends, or its process does; the descriptor is closed then."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder that only this user reads; it is removed when the block ends, or by the next process after a kill.

    What is in it is as private as the table: its rows, or releases of them that nobody gets.
    """
    parent = Path(tempfile.gettempdir())
    sweep(parent)
    folder = unfinished_name(parent / "rows")
    folder.mkdir(mode=0o700)
    try:
        with held(os.open(folder, os.O_RDONLY)):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Remove what dead processes of this user left unfinished in a folder; anything else stays.

    A name that only tacit gives, owned by this user, on which nobody holds the lock that every writer takes.
    """
    with suppress(OSError):  # a folder that cannot be read is not swept, and raises when it is written
        for name in os.listdir(folder):
            if _NAME.fullmatch(name):
                with suppress(OSError):  # held, gone by now, or not ours
                    _remove_if_dead(folder / name)


def _remove_if_dead(path: Path) -> None:
    found = path.lstat()
    if found.st_uid != os.getuid() or time.time() - found.st_mtime < _YOUNG:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    finally:
        os.close(descriptor)
