"""Write a folder completely or not at all: it appears in one rename."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import sync_folder, taken
from tacit.privacy.unfinished import held, sweep, unfinished_name

__all__ = ["KEY", "MANIFEST", "check_folder", "write_folder"]

KEY = "tacit_release"
"""The key under which a file, or a folder's manifest, has the header of a release."""

MANIFEST = "manifest.json"
"""The file of a folder that lists the other ones."""

_HERE = -100  # AT_FDCWD: paths are relative to the current folder
_RENAME_EXCHANGE = 2


def check_folder(path: str | Path, *, force: bool = False) -> Path:
    """Return the path if a release can be written there, or raise; nothing is changed."""
    target = Path(path)
    if not target.parent.is_dir():
        raise InvalidInput(f"{target} cannot be written: {target.parent} is no folder; create it first")
    if target.is_symlink() or target.exists():
        if not force:
            raise taken(target)
        if target.is_symlink() or not _is_release(target):
            raise InvalidInput(f"{target} is not exactly a release and is not overwritten; choose another path")
    if not os.access(target.parent, os.W_OK):
        raise InvalidInput(f"{target} cannot be written: no permission in {target.parent}; choose another path")
    return target


def _is_release(folder: Path) -> bool:
    """Return whether a folder has the manifest of a release and exactly its files, so that nothing else is lost."""
    try:
        members = json.loads((folder / MANIFEST).read_bytes())[KEY]["members"]
        listed = {MANIFEST, *(f"{name}.{facts['kind']}" for name, facts in members.items())}
        found = list(os.scandir(folder))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
    return {entry.name for entry in found} == listed and all(entry.is_file(follow_symlinks=False) for entry in found)


@contextmanager
def write_folder(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a new folder that takes the name ``path`` when the block ends without an error.

    After an error, or if the process dies, ``path`` is unchanged; what a killed process leaves beside it is removed by
    the next one that writes there. With ``force`` an earlier release and the new one exchange their names at once; the
    folder's permissions never become wider. If the system cannot exchange names, the earlier release is moved away
    first and put back after an error; a process that is killed between these two renames leaves it beside ``path``,
    under a hidden name that ends in ``.old`` and that nothing removes.
    """
    target = check_folder(path, force=force)
    sweep(target.parent)
    unfinished = unfinished_name(target)
    try:
        unfinished.mkdir()
        with held(os.open(unfinished, os.O_RDONLY)):
            if target.exists():
                unfinished.chmod(stat.S_IMODE(unfinished.stat().st_mode & (target.stat().st_mode | stat.S_IRWXU)))
            yield unfinished
            _publish(unfinished, target, force=force)
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written: {error.strerror}; choose another path") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _publish(unfinished: Path, target: Path, *, force: bool) -> None:
    if force and target.exists():
        check_folder(target, force=True)  # it may contain more by now
        if not _exchange(unfinished, target):
            _replace(unfinished, target)
    else:
        _rename_new(unfinished, target)
    sync_folder(target.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; False, with nothing changed, if the system cannot."""
    try:
        renameat2 = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):  # only Linux has it
        return False
    return bool(renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE) == 0)


def _replace(unfinished: Path, target: Path) -> None:
    old = unfinished.with_suffix(".old")
    os.rename(target, old)
    try:
        os.rename(unfinished, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _rename_new(unfinished: Path, target: Path) -> None:
    if target.exists():  # POSIX would replace an empty folder
        raise taken(target)
    try:
        os.rename(unfinished, target)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
            raise taken(target) from None
        raise
